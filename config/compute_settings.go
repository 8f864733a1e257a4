package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// Settings returns the table of all options in the order of the documentation, bound to the fields
// of c: Display returns the values in c.
func (c *Compute) Settings() []Setting {
	return slices.Concat(
		c.Default.Settings(), c.Default.logOptions(), c.Nova.settings(), c.Paths.settings(),
		c.Database.oslo(groupOsloDB),
		c.keystone(), c.credentials(), c.Placement.adapter(groupPlacement), c.Neutron.adapter(groupNeutron), c.glance(),
		c.policy(), c.cors(), c.middleware(), c.Quota.settings(), c.Scheduler.settings(), []Setting{
			NewSetting("pci", "alias", osloconfig.Multi(&c.Aliases),
				"A kind of PCI devices that flavors request by its name, with pci_in_placement: an object of JSON with name, "+
					"and resource_class or both vendor_id and product_id; may have traits and live_migratable. May be repeated.").
				FormerlyIn(groupDefault, "pci_alias"),
		},
		c.berth(), c.Berth.hosts(), c.Boots.settings(), []Setting{maxLists(&c.Berth)},
	)
}

// settings returns the rows of [DEFAULT] about the service itself, of [api] and of [wsgi].
func (n *Nova) settings() []Setting {
	const g = groupDefault
	return []Setting{
		NewSetting(g, "osapi_compute_listen", osloconfig.String(&n.Listen).Check(checkListen),
			"Address of the API, unless [berth] listen names one. Nova's default is 0.0.0.0: all addresses."),
		NewSetting(g, "osapi_compute_listen_port", osloconfig.IntBetween(&n.ListenPort, 0, 65535),
			"Port of the API, unless [berth] listen names one."),
		NewSetting(g, "enabled_ssl_apis", osloconfig.List(&n.SSLAPIs),
			"With osapi_compute among them, the API is served with TLS by the files of [wsgi], "+
				"unless [berth] tls_cert_file names one."),
		NewSetting(g, "my_ip", osloconfig.String(&n.MyIP), "Address of this host. Only good for $my_ip in other values."),
		NewSetting(g, "service_down_time", osloconfig.IntBetween(&n.ServiceDownTime, 1, math.MaxInt32),
			"Seconds after its last report that a host counts as down."),
		NewSetting(g, "rpc_response_timeout", osloconfig.IntBetween(&n.ResponseTimeout, 1, math.MaxInt32),
			"Seconds that a caller waits for a host that is to do something at once."),
		NewSetting(g, "instance_build_timeout", osloconfig.IntBetween(&n.BuildTimeout, 0, math.MaxInt32),
			"Seconds after its creation at which a server that its host has not built goes to ERROR; 0: "+
				"never while the host reports."),
		NewSetting(g, "heal_instance_info_cache_interval",
			osloconfig.IntBetween(&n.HealInterval, math.MinInt32, math.MaxInt32),
			"Seconds within which the ports of each server are compared with those of the network service, "+
				"whose events may be lost; 0 and below: never. In Nova, a host compares one server in that time."),
		NewSetting(g, "allow_resize_to_same_host", osloconfig.Bool(&n.ResizeSameHost),
			"Whether a server may stay on its host when it is resized."),
		NewSetting(g, "resize_confirm_window", osloconfig.IntBetween(&n.ConfirmWindow, 0, math.MaxInt32),
			"Seconds after which a resize or a cold migration is confirmed by itself; 0: never."),
		NewSetting(g, "migrate_max_retries", osloconfig.IntBetween(&n.LiveRetries, -1, math.MaxInt32),
			"Further destinations that a live migration tries, one after the other, when one refuses the server before "+
				"anything has moved; 0: none, -1: all that there are. A destination that was requested is the only one."),
		NewSetting(g, "default_availability_zone", osloconfig.String(&n.DefaultZone),
			"Availability zone of hosts that are in no aggregate with one."),
		NewSetting(g, "instance_name_template", osloconfig.String(&n.NameTemplate).Check(checkNameTemplate),
			"Template of the names of servers on their hosts: with a number, as by default, or with id, uuid, hostname, "+
				"display_name, project_id and user_id, as in %(uuid)s."),
		NewSetting(g, "osapi_compute_unique_server_name_scope",
			osloconfig.String(&n.UniqueNames).Check(optional(oneOf(UniqueInProject, UniqueEverywhere))),
			"Where a new server's hostname must be the only one of its kind: project, global, or nowhere when empty."),

		authStrategy(&n.AuthStrategy),
		NewSetting(groupAPI, "max_limit", osloconfig.IntBetween(&n.MaxLimit, 1, math.MaxInt), "Most objects in one answer.").
			FormerlyIn(groupDefault, "osapi_max_limit"),
		NewSetting(groupWSGI, "ssl_cert_file", osloconfig.String(&n.CertFile),
			"PEM file with the certificate of the API, when enabled_ssl_apis has it.").formerlyDefault(),
		NewSetting(groupWSGI, "ssl_key_file", osloconfig.String(&n.KeyFile),
			"PEM file with the private key of that certificate.").formerlyDefault(),
		NewSetting(groupWSGI, "ssl_ca_file", osloconfig.String(&n.CAFile),
			"PEM file with the authorities of clients' certificates; clients then need one.").formerlyDefault(),
	}
}

