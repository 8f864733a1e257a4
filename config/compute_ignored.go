package config

import "github.com/berthcloud/berth/osloconfig"

// computeServer describes the options in Nova's [DEFAULT] about processes, requests and parts of
// the API for which Berth has other settings, or none.
func computeServer() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "enabled_apis", list(computeAPI, "metadata"), "APIs to serve. Berth has osapi_compute, and no metadata service."),
		ignored(g, "osapi_compute_workers", maybeNumber(), "Processes for the API. Berth is one, with all processors."),
		ignored(g, "metadata_listen", text("0.0.0.0"), "Address of the metadata service."),
		ignored(g, "metadata_listen_port", number(8775), "Port of the metadata service."),
		ignored(g, "metadata_workers", maybeNumber(), "Processes of the metadata service."),
		ignored(g, "servicegroup_driver", osloconfig.Choice(new("db"), "db", "mc"), "What knows which hosts are up. Berth takes their reports."),
		ignored(g, "internal_service_availability_zone", text("internal"), "Availability zone of Nova's own services, which Berth does not list."),
		ignored(g, "default_schedule_zone", text(""), "Availability zone of servers whose creator names none. Berth lets them be on any host, as without this setting."),
		ignored(g, "non_inheritable_image_properties", list("cache_in_nova", "bittorrent"), "Properties that snapshots do not take over. Berth has no snapshots."),
		ignored(g, "max_local_block_devices", number(3), "Local disks that a server may ask for."),
		ignored(g, "default_access_ip_network_name", text(""), "Network whose addresses become those to reach a server at."),
		ignored(g, "enable_new_services", on(), "Use hosts as soon as they report. Berth always does."),
		ignored(g, "password_length", number(12), "Length of the passwords that are made for servers. Berth's are of 12."),
		ignored(g, "allow_resize_to_same_host", off(), "Let a resized server stay on its host. Berth does not resize."),
		ignored(g, "migrate_max_retries", number(-1), "Hosts that are tried for a live migration. Berth does not migrate."),
		ignored(g, "long_rpc_timeout", number(1800), "Seconds to wait for long work of a host."),
	}
}

// computeHosts describes the options in Nova's [DEFAULT] about hosts and their drivers. agent/node
// reads those that Berth's hosts use.
func computeHosts() []Setting {
	const g = groupDefault
	return []Setting{
		kept(g, "host", osloconfig.String(new("")), "Name of this host. Only good for $host in other values."),
		ignored(g, "my_block_storage_ip", text("$my_ip"), "Hosts: address for volumes."),
		ignored(g, "compute_driver", text(""), "Hosts: what runs servers."),
		ignored(g, "compute_monitors", list(), "Hosts: what measures them."),
		ignored(g, "instances_path", text("$state_path/instances"), "Hosts: directory of servers."),
		ignored(g, "use_rootwrap_daemon", off(), "Hosts: how commands are run as root."),
		ignored(g, "rootwrap_config", text("/etc/nova/rootwrap.conf"), "Hosts: which commands those are."),
		ignored(g, "vif_plugging_is_fatal", on(), "Hosts: fail when a port is not plugged in time."),
		ignored(g, "vif_plugging_timeout", number(300), "Hosts: seconds to wait for that."),
		ignored(g, "arq_binding_timeout", number(300), "Hosts: seconds to wait for accelerators."),
		ignored(g, "injected_network_template", text("$pybasedir/nova/virt/interfaces.template"), "Hosts: template for the network settings of servers."),
		ignored(g, "flat_injected", off(), "Hosts: put these into servers."),
		ignored(g, "default_ephemeral_format", text(""), "Hosts: file system of ephemeral disks."),
		ignored(g, "preallocate_images", osloconfig.Choice(new("none"), "none", "space"), "Hosts: reserve the space of disks."),
		ignored(g, "use_cow_images", on(), "Hosts: share what disks have of an image."),
		ignored(g, "force_raw_images", on(), "Hosts: turn images into raw ones."),
		ignored(g, "virt_mkfs", osloconfig.Multi(new([]string)), "Hosts: commands that make file systems."),
		ignored(g, "resize_fs_using_block_device", off(), "Hosts: resize file systems of servers."),
		ignored(g, "timeout_nbd", number(10), "Hosts: seconds to wait for a network block device."),
		ignored(g, "pointer_model", osloconfig.Choice(new("usbtablet"), "ps2mouse", "usbtablet"), "Hosts: kind of pointer of servers."),
		ignored(g, "reimage_timeout_per_gb", number(20), "Hosts: seconds to fill a volume anew, for each GB."),
		ignored(g, "vcpu_pin_set", text(""), "Hosts: processors for servers."),
		ignored(g, "reserved_huge_pages", osloconfig.Multi(new([]string)), "Hosts: huge pages that are not for servers."),
		ignored(g, "reserved_host_disk_mb", number(0), "Hosts: disk space that is not for servers, in MB."),
		ignored(g, "reserved_host_memory_mb", number(512), "Hosts: memory that is not for servers, in MB."),
		ignored(g, "reserved_host_cpus", number(0), "Hosts: processors that are not for servers."),
		ignored(g, "cpu_allocation_ratio", text(""), "Hosts: virtual CPUs for each processor."),
		ignored(g, "ram_allocation_ratio", text(""), "Hosts: how often memory is given."),
		ignored(g, "disk_allocation_ratio", text(""), "Hosts: how often disk space is given."),
		ignored(g, "initial_cpu_allocation_ratio", decimal(16), "Hosts: the first such value for processors."),
		ignored(g, "initial_ram_allocation_ratio", decimal(1.5), "Hosts: the first such value for memory."),
		ignored(g, "initial_disk_allocation_ratio", decimal(1), "Hosts: the first such value for disk space."),
		ignored(g, "config_drive_format", osloconfig.Choice(new("iso9660"), "iso9660", "vfat"), "Hosts: format of drives with metadata."),
		ignored(g, "force_config_drive", off(), "Hosts: give all servers such a drive."),
		ignored(g, "mkisofs_cmd", text("genisoimage"), "Hosts: command that makes them."),
		ignored(g, "console_host", text(""), "Hosts: address of consoles."),
		ignored(g, "record", text(""), "Console proxies: file for what goes over them."),
		ignored(g, "daemon", off(), "Console proxies: run in the background."),
		ignored(g, "ssl_only", off(), "Console proxies: refuse connections without TLS."),
		ignored(g, "source_is_ipv6", off(), "Console proxies: use IPv6."),
		ignored(g, "cert", text("self.pem"), "Console proxies: certificate."),
		ignored(g, "key", text(""), "Console proxies: key of that certificate."),
		ignored(g, "web", text("/usr/share/spice-html5"), "Console proxies: directory with pages."),
	}
}

