package networkapi

import (
	"encoding/json"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network/agents"
)

func (a *API) zoneRoutes() []httpapi.Route {
	const path = "/v2.0/availability_zones"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: path, Handle: a.listZones},
		notCreatable(path, "availability_zone", "name", "resource", "state"),
	}
}

// zoneTable are the attributes of zones, which are all shown, whichever are requested.
var zoneTable = []resource.Attribute[agents.Zone, struct{}]{
	{Name: "state", Use: filterable, Show: func(z *agents.Zone) pyjson.Value {
		if z.Available {
			return pyjson.Of("available")
		}
		return pyjson.Of("unavailable")
	}},
	{Name: "name", Use: filterable, Show: func(z *agents.Zone) pyjson.Value { return pyjson.Of(z.Name) }},
	{Name: "resource", Use: filterable, Show: func(z *agents.Zone) pyjson.Value { return pyjson.Of(z.Resource) }},
}

// listZones lists the availability zones that pass the filters. There are no pages.
func (a *API) listZones(w http.ResponseWriter, r *http.Request) error {
	if err := a.access().Allow(r.Context(), "get_availability_zone", resource.Target{}); err != nil {
		return err
	}
	filters, err := resource.ParseFilters(zoneTable, r.URL.RawQuery)
	if err != nil {
		return err
	}
	zones, err := a.Network.Zones(r.Context())
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("availability_zones",
			resource.List(resource.Select(zoneTable, zones, filters), showZone))))
	})
}

func showZone(z agents.Zone) pyjson.Value {
	members := make([]pyjson.Member, len(zoneTable))
	for i := range zoneTable {
		members[i] = pyjson.Member{Key: zoneTable[i].Name, Value: zoneTable[i].Show(&z)}
	}
	return pyjson.NewObject(members...)
}

// maxZoneHints is how long the hints of a network may be, as JSON.
const maxZoneHints = 255

// toZoneHints refuses more zones than Neutron can store.
func toZoneHints(v pyjson.Value) (pyjson.Value, error) {
	names := resource.Texts(v)
	text, err := json.Marshal(names)
	const comma = 1 // which Python writes with a space
	if err != nil || len(text)+comma*max(0, len(names)-1) > maxZoneHints {
		return v, resource.InvalidInput("Too many availability_zone_hints specified")
	}
	return v, nil
}
