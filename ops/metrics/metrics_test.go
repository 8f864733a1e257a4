package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/metrics"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// compute returns the samples of a cloud, by the name of the metric and the values of its labels.
func compute(t interface {
	Fatal(...any)
	Helper()
	Context() context.Context
}, s *snapshot.Snapshot, c *cloud.Cloud, o metrics.Options,
) map[string]float64 {
	t.Helper()
	families, err := metrics.Compute(t.Context(), s, c, o)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, f := range families {
		for _, sample := range f.Samples {
			key := strings.Join(append([]string{f.Name}, sample.Labels...), " ")
			if _, twice := samples[key]; twice {
				t.Fatal("twice: ", key)
			}
			if len(sample.Labels) != len(f.Labels) {
				t.Fatal(key, ": values of labels: ", len(sample.Labels), ", labels: ", len(f.Labels))
			}
			samples[key] = sample.Value
		}
	}
	return samples
}

// flavors draws flavors: of those that fit often and rarely, one that nothing has, and one of a
// trait that does not exist.
func flavors(t *rapid.T) (list []cloud.Flavor) {
	for i := range rapid.IntRange(1, 4).Draw(t, "flavors") {
		f := cloud.Flavor{
			Name: fmt.Sprintf("flavor%d", i), VCPUs: rapid.Int64Range(1, 20).Draw(t, "vcpus"),
			RAM:  rapid.Int64Range(1, 1<<16).Draw(t, "ram"),
			Disk: rapid.Int64Range(0, 500).Draw(t, "disk"), Specs: map[string]string{},
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			f.Specs["trait:HW_CPU_X86_AVX"] = "required"
		case 1:
			f.Specs["trait:CUSTOM_NOWHERE"] = "required"
		case 2:
			f.Specs["resources:"+guarantee.EgressBandwidth] = "1000"
		case 3:
			f.Specs["resources:CUSTOM_NOTHING"] = "1"
		}
		list = append(list, f)
	}
	return list
}

// zoned are random clouds with zones, and hosts that are disabled or down.
var zoned = rapid.Custom(func(t *rapid.T) *cloud.Cloud {
	c := audittest.Clouds.Draw(t, "cloud")
	for i := range c.Compute.Services {
		s := &c.Compute.Services[i]
		s.Zone = rapid.SampledFrom([]string{"nova", "nova", "east"}).Draw(t, "zone")
		if rapid.IntRange(0, 4).Draw(t, "down") == 0 {
			s.State = "down"
		}
	}
	return c
})

// Free slots of every flavor are what "berth capacity headroom" counts: of the cloud, and of each
// zone and aggregate when the other hosts are excluded.
func TestSlotsAreTheHeadroom(t *testing.T) {
	counted, positive := 0, 0
	rounds := 20 // of 100 clouds
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		rapid.Check(t, func(t *rapid.T) { checkSlots(t, &counted, &positive) })
	}
	if positive*4 < counted {
		t.Errorf("of %d flavors %d fit", counted, positive)
	}
}

