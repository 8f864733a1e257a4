package node

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

const (
	groupDefault     = osloconfig.DefaultGroup
	groupBerth       = "berth"
	groupCompute     = "compute"
	groupDevices     = "devices"
	groupPCI         = "pci"
	groupNeutron     = "neutron"
	groupOVS         = "os_vif_ovs"
	groupLibvirt     = "libvirt"
	groupWorkarounds = "workarounds"
)

// Table returns the options that are about compute hosts, in the order of documentation, bound to
// s: Display shows the values of s.
func (s *Settings) Table() []config.Setting {
	return slices.Concat(s.base(), s.timers(), s.amounts(), s.compute(), s.pci(), s.mediated(), s.cpuModel.settings(),
		s.ovs(), s.berth())
}

// Changes says what is different in the second of two readings, a line each, for a log, of
// the options that Berth acts on and of what provider files add. Of secrets it says only that they
// have changed.
func Changes(prev, cur *Settings) []string {
	lines := settings.TableChanges(prev.Table(), cur.Table())
	if !reflect.DeepEqual(prev.Additional, cur.Additional) {
		lines = append(lines, "what the files in "+cur.providers+" add")
	}
	return lines
}

func (s *Settings) base() []config.Setting {
	d := &s.Default
	const g = groupDefault
	return slices.Concat([]config.Setting{
		config.NewSetting(g, "host", osloconfig.String(&d.Host).Check(settings.CheckHost),
			"Name of this host at the compute service; the machine's own when not set. Neutron's [DEFAULT] host must be the "+
				"same. The hypervisor has the name of the machine."),
		config.NewSetting(g, "my_ip", osloconfig.String(&d.MyIP).Check(settings.CheckIP),
			"Address of this host. Not set: that of the interface with the default route."),
		config.NewSetting(g, "state_path", osloconfig.String(&d.StatePath).Check(checkPath),
			"Directory for state. The file compute_id there has the host's UUID; it is written once."),
		config.NewSetting(g, "instances_path", osloconfig.String(&s.InstancesPath).Check(checkPath),
			"Directory of servers, on the disk that they use: instances in state_path when not set."),
	}, d.Logging.Settings(), []config.Setting{
		config.NewSetting(g, "compute_driver", osloconfig.String(&s.written.novaDriver),
			"Nova: driver that runs servers. See [berth] compute_driver; one of Nova's real drivers causes a warning."),
	})
}

func (s *Settings) timers() []config.Setting {
	const g = groupDefault
	return []config.Setting{
		config.NewSetting(g, "report_interval", osloconfig.Seconds(&s.ReportInterval).Check(settings.CheckPositive),
			"Seconds between reports. Should be at most half of the compute service's service_down_time, which is 60."),
		config.NewSetting(g, "update_resources_interval",
			osloconfig.IntBetween(&s.written.resourceInterval, math.MinInt32, math.MaxInt32),
			"Seconds between inspections of the machine. 0: 60. Less than 0: at the start only."),
		config.NewSetting(g, "max_concurrent_builds", osloconfig.IntBetween(&s.Concurrency, 0, math.MaxInt32),
			"Servers that are built at a time; further ones wait. 0: any number."),
	}
}

func (s *Settings) amounts() []config.Setting {
	r := &s.resources
	const g = groupDefault
	ratios := func(name, kind string, v *ratio) []config.Setting {
		return []config.Setting{
			config.NewSetting(g, name+"_allocation_ratio", osloconfig.Float(&v.set).Check(checkRatio),
				kind+" It is written to placement with each report, and replaces what was set there by hand. 0 or not set: the "+
					"ratio in placement is unchanged."),
			config.NewSetting(g, "initial_"+name+"_allocation_ratio", osloconfig.Float(&v.initial).Check(checkRatio),
				"The initial ratio, for a host that is not in placement yet."),
		}
	}
	return slices.Concat([]config.Setting{
		config.NewSetting(g, "reserved_host_cpus", osloconfig.IntBetween(&r.reservedCPUs, 0, math.MaxInt32),
			"CPUs that are not for servers. Excludes the sets of CPUs in [compute]."),
		config.NewSetting(g, "reserved_host_memory_mb", osloconfig.IntBetween(&r.reservedMemoryMB, 0, math.MaxInt32),
			"Memory that is not for servers, in MB."),
		config.NewSetting(g, "reserved_host_disk_mb", osloconfig.IntBetween(&r.reservedDiskMB, 0, math.MaxInt32),
			"Disk space that is not for servers, in MB. Placement gets GB, rounded up."),
		config.NewSetting(g, "reserved_huge_pages", osloconfig.Multi(&s.written.pages),
			"Huge pages that are not for servers: node:0,size:2048,count:64, with a size in kB or such as 2MB or 1GB. May be "+
				"given several times. It is about hosts that report NUMA nodes."),
	},
		ratios("cpu", "Allocation ratio of virtual CPUs.", &r.cpuRatio),
		ratios("ram", "Allocation ratio of memory.", &r.ramRatio),
		ratios("disk", "Allocation ratio of disk space.", &r.diskRatio),
		[]config.Setting{
			config.NewSetting(g, "vcpu_pin_set", osloconfig.String(&r.pinned),
				"Outdated: CPUs for servers, as in [compute] cpu_shared_set, which it overrules. Excludes cpu_dedicated_set."),
		})
}

