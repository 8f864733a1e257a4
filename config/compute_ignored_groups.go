package config

import "github.com/berthcloud/berth/osloconfig"

// apiRest describes the options in Nova's [api] about metadata of servers, cells and links.
func apiRest() []Setting {
	const g = groupAPI
	return []Setting{
		ignored(g, "compute_link_prefix", text(""), "What links begin with. See [berth] path_prefix.").formerlyIn(groupDefault, "osapi_compute_link_prefix"),
		ignored(g, "glance_link_prefix", text(""), "What links to images begin with.").formerlyIn(groupDefault, "osapi_glance_link_prefix"),
		ignored(g, "use_forwarded_for", off(), "Believe X-Forwarded-For. See [oslo_middleware] enable_proxy_headers_parsing.").formerlyDefault(),
		ignored(g, "enable_instance_password", on(), "Show a server's password when it is made. Berth always does.").formerlyDefault(),
		ignored(g, "use_neutron_default_nets", off(), "Have the retired API of networks show default ones.").formerlyDefault(),
		ignored(g, "neutron_default_tenant_id", text("default"), "Project of these.").formerlyDefault(),
		ignored(g, "instance_list_per_project_cells", off(), "Which cells are asked for servers. Berth has one."),
		ignored(g, "instance_list_cells_batch_strategy", osloconfig.Choice(new("distributed"), "distributed", "fixed"), "How cells are asked for servers."),
		ignored(g, "instance_list_cells_batch_fixed_size", number(100), "How many servers a cell is asked for at a time."),
		ignored(g, "list_records_by_skipping_down_cells", on(), "Leave out cells that do not answer."),
		ignored(g, "dhcp_domain", text("novalocal"), "Metadata: domain of servers' names.").formerlyDefault(),
		ignored(g, "config_drive_skip_versions", text("1.0 2007-01-19 2007-03-01 2007-08-29 2007-10-10 2007-12-15 2008-02-01 2008-09-01"),
			"Metadata: versions that drives do not have.").formerlyDefault(),
		ignored(g, "metadata_cache_expiration", number(15), "Metadata: seconds that it is remembered.").formerlyDefault(),
		ignored(g, "local_metadata_per_cell", off(), "Metadata: a service for each cell."),
		ignored(g, "vendordata_providers", list("StaticJSON"), "Metadata: where the vendor's part is from.").formerlyDefault(),
		ignored(g, "vendordata_jsonfile_path", text(""), "Metadata: file with that part.").formerlyDefault(),
		ignored(g, "vendordata_dynamic_targets", list(), "Metadata: services that are asked for it.").formerlyDefault(),
		ignored(g, "vendordata_dynamic_ssl_certfile", text(""), "Metadata: authorities for their certificates.").formerlyDefault(),
		ignored(g, "vendordata_dynamic_connect_timeout", number(5), "Metadata: seconds to reach them.").formerlyDefault(),
		ignored(g, "vendordata_dynamic_read_timeout", number(5), "Metadata: seconds to wait for them.").formerlyDefault(),
		ignored(g, "vendordata_dynamic_failure_fatal", off(), "Metadata: fail without their answer."),
	}
}

// wsgiRest describes the options in Nova's [wsgi] about its HTTP server.
func wsgiRest() []Setting {
	const g = groupWSGI
	return []Setting{
		ignored(g, "api_paste_config", text("api-paste.ini"), "Order of the WSGI filters.").formerlyDefault(),
		ignored(g, "wsgi_log_format", text(`%(client_ip)s "%(request_line)s" status: %(status_code)s len: %(body_length)s time: %(wall_seconds).7f`),
			"Format of lines about requests.").formerlyDefault(),
		ignored(g, "secure_proxy_ssl_header", text(""), "Header with the original scheme. See [oslo_middleware] enable_proxy_headers_parsing.").formerlyDefault(),
		ignored(g, "tcp_keepidle", number(600), "Seconds after which idle connections are probed.").formerlyDefault(),
		ignored(g, "default_pool_size", number(1000), "Requests under way. See [berth] max_requests.").formerlyIn(groupDefault, "wsgi_default_pool_size"),
		ignored(g, "max_header_line", number(16384), "Longest header line.").formerlyDefault(),
		ignored(g, "keep_alive", on(), "Keep connections open. Berth always does.").formerlyIn(groupDefault, "wsgi_keep_alive"),
		ignored(g, "client_socket_timeout", number(900), "Seconds a connection may be idle. See [berth] idle_timeout.").formerlyDefault(),
	}
}

