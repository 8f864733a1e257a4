package catalog_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
)

// A cloud is a catalog on an empty database, with a clock of its own.
type cloud struct {
	*testing.T
	*computetest.Cloud
	*catalog.Service
}

func newCloud(t *testing.T, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	return newCloudWith(t, nil, settings...)
}

// newCloudWith is newCloud with a placement service.
func newCloudWith(t *testing.T, p catalog.Placement, settings ...func(*compute.Settings)) *cloud {
	t.Helper()
	c := computetest.NewCloud(t, settings...)
	return &cloud{T: t, Cloud: c, Service: catalog.New(c.DB, p)}
}

// hosts adds hosts of some names.
func (c *cloud) hosts(names ...string) {
	c.Helper()
	for i, name := range names {
		service, node := computetest.Host(name, int64(i+1))
		c.Add(service, node)
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

var (
	admin = compute.Viewer{Admin: true}
	blue  = compute.Viewer{Project: computetest.Project}
)