// checkListen refuses an empty address, the value of an unset $my_ip, which would mean all
// addresses.
func checkListen(text string) error {
	if text == "" {
		return errors.New("want an address; set my_ip when it is $my_ip")
	}
	return nil
}

var (
	// conversions are the references to a server in a template of names.
	conversions = regexp.MustCompile(`%(?:\((\w+)\))?([-0 +]*\d*)([a-zA-Z%])`)
	nameFields  = []string{"uuid", "hostname", "display_name", "project_id", "user_id"} // besides numbers
)

// checkNameTemplate refuses templates of names that do not contain the server's number or other
// fields in Python's syntax.
func checkNameTemplate(text string) error {
	if strings.Contains(conversions.ReplaceAllString(text, ""), "%") {
		return errors.New("a % that begins no conversion is written %%")
	}
	numbers, named := 0, 0
	for _, parts := range conversions.FindAllStringSubmatch(text, -1) {
		field, verb := parts[1], parts[3]
		number := field == "" || field == "id"
		switch {
		case verb == "%":
			continue
		case !number && !slices.Contains(nameFields, field):
			return fmt.Errorf("want one of id, %s, not %s", strings.Join(nameFields, ", "), field)
		case verb != "s" && (!number || !strings.Contains("doxX", verb)):
			return fmt.Errorf("%s is not for what it stands for", parts[0])
		case field == "":
			numbers++
		default:
			named++
		}
	}
	if numbers+named == 0 || numbers > 1 || numbers > 0 && named > 0 {
		return errors.New("want one conversion of the number, or conversions with names")
	}
	return nil
}

// settings returns the rows of [quota]. Their older names are in [DEFAULT], with the prefix
// quota_.
func (q *Quota) settings() []Setting {
	const g = groupQuota
	most := func(name string, v *int, help string) Setting {
		return NewSetting(g, name, osloconfig.IntBetween(v, -1, math.MaxInt), help).FormerlyIn(groupDefault, "quota_"+name)
	}
	return []Setting{
		most("instances", &q.Instances, "Servers of a project; -1: any number, here and below."),
		most("cores", &q.Cores, "Virtual CPUs of a project."),
		most("ram", &q.RAM, "Memory of a project, in MB."),
		most("metadata_items", &q.MetadataItems, "Metadata items of a server."),
		most("injected_files", &q.InjectedFiles, "Files that a server is made with."),
		most("injected_file_content_bytes", &q.InjectedFileBytes, "Bytes in one of them."),
		most("injected_file_path_length", &q.InjectedPathLength, "Bytes in the path of one of them."),
		most("key_pairs", &q.KeyPairs, "Key pairs of a user."),
		most("server_groups", &q.ServerGroups, "Server groups of a project."),
		most("server_group_members", &q.ServerGroupMembers, "Servers of a server group."),
	}
}

// settings returns the rows of [scheduler], [filter_scheduler] and [workarounds].
func (s *Scheduler) settings() []Setting {
	const g, filters = groupScheduler, groupFilters
	w := &s.Weights
	weight := func(name string, v *float64, least float64, help string) Setting {
		return NewSetting(filters, name, osloconfig.Float(v).Check(checkWeight(least)), help)
	}
	anyLeast := math.Inf(-1)
	on := func(name string, v *bool, help string) Setting { return NewSetting(g, name, osloconfig.Bool(v), help) }
	return []Setting{
		NewSetting(g, "max_attempts", osloconfig.IntBetween(&s.MaxAttempts, 1, math.MaxInt),
			"Hosts that are tried to build a server on."),
		NewSetting(g, "max_placement_results", osloconfig.IntBetween(&s.MaxPlacementResults, 1, math.MaxInt),
			"Limit of the candidates requested from placement."),
		on("query_placement_for_routed_network_aggregates", &s.RoutedNetworks,
			"Request hosts that the segments of the server's ports reach."),
		on("limit_tenants_to_placement_aggregate", &s.LimitTenants,
			"Request hosts of the aggregates whose metadata name the project in filter_tenant_id, if there are some."),
		on("placement_aggregate_required_for_tenants", &s.TenantsNeedAggregate,
			"With the setting above, refuse projects that no aggregate names."),
		on("query_placement_for_availability_zone", &s.Zones, "Request hosts of the server's availability zone."),
		on("query_placement_for_image_type_support", &s.ImageTypes, "Request hosts that support the image's disk format."),
		on("enable_isolated_aggregate_filtering", &s.IsolateAggregates,
			"Keep aggregates whose metadata require traits for servers that require them too."),
		on("image_metadata_prefilter", &s.ImageMetadata,
			"Request hosts that have the devices that the image's properties name."),

		NewSetting(filters, "host_subset_size", osloconfig.IntBetween(&s.SubsetSize, 1, math.MaxInt),
			"Among how many of the best hosts one is drawn."),
		NewSetting(filters, "shuffle_best_same_weighed_hosts", osloconfig.Bool(&s.ShuffleBest),
			"Draw among hosts that are equally good."),
		NewSetting(filters, "enabled_filters", osloconfig.List(&s.EnabledFilters),
			"Nova: filters of hosts. Those that Berth has are always applied; others cause a warning."),
		NewSetting(filters, "pci_in_placement", osloconfig.Bool(&s.PCIInPlacement),
			"Let flavors request PCI devices by the aliases of [pci]. Hosts have to report them, with [pci] "+
				"report_in_placement. Without it flavors with pci_passthrough:alias are refused."),
		weight("ram_weight_multiplier", &w.RAM, anyLeast,
			"How much free memory counts; below 0, the fuller host is the better one, here and below."),
		weight("cpu_weight_multiplier", &w.CPU, anyLeast, "How much free virtual CPUs count."),
		weight("disk_weight_multiplier", &w.Disk, anyLeast, "How much free disk space counts."),
		weight("io_ops_weight_multiplier", &w.IOOps, anyLeast,
			"How much servers count that are being built or changed on the host."),
		weight("build_failure_weight_multiplier", &w.BuildFailure, anyLeast,
			"How much it counts against a host that servers could not be built there."),
		weight("soft_affinity_weight_multiplier", &w.SoftAffinity, 0,
			"How much it counts that others of a group with soft affinity are on the host."),
		weight("soft_anti_affinity_weight_multiplier", &w.SoftAntiAffinity, 0,
			"How much it counts that they are not, with soft anti-affinity."),

		NewSetting(groupWorkarounds, "disable_fallback_pcpu_query", osloconfig.Bool(&s.DisableFallbackPCPU),
			"Do not query again for ordinary CPUs when no host has dedicated ones."),
	}
}

