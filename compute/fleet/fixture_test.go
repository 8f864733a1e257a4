package fleet_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/fleet"
)

// catalogService is catalog.Service under a name that can be embedded with fleet.Service.
type catalogService = catalog.Service

// A cloud is the fleet and the catalog on an empty database, with a clock of its own.
type cloud struct {
	*testing.T
	*computetest.Cloud
	*fleet.Service
	*catalogService
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	c := computetest.NewCloud(t, settings...)
	return &cloud{T: t, Cloud: c, Service: fleet.New(c.DB, nil, nil), catalogService: catalog.New(c.DB, nil)}
}

// hosts reports hosts of some names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for _, n := range names {
		_, node := computetest.Host(n, 0)
		if err := c.Report(ctx, compute.Report{Host: n, Version: 66, Node: *node}); err != nil {
			c.Fatal(err)
		}
	}
}

// must stops the test when something failed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var ctx = context.Background()
