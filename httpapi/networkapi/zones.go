package networkapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

func (a *API) zoneRoutes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodGet, Pattern: "/v2.0/availability_zones", Handle: a.listZones}}
}

// listZones lists the availability zones that agents are in.
func (a *API) listZones(w http.ResponseWriter, r *http.Request) error {
	if err := a.allow(r.Context(), "get_availability_zone", target{}); err != nil {
		return err
	}
	agents, err := a.Network.Agents(r.Context())
	if err != nil {
		return err
	}
	zones := map[string]bool{}
	for _, g := range agents {
		if g.Zone != "" {
			zones[g.Zone] = zones[g.Zone] || g.AdminStateUp
		}
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		writeValue(j, object("availability_zones", array(sortedKeys(zones), func(name string) pyjson.Value {
			state := "unavailable"
			if zones[name] {
				state = "available"
			}
			return object("state", state, "resource", "network", "name", name)
		})))
	})
}
