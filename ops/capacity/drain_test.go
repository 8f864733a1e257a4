package capacity_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// allocations are what a candidate takes, as a plan and records have it.
func allocations(s *snapshot.Snapshot, c candidates.Candidate) map[string]map[string]int64 {
	all := map[string]map[string]int64{}
	for _, u := range c.Uses {
		amounts := map[string]int64{}
		for _, a := range u.Amounts {
			amounts[s.ClassName(a.Class)] = a.Amount
		}
		all[string(u.Provider.UUID)] = amounts
	}
	return all
}

// populated draws a small cloud with servers, some of them in server groups, and the query that
// each was placed by.
func populated(t *rapid.T) (*placementtest.Builder, *cloud.Cloud, map[string]placement.Query) {
	b := placementtest.Forest(t)
	queries := map[string]placement.Query{}
	var consumers []cloud.Consumer
	var servers []cloud.Server
	for i := range rapid.IntRange(1, 5).Draw(t, "consumers") {
		s, q := b.Snapshot(), placementtest.Question(t, b)
		for g := range q.Groups {
			q.Groups[g].InTree = ""
		}
		q.Flat = false
		r, err := candidates.Search(s, q)
		if err != nil {
			continue
		}
		skip := rapid.IntRange(0, 3).Draw(t, "skip")
		for c := range r.All() {
			if skip--; skip >= 0 {
				continue
			}
			consumer := cloud.Consumer{UUID: fmt.Sprintf("c%d", i), Type: "INSTANCE", Allocations: allocations(s, c)}
			if len(consumer.Allocations) > 0 {
				b = claim(b, c)
				consumers = append(consumers, consumer)
				servers = append(servers, cloud.Server{UUID: consumer.UUID, Node: c.Anchor.Root().Name})
				queries[consumer.UUID] = q
			}
			break
		}
	}
	c := &cloud.Cloud{Placement: cloudtest.Records(b.Snapshot())}
	c.Placement.Consumers = append([]cloud.Consumer{}, consumers...)
	c.Compute = &cloud.Compute{Servers: servers, Groups: make([]cloud.ServerGroup, 3)}
	for i := range c.Compute.Groups {
		g := &c.Compute.Groups[i]
		g.UUID, g.Policy = fmt.Sprint("g", i), rapid.SampledFrom([]string{
			"anti-affinity", "anti-affinity", "affinity", "soft-affinity", "soft-anti-affinity",
		}).Draw(
			t, "policy")
		g.Name = g.UUID
		if g.Policy == "anti-affinity" {
			g.Rules.MaxPerHost = rapid.IntRange(0, 2).Draw(t, "most")
		}
	}
	for _, s := range servers {
		if i := rapid.IntRange(-1, 2).Draw(t, "group"); i >= 0 {
			c.Compute.Groups[i].Members = append(c.Compute.Groups[i].Members, s.UUID)
		}
	}
	return b, c, queries
}

// taken reports whether Nova's scheduler would take a host for a server, by the server groups and
// where the servers are.
func taken(c *cloud.Cloud, hosts map[string]string, server, host string) bool {
	for _, g := range c.Compute.Groups {
		if !slices.Contains(g.Members, server) {
			continue
		}
		count := 0
		for _, member := range g.Members {
			if hosts[member] == host {
				count++
			}
		}
		if g.Policy == "affinity" && count == 0 || g.Policy == "anti-affinity" && count >= max(1, g.Rules.MaxPerHost) {
			return false
		}
	}
	return true
}

// nodes is where the servers of a cloud are.
func nodes(c *cloud.Cloud) map[string]string {
	hosts := map[string]string{}
	for _, s := range c.Compute.Servers {
		hosts[s.UUID] = s.Node
	}
	return hosts
}

// move applies a move to a cloud, and fails the test when it is no candidate there, or goes to the
// host that is emptied.
func move(t *rapid.T, b *placementtest.Builder, host string, h capacity.Consumer, m capacity.Move, confirm bool) {
	s := b.Snapshot()
	match := false
	for c := range search(t, s, h.Query).All() {
		if match = cmp.Equal(allocations(s, c), m.Allocations); match {
			break
		}
	}
	if !match {
		t.Fatalf("%s has no candidate %v", h.UUID, m.Allocations)
	}
	use := func(all map[string]map[string]int64, sign int64) {
		for uuid, amounts := range all {
			for class, n := range amounts {
				id, _ := s.Class(class)
				b.Use(uuid, id, sign*n)
			}
		}
	}
	for uuid := range m.Allocations {
		if _, tree := s.Provider(placement.UUID(uuid)); tree.Root().Name == host {
			t.Fatalf("%s moves to %s, which is to be emptied", h.UUID, uuid)
		}
	}
	use(m.Allocations, 1)
	if confirm {
		use(h.Shared, -1)
	}
}

