package servers_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
)

// unusedURL is an address at which no service listens.
const unusedURL = "http://127.0.0.1:1"

// A cloud is a compute service on an empty database, with a clock of its own, whose peer services
// are unavailable.
type cloud struct {
	*testing.T
	*computetest.Cloud
	*cloudService
	*catalogService
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	c := &cloud{T: t, Cloud: computetest.NewCloud(t, settings...)}
	places, nets := placementclient.NewCompute(options(t, unusedURL)), neutronclient.New(options(t, unusedURL))
	c.cloudService = newService(c.DB, computetest.Options{Placement: places, Network: nets, Images: allImages})
	c.catalogService = catalog.New(c.DB, nil)
	return c
}

func ptr[T any](v T) *T { return &v }

// must stops the test when something failed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var ctx = context.Background()

// hosts reports hosts of so many names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for _, n := range names {
		_, node := computetest.Host(n, 0)
		if err := c.Report(ctx, compute.Report{Host: n, Version: 66, Node: *node}); err != nil {
			c.Fatal(err)
		}
	}
}