// checkSlots compares the slots of flavors in a cloud with the headroom.
func checkSlots(t *rapid.T, counted, positive *int) {
	c := zoned.Draw(t, "cloud")
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	drawn := flavors(t)
	servers, pairs := pairsOf(t, c, drawn)
	queries, unknown := metrics.PairQueries(c, drawn, pairs, request.Settings{}, "", "", nil)
	if len(unknown) > 0 {
		t.Fatal(unknown)
	}
	got := compute(t, s, c, metrics.Options{
		Queries: append(queries, metrics.FlavorQueries(c, drawn, request.Settings{}, "", "")...), SlotsByHost: true,
	})
	refused := novaquery.Server{}.Refusals(c)
	// headroom is that of the hosts that pass.
	headroom := func(q placement.Query, pass func(host string) bool) *capacity.Count {
		var excluded []int64
		for tree := range s.Trees() {
			root := tree.Root()
			if refused(root.Name) != "" || !root.Shares && !pass(root.Name) {
				excluded = append(excluded, root.ID)
			}
		}
		n, err := capacity.Headroom(t.Context(), s.WithTrees(excluded, placement.TreeRows{}, s.Built()), q)
		if err != nil {
			return &capacity.Count{} // placement refuses the query: none fits
		}
		return n
	}
	zones, aggregates := map[string][]string{}, map[string][]string{}
	for _, service := range c.Compute.Services {
		zones[service.Zone] = append(zones[service.Zone], service.Host)
	}
	for _, a := range c.Compute.Aggregates {
		aggregates[a.Name] = a.Hosts
	}
	for name, server := range servers {
		r, err := novaquery.Request(server, c, request.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		want := headroom(r.Query, func(string) bool { return true })
		*counted++
		if want.Least > 0 {
			*positive++
		}
		check := func(metric string, want float64, labels ...string) {
			key := strings.Join(append(append([]string{metric}, labels...), name), " ")
			if n, ok := got[key]; !ok || n != want {
				t.Errorf("%s is %v (%v), want %v", key, n, ok, want)
			}
		}
		check("berth_cloud_flavor_slots", float64(want.Least))
		check("berth_cloud_flavor_slots_limit", float64(want.Most))
		if n := got["berth_cloud_flavor_slots_unfragmented "+name]; n < float64(want.Least) {
			t.Errorf("%v of %s fit without fragmentation, and %d with it", n, name, want.Least)
		}
		for _, h := range want.Hosts {
			check("berth_cloud_host_flavor_slots", float64(h.Most), h.Name)
		}
		for zone, hosts := range zones {
			check("berth_cloud_zone_flavor_slots",
				float64(headroom(r.Query, func(host string) bool { return slices.Contains(hosts, host) }).Least), zone)
		}
		for aggregate, hosts := range aggregates {
			check("berth_cloud_aggregate_flavor_slots",
				float64(headroom(r.Query, func(host string) bool { return slices.Contains(hosts, host) }).Least), aggregate)
		}
	}
}

// pairsOf draws flavors with one port or two whose policies guarantee something, and adds their
// networks and policies to the records. It returns the servers that are counted by their names:
// those of the flavors alone, and those with ports as the network service would have them, with the
// pairs.
func pairsOf(
	t *rapid.T, c *cloud.Cloud, flavors []cloud.Flavor,
) (servers map[string]novaquery.Server, pairs []metrics.Pair) {
	servers = map[string]novaquery.Server{}
	for _, f := range flavors {
		servers[f.Name] = novaquery.Server{Flavor: f}
	}
	for _, physical := range []string{"net0", "net1", "nowhere"} {
		policy := cloudtest.UUID("policy of " + physical)
		c.Network.Networks = append(c.Network.Networks, cloud.NetworkOf{
			UUID: cloudtest.UUID("pair " + physical), Name: "pair-" + physical, Type: "vlan", Physical: physical, Policy: policy,
		})
	}
	for i, kbps := range []int64{10_000, 4_000_000, 20_000_000} { // the devices have 10,000,000
		id := cloudtest.UUID("policy of " + []string{"net0", "net1", "nowhere"}[i])
		c.Network.Policies = append(c.Network.Policies, cloud.QoSPolicy{
			UUID: id, Name: fmt.Sprint("rate-", kbps), Rules: []cloud.QoSRule{
				{UUID: cloudtest.UUID(id + " egress"), Type: "minimum_bandwidth", Direction: "egress", MinKbps: kbps},
				{UUID: cloudtest.UUID(id + " ingress"), Type: "minimum_bandwidth", Direction: "ingress", MinKbps: kbps},
			},
		})
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "pairs") {
		pair := metrics.Pair{Name: fmt.Sprint("pair", i), Flavor: rapid.SampledFrom(flavors).Draw(t, "of").Name}
		server := servers[pair.Flavor]
		for k := range rapid.IntRange(1, 2).Draw(t, "ports") {
			n := rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "network")
			network := c.Network.Networks[len(c.Network.Networks)-3+n]
			port := metrics.PairedPort{
				Network: network.Name, VNIC: rapid.SampledFrom([]string{"normal", "normal", "normal", "direct"}).Draw(t, "vnic"),
			}
			policy := c.Network.Policies[len(c.Network.Policies)-3+n]
			if own := rapid.IntRange(-1, 2).Draw(t, "policy"); own >= 0 {
				policy = c.Network.Policies[len(c.Network.Policies)-3+own]
				port.Policy = policy.Name
			}
			pair.Ports = append(pair.Ports, port)
			kbps, group := policy.Rules[0].MinKbps, cloudtest.UUID(fmt.Sprint("group ", i, k))
			server.Ports = append(slices.Clone(server.Ports), cloud.Port{
				UUID: cloudtest.UUID(fmt.Sprint("port ", i, k)), VNIC: port.VNIC,
				Request: &cloud.PortRequest{SameSubtree: []string{group}, Groups: []cloud.PortGroup{{
					ID:        group,
					Required:  []string{guarantee.PhysicalNetworkTrait(network.Physical), guarantee.VNICTypeTrait(port.VNIC)},
					Resources: map[string]int64{guarantee.EgressBandwidth: kbps, guarantee.IngressBandwidth: kbps},
				}}},
			})
		}
		servers[pair.Name] = server
		pairs = append(pairs, pair)
	}
	return servers, pairs
}

