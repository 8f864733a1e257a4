package networkapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
)

// An extension is a part of the API that clients discover by its alias.
type extension struct{ alias, name, updated string }

// extensions are those that do not depend on settings.
var extensions = []extension{
	{"agent", "agent", "2013-02-03T10:00:00-00:00"},
	{"agent-resources-synced", "Agent's Resource View Synced to Placement", "2018-12-19T00:00:00-00:00"},
	{"allowed-address-pairs", "Allowed Address Pairs", "2013-07-23T10:00:00-00:00"},
	{"availability_zone", "Availability Zone", "2015-01-01T10:00:00-00:00"},
	{"availability_zone_filter", "Availability Zone Filter Extension", "2018-06-22T10:00:00-00:00"},
	{"binding", "Port Binding", "2014-02-03T10:00:00-00:00"},
	{"binding-extended", "Port Bindings Extended", "2017-07-17T10:00:00-00:00"},
	{"empty-string-filtering", "Empty String Filtering Extension", "2018-05-01T10:00:00-00:00"},
	{"external-net", "Neutron external network", "2013-01-14T10:00:00-00:00"},
	{"extra_dhcp_opt", "Neutron Extra DHCP options", "2013-03-17T12:00:00-00:00"},
	{"filter-validation", "Filter parameters validation", "2018-07-04T10:00:00-00:00"},
	{"ip-substring-filtering", "IP address substring filtering", "2017-11-28T09:00:00-00:00"},
	{"ip_allocation", "IP Allocation", "2016-06-10T23:00:00-00:00"},
	{"l2_adjacency", "L2 Adjacency", "2016-04-12T16:00:00-00:00"},
	{"multi-provider", "Multi Provider Network", "2013-06-27T10:00:00-00:00"},
	{"net-mtu", "Network MTU", "2015-03-25T10:00:00-00:00"},
	{"net-mtu-writable", "Network MTU (writable)", "2017-07-12T00:00:00-00:00"},
	{"network-ip-availability", "Network IP Availability", "2015-09-24T00:00:00-00:00"},
	{"network_availability_zone", "Network Availability Zone", "2015-01-01T10:00:00-00:00"},
	{"pagination", "Pagination support", "2016-06-12T00:00:00-00:00"},
	{"port-device-profile", "Port device profile", "2020-12-17T10:00:00-00:00"},
	{"port-mac-address-regenerate", "Neutron Port MAC address regenerate", "2018-05-03T10:00:00-00:00"},
	{"port-numa-affinity-policy", "Port NUMA affinity policy", "2020-07-08T10:00:00-00:00"},
	{"port-numa-affinity-policy-socket", `Port NUMA affinity policy "socket"`, "2024-02-09T10:00:00-00:00"},
	{"port-resource-request", "Port Resource Request", "2018-05-08T10:00:00-00:00"},
	{"port-security", "Port Security", "2012-07-23T10:00:00-00:00"},
	{"port-security-groups-filtering", "Port filtering on security groups", "2018-01-09T09:00:00-00:00"},
	{"port-trusted-vif", "Port trusted vif", "2024-07-10T10:00:00-00:00"},
	{"project-id", "project_id field enabled", "2016-09-09T09:09:09-09:09"},
	{"provider", "Provider Network", "2012-09-07T10:00:00-00:00"},
	{"qos", "Quality of Service", "2015-06-08T10:00:00-00:00"},
	{"qos-bw-limit-direction", "Direction for QoS bandwidth limit rule", "2017-04-10T10:00:00-00:00"},
	{"qos-bw-minimum-ingress", "Ingress direction for QoS minimum bandwidth rule", "2018-07-09T10:00:00-00:00"},
	{"qos-default", "QoS default policy", "2017-04-11T10:00:00-00:00"},
	{"qos-port-network-policy", "QoS port network policy", "2019-10-23T10:00:00-00:00"},
	{"qos-pps", "QoS packet rate limit", "2021-06-01T10:00:00-00:00"},
	{"qos-pps-minimum", "QoS minimum packet rate rule", "2021-07-19T10:00:00-00:00"},
	{"qos-pps-minimum-rule-alias", "QoS minimum packet rate rule alias", "2021-10-22T10:00:00-00:00"},
	{"qos-rule-type-details", "Details of QoS rule types", "2017-06-22T10:00:00-00:00"},
	{"qos-rule-type-filter", "Allow to filter the list of QoS rule types", "2022-02-02T10:00:00-00:00"},
	{"qos-rules-alias", "Quality of Service rules alias API", "2018-10-07T10:00:00-00:00"},
	{"quota-check-limit", "Quota engine limit check", "2021-09-08T16:00:00-00:00"},
	{"quota_details", "Quota details management support", "2017-02-10T10:00:00-00:00"},
	{"quotas", "Quota management support", "2012-07-29T10:00:00-00:00"},
	{"revision-if-match", "If-Match constraints based on revision_number", "2016-12-11T00:00:00-00:00"},
	{"security-group", "security-group", "2012-10-05T10:00:00-00:00"},
	{"security-groups-normalized-cidr", "Normalized CIDR field for security group rules", "2020-07-28T10:00:00-00:00"},
	{"security-groups-shared-filtering", "Security group filtering on the shared field", "2021-10-05T09:00:00-00:00"},
	{"segment", "Segment", "2016-02-24T17:00:00-00:00"},
	{"sorting", "Sorting support", "2016-06-12T00:00:00-00:00"},
	{"standard-attr-description", "standard-attr-description", "2016-02-10T10:00:00-00:00"},
	{"standard-attr-revisions", "Resource revision numbers", "2016-04-11T10:00:00-00:00"},
	{"standard-attr-segment", "Standard Attribute Segment Extension", "2018-04-09T10:00:00-00:00"},
	{
		"standard-attr-tag",
		"Tag support for resources with standard attribute: port, subnet, network, security_group, policy, trunk",
		"2017-01-01T00:00:00-00:00",
	},
	{"standard-attr-timestamp", "Resource timestamps", "2016-09-12T10:00:00-00:00"},
	{"stateful-security-group", "Stateful security group", "2019-11-26T09:00:00-00:00"},
	{"subnet-service-types", "Subnet service types", "2016-03-15T18:00:00-00:00"},
	{"tag-creation", "Tag creation extension", "2024-23-07T10:00:00-00:00"},
	{"trunk", "Trunk Extension", "2016-01-01T10:00:00-00:00"},
	{"trunk-details", "Trunk port details", "2016-01-01T10:00:00-00:00"},
}

