package upgrade

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/osloconfig"
)

// removed are options that Nova does not have any more from a release on, by group, with what takes
// their place. Those of the driver of Hyper-V are one row: a group without options.
var removed = []struct {
	since          request.Release
	group, options string
	instead        string
}{
	{request.Bobcat, "scheduler", "query_placement_for_availability_zone", "it is always on"},
	{request.Bobcat, "ironic", "partition_key", "use [ironic] conductor_group and shard"},
	{request.Caracal, "api", "use_forwarded_for", "use oslo.middleware's http_proxy_to_wsgi"},
	{request.Caracal, "upgrade_levels", "cert", "remove it"},
	{request.Caracal, "hyperv", "", "the driver was removed: there is no replacement"},
	{request.Caracal, "rdp", "", "consoles by RDP were removed with the driver of Hyper-V"},
	{request.Flamingo, "api", "auth_strategy", "remove it: noauth2 was removed too"},
	{request.Flamingo, "api", "neutron_default_tenant_id", "use [api] neutron_default_project_id"},
	{
		request.Flamingo, "DEFAULT",
		"config_drive_skip_versions vendordata_providers vendordata_dynamic_targets vendordata_dynamic_ssl_certfile " +
			"vendordata_dynamic_connect_timeout " +
			"vendordata_dynamic_read_timeout metadata_cache_expiration dhcp_domain vendordata_jsonfile_path " +
			"use_neutron_default_nets enable_instance_password " +
			"neutron_default_tenant_id",
		"set it in the group [api]",
	},
	{request.Flamingo, "DEFAULT", "osapi_max_limit", "use [api] max_limit"},
	{request.Flamingo, "DEFAULT", "osapi_compute_link_prefix", "use [api] compute_link_prefix"},
	{request.Flamingo, "DEFAULT", "osapi_glance_link_prefix", "use [api] glance_link_prefix"},
	{
		request.Flamingo, "DEFAULT",
		"enabled_apis enabled_ssl_apis osapi_compute_listen osapi_compute_listen_port osapi_compute_workers " +
			"metadata_listen " +
			"metadata_listen_port metadata_workers",
		"the APIs run in a WSGI server such as uWSGI, which has such settings of its own",
	},
	{request.Flamingo, "wsgi", "wsgi_log_format ssl_ca_file ssl_cert_file ssl_key_file tcp_keepidle default_pool_size " +
		"max_header_line keep_alive client_socket_timeout", "the WSGI server has such settings of its own"},
	{request.Flamingo, "remote_debug", "", "the remote debugger was removed"},
	{request.Hibiscus, "libvirt", "num_memory_encrypted_guests", "nova-compute gets the number from libvirt"},
	{request.Hibiscus, "oslo_policy", "enforce_scope", "with oslo.policy 6.0.0 scopes are always enforced"},
}

// defaulted are options whose default changes with a release.
var defaulted = []struct {
	since                      request.Release
	group, option, before, now string
}{
	{request.Antelope, "DEFAULT", "initial_cpu_allocation_ratio", "16.0", "4.0"},
	{request.Antelope, "DEFAULT", "initial_ram_allocation_ratio", "1.5", "1.0"},
	{request.Antelope, "oslo_policy", "enforce_new_defaults", "false", "true"},
	{request.Antelope, "oslo_policy", "enforce_scope", "false", "true"},
	{request.Epoxy, "DEFAULT", "heal_instance_info_cache_interval", "60", "-1"},
	{request.Gazpacho, "DEFAULT", "sync_power_state_pool_size", "1000", "5"},
	{request.Gazpacho, "DEFAULT", "graceful_shutdown_timeout", "60", "180"},
}

// settings checks a nova.conf against both tables, and for filters that a release does not have.
func settings(x *run, r *findings) {
	if x.Settings == nil {
		r.unknown("No settings file was given; --nova-config names a nova.conf.")
		return
	}
	through := func(since request.Release) bool { return since > x.from && since <= x.To }
	for _, row := range removed {
		if !through(row.since) {
			continue
		}
		var names []string
		for name := range x.Settings {
			if strings.EqualFold(name.Group, row.group) && (row.options == "" || slices.Contains(strings.Fields(row.options),
				name.Option)) {
				names = append(names, name.String())
			}
		}
		slices.Sort(names)
		for _, name := range names {
			r.required(novaPage, "%s was removed in %s: %s", name, row.since, row.instead)
		}
	}
	if filters := x.Settings[osloconfig.Name{
		Group:  "filter_scheduler",
		Option: "enabled_filters",
	}]; through(request.Bobcat) && strings.Contains(filters, "AvailabilityZoneFilter") {
		r.required(novaPage+"#filter_scheduler.enabled_filters",
			"[filter_scheduler] enabled_filters names AvailabilityZoneFilter, which was removed in 2023.2: nova-scheduler does "+
				"not start")
	}
	for _, row := range defaulted {
		if _, set := x.Settings[osloconfig.Name{Group: row.group, Option: row.option}]; through(row.since) && !set {
			r.changes(novaPage, "[%s] %s is not set, and its default changes from %s to %s in %s", row.group, row.option,
				row.before, row.now, row.since)
		}
	}
	if r.list == nil {
		r.ok("%s, and none that the release has not", count(len(x.Settings), "setting"))
	}
}
