package metrics

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Family is the samples of a metric. It is a gauge unless it is a counter.
type Family struct {
	Description
	Counter bool
	Samples []Sample
}

// A Sample is a value, with those of the labels of its family.
type Sample struct {
	Labels []string
	Value  float64
}

// A Description is what there is to say of a metric.
type Description struct {
	Name   string
	Help   string
	Labels []string
}

// Described returns the descriptions of all metrics, in the order in which they are written.
func Described() []Description { return slices.Clone(described) }

// levels are the metrics of classes, of the cloud, and of a zone or an aggregate.
func levels(prefix, subject string, labels ...string) []Description {
	labels = append(labels, "resource_class")
	return []Description{
		{prefix + "resource_inventory", "What providers" + subject + " have, in the unit of the class.", labels},
		{prefix + "resource_reserved", "What of that is reserved.", labels},
		{
			prefix + "resource_capacity", "How much can be allocated in all: what is not reserved, times the allocation ratio.",
			labels,
		},
		{prefix + "resource_used", "How much is allocated.", labels},
		{
			prefix + "resource_free",
			"How much can be allocated yet: what exceeds the capacity of a provider is not subtracted from others.", labels,
		},
		{
			prefix + "resource_largest_free",
			"The most that one allocation can have of one provider, within the units of its inventory.", labels,
		},
	}
}

// described are all metrics.
var described = slices.Concat(
	[]Description{
		{"berth_cloud_providers", "Resource providers.", nil},
		{"berth_cloud_consumers", "Consumers with allocations.", nil},
	},
	levels("berth_cloud_", " of the cloud"),
	levels("berth_cloud_zone_", " of the hosts of an availability zone", "zone"),
	levels("berth_cloud_aggregate_", " of the hosts of a host aggregate", "aggregate"),
	[]Description{
		{"berth_cloud_host_resource_inventory", "What the providers of a host have, in the unit of the class.", hostClass},
		{"berth_cloud_host_resource_reserved", "What of that is reserved.", hostClass},
		{"berth_cloud_host_resource_used", "How much is allocated.", hostClass},
		{"berth_cloud_host_resource_free", "How much can be allocated yet.", hostClass},

		{
			"berth_cloud_flavor_slots", "How many more servers of a flavor fit, as many as simulated claims reach.",
			[]string{"flavor"},
		},
		{
			"berth_cloud_flavor_slots_limit",
			"More servers of a flavor cannot fit; equal to the slots where their number is exact.",
			[]string{"flavor"},
		},
		{
			"berth_cloud_flavor_slots_unfragmented",
			"How many would fit if all that is free were of one host: what the sum over the cloud says.",
			[]string{"flavor"},
		},
		{
			"berth_cloud_zone_flavor_slots", "How many more servers of a flavor fit on the hosts of an availability zone.",
			[]string{"zone", "flavor"},
		},
		{
			"berth_cloud_aggregate_flavor_slots", "How many more servers of a flavor fit on the hosts of a host aggregate.",
			[]string{"aggregate", "flavor"},
		},
		{
			"berth_cloud_host_flavor_slots", "How many more servers of a flavor fit on a host, if none start elsewhere.",
			[]string{"host", "flavor"},
		},

		{
			"berth_cloud_project_info", "1 for each project, with its name.",
			[]string{"project_id", "project_name", "domain_id"},
		},
		{
			"berth_cloud_project_used", "What the consumers of a project have allocated.",
			[]string{"project_id", "resource_class"},
		},
		{
			"berth_cloud_project_limit", "The unified limit of a project, where Keystone has them; +Inf for none.",
			[]string{"project_id", "resource_class"},
		},
		{
			"berth_cloud_project_quota_used", "What the servers of a project count for its quota: instances, cores, ram in MiB.",
			projectQuota,
		},
		{"berth_cloud_project_quota_limit", "The quota of a project in the compute service; +Inf for none.", projectQuota},
		{"berth_cloud_projects_omitted", "Projects without metrics, as there are more than --projects.", nil},

		{
			"berth_cloud_hosts", "Compute services, by what an operator has set and whether they report.",
			[]string{"status", "state"},
		},
		{"berth_cloud_host_info", "1 for each compute node, with its availability zone.", []string{"host", "zone"}},
		{
			"berth_cloud_host_enabled", "Whether servers may start on a host: its compute service is not disabled.",
			[]string{"host"},
		},
		{"berth_cloud_host_up", "Whether the compute service of a host reports.", []string{"host"}},
		{"berth_cloud_servers", "Servers by status.", []string{"status"}},
		{"berth_cloud_agents", "Network agents by type, and whether they report.", []string{"agent_type", "state"}},
		{"berth_cloud_agents_unsynced", "Network agents whose resources are not in placement.", []string{"agent_type"}},
		{
			"berth_cloud_audit_findings", "Findings of berth audit, of the codes for which the records were read.",
			[]string{"code", "severity"},
		},
	},
	// Names of os-capacity and of openstack-exporter, as their documentation and their source have
	// them.
	[]Description{
		{"openstack_free_capacity_by_flavor_total", "How many more servers of a flavor fit.", []string{"flavor_name"}},
		{
			"openstack_project_usage", "What the consumers of a project have allocated.",
			[]string{"placement_resource", "project_id", "project_name"},
		},
		{
			"openstack_project_quota", "The quota of a project in the compute service; -1 for none.",
			[]string{"project_id", "project_name", "quota_resource"},
		},
		{"openstack_hypervisor_placement_allocated", "What is allocated of a host.", []string{"hypervisor", "resource"}},
		{
			"openstack_hypervisor_placement_allocatable_capacity", "How much of a host can be allocated in all.",
			[]string{"hypervisor", "resource"},
		},
		{"openstack_placement_resource_total", "What a provider has.", providerClass},
		{"openstack_placement_resource_allocation_ratio", "The allocation ratio of an inventory.", providerClass},
		{"openstack_placement_resource_generation", "The generation of a provider.", providerClass},
		{"openstack_placement_resource_reserved", "What of an inventory is reserved.", providerClass},
		{"openstack_placement_resource_usage", "What of an inventory is allocated.", providerClass},
	},
)

