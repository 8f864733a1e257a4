package fleetapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func zoneRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/os-availability-zone", 1,
			wire.NoQuery(func(q *wire.Request) error { return listZones(q, "list", noHosts) })),
		a.List("/os-availability-zone/detail", 1,
			wire.NoQuery(func(q *wire.Request) error { return listZones(q, "detail", zoneHosts) })),
	}
}

func listZones(q *wire.Request, rule string, hosts func(compute.Zone) view.Member) error {
	if err := q.Can("os-availability-zone:"+rule, wire.CloudTarget); err != nil {
		return err
	}
	all, err := q.API.Fleet.Zones(q.Context())
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.List("availabilityZoneInfo", all, func(z compute.Zone) view.Object {
		return view.Object{
			view.Text("zoneName", z.Name), view.Nested("zoneState", view.Object{view.Bool("available", z.Available)}), hosts(z),
		}
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
			view.Bool("available", h.Up), view.Bool("active", true), wire.Time("updated_at", reportedAt(h)),
		})}))
	}
	return view.Nested("hosts", hosts)
}
