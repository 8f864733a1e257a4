// Package servers has servers as users see them: it creates, lists and changes them, shows what was
// done with them, and checks the requests to do something, whose operations package lifecycle
// carries out.
//
// A request is checked in check.go, power.go, moves.go and others; its operation begins in the
// transaction that records the action.
package servers

import (
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/serverports"
)

// A Service has the servers of a database, and the rules of what users do with them. Its methods
// may be called concurrently. Callers check permissions before.
type Service struct {
	store     *compute.Database
	rules     compute.Rules
	network   compute.Network // nil: there are no servers
	images    compute.Images  // nil: there are no servers
	lifecycle *lifecycle.Service
	hosts     *scheduler.Hosts
	ports     *serverports.Service
	bindings  serverports.Bindings
	// carriesOut reports whether this process carries operations out.
	carriesOut func() bool
}

// Options are what a Service has besides its database. Network and Images are nil where there are
// no servers; the others are required.
type Options struct {
	Network   compute.Network
	Images    compute.Images
	Lifecycle *lifecycle.Service
	Hosts     *scheduler.Hosts
	Ports     *serverports.Service
}

// New returns the servers in a database.
func New(db *compute.Database, o Options) *Service {
	network := compute.FenceNetwork(o.Network)
	return &Service{
		store: db, rules: db.Rules, network: network, images: o.Images, lifecycle: o.Lifecycle, hosts: o.Hosts,
		ports: o.Ports, bindings: serverports.NewBindings(network, db.Rules.Log), carriesOut: o.Lifecycle.CarriesOut,
	}
}
