package catalogapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

// Routes are the routes of what servers are made from and counted against.
func Routes(a *wire.API) []httpapi.Route {
	return slices.Concat(flavorRoutes(a), extraSpecRoutes(a), flavorAccessRoutes(a), keypairRoutes(a), groupRoutes(a),
		quotaRoutes(a), limitRoutes(a), usageRoutes(a))
}
