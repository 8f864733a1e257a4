package cloudconfig

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// known are the settings of openstacksdk and the client that are no credentials. Those of uploads,
// of addresses of servers, of logs and of caches concern nothing that Berth does.
var known = []string{
	"auth", "auth_type", "profile", "cloud", "regions", "region_name", "interface", "endpoint_type", "verify", "insecure",
	"cacert", "cert", "key",
	"api_timeout", "timeout", "identity_api_version", "service_provider", "remote_project_id", "remote_project_name",
	"remote_project_domain_id",
	"remote_project_domain_name", "auth_token", "user_name", "tenant_id", "tenant_name", "url",
	"cache", "concurrency", "connect_retries", "status_code_retries", "default_network", "disable_vendor_agent",
	"external_network", "floating_ip_source",
	"force_ipv4", "prefer_ipv6", "image_api_use_tasks", "image_format", "internal_network", "message", "metrics",
	"nat_destination", "nat_source", "networks",
	"private", "rate_limit", "requires_floating_ip", "secgroup_source", "status", "vendor_hook", "log_file", "log_level",
	"logging", "debug", "verbose_level", "timing",
}

// ofService are settings that each service has.
var ofService = regexp.MustCompile(`^(?:[a-z0-9_]+_(?:api_version|connect_retries|default_microversion|endpoint|` +
	`endpoint_override|endpoint_type|interface|region_name|service_name|service_type|status_code_retries|rate_limit|` +
	`concurrency|timeout|disabled_reason)|has_[a-z0-9_]+)$`)

// ofVersions are variables that the client has an option for, of each service.
var ofVersions = regexp.MustCompile(`^OS_[A-Z0-9_]+_API_VERSION$`)

// unused warns of settings and variables that have no effect.
func (r *reader) unused(own, region section, c *Cloud) {
	var unknown, vain []string
	credentials := settingsOf[c.Type]
	for _, key := range slices.Sorted(maps.Keys(own)) {
		r.sort(key, credentials, &unknown, &vain)
	}
	for _, key := range slices.Sorted(maps.Keys(region)) {
		r.sort(key, credentials, &unknown, &vain)
	}
	if r.name != "" && r.name == r.ofVariables { // what is in own is from variables
		for _, list := range [][]string{unknown, vain} {
			for i, key := range list {
				list[i] = "OS_" + strings.ToUpper(key)
			}
		}
	} else {
		var mixed []string
		for _, name := range slices.Sorted(maps.Keys(r.vars)) {
			key := strings.ToLower(strings.TrimPrefix(name, "OS_"))
			option := slices.Contains(authOptions, key) || key == "tenant_id" || key == "tenant_name" || key == "auth_type"
			switch {
			case !strings.HasPrefix(name, "OS_"), ofTests(name), r.vars[name] == "":
			case strings.Contains(name, "__"): // of the configuration of a service
			case slices.Contains(selectors, name), slices.Contains(otherOptions, key) && key != "auth_type",
				key == "default_domain", ofVersions.MatchString(name):
			case option && key != "auth_type" && !takes(c.Type, credentials, key):
				vain = append(vain, name)
			case option && r.name != "":
				mixed = append(mixed, name)
			case !option:
				unknown = append(unknown, name)
			}
		}
		if len(mixed) > 0 {
			r.warn("%s: set as well, and read with the cloud %s as the openstack client does", strings.Join(mixed, ", "), r.name)
		}
	}
	if len(unknown) > 0 {
		r.warn("%s: no effect, as for the openstack client", strings.Join(unknown, ", "))
	}
	if len(vain) > 0 {
		r.warn("%s: no effect with the auth_type %s", strings.Join(vain, ", "), c.Type)
	}
	for service, major := range map[string]string{"placement": "1", "compute": "2", "network": "2", "image": "2"} {
		if v, _ := textOf(own[service+"_api_version"]); v != "" && !strings.HasPrefix(v, major) {
			r.warn("%s_api_version: no effect, since berth has version %s only", service, major)
		}
	}
}

// sort adds the key of a cloud to the list that it belongs to.
func (r *reader) sort(key string, credentials []string, unknown, vain *[]string) {
	name := strings.ReplaceAll(key, "-", "_")
	switch {
	case slices.Contains(known, name), ofService.MatchString(name):
	case !slices.Contains(authOptions, name): // default_domain and auth_plugin too, which defaults have precedence over
		*unknown = append(*unknown, key)
	case !slices.Contains(credentials, name):
		*vain = append(*vain, key)
	}
}

// takes reports whether a type takes a variable's setting, by its older name too.
func takes(kind string, credentials []string, key string) bool {
	return slices.Contains(credentials, strings.Replace(key, "tenant_", "project_", 1))
}