// A pair of something that does not exist, or has a name that others have too, has an error.
func TestUnknownPairs(t *testing.T) {
	c := audittest.Whole().Done()
	id := cloudtest.UUID("network")
	c.Network.Networks = []cloud.NetworkOf{
		{UUID: id, Name: "twice", Policy: "p1"},
		{UUID: cloudtest.UUID("other"), Name: "twice"},
		{UUID: "odd", Name: "odd"},
		{UUID: cloudtest.UUID("lost"), Name: "lost", Policy: "p2"},
	}
	c.Network.Policies = []cloud.QoSPolicy{{UUID: "p1", Name: "gold"}}
	list := []cloud.Flavor{cloudtest.FlavorSmall}
	for name, tc := range map[string]struct {
		flavor string
		port   metrics.PairedPort
		want   string
	}{
		"Flavor":      {"large", metrics.PairedPort{Network: id}, `there is no flavor "large"`},
		"Network":     {"small", metrics.PairedPort{Network: "none"}, `there is no network "none"`},
		"Twice":       {"small", metrics.PairedPort{Network: "twice"}, `the name "twice"; take the UUID`},
		"Odd":         {"small", metrics.PairedPort{Network: "odd"}, "the network odd"},
		"Policy":      {"small", metrics.PairedPort{Network: id, Policy: "silver"}, `there is no QoS policy "silver"`},
		"LostPolicy":  {"small", metrics.PairedPort{Network: "lost"}, `there is no QoS policy "p2"`},
		"ByNameAndID": {"small", metrics.PairedPort{Network: id, Policy: "gold"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pair := metrics.Pair{Name: "both", Flavor: tc.flavor, Ports: []metrics.PairedPort{tc.port}}
			queries, unknown := metrics.PairQueries(c, list, []metrics.Pair{pair}, request.Settings{}, "", "", nil)
			if tc.want == "" {
				if len(queries) != 1 || len(unknown) > 0 || queries[0].Name != "both" {
					t.Errorf("%v, %v", queries, unknown)
				}
				return
			}
			if len(queries) > 0 || len(unknown) != 1 || !strings.Contains(unknown[0].Error(), tc.want) {
				t.Errorf("%v, %v, want %q", queries, unknown, tc.want)
			}
		})
	}
	c.Network = nil
	if _, unknown := metrics.PairQueries(c, list, []metrics.Pair{{Flavor: "small", Ports: []metrics.PairedPort{{}}}},
		request.Settings{}, "", "", nil); len(unknown) != 1 {
		t.Errorf("without the network service: %v", unknown)
	}
}