// filteringRest describes the options in Nova's [filter_scheduler] about filters and weights that
// Berth does not have.
func filteringRest() []Setting {
	const g = groupFilters
	return []Setting{
		ignored(g, "available_filters", osloconfig.Multi(new([]string{"nova.scheduler.filters.all_filters"})), "Modules with filters, in Python."),
		ignored(g, "weight_classes", list("nova.scheduler.weights.all_weighers"), "Modules with weights, in Python."),
		ignored(g, "track_instance_changes", on(), "Have hosts tell the scheduler of their servers. Berth counts its own."),
		ignored(g, "max_io_ops_per_host", number(8), "For IoOpsFilter, which Berth does not have."),
		ignored(g, "max_instances_per_host", number(50), "For NumInstancesFilter, which Berth does not have."),
		ignored(g, "image_properties_default_architecture", text(""), "For ImagePropertiesFilter."),
		ignored(g, "isolated_images", list(), "For IsolatedHostsFilter, which Berth does not have."),
		ignored(g, "isolated_hosts", list(), "For the same."),
		ignored(g, "restrict_isolated_hosts_to_isolated_images", on(), "For the same."),
		ignored(g, "aggregate_image_properties_isolation_namespace", text(""), "For AggregateImagePropertiesIsolation, which Berth does not have."),
		ignored(g, "aggregate_image_properties_isolation_separator", text("."), "For the same."),
		ignored(g, "pci_weight_multiplier", decimal(1), "How much it counts that a host has PCI devices. Berth does not look at that."),
		ignored(g, "cross_cell_move_weight_multiplier", decimal(1_000_000), "How much it counts that a host is in the server's cell. Berth has one."),
	}
}

// workaroundsRest describes the options in Nova's [workarounds] about its hosts.
func workaroundsRest() []Setting {
	const g = groupWorkarounds
	return []Setting{
		ignored(g, "disable_rootwrap", off(), "Hosts: run commands with sudo."),
		ignored(g, "disable_libvirt_livesnapshot", off(), "Hosts: stop servers for snapshots."),
		ignored(g, "handle_virt_lifecycle_events", on(), "Hosts: act on what the hypervisor tells of servers."),
		ignored(g, "disable_group_policy_check_upcall", off(), "Hosts: do not look again whether the members of a group are where they may be."),
		ignored(g, "enable_numa_live_migration", off(), "Hosts: migrate servers with NUMA topologies."),
		ignored(g, "ensure_libvirt_rbd_instance_dir_cleanup", off(), "Hosts: remove directories of servers on Ceph."),
		ignored(g, "never_download_image_if_on_rbd", off(), "Hosts: leave images in Ceph."),
		ignored(g, "reserve_disk_resource_for_image_cache", off(), "Hosts: take the space of cached images from what they offer."),
		ignored(g, "libvirt_disable_apic", off(), "Hosts: servers without an APIC."),
		ignored(g, "wait_for_vif_plugged_event_during_hard_reboot", list(), "Hosts: kinds of ports that a hard reboot waits for."),
		ignored(g, "enable_qemu_monitor_announce_self", off(), "Hosts: have servers announce themselves after a migration."),
		ignored(g, "disable_compute_service_check_for_ffu", off(), "Nova: start beside services that are too old."),
		ignored(g, "unified_limits_count_pcpu_as_vcpu", off(), "Nova: count dedicated CPUs as ordinary ones in Keystone's limits."),
		ignored(g, "skip_cpu_compare_on_dest", off(), "Hosts: do not compare processors at a migration."),
		ignored(g, "skip_cpu_compare_at_startup", off(), "Hosts: nor at the start."),
		ignored(g, "skip_hypervisor_version_check_on_lm", off(), "Hosts: do not compare versions of hypervisors at a migration."),
		ignored(g, "skip_reserve_in_use_ironic_nodes", off(), "Hosts: leave nodes of Ironic as they are that are in use."),
		ignored(g, "disable_deep_image_inspection", off(), "Hosts: do not look into images for what they should not have."),
	}
}