// groupsExtension declares that resource_request is in the format of groups.
var groupsExtension = extension{
	"port-resource-request-groups", "Port Resource Request Groups", "2021-08-02T10:00:00-00:00",
}

func (a *API) extensionRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/v2.0/extensions", Handle: a.listExtensions},
		{Method: http.MethodGet, Pattern: "/v2.0/extensions/{alias}", Handle: a.getExtension},
		{Method: http.MethodPost, Pattern: "/v2.0/extensions", Handle: noSuchExtension},
		{Method: http.MethodDelete, Pattern: "/v2.0/extensions/{alias}", Handle: noSuchExtension},
	}
}

// noSuchExtension answers requests to add or remove an extension.
func noSuchExtension(http.ResponseWriter, *http.Request) error {
	return fault.New(fault.NotFound, codeExtension, "Resource not found.")
}

// loaded returns the extensions that are there.
func (a *API) loaded() []extension {
	all := slices.Clone(extensions)
	if !a.OldRequests {
		all = append(all, groupsExtension)
	}
	return slices.DeleteFunc(all, func(e extension) bool { return slices.Contains(a.Without, e.plugin()) })
}

func (e extension) show() pyjson.Value {
	return pyjson.NewObject(pyjson.M("name", e.name), pyjson.M("alias", e.alias), pyjson.M("description", e.name+"."),
		pyjson.M("updated", e.updated), pyjson.M("links", pyjson.NewArray()))
}

func (a *API) listExtensions(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("extensions", resource.List(a.loaded(), extension.show))))
	})
}

func (a *API) getExtension(w http.ResponseWriter, r *http.Request) error {
	alias := httpapi.Param(r, "alias")
	i := slices.IndexFunc(a.loaded(), func(e extension) bool { return e.alias == alias })
	if i < 0 {
		return fault.New(fault.NotFound, codeExtension, "Extension with alias %s does not exist", alias)
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("extension", a.loaded()[i].show())))
	})
}