// Where Nova considers the segments of routed networks, a pair has those of its networks.
func TestPairsInRoutedNetworks(t *testing.T) {
	c := audittest.Whole().Done()
	segment, aggregate := cloudtest.UUID("segment"), cloudtest.UUID("segment's hosts")
	c.Placement.Providers = append(c.Placement.Providers, cloud.Provider{
		UUID: segment, Name: "segment", Root: segment, Aggregates: []string{aggregate},
	})
	c.Placement.Sort()
	c.Network.Networks = []cloud.NetworkOf{{UUID: cloudtest.UUID("network"), Name: "net"}}
	pair := []metrics.Pair{{Name: "both", Flavor: "small", Ports: []metrics.PairedPort{{Network: "net", VNIC: "normal"}}}}
	var failure error
	count := func() ([]metrics.Query, []error) {
		return metrics.PairQueries(c, []cloud.Flavor{cloudtest.FlavorSmall}, pair, request.Settings{RoutedNetworks: true}, "",
			"", func(network string) ([]string, error) {
				if network != cloudtest.UUID("network") {
					t.Errorf("the segments of %s are requested", network)
				}
				return []string{segment}, failure
			})
	}
	queries, unknown := count()
	if len(unknown) > 0 || !strings.Contains(fmt.Sprintf("%+v", queries[0].Query), aggregate) {
		t.Errorf("%+v, %v", queries, unknown)
	}
	failure = errors.New("no answer")
	if queries, unknown = count(); len(queries) > 0 || len(unknown) != 1 || !errors.Is(unknown[0], failure) {
		t.Errorf("%+v, %v", queries, unknown)
	}
}

// Sums are those of the records, which are added up here from what the API has, without a snapshot.
func TestSumsAreTheRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cloud.Cloud{Placement: cloudtest.Records(placementtest.Forest(t).Snapshot())}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"berth_cloud_providers": float64(len(c.Placement.Providers))}
		for i := range c.Placement.Providers {
			p := &c.Placement.Providers[i]
			root := c.Placement.Provider(p.Root)
			for class, inv := range p.Inventories {
				used := float64(p.Usages[class])
				capacity := max(0, float64(int64(float64(inv.Total-inv.Reserved)*inv.AllocationRatio)))
				sum := func(prefix string, whole bool, labels ...string) {
					suffix := " " + strings.Join(append(labels, class), " ")
					want[prefix+"resource_inventory"+suffix] += float64(inv.Total)
					want[prefix+"resource_reserved"+suffix] += float64(inv.Reserved)
					want[prefix+"resource_used"+suffix] += used
					want[prefix+"resource_free"+suffix] += max(0, capacity-used)
					if whole {
						want[prefix+"resource_capacity"+suffix] += capacity
						want[prefix+"resource_largest_free"+
							suffix] = max(want[prefix+"resource_largest_free"+suffix], largest(inv, p.Usages[class]))
					}
				}
				sum("berth_cloud_", true)
				sum("berth_cloud_host_", false, root.Name)
				for _, a := range root.Aggregates {
					sum("berth_cloud_aggregate_", true, a)
				}
			}
		}
		got := compute(t, s, c, metrics.Options{})
		for key, n := range want {
			if got[key] != n {
				t.Errorf("%s is %v, want %v", key, got[key], n)
			}
			delete(got, key)
		}
		for key, n := range got {
			t.Errorf("%s is %v, which the records do not have", key, n)
		}
	})
}

// largest tries amounts, from the biggest that there can be.
func largest(inv cloud.Inventory, used int64) float64 {
	rules := placement.Inventory(inv)
	for n := min(inv.MaxUnit, max(rules.Capacity()-used, 0)); n > 0; n-- {
		if rules.Admits(n) && rules.Fits(used, n) {
			return float64(n)
		}
	}
	return 0
}

