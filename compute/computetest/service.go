package computetest

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Service is the parts of a compute service that have servers, on one database.
type Service struct {
	Servers   *servers.Service
	Lifecycle *lifecycle.Service
	Fleet     *fleet.Service
	Ports     *serverports.Service
}

// Options are what a Service has besides its database. The zero value is usable: there are no peer
// services then, and no servers.
type Options struct {
	Placement compute.Placement
	Network   compute.Network
	Images    compute.Images
	Trees     providertree.Placement // where trees of hosts are
	// The others are as lifecycle.Options has them.
	Elapsed func() time.Duration
	Behalf  func(context.Context, compute.Caller) context.Context
	Run     string
}

// NewService returns a service on a database.
func NewService(db *compute.Database, o Options) Service {
	hosts := scheduler.NewHosts(db)
	life := lifecycle.New(db, lifecycle.Options{
		Placement: o.Placement, Network: o.Network, Trees: o.Trees, Hosts: hosts, Elapsed: o.Elapsed, Behalf: o.Behalf,
		Run: o.Run,
	})
	ports := serverports.New(db, o.Network)
	return Service{
		Servers: servers.New(db, servers.Options{
			Network: o.Network, Images: o.Images, Lifecycle: life, Hosts: hosts, Ports: ports,
		}),
		Lifecycle: life, Fleet: fleet.New(db, life, o.Trees), Ports: ports,
	}
}