func (s *Settings) compute() []config.Setting {
	r := &s.resources
	const g = groupCompute
	return []config.Setting{
		config.NewSetting(g, "cpu_shared_set", osloconfig.String(&r.shared),
			"CPUs that are VCPU: numbers and ranges, separated by commas, ^ before excluded ones: 0-7,^2,12. Without this and "+
				"cpu_dedicated_set all CPUs are."),
		config.NewSetting(g, "cpu_dedicated_set", osloconfig.String(&r.dedicated),
			"CPUs that are PCPU, of which each server gets some of its own, written alike. None may be in both sets."),
		config.NewSetting(g, "enable_numa_reporting_to_placement", osloconfig.OptionalBool(&r.reportNUMA),
			"true: the host's NUMA nodes are providers below its own, with its CPUs and its memory, for servers with a NUMA "+
				"topology only. false: the host gets none of these servers. Not set: it gets all kinds. A change moves the "+
				"allocations of its servers, at the next start."),
		config.NewSetting(g, "provider_config_location", osloconfig.String(&s.providers),
			"Directory of files *.yaml that add inventories and traits to providers. They are read at the start and on SIGHUP."),
		config.NewSetting(g, "image_type_exclude_list", osloconfig.List(&s.imageTypesOut),
			"Disk formats of images, such as qcow2, that the host does not report to support."),
	}
}

func (s *Settings) pci() []config.Setting {
	const g = groupPCI
	spec := config.NewSetting(g, "device_spec", osloconfig.Multi(&s.written.specs),
		"PCI devices for servers: an object in JSON, or a list of them, and the option may be given several times. The "+
			"first entry that matches a device applies to it.")
	return []config.Setting{
		spec.Formerly("passthrough_whitelist").FormerlyIn(groupDefault, "pci_passthrough_whitelist"),
		config.NewSetting(g, "report_in_placement", osloconfig.Bool(&s.pciInPlacement),
			"Make providers of the devices whose entry has no physical_network."),
	}
}

// mediated describes [devices], and a group for each of its types.
func (s *Settings) mediated() []config.Setting {
	all := []config.Setting{
		config.NewSetting(groupDevices, "enabled_mdev_types", osloconfig.List(&s.written.mdevTypes),
			"Types of mediated devices that servers can have, such as nvidia-35. With several, each needs a group [mdev_TYPE] "+
				"with device_addresses; without, the first is used everywhere.").Formerly("enabled_vgpu_types"),
	}
	for _, m := range s.mdevs {
		all = append(all, m.settings()...)
	}
	return all
}

func (s *Settings) ovs() []config.Setting {
	n := &s.Netns
	const g = groupOVS
	return []config.Setting{
		config.NewSetting(groupNeutron, "ovs_bridge", osloconfig.String(&n.IntegrationBridge).Check(checkName),
			"Bridge that servers are plugged into. See [berth] netns_ovs and netns_bridges."),
		config.NewSetting(g, "ovsdb_connection", osloconfig.String(&n.Connection).Check(settings.CheckOVSDB),
			"Where Open vSwitch's database is: tcp:address:port, ssl:address:port or unix:path."),
		config.NewSetting(g, "ovs_vsctl_timeout", osloconfig.Seconds(&n.Timeout),
			"Seconds to wait for an answer of the database. 0: for ever.").FormerlyIn(groupDefault, "ovs_vsctl_timeout"),
	}
}