// The state of the services of a cloud that is known.
func TestServices(t *testing.T) {
	b := audittest.Whole()
	c := b.Done()
	c.Compute.Services[0].State = "down"
	c.Network.Agents[0].Alive = false
	unsynced := false
	c.Network.Agents[1].Synced = &unsynced
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	projects := &cloud.Projects{Omitted: 3, List: []cloud.Project{
		{
			UUID: cloudtest.Project, Name: "shop", Domain: "default",
			Quotas: map[string]int64{"instances": -1, "cores": 8, "ram": 4096},
			Limits: map[string]int64{"VCPU": 64, "DISK_GB": -1},
		},
		{UUID: "p2"},
	}}
	b.At("lonely").Status = "SOFT_DELETED"
	got := compute(t, s, c, metrics.Options{OSCapacity: true, OpenStackExporter: true, Projects: projects})
	servers := 0.0
	for i := range c.Compute.Servers {
		if c.Compute.Servers[i].Status != "SOFT_DELETED" {
			servers++
		}
	}
	infinite := math.Inf(1)
	for key, want := range map[string]float64{
		"berth_cloud_hosts enabled up":                                         4,
		"berth_cloud_hosts enabled down":                                       1,
		"berth_cloud_hosts disabled up":                                        1,
		"berth_cloud_hosts disabled down":                                      0,
		"berth_cloud_host_up " + c.Compute.Services[0].Host:                    0,
		"berth_cloud_host_enabled cn3":                                         0,
		"berth_cloud_host_enabled cn1":                                         1,
		"berth_cloud_host_info cn1 nova":                                       1,
		"berth_cloud_servers SHELVED":                                          1,
		"berth_cloud_servers SHELVED_OFFLOADED":                                2,
		"berth_cloud_agents " + c.Network.Agents[0].Type + " dead":             1,
		"berth_cloud_agents_unsynced " + c.Network.Agents[1].Type:              1,
		"berth_cloud_consumers":                                                float64(len(c.Placement.Consumers)),
		"openstack_placement_resource_total cn1 VCPU":                          64,
		"openstack_placement_resource_allocation_ratio cn1 VCPU":               4,
		"openstack_hypervisor_placement_allocatable_capacity cn1 VCPU":         256,
		"berth_cloud_host_resource_inventory cn1 " + guarantee.EgressBandwidth: 30000000,
		"berth_cloud_aggregate_resource_inventory fast VCPU":                   192,
		"berth_cloud_zone_resource_inventory nova VCPU":                        384,

		"berth_cloud_projects_omitted":                                        3,
		"berth_cloud_project_info " + cloudtest.Project + " shop default":     1,
		"berth_cloud_project_limit " + cloudtest.Project + " VCPU":            64,
		"berth_cloud_project_limit " + cloudtest.Project + " DISK_GB":         infinite,
		"berth_cloud_project_quota_limit " + cloudtest.Project + " instances": infinite,
		"berth_cloud_project_quota_limit " + cloudtest.Project + " cores":     8,
		"berth_cloud_project_quota_used " + cloudtest.Project + " instances":  servers,
		"berth_cloud_project_quota_used " + cloudtest.Project + " cores":      servers * float64(cloudtest.FlavorSmall.VCPUs),
		"berth_cloud_project_quota_used " + cloudtest.Project + " ram":        servers * float64(cloudtest.FlavorSmall.RAM),
		"berth_cloud_project_quota_used p2 ram":                               0,
		"openstack_project_quota " + cloudtest.Project + " shop CPUS":         8,
		"openstack_project_quota " + cloudtest.Project + " shop MEMORY_MB":    4096,
	} {
		if n, ok := got[key]; !ok || n != want {
			t.Errorf("%s is %v (%v), want %v", key, n, ok, want)
		}
	}
	used, project := 0.0, got["berth_cloud_project_used "+cloudtest.Project+" VCPU"]
	for _, consumer := range c.Placement.Consumers {
		for _, amounts := range consumer.Allocations {
			used += float64(amounts["VCPU"])
		}
	}
	if project != used || got["openstack_project_usage VCPU "+cloudtest.Project+" shop"] != used {
		t.Errorf("the project uses %v VCPU, want %v", project, used)
	}
	for key := range got {
		if strings.HasPrefix(key, "berth_cloud_project_info p2") || strings.HasPrefix(key, "berth_cloud_project_limit p2") ||
			strings.HasPrefix(key, "berth_cloud_project_quota_limit p2") {
			t.Errorf("there is %s, which was not read", key)
		}
	}
	projects.List = projects.List[1:]
	for key := range compute(t, s, c, metrics.Options{OSCapacity: true, Projects: projects}) {
		if strings.Contains(key, cloudtest.Project) {
			t.Errorf("there is %s, and the project is omitted", key)
		}
	}
}

