package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
)

func (a *API) zoneRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-availability-zone", 1, func(q *request) error { return q.listZones("list", noHosts) }),
		a.list("/os-availability-zone/detail", 1, func(q *request) error { return q.listZones("detail", zoneHosts) }),
	}
}

func (q *request) listZones(rule string, hosts func(compute.Zone) any) error {
	if err := q.can("os-availability-zone:"+rule, nobodys); err != nil {
		return err
	}
	all, err := q.api.Compute.Zones(q.Context())
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, members("availabilityZoneInfo", array(all, func(j *httpapi.JSON, z compute.Zone) {
		object(j, "zoneName", z.Name, "zoneState", members("available", z.Available), "hosts", hosts(z))
	})))
}

func noHosts(compute.Zone) any { return nil }

// zoneHosts are the hosts of a zone that is available with their services.
func zoneHosts(z compute.Zone) any {
	if !z.Available {
		return nil
	}
	return func(j *httpapi.JSON) {
		j.Object()
		for _, h := range z.Services {
			put(j, h.Host, members(h.Binary, members("available", h.Up, "active", true, "updated_at", reportedAt(h))))
		}
		j.EndObject()
	}
}