var (
	projectQuota  = []string{"project_id", "quota"}
	hostClass     = []string{"host", "resource_class"}
	providerClass = []string{"hostname", "resourcetype"}
)

// sort orders the samples by their labels.
func (f *Family) sort() {
	slices.SortFunc(f.Samples, func(a, b Sample) int { return slices.Compare(a.Labels, b.Labels) })
}

// labelEscapes are those of the values of labels in the text format.
var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Write writes families in Prometheus' text format, version 0.0.4. The error is the writer's.
func Write(w io.Writer, families []Family) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var number []byte
	for i := range families {
		f := &families[i]
		kind := "gauge"
		if f.Counter {
			kind = "counter"
		}
		b.WriteString("# HELP " + f.Name + " " + f.Help + "\n# TYPE " + f.Name + " " + kind + "\n")
		for _, s := range f.Samples {
			b.WriteString(f.Name)
			for k, value := range s.Labels {
				b.WriteByte("{,"[min(k, 1)])
				b.WriteString(f.Labels[k])
				b.WriteString(`="`)
				labelEscapes.WriteString(b, value)
				b.WriteByte('"')
			}
			if len(s.Labels) > 0 {
				b.WriteByte('}')
			}
			b.WriteByte(' ')
			number = appendNumber(number[:0], s.Value)
			b.Write(number)
			b.WriteByte('\n')
		}
	}
	return b.Flush()
}

// appendNumber appends a value as Prometheus reads it. Whole numbers are written without exponent.
func appendNumber(text []byte, v float64) []byte {
	const exact = 1 << 53
	switch {
	case v == float64(int64(v)) && -exact < v && v < exact:
		return strconv.AppendInt(text, int64(v), 10)
	case v > 0 && v*2 == v:
		return append(text, "+Inf"...)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}