// feasible reports by brute force whether all consumers have a place, in the order of the list; the
// second result is false when that takes too long.
func feasible(
	t *rapid.T, c *cloud.Cloud, hosts map[string]string, b *placementtest.Builder, host string,
	consumers []capacity.Consumer, steps *int,
) (bool, bool) {
	if len(consumers) == 0 {
		return true, true
	}
	me := consumers[0].UUID
	s := b.Snapshot()
	for candidate := range search(t, s, consumers[0].Query).All() {
		if *steps--; *steps < 0 {
			return false, false
		}
		// A group without resources takes nothing, and may be mapped to a sharing provider of the
		// host all the same.
		to := candidate.Anchor.Root().Name
		inside := to == host
		for _, providers := range candidate.Mappings {
			for _, p := range providers {
				_, tree := s.Provider(p.UUID)
				inside = inside || tree.Root().Name == host
			}
		}
		if inside || !taken(c, hosts, me, to) {
			continue
		}
		destinations := maps.Clone(hosts)
		destinations[me] = to
		if ok, known := feasible(t, c, destinations, claim(b, candidate), host, consumers[1:], steps); ok || !known {
			return ok, known
		}
	}
	return false, true
}

// Plans can be carried out move by move on the snapshot, as Nova's scheduler takes hosts for
// servers in groups, and there is one for all where trying everything finds one.
func TestPlansCanBeCarriedOut(t *testing.T) {
	whole, stuck, grouped, distance := 0, 0, 0, 0
	property := func(rt *rapid.T) {
		b, c, queries := populated(rt)
		s := b.Snapshot()
		_, host := s.Provider("t0")
		consumers, _, err := capacity.Consumers(c, s, host, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if known := rapid.Bool().Draw(rt, "known"); known { // what they request, not only what they have
			for i := range consumers {
				consumers[i].Query = queries[consumers[i].UUID]
			}
		}
		plan, err := capacity.Drain(rt.Context(), s, host, consumers, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if len(plan.Moves)+len(plan.Unplaceable) != len(consumers) {
			rt.Fatalf("%d moves and %d stuck of %d", len(plan.Moves), len(plan.Unplaceable), len(consumers))
		}
		byUUID := map[string]capacity.Consumer{}
		for _, h := range consumers {
			byUUID[h.UUID] = h
		}
		after, hosts := b.Clone(), nodes(c)
		for _, m := range plan.Moves {
			move(rt, after, "t0", byUUID[m.Consumer], m, plan.Confirm)
			if !taken(c, hosts, m.Consumer, m.To) {
				rt.Errorf("%s moves to %s, which its group forbids; servers are at %v", m.Consumer, m.To, hosts)
			}
			hosts[m.Consumer] = m.To
			if byUUID[m.Consumer].Group != nil {
				distance++
			}
		}
		switch {
		case len(consumers) == 0:
			return
		case len(plan.Unplaceable) == 0:
			whole++
			return
		}
		stuck++
		steps := 300
		if ok, known := feasible(rt, c, nodes(c), b.Clone(), "t0", consumers, &steps); known && ok && plan.Proven {
			rt.Errorf("%d are stuck, and all have a place", len(plan.Unplaceable))
		}
		for _, o := range plan.Unplaceable {
			if o.Reason == "" {
				rt.Errorf("%s is stuck without a reason", o.Consumer)
			}
			if strings.Contains(o.Reason, "its server group") {
				grouped++
			}
		}
	}
	// a short run has few clouds
	for rounds := 0; rounds == 0 || rounds < 20 && (whole == 0 || stuck == 0 || grouped == 0 || distance == 0); rounds++ {
		rapid.Check(t, property)
	}
	if whole == 0 || stuck == 0 || grouped == 0 || distance == 0 {
		t.Errorf("%d hosts could be emptied and %d not, %d servers had no place for their group, %d with one moved", whole,
			stuck, grouped, distance)
	}
}

// records returns the records of a cloud with consumers.
func records(b *placementtest.Builder, consumers ...cloud.Consumer) *cloud.Cloud {
	c := &cloud.Cloud{Placement: cloudtest.Records(b.Snapshot())}
	c.Placement.Consumers = consumers
	return c
}

// vms returns consumers with processors of a host.
func vms(b *placementtest.Builder, host string, amounts ...int64) (list []cloud.Consumer) {
	for i, n := range amounts {
		b.Use(host, b.Class("VCPU"), n)
		list = append(list, cloud.Consumer{
			UUID: fmt.Sprintf("vm%d", i), Allocations: map[string]map[string]int64{host: {"VCPU": n}},
		})
	}
	return list
}

// emptied plans to empty cn1 and returns the moves and what is stuck as text.
func emptied(t *testing.T, b *placementtest.Builder, c *cloud.Cloud) (string, *capacity.Plan) {
	s := b.Snapshot()
	_, host := s.ProviderNamed("cn1")
	consumers, waiting, err := capacity.Consumers(c, s, host, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := capacity.Drain(t.Context(), s, host, consumers, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, m := range plan.Moves {
		text = append(text, m.Consumer+" to "+m.To)
	}
	for _, o := range plan.Unplaceable {
		text = append(text, o.Consumer+" stuck: "+o.Reason)
	}
	for _, w := range waiting {
		text = append(text, w.Consumer+" waits: "+w.Reason)
	}
	return strings.Join(text, "; "), plan
}

// The first choices leave no place for the last server; other choices do.
func TestEmptyTriesOtherChoices(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 20)
	b.Provider("cn2").Inventory("VCPU", 7)
	b.Provider("cn3").Inventory("VCPU", 6)
	b.Provider("cn4").Inventory("VCPU", 99).Traits("COMPUTE_STATUS_DISABLED")
	// The tightest place for 4 is cn3, and then there is none for the last 3. On cn2 it leaves one.
	if got, _ := emptied(t, b,
		records(b, vms(b, "cn1", 4, 3, 3, 3)...)); got != "vm0 to cn2; vm1 to cn2; vm2 to cn3; vm3 to cn3" {
		t.Errorf("%s", got)
	}
	got, plan := emptied(t, b, records(b, vms(b, "cn1", 4, 4, 3, 3)...))
	if !strings.Contains(got, "vm3 stuck: 3 hosts with 3 providers; VCPU: 1 host (1 provider) remaining; "+
		"2 hosts (2 providers) dropped: no free capacity for VCPU:3; traits of the host drop 1 host") ||
		!plan.Proven || len(plan.Unplaceable) != 1 || !plan.Unplaceable[0].FitsAlone {
		t.Errorf("%s, proven %v", got, plan.Proven)
	}
}

// Servers go where their groups let them. What a group forbids is the reason for those that stay.
func TestEmptyWithServerGroups(t *testing.T) {
	const (
		full = " stuck: its server group g (anti-affinity, 1 for each host at most) has as many on each host that fits, " +
			"or gets them by the moves above"
		all = " stuck: all servers of its server group g (affinity) are on cn1, and Nova moves one only to a host where " +
			"another one is"
		absent = " stuck: no host that fits has another server of its server group g (affinity), and Nova moves one only " +
			"to such a host"
	)
	for name, tc := range map[string]struct {
		policy string
		most   int
		on     []string // nodes of the members; those on cn1 are moved
		moving string   // the node that the last one leaves
		want   string
	}{
		"NoGroup":      {want: "vm0 to cn2; vm1 to cn2"},
		"Soft":         {"soft-anti-affinity", 0, []string{"cn1", "cn1", "cn2"}, "", "vm0 to cn2; vm1 to cn2"},
		"Apart":        {"anti-affinity", 0, []string{"cn1", "cn1"}, "", "vm0 to cn2; vm1 to cn3"},
		"OneElsewhere": {"anti-affinity", 0, []string{"cn1", "", "cn2"}, "", "vm0 to cn3; vm1 to cn3"},
		"OneOffloaded": {"anti-affinity", 0, []string{"cn1", "cn1", ""}, "", "vm0 to cn2; vm1 to cn3"},
		"NoHost": {
			"anti-affinity", 0, []string{"cn1", "cn1", "cn2"}, "", "vm0 to cn3; vm1" + full + " (fits alone)",
		},
		"NoHostAlone":     {"anti-affinity", 0, []string{"cn1", "", "cn2", "cn3"}, "", "vm1 to cn2; vm0" + full},
		"TwoOnAHost":      {"anti-affinity", 2, []string{"cn1", "cn1", "cn2"}, "", "vm0 to cn2; vm1 to cn3"},
		"OneLeaves":       {"anti-affinity", 0, []string{"cn1", "", "cn3"}, "cn2", "vm1 to cn2; vm0" + full},
		"Together":        {"affinity", 0, []string{"cn1", "cn1"}, "", "vm0" + all + "; vm1" + all},
		"OthersElsewhere": {"affinity", 0, []string{"cn1", "cn1", "cn3"}, "", "vm0 to cn3; vm1 to cn3"},
		"OthersWhereFull": {"affinity", 0, []string{"cn1", "", "cn4"}, "", "vm1 to cn2; vm0" + absent},
	} {
		t.Run(name, func(t *testing.T) {
			b := placementtest.NewBuilder()
			b.Provider("cn1").Inventory("VCPU", 20)
			b.Provider("cn2").Inventory("VCPU", 7)
			b.Provider("cn3").Inventory("VCPU", 8)
			b.Provider("cn4").Inventory("VCPU", 1)
			c := records(b, vms(b, "cn1", 2, 2)...)
			c.Compute = &cloud.Compute{}
			if tc.policy != "" {
				c.Compute.Groups = []cloud.ServerGroup{{UUID: "g", Name: "g", Policy: tc.policy}}
				c.Compute.Groups[0].Rules.MaxPerHost = tc.most
			}
			for i, node := range tc.on {
				vm := cloud.Server{UUID: fmt.Sprint("vm", i), Node: node}
				if i < 2 && node == "" { // no member
					vm.Node = "cn1"
				} else {
					c.Compute.Groups[0].Members = append(c.Compute.Groups[0].Members, vm.UUID)
				}
				c.Compute.Servers = append(c.Compute.Servers, vm)
				if i == len(tc.on)-1 && tc.moving != "" {
					c.Compute.Migrations = []cloud.Migration{{
						UUID: "m", Server: vm.UUID, Status: "finished", SourceNode: tc.moving, DestNode: node,
					}}
				}
			}
			got, plan := emptied(t, b, c)
			for _, o := range plan.Unplaceable {
				if o.FitsAlone {
					got += " (fits alone)"
				}
			}
			if got != tc.want || !plan.Proven {
				t.Errorf("proven %v: %s\nwant %s", plan.Proven, got, tc.want)
			}
		})
	}
}

// The same amounts are taken of hosts by servers of a group and by others: what cannot be done
// after the ones can be after the others.
func TestEmptyTriesOtherServersOfTheGroup(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 20)
	b.Provider("cn2").Inventory("VCPU", 3).Inventory("MEMORY_MB", 65536).Traits("CUSTOM_GOLD")
	b.Provider("cn3").Inventory("VCPU", 3).Inventory("MEMORY_MB", 65536)
	group := &capacity.Group{UUID: "g", Name: "g", Most: 1}
	gold := server(1)
	gold.Groups[0].Required = [][]string{{"CUSTOM_GOLD"}}
	s := b.Snapshot()
	_, host := s.ProviderNamed("cn1")
	plan, err := capacity.Drain(t.Context(), s, host, []capacity.Consumer{
		{UUID: "a", Query: server(2), Group: group}, {UUID: "b", Query: server(2)}, {UUID: "c", Query: gold, Group: group},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The first place for a is cn2, where c has to be. With b there instead, as much is taken of
	// each host.
	var targets []string
	for _, m := range plan.Moves {
		targets = append(targets, m.Consumer+" to "+m.To)
	}
	if got := strings.Join(targets, "; "); got != "a to cn3; b to cn2; c to cn2" {
		t.Errorf("%s, stuck %+v", got, plan.Unplaceable)
	}
}

// A port's amounts go to a device of the same physical network, and a disk on shared storage is
// held twice until the move is confirmed.
func TestEmptyFromAllocations(t *testing.T) {
	b := placementtest.NewBuilder()
	for _, name := range []string{"cn1", "cn2"} {
		host(b, name, 8, 1000, 1000)
	}
	b.Provider("cn2/agent/eth2").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 9000).Traits("CUSTOM_PHYSNET_B",
		"CUSTOM_VNIC_TYPE_NORMAL")
	port := cloud.Consumer{UUID: "vm", Allocations: map[string]map[string]int64{
		"cn1": {"VCPU": 2, "MEMORY_MB": 512}, "cn1/agent/eth0": {"NET_BW_EGR_KILOBIT_PER_SEC": 900},
	}}
	got, plan := emptied(t, b, records(b, port))
	if got != "vm to cn2" || !slices.Contains(slices.Sorted(maps.Keys(plan.Moves[0].Allocations)), "cn2/agent/eth0") ||
		!strings.Contains(plan.Moves[0].Assumed, "no server") {
		t.Errorf("%s: %+v", got, plan.Moves)
	}
	b = placementtest.NewBuilder()
	b.Provider("pool").Shares().Aggregates("x").Inventory("DISK_GB", 50, func(r *placement.InventoryRow) { r.Used = 40 })
	for _, name := range []string{"cn1", "cn2"} {
		b.Provider(name).Aggregates("x").Inventory("VCPU", 8)
	}
	disk := func(uuid string) cloud.Consumer {
		return cloud.Consumer{
			UUID: uuid, Allocations: map[string]map[string]int64{"cn1": {"VCPU": 1}, "pool": {"DISK_GB": 10}},
		}
	}
	if got, plan = emptied(t, b, records(b, disk("a"), disk("b"))); got != "a to cn2; b to cn2" || !plan.Confirm {
		t.Errorf("%s, confirm %v", got, plan.Confirm)
	}
	if got, plan = emptied(t, b, records(b, disk("a"))); got != "a to cn2" || plan.Confirm {
		t.Errorf("%s, confirm %v", got, plan.Confirm)
	}
}

// Servers whose flavor and ports are known are requested by these; migrations, and servers under
// way, are not moved.
func TestHolders(t *testing.T) {
	b := placementtest.NewBuilder()
	for _, name := range []string{"cn1", "cn2", "cn3"} {
		b.Provider(name).Inventory("VCPU", 8)
	}
	c := records(b, vms(b, "cn1", 1, 1, 1, 1, 1)...)
	c.Placement.Consumers[4].Type = "MIGRATION"
	c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{
		UUID: "other", Allocations: map[string]map[string]int64{"cn2": {"VCPU": 1}},
	})
	c.Compute = &cloud.Compute{
		Servers: []cloud.Server{{UUID: "vm0", Name: "web"}, {UUID: "vm1", Name: "db"}, {UUID: "vm2", Name: "in"}},
		Migrations: []cloud.Migration{
			{UUID: "vm3", Server: "gone", Status: "finished", SourceNode: "cn1", DestNode: "cn3"},
			{UUID: "m", Server: "vm2", Status: "running", SourceNode: "cn2", DestNode: "cn1"},
			{UUID: "n", Server: "vm1", Status: "error", SourceNode: "cn1", DestNode: "cn3"}, // it is over
		},
	}
	s := b.Snapshot()
	_, tree := s.ProviderNamed("cn1")
	consumers, waiting, err := capacity.Consumers(c, s, tree, func(srv *cloud.Server) (placement.Query, error) {
		if srv.Name == "db" {
			return placement.Query{}, fmt.Errorf("its flavor is wrong")
		}
		return server(5), nil
	})
	if err != nil || len(consumers) != 2 || len(waiting) != 3 {
		t.Fatalf("%+v, waiting %+v, %v", consumers, waiting, err)
	}
	if diff := cmp.Diff(server(5), consumers[0].Query); diff != "" || consumers[0].Assumed != "" ||
		consumers[0].Name != "web" {
		t.Errorf("web: %+v (-want +got):\n%s", consumers[0], diff)
	}
	if h := consumers[1]; !strings.HasPrefix(h.Assumed, "its flavor is wrong; ") ||
		h.Query.Groups[0].Resources[0].Amount != 1 {
		t.Errorf("db: %+v", h)
	}
	for i, want := range []string{
		"moving from cn2 to cn1 (running)", "migration of server gone to cn3 (finished)", "do not have",
	} {
		if !strings.Contains(waiting[i].Reason, want) {
			t.Errorf("%+v, want %s", waiting[i], want)
		}
	}
	c.Placement.Consumers = nil
	if _, _, err := capacity.Consumers(c, s, tree, nil); err == nil {
		t.Error("records without allocations make a plan")
	}
}