// Each fault of the audit is counted with its code, and codes without findings are 0.
func TestFindings(t *testing.T) {
	for _, fault := range audittest.Faults {
		c := audittest.Copied(audittest.Whole().Done())
		if !fault.InjectInto(c) {
			t.Fatal("the fault does not apply to the cloud")
		}
		want := map[string]float64{}
		r := audit.Check(index.New(c), audit.Options{})
		for _, f := range r.Findings {
			want[fmt.Sprintf("berth_cloud_audit_findings %s %s", f.Code, f.Severity)]++
		}
		s, err := c.Snapshot()
		if err != nil {
			s = nil // records that contradict each other have no snapshot
		}
		findings := 0
		for key, n := range compute(t, s, c, metrics.Options{}) {
			if strings.HasPrefix(key, "berth_cloud_audit_findings ") {
				findings++
				if n != want[key] {
					t.Errorf("%s is %v, want %v", key, n, want[key])
				}
				delete(want, key)
			}
		}
		if len(want) > 0 || findings < 20 {
			t.Errorf("%d codes; not counted: %v", findings, want)
		}
	}
}

// What was not read is absent, and not 0.
func TestAbsent(t *testing.T) {
	whole := audittest.Whole().Done()
	for _, test := range []struct {
		name    string
		cut     func(c *cloud.Cloud)
		absent  []string
		present string
	}{
		{"Placement", func(c *cloud.Cloud) { c.Placement = nil }, []string{
			"berth_cloud_resource_", "berth_cloud_flavor_", "berth_cloud_project_", "berth_cloud_consumers",
			"berth_cloud_audit_findings orphaned",
		}, "berth_cloud_hosts"},
		{
			"Consumers", func(c *cloud.Cloud) { c.Placement.Consumers = nil },
			[]string{"berth_cloud_project_", "berth_cloud_consumers"},
			"berth_cloud_resource_used",
		},
		{
			"Compute", func(c *cloud.Cloud) { c.Compute = nil },
			[]string{"berth_cloud_hosts", "berth_cloud_host_up", "berth_cloud_servers", "berth_cloud_zone_"},
			"berth_cloud_resource_used",
		},
		{"Network", func(c *cloud.Cloud) { c.Network = nil }, []string{"berth_cloud_agents"}, "berth_cloud_hosts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := audittest.Copied(whole)
			test.cut(c)
			var s *snapshot.Snapshot
			if c.Placement != nil {
				var err error
				if s, err = c.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			got := compute(t, s, c, metrics.Options{
				Queries: metrics.FlavorQueries(c, []cloud.Flavor{cloudtest.FlavorSmall}, request.Settings{}, "", ""),
			})
			present := false
			for key := range got {
				present = present || strings.HasPrefix(key, test.present)
				for _, prefix := range test.absent {
					if strings.HasPrefix(key, prefix) {
						t.Errorf("there is %s", key)
					}
				}
			}
			if !present {
				t.Errorf("there is no %s", test.present)
			}
		})
	}
}

// The text is what Prometheus reads, and its linter finds nothing in Berth's own names.
func TestText(t *testing.T) {
	b := audittest.Whole()
	b.Aggregate("a \"name\"\nof \\ two lines", "cn1")
	c := b.Done()
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	families, err := metrics.Compute(t.Context(), s, c, metrics.Options{
		Queries:     metrics.FlavorQueries(c, []cloud.Flavor{cloudtest.FlavorSmall}, request.Settings{}, "", ""),
		SlotsByHost: true,
		Projects: &cloud.Projects{List: []cloud.Project{{
			UUID: cloudtest.Project, Name: "shop", Quotas: map[string]int64{"ram": -1}, Limits: map[string]int64{"VCPU": 1},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := metrics.Write(&text, families); err != nil {
		t.Fatal(err)
	}
	if want := `berth_cloud_aggregate_resource_inventory{aggregate="a \"name\"\nof \\ two lines",resource_class="VCPU"} ` +
		`64` + "\n"; !strings.Contains(
		text.String(), want) {
		t.Errorf("the text lacks %s", want)
	}
	problems, err := promlint.New(&text).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	written := map[string]bool{}
	for _, f := range families {
		written[f.Name] = true
	}
	for _, d := range metrics.Described() {
		if strings.HasPrefix(d.Name, "berth_") && !written[d.Name] {
			t.Errorf("%s is not in a cloud that has all", d.Name)
		}
	}
}