// computeTimers describes the options in Nova's [DEFAULT] about periodic work of its hosts and
// services, and its batch sizes.
func computeTimers() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "report_interval", number(10), "Hosts: seconds between reports."),
		ignored(g, "periodic_enable", on(), "Do periodic work."),
		ignored(g, "periodic_fuzzy_delay", number(60), "Seconds by which it is spread at the start."),
		ignored(g, "instance_usage_audit", off(), "Hosts: send what servers used as notifications."),
		ignored(g, "instance_usage_audit_period", text("month"), "Hosts: how often."),
		ignored(g, "live_migration_retry_count", number(30), "Hosts: attempts at a live migration."),
		ignored(g, "resume_guests_state_on_host_boot", off(), "Hosts: start servers again with the host."),
		ignored(g, "network_allocate_retries", number(0), "Hosts: further attempts at making ports."),
		ignored(g, "max_concurrent_builds", number(10), "Hosts: servers that are built at a time."),
		ignored(g, "max_concurrent_snapshots", number(5), "Hosts: snapshots that are made at a time."),
		ignored(g, "max_concurrent_live_migrations", number(1), "Hosts: live migrations at a time."),
		ignored(g, "block_device_allocate_retries", number(60), "Hosts: how often a volume is looked at that is not there yet."),
		ignored(g, "block_device_allocate_retries_interval", number(3), "Hosts: seconds between that."),
		ignored(g, "sync_power_state_pool_size", number(1000), "Hosts: servers whose power state is read at a time."),
		ignored(g, "sync_power_state_interval", number(600), "Hosts: seconds between comparisons of power states."),
		ignored(g, "heal_instance_info_cache_interval", number(60), "Hosts: seconds between looks at Neutron's ports."),
		ignored(g, "reclaim_instance_interval", number(0), "Hosts: seconds for which a deleted server can be restored."),
		ignored(g, "volume_usage_poll_interval", number(0), "Hosts: seconds between readings of volumes' use."),
		ignored(g, "shelved_poll_interval", number(3600), "Hosts: seconds between looks at shelved servers."),
		ignored(g, "shelved_offload_time", number(0), "Hosts: seconds that they stay on their host."),
		ignored(g, "instance_delete_interval", number(300), "Hosts: seconds between attempts at removing files."),
		ignored(g, "maximum_instance_delete_attempts", number(5), "Hosts: how many such attempts."),
		ignored(g, "scheduler_instance_sync_interval", number(120), "Hosts: seconds between lists of servers for the scheduler."),
		ignored(g, "update_resources_interval", number(0), "Hosts: seconds between reports of what they have."),
		ignored(g, "reboot_timeout", number(0), "Hosts: seconds after which a reboot is made a hard one."),
		ignored(g, "rescue_timeout", number(0), "Hosts: seconds after which a rescue is ended."),
		ignored(g, "resize_confirm_window", number(0), "Hosts: seconds after which a resize is confirmed."),
		ignored(g, "shutdown_timeout", number(60), "Hosts: seconds that a server has to shut down."),
		ignored(g, "running_deleted_instance_action", osloconfig.Choice(new("reap"), "reap", "log", "shutdown", "noop"),
			"Hosts: what becomes of servers that run and are deleted."),
		ignored(g, "running_deleted_instance_poll_interval", number(1800), "Hosts: seconds between searches for them."),
		ignored(g, "running_deleted_instance_timeout", number(0), "Hosts: seconds that they are left alone."),
	}
}
