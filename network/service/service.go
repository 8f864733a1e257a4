// Package service is the network service: its parts on one database. The rules are in the packages
// of the parts; here is only what concerns objects of all kinds, their tags.
package service

import (
	"log/slog"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/qos"
	"github.com/berthcloud/berth/network/quotas"
	"github.com/berthcloud/berth/network/reallocation"
	"github.com/berthcloud/berth/network/routed"
	"github.com/berthcloud/berth/network/security"
	"github.com/berthcloud/berth/network/topology"
)

// The parts of the service, by the names of their packages.
type (
	quotasPart       = quotas.Service
	agentsPart       = agents.Service
	securityPart     = security.Service
	qosPart          = qos.Service
	topologyPart     = topology.Service
	portsPart        = ports.Service
	reallocationPart = reallocation.Service
	routedPart       = routed.Service
)

// A Service is the network service: its parts on one database. The methods of the parts are its
// own. They may be called concurrently. Callers check permissions before.
type Service struct {
	*quotasPart
	*agentsPart
	*securityPart
	*qosPart
	*topologyPart
	*portsPart
	*reallocationPart
	*routedPart
	db *network.Database
}

// Peers are the services that a network service works with. Any may be nil: without Placement,
// guarantees are not in placement; without Compute, no events are sent; without Segments and
// Aggregates, the segments of routed networks are in neither service.
type Peers struct {
	Placement  allocations.Placement
	Compute    network.Compute
	Segments   routed.Placement
	Aggregates network.Aggregates
	Log        *slog.Logger // nil discards
}

// firstPause is the first pause after a concurrent change of allocations.
var firstPause = allocations.Pause

// New returns a service that keeps its rows in a store.
func New(store network.Store, settings network.Settings, p Peers) *Service {
	db := network.NewDatabase(store, network.Rules{
		Settings: settings, InPlacement: p.Placement != nil, SyncSegments: p.Segments != nil && p.Aggregates != nil,
		Log: p.Log,
	})
	changes := reallocation.New(db, p.Placement, firstPause)
	return &Service{
		db:               db,
		quotasPart:       quotas.New(db),
		agentsPart:       agents.New(db),
		securityPart:     security.New(db),
		qosPart:          qos.New(db),
		topologyPart:     topology.New(db, changes),
		portsPart:        ports.New(db, changes, p.Compute),
		reallocationPart: changes,
		routedPart:       routed.New(db, p.Segments, p.Aggregates),
	}
}
