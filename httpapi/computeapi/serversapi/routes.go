package serversapi

import (
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

// Routes are the routes of servers, and of what is done with them.
func Routes(a *wire.API) []httpapi.Route {
	return slices.Concat(serverRoutes(a), serverActionRoutes(a), liveMigrationRoutes(a), serverMetadataRoutes(a),
		serverTagRoutes(a), interfaceRoutes(a), addressRoutes(a), instanceActionRoutes(a), migrationRoutes(a), eventRoutes(a),
		operationRoutes(a))
}
