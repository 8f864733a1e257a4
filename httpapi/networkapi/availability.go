package networkapi

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
)

type (
	availabilityAttribute = resource.Attribute[topology.Availability, struct{}]
	availabilityResource  = resource.Resource[topology.Availability, struct{}]
)

// availabilities are the numbers of addresses that networks have and use.
func (a *API) availabilities() *availabilityResource {
	return &availabilityResource{
		API: a.kinds(), Name: "network_ip_availability", Plural: "network_ip_availabilities",
		Path:          "/v2.0/network-ip-availabilities",
		Table:         availabilityTable(),
		UnknownMarker: resource.EndAtMarker,
		ID:            func(n *topology.Availability) string { return string(n.ID) },
		TargetOf:      func(*topology.Availability) resource.Target { return resource.Target{} },
		NotFound:      func(_ *http.Request, id string) error { return network.NotFound("network", network.ID(id)) },
		List:          a.Network.Availabilities,
		StoreFields: map[string]network.Field{
			"network_id": network.ByID, "network_name": network.ByName, "project_id": network.ByProject,
			"tenant_id": network.ByProject,
		},
		Refine: ofVersion,
	}
}

// availabilityRoutes have methods for unsupported changes, which answer that.
func (a *API) availabilityRoutes() []httpapi.Route {
	res := a.availabilities()
	return append(res.Routes(),
		httpapi.Route{Method: http.MethodPut, Pattern: res.Path + "/{id}", Handle: res.PutNothing},
		httpapi.Route{Method: http.MethodPost, Pattern: res.Path, Handle: func(w http.ResponseWriter, r *http.Request) error {
			if err := httpapi.BoundBody(w, r, resource.MaxIgnoredBody); err != nil {
				return err
			}
			if _, _, err := res.Bodies(r, true); err != nil {
				return err
			}
			return resource.BadRequest("Attribute 'tenant_id' not allowed in POST") // which Neutron adds
		}},
	)
}

func availabilityTable() []availabilityAttribute {
	type N = topology.Availability
	id := func(n *N) pyjson.Value { return pyjson.Of(string(n.ID)) }
	project := func(n *N) pyjson.Value { return pyjson.Of(n.Project) }
	return []availabilityAttribute{
		{Name: "network_id", Use: filterable | sortable, Show: id},
		{Name: "network_name", Use: filterable, Show: func(n *N) pyjson.Value { return pyjson.Of(n.Name) }},
		{Name: "tenant_id", Use: filterable, Show: project},
		{Name: "total_ips", Show: func(n *N) pyjson.Value {
			total := new(big.Int)
			for _, s := range n.Subnets {
				total.Add(total, s.Total)
			}
			return bigNumber(total)
		}},
		{Name: "used_ips", Show: func(n *N) pyjson.Value {
			used := int64(0)
			for _, s := range n.Subnets {
				used += s.Used
			}
			return pyjson.Of(used)
		}},
		{Name: "subnet_ip_availability", Show: func(n *N) pyjson.Value { return resource.List(n.Subnets, showAvailability) }},
		{Name: ipVersion, Use: filterable, Filter: resource.AcceptAll[N]}, // see ofVersion
		{Name: "project_id", Use: filterable, Show: project},
	}
}

const ipVersion = "ip_version"

func showAvailability(s topology.SubnetAvailability) pyjson.Value {
	return pyjson.NewObject(pyjson.M("subnet_id", string(s.ID)), pyjson.M(ipVersion, s.IPVersion),
		pyjson.M("cidr", s.CIDR), pyjson.M("subnet_name", s.Name),
		pyjson.M("used_ips", s.Used), pyjson.M("total_ips", bigNumber(s.Total)))
}

// ofVersion returns the subnets of the requested versions of IP, and the networks that have some.
func ofVersion(all []topology.Availability, filters []resource.Filter) []topology.Availability {
	for _, f := range filters {
		if f.Name != ipVersion {
			continue
		}
		for i := range all {
			all[i].Subnets = slices.DeleteFunc(all[i].Subnets, func(s topology.SubnetAvailability) bool {
				return !slices.Contains(f.Values, fmt.Sprint(s.IPVersion))
			})
		}
		all = slices.DeleteFunc(all, func(n topology.Availability) bool { return len(n.Subnets) == 0 })
	}
	return all
}

// bigNumber is a whole number of any size.
func bigNumber(n *big.Int) pyjson.Value {
	v, _ := pyjson.Parse([]byte(n.String())) // it is JSON
	return v
}
