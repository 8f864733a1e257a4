package computeapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) addressRoutes() []httpapi.Route {
	const all, one = "/servers/{server}/ips", "/servers/{server}/ips/{network}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 1, (*request).listAddresses),
		a.route(http.MethodGet, one, 1, (*request).showAddresses),
	}
}

func (q *request) listAddresses() error {
	s, err := q.serverInPath("ips:index")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("addresses", addressesOf(s.Ports, false)))
}

// showAddresses answers with those in the network of a name.
func (q *request) showAddresses() error {
	s, err := q.serverInPath("ips:show")
	if err != nil {
		return err
	}
	name := q.param("network")
	if !slices.ContainsFunc(s.Ports, func(p compute.ServerPort) bool { return p.Shown.NetworkName == name }) {
		return fault.New(fault.NotFound, "", "Instance is not a member of specified network")
	}
	return q.respond(http.StatusOK, view.Object{networkAddresses(s.Ports, name, false)})
}
