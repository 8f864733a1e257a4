package serversapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func addressRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/servers/{server}/ips", "/servers/{server}/ips/{network}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 1, wire.NoQuery(listAddresses)),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showAddresses)),
	}
}

func listAddresses(q *wire.Request) error {
	s, err := q.ServerInPath("ips:index")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("addresses", addressesOf(s.Ports, false)))
}

// showAddresses answers with those in the network of a name.
func showAddresses(q *wire.Request) error {
	s, err := q.ServerInPath("ips:show")
	if err != nil {
		return err
	}
	name := q.Param("network")
	if !slices.ContainsFunc(s.Ports, func(p compute.ServerPort) bool { return p.Shown.NetworkName == name }) {
		return fault.New(fault.NotFound, "", "Instance is not a member of specified network")
	}
	return q.Respond(http.StatusOK, view.Object{networkAddresses(s.Ports, name, false)})
}
