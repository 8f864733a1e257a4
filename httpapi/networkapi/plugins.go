package networkapi

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/resource"
)

// The service plugins that can be off, as service_plugins calls them, and extension
// drivers of ML2, as extension_drivers does.
const (
	PluginQoS      = "qos"
	PluginTrunk    = "trunk"
	PluginSegments = "segments"

	DriverPortSecurity  = "port_security"
	DriverNUMA          = "port_numa_affinity_policy"
	DriverNUMASocket    = "port_numa_affinity_policy_socket" // since Neutron 24 (2024.1)
	DriverDeviceProfile = "port_device_profile"
	DriverTrusted       = "port_trusted" // since Neutron 25 (2024.2)
)

// ServicePlugins and ExtensionDrivers are all that can be off.
var (
	ServicePlugins   = []string{PluginQoS, PluginTrunk, PluginSegments}
	ExtensionDrivers = []string{DriverPortSecurity, DriverNUMA, DriverNUMASocket, DriverDeviceProfile, DriverTrusted}
)

// pluginPaths are what the paths of a plugin begin with.
var pluginPaths = map[string][]string{
	PluginQoS:      {"/v2.0/qos/", "/v2.0/policies"},
	PluginTrunk:    {"/v2.0/trunks"},
	PluginSegments: {"/v2.0/segments"},
}

// broughtBy are the attributes that are not there without a plugin, and shownBy those
// that are taken then, and not shown.
var (
	broughtBy = map[string]string{
		"qos_policy_id": PluginQoS, "qos_network_policy_id": PluginQoS, "resource_request": PluginQoS,
		"trunk_details": PluginTrunk,
		"l2_adjacency":  PluginSegments, "ip_allocation": PluginSegments, "segment_id": PluginSegments,
		"port_security_enabled": DriverPortSecurity, "trusted": DriverTrusted,
	}
	shownBy = map[string]string{"numa_affinity_policy": DriverNUMA, "device_profile": DriverDeviceProfile}
)

// off reports whether a route belongs to a plugin that is off.
func (a *API) off(r httpapi.Route) bool {
	for _, plugin := range a.Without {
		for _, path := range pluginPaths[plugin] {
			if strings.HasPrefix(r.Pattern, path) {
				return true
			}
		}
	}
	return false
}

// present returns a table without what plugins bring that are off.
func present[T, S any](a *API, table []resource.Attribute[T, S]) []resource.Attribute[T, S] {
	table = slices.DeleteFunc(table, func(t resource.Attribute[T, S]) bool {
		return slices.Contains(a.Without, broughtBy[t.Name])
	})
	for i := range table {
		if slices.Contains(a.Without, shownBy[table[i].Name]) {
			table[i].Show = nil
		}
	}
	return table
}

// plugin is the plug-in of an extension, "" for those that are always there.
func (e extension) plugin() string {
	switch {
	case strings.HasPrefix(e.alias, "qos"), strings.HasPrefix(e.alias, "port-resource-request"):
		return PluginQoS
	case strings.HasPrefix(e.alias, "trunk"):
		return PluginTrunk
	case slices.Contains([]string{"ip_allocation", "l2_adjacency", "segment", "standard-attr-segment"}, e.alias):
		return PluginSegments
	case e.alias == "port-security":
		return DriverPortSecurity
	case e.alias == "port-numa-affinity-policy-socket":
		return DriverNUMASocket
	case e.alias == "port-trusted-vif":
		return DriverTrusted
	}
	return ""
}
