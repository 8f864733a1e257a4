package fleetapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

// Routes are the routes about hosts, and those that hosts use.
func Routes(a *wire.API) []httpapi.Route {
	return slices.Concat(aggregateRoutes(a), zoneRoutes(a), serviceRoutes(a), hypervisorRoutes(a), hostRoutes(a))
}
