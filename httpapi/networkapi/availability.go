package networkapi

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

type (
	availabilityAttribute = attribute[network.Availability, struct{}]
	availabilityResource  = resource[network.Availability, struct{}]
)

// availabilities say how many addresses networks have, and how many are used.
func (a *API) availabilities() *availabilityResource {
	return &availabilityResource{
		api: a, name: "network_ip_availability", plural: "network_ip_availabilities", path: "/v2.0/network-ip-availabilities",
		table:  availabilityTable(),
		marker: markersEnd,
		id:     func(n *network.Availability) string { return string(n.ID) },
		target: func(*network.Availability) target { return target{} },
		absent: func(_ *http.Request, id network.ID) error { return network.NotFound("network", id) },
		list:   a.Network.Availabilities,
		where: map[string]network.Field{
			"network_id": network.ByID, "network_name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		refine: ofVersion,
	}
}

// availabilityRoutes have methods for unsupported changes, which answer that.
func (a *API) availabilityRoutes() []httpapi.Route {
	res := a.availabilities()
	return append(res.routes(),
		httpapi.Route{Method: http.MethodPut, Pattern: res.path + "/{id}", Handle: res.putNothing},
		httpapi.Route{Method: http.MethodPost, Pattern: res.path, Handle: func(w http.ResponseWriter, r *http.Request) error {
			if err := httpapi.BoundBody(w, r, maxUnmade); err != nil {
				return err
			}
			if _, _, err := res.bodies(r, true); err != nil {
				return err
			}
			return badRequest("Attribute 'tenant_id' not allowed in POST") // which Neutron adds
		}},
	)
}

func availabilityTable() []availabilityAttribute {
	type N = network.Availability
	id := func(n *N) pyjson.Value { return valueOf(string(n.ID)) }
	project := func(n *N) pyjson.Value { return valueOf(n.Project) }
	return []availabilityAttribute{
		{name: "network_id", use: filter | sortable, show: id},
		{name: "network_name", use: filter, show: func(n *N) pyjson.Value { return valueOf(n.Name) }},
		{name: "tenant_id", use: filter, show: project},
		{name: "total_ips", show: func(n *N) pyjson.Value {
			total := new(big.Int)
			for _, s := range n.Subnets {
				total.Add(total, s.Total)
			}
			return bigNumber(total)
		}},
		{name: "used_ips", show: func(n *N) pyjson.Value {
			used := int64(0)
			for _, s := range n.Subnets {
				used += s.Used
			}
			return valueOf(used)
		}},
		{name: "subnet_ip_availability", show: func(n *N) pyjson.Value { return array(n.Subnets, showAvailability) }},
		{name: ipVersion, use: filter, with: everything[N]}, // see ofVersion
		{name: "project_id", use: filter, show: project},
	}
}

const ipVersion = "ip_version"

func showAvailability(s network.SubnetAvailability) pyjson.Value {
	return object("subnet_id", string(s.ID), ipVersion, s.IPVersion, "cidr", s.CIDR, "subnet_name", s.Name,
		"used_ips", s.Used, "total_ips", bigNumber(s.Total))
}

// ofVersion returns the subnets of the requested versions of IP, and the networks that have some.
func ofVersion(all []network.Availability, filters []filterBy) []network.Availability {
	for _, f := range filters {
		if f.name != ipVersion {
			continue
		}
		for i := range all {
			all[i].Subnets = slices.DeleteFunc(all[i].Subnets, func(s network.SubnetAvailability) bool {
				return !slices.Contains(f.values, fmt.Sprint(s.IPVersion))
			})
		}
		all = slices.DeleteFunc(all, func(n network.Availability) bool { return len(n.Subnets) == 0 })
	}
	return all
}

// bigNumber is a whole number of any size.
func bigNumber(n *big.Int) pyjson.Value {
	v, _ := pyjson.Parse([]byte(n.String())) // it is JSON
	return v
}
