package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) zoneRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-availability-zone", 1, func(q *request) error { return q.listZones("list", noHosts) }),
		a.list("/os-availability-zone/detail", 1, func(q *request) error { return q.listZones("detail", zoneHosts) }),
	}
}

func (q *request) listZones(rule string, hosts func(compute.Zone) view.Member) error {
	if err := q.can("os-availability-zone:"+rule, nobodys); err != nil {
		return err
	}
	all, err := q.api.Compute.Zones(q.Context())
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.List("availabilityZoneInfo", all, func(z compute.Zone) view.Object {
		return view.Object{view.Text("zoneName", z.Name), view.Nested("zoneState", view.Object{view.Bool("available", z.Available)}), hosts(z)}
	})})
}

func noHosts(compute.Zone) view.Member { return view.Null("hosts") }

// zoneHosts are the hosts of a zone that is available with their services.
func zoneHosts(z compute.Zone) view.Member {
	if !z.Available {
		return noHosts(z)
	}
	var hosts view.Object
	for _, h := range z.Services {
		hosts = append(hosts, view.Nested(h.Host, view.Object{view.Nested(h.Binary, view.Object{
			view.Bool("available", h.Up), view.Bool("active", true), moment("updated_at", reportedAt(h)),
		})}))
	}
	return view.Nested("hosts", hosts)
}