// checkWeight accepts finite numbers from least on; the option's type refuses texts that are not
// numbers.
func checkWeight(least float64) func(string) error {
	return func(text string) error {
		f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), 64)
		switch {
		case errors.Is(err, strconv.ErrRange), math.IsNaN(f), math.IsInf(f, 0):
			return errors.New("want a finite number")
		case err == nil && f < least:
			return errors.New("want a number from 0 on")
		}
		return nil
	}
}

// requestFilters are Nova's request filters (nova.scheduler.request_filter) that nova.conf cannot
// turn off.
var requestFilters = []string{
	"disabled_computes", "accelerators", "packed_virtqueue", "remote_managed_ports", "ephemeral_encryption",
	"virtio_sound", "tpm_secret_security",
}

// guaranteedOperations are the operations that can be refused for ports that guarantee bandwidth.
var guaranteedOperations = []string{
	"boot", "delete", "attach", "detach", "resize", "migrate", "live-migrate", "evacuate", "unshelve",
}

// settings returns the rows of [berth] of the compute service alone.
func (b *Boots) settings() []Setting {
	const g = groupBerth
	return []Setting{
		NewSetting(g, "boot_in_guaranteed_networks", osloconfig.Bool(&b.AllowNetworkQoS),
			"Let servers be made in networks that guarantee bandwidth. Nova wants a port to be made first, "+
				"and refuses a network."),
		NewSetting(g, "attach_guaranteed_ports", osloconfig.Bool(&b.AllowAttachQoS),
			"Let servers that there are already get ports that guarantee bandwidth. "+
				"Nova refused that before its release Victoria."),
		NewSetting(g, "guaranteed_operations",
			osloconfig.List(&b.Guaranteed).Check(each(oneOf(guaranteedOperations...))),
			"Operations that are allowed with servers whose ports guarantee bandwidth; what is missing is refused "+
				"with 400. Nova's releases: Stein boot, delete, detach; Train also resize, migrate; Ussuri also live-migrate, "+
				"evacuate, unshelve; Victoria also attach."),
		NewSetting(g, "owned_hosts_only", osloconfig.Bool(&b.OwnedHosts),
			"Request hosts with the trait OWNER_NOVA, where several services keep their hosts in one placement. "+
				"All hosts of the compute service must report it, and placement must know it: otherwise the fault of each "+
				"server says that there is no such trait."),
		NewSetting(g, "request_filters_off", osloconfig.List(&b.FiltersOff).Check(each(oneOf(requestFilters...))),
			"Parts of Nova's queries to placement that are left out: "+strings.Join(requestFilters, ", ")+"."),
		NewSetting(g, "takeover_time", osloconfig.IntBetween(&b.TakeoverTime, 1, math.MaxInt32),
			"Seconds after which another instance takes over the unfinished operations of an instance that has died. "+
				"Must exceed the timeout of every other service, and be the same on all instances. An instance that restarts on "+
				"the same database file, or on the same machine without a reboot, takes them over after 5."),
		NewSetting(g, "history_days", osloconfig.IntBetween(&b.HistoryDays, 0, 36500),
			"Days after which the records of what has ended are removed: actions of servers with their events, migrations, "+
				"and what os-simple-tenant-usage counts of deleted servers. 0 keeps them for ever."),
		NewSetting(g, "candidates_per_host", osloconfig.IntBetween(&b.CandidatesPerHost, 1, math.MaxInt),
			"Candidates of one host that are tried before the next one."),
	}
}