func (s *Settings) berth() []config.Setting {
	f, n := &s.Fake, &s.Netns
	const g = groupBerth
	return slices.Concat([]config.Setting{
		config.NewSetting(g, "compute_driver", osloconfig.Choice(&s.Driver, Fake, Netns),
			"Driver of servers: fake has them in memory, netns makes each a network namespace with the interfaces "+
				"of its ports."),
	}, s.Berth.Compute.Settings(), []config.Setting{
		config.NewSetting(g, "watch_interval", osloconfig.Seconds(&s.Berth.WatchInterval),
			"Seconds between checks of the files; changed files are reloaded, as on SIGHUP. 0: on SIGHUP only."),
		config.NewSetting(g, "fake_vcpus", osloconfig.IntBetween(&f.VCPUs, 0, maxCPU+1),
			"With the driver fake: CPUs that the host reports. 0: those of the machine, here and below."),
		config.NewSetting(g, "fake_memory_mb", osloconfig.IntBetween(&f.MemoryMB, 0, math.MaxInt32),
			"With the driver fake: memory that the host reports, in MB."),
		config.NewSetting(g, "fake_numa_nodes", osloconfig.IntBetween(&f.Nodes, 0, maxFakeNodes),
			"With the driver fake: NUMA nodes that CPUs and memory are divided among. 0: one, or those of the machine if the "+
				"host reports its CPUs and memory."),
		config.NewSetting(g, "fake_disk_gb", osloconfig.IntBetween(&f.DiskGB, 0, math.MaxInt32),
			"With the driver fake: disk space that the host reports, in GB."),
		config.NewSetting(g, "fake_build_time", osloconfig.Seconds(&f.BuildTime),
			"With the driver fake: seconds that a build takes."),
		config.NewSetting(g, "fake_failure", osloconfig.Float(&f.Failure).Check(checkShare),
			"With the driver fake: share of the builds that fail, from 0 to 1."),
		config.NewSetting(g, "netns_prefix", osloconfig.String(&n.Prefix).Check(checkPrefix),
			"With the driver netns: prefix of the names of servers' namespaces. Several hosts on one machine need "+
				"different ones."),
		config.NewSetting(g, "netns_namespace", osloconfig.String(&n.Namespace).Check(checkNamespace),
			"With the driver netns: name or path of the network namespace that has the host's bridges and NICs. Empty: that "+
				"of the agent."),
		config.NewSetting(g, "netns_ovs", osloconfig.Bool(&n.OVS),
			"With the driver netns: bridges are Open vSwitch's. false: they are the kernel's, which do not separate VLANs."),
		config.NewSetting(g, "netns_bridges", osloconfig.List(&s.written.bridges),
			"With the driver netns: physnet:bridge pairs, separated by commas: bridges of physical networks, each in one "+
				"pair. All other ports are plugged into [neutron] ovs_bridge, which is where Neutron's agent wants all of them."),
		config.NewSetting(g, "netns_devices", osloconfig.List(&s.written.devices),
			"With the driver netns: physnet:NIC pairs, separated by commas: network cards that ports share which should be a "+
				"device of their own and have none. A network may have several."),
	})
}

// maxFakeNodes is how many NUMA nodes the driver Fake can have: as many as kernels are built for.
const maxFakeNodes = 64

func checkPath(text string) error {
	if !strings.HasPrefix(text, "/") {
		return errors.New("want a path that begins with /")
	}
	return nil
}

func checkName(text string) error {
	if text == "" || strings.ContainsAny(text, "/ \t") {
		return errors.New("want the name of a bridge")
	}
	return nil
}

var namespacePrefix = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

func checkPrefix(text string) error {
	if !namespacePrefix.MatchString(text) {
		return errors.New("want letters, digits and hyphens, 64 at most")
	}
	return nil
}

func checkNamespace(text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) || !strings.HasPrefix(text, "/") && strings.Contains(text, "/") {
		return errors.New("want the name of a network namespace, or a path that begins with /")
	}
	return nil
}

// checkRatio and checkShare leave what is no number to the value.
func checkRatio(text string) error {
	return checkNumber(text, math.MaxFloat32, "want a number, 0 or more")
}

func checkShare(text string) error { return checkNumber(text, 1, "want a number from 0 to 1") }

func checkNumber(text string, most float64, want string) error {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && !(f >= 0 && f <= most) {
		return errors.New(want)
	}
	return nil
}
