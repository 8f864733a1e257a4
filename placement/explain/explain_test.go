package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// All numbers of an explanation are those that a search by the book gives, a change helps as it
// says, and none that would help is missing: neither one without a constraint nor a greater amount.
func TestExplanationsAreRight(t *testing.T) {
	helped, checked := map[ChangeKind]int{}, 0
	rounds := 100 // of 100 queries each
	if testing.Short() {
		rounds = 5
	}
	property := func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), question(rt, b)
		checked++
		e, err := Explain(t.Context(), w, q, Options{Near: 3})
		if err != nil {
			rt.Fatal(err)
		}
		_, fault := placementtest.SearchSlow(w, q)
		fitting := placementtest.AnchorsSlow(w, q)
		if e.Refused != fault || e.Fitting != len(fitting) || e.Hosts != w.TreeCount() {
			rt.Fatalf("refused %q, %d hosts of %d; by the book %q, %d of %d", e.Refused, e.Fitting, e.Hosts, fault, len(fitting),
				w.TreeCount())
		}
		for _, c := range e.Changes {
			helped[c.Kind]++
			hosts := placementtest.AnchorsSlow(w, c.query())
			if c.Hosts != len(hosts) || c.Hosts <= len(fitting) {
				rt.Errorf("%d hosts if %s; %d by the book, and %d without", c.Hosts, c, len(hosts), len(fitting))
			}
			for _, name := range c.Names {
				if _, tree := w.ProviderNamed(name); !hosts[tree] || fitting[tree] {
					rt.Errorf("%s fits without the change %v, and with it %v", name, fitting[tree], hosts[tree])
				}
			}
		}
		for _, c := range relaxed(q) {
			if n := len(placementtest.AnchorsSlow(w, c.query())); n > len(fitting) &&
				!slices.ContainsFunc(e.Changes, func(o Change) bool {
					return c.Kind == o.Kind && c.Group == o.Group && c.Name == o.Name && o.Hosts == n
				}) {
				rt.Errorf("there is no change %s, with which %d hosts fit", c, n)
			}
		}
		checkAmounts(rt, w, q, fitting, e)
		for _, h := range e.Near {
			if _, tree := w.ProviderNamed(h.Name); len(h.Misses) == 0 || fitting[tree] {
				rt.Errorf("%s is near, fits %v, misses %v", h.Name, fitting[tree], h.Misses)
			}
		}
		if want := min(3, len(slices.Collect(w.Trees()))-len(fitting)); fault == "" && len(e.Near) != want {
			rt.Errorf("%d hosts are near, want %d", len(e.Near), want)
		}
	}
	for range rounds {
		rapid.Check(t, property)
	}
	for _, kind := range changeOrder {
		if helped[kind] == 0 && checked >= 5000 {
			t.Errorf("no query of %d was helped by a change of kind %s", checked, kind)
		}
	}
}

// question draws a query with amounts that are often too much.
func question(t *rapid.T, b *placementtest.Builder) placement.Query {
	q := placementtest.Question(t, b)
	q.Flat = false
	q.Groups = q.Groups[:min(len(q.Groups), 3)]
	for i := range q.Groups {
		same := rapid.Bool().Draw(t, "same")
		for j := range q.Groups[i].Resources {
			q.Groups[i].Resources[j].Amount = rapid.Int64Range(1, 9).Draw(t, "much")
			if same {
				q.Groups[i].Resources[j].Amount = q.Groups[i].Resources[0].Amount
			}
		}
	}
	relevant := func(suffix string) bool {
		return slices.ContainsFunc(q.Groups, func(g placement.RequestGroup) bool { return g.Suffix == suffix })
	}
	var sets [][]string
	for _, set := range q.SameSubtrees {
		if set = slices.DeleteFunc(slices.Clone(set), func(s string) bool { return !relevant(s) }); len(set) > 0 {
			sets = append(sets, set)
		}
	}
	q.SameSubtrees = sets
	return q
}

// checkAmounts tries all smaller amounts of each class, and of all classes together in a group with
// a suffix that requests the same amount of each.
func checkAmounts(
	rt *rapid.T, w *snapshot.Snapshot, q placement.Query, fitting map[*snapshot.Tree]bool, e *Explanation,
) {
	for i, g := range q.Groups {
		same := true
		for _, requested := range g.Resources {
			checkAmount(rt, w, q, i, LowerAmount, []string{requested.Class}, requested.Amount, fitting, e)
			same = same && requested.Amount == g.Resources[0].Amount
		}
		if same && len(g.Resources) > 1 && g.Suffix != "" {
			var all []string
			for _, requested := range g.Resources {
				all = append(all, requested.Class)
			}
			checkAmount(rt, w, q, i, LowerAmounts, all, g.Resources[0].Amount, fitting, e)
		}
	}
}

// checkAmount tries all smaller amounts of some classes of a group.
func checkAmount(
	rt *rapid.T, w *snapshot.Snapshot, q placement.Query, group int, kind ChangeKind, classes []string, requested int64,
	fitting map[*snapshot.Tree]bool, e *Explanation,
) {
	g := q.Groups[group]
	greatest := map[*snapshot.Tree]int64{}
	hosts := map[int64]int{}
	for v := int64(1); v < requested; v++ {
		next := q
		next.Groups = slices.Clone(q.Groups)
		next.Groups[group].Resources = slices.Clone(g.Resources)
		for j := range g.Resources {
			if slices.Contains(classes, g.Resources[j].Class) {
				next.Groups[group].Resources[j].Amount = v
			}
		}
		anchors := placementtest.AnchorsSlow(w, next)
		hosts[v] = len(anchors)
		for tree := range anchors {
			if !fitting[tree] {
				greatest[tree] = v
			}
		}
	}
	var want []int64
	if len(greatest) > 0 {
		all := slices.Sorted(maps.Values(greatest))
		want = slices.Compact([]int64{all[len(all)-1], all[0]})
		want = slices.DeleteFunc(want, func(v int64) bool { return hosts[v] <= len(fitting) })
	}
	var got []int64
	for _, c := range e.Changes {
		if c.Kind == kind && c.Group == g.Suffix && c.Name == strings.Join(classes, ", ") {
			got = append(got, c.To)
		}
	}
	slices.SortFunc(got, func(a, b int64) int { return int(b - a) })
	if !slices.Equal(got, want) {
		rt.Errorf("amounts of %s in group %q instead of %d: %v, by trying all %v", classes, g.Suffix, requested, got, want)
	}
}

// What each constraint drops is counted among what the ones before it leave.
func TestGroupsAreCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), question(rt, b)
		q.Groups = q.Groups[:1]
		g := &q.Groups[0]
		g.Suffix, g.InTree, q.SameSubtrees, q.RootRequired, q.RootForbidden = "_0", "", nil, nil, nil
		for _, name := range append(slices.Concat(g.Required...), g.Forbidden...) {
			if _, ok := w.Trait(name); !ok {
				return // the search ends at the group, or is refused
			}
		}
		e, err := Explain(t.Context(), w, q, Options{})
		if err != nil || e.Refused != "" || len(e.Groups) == 0 {
			return
		}
		remaining := map[*snapshot.Provider]*snapshot.Tree{}
		for tree := range w.Trees() {
			for _, p := range tree.Providers {
				remaining[p] = tree
			}
		}
		want := Group{Suffix: "_0", Drops: []Drop{}}
		hosts := func() int {
			trees := map[*snapshot.Tree]bool{}
			for p, tree := range remaining {
				trees[tree] = true
				for other := range w.Trees() {
					trees[other] = trees[other] || p.Shares && slices.ContainsFunc(p.Aggregates, func(id placement.AggregateID) bool {
						return slices.ContainsFunc(other.Providers, func(o *snapshot.Provider) bool { return o.InAggregate(id) })
					})
				}
			}
			n := 0
			for _, has := range trees {
				if has {
					n++
				}
			}
			return n
		}
		drop := func(kind candidates.Constraint, keep func(*snapshot.Provider) bool) {
			providers := len(remaining)
			maps.DeleteFunc(remaining, func(p *snapshot.Provider, _ *snapshot.Tree) bool { return !keep(p) })
			if len(remaining) < providers {
				want.Drops = append(want.Drops, Drop{Kind: kind, Providers: providers - len(remaining)})
			}
		}
		for _, c := range g.Resources {
			class, _ := w.Class(c.Class)
			drop(candidates.NoInventory, func(p *snapshot.Provider) bool { return p.Inventory(class) != nil })
			drop(candidates.OutOfUnits, func(p *snapshot.Provider) bool { return p.Inventory(class).Admits(c.Amount) })
			drop(candidates.NoCapacity, func(p *snapshot.Provider) bool { return p.Inventory(class).HasFree(c.Amount) })
		}
		has := func(p *snapshot.Provider, name string) bool { id, ok := w.Trait(name); return ok && p.HasTrait(id) }
		drop(candidates.RequiredTraits, func(p *snapshot.Provider) bool {
			return !slices.ContainsFunc(g.Required, func(anyOf []string) bool {
				return !slices.ContainsFunc(anyOf, func(name string) bool { return has(p, name) })
			})
		})
		drop(candidates.ForbiddenTraits, func(p *snapshot.Provider) bool {
			return !slices.ContainsFunc(g.Forbidden, func(name string) bool { return has(p, name) })
		})
		member := func(p *snapshot.Provider, uuid placement.UUID) bool {
			id, ok := w.Aggregate(uuid)
			return ok && p.InAggregate(id)
		}
		drop(candidates.MemberOf, func(p *snapshot.Provider) bool {
			return !slices.ContainsFunc(g.MemberOf, func(anyOf []placement.UUID) bool {
				return !slices.ContainsFunc(anyOf, func(uuid placement.UUID) bool { return member(p, uuid) })
			})
		})
		drop(candidates.ForbiddenMemberOf, func(p *snapshot.Provider) bool {
			return !slices.ContainsFunc(g.NotMemberOf, func(uuid placement.UUID) bool { return member(p, uuid) })
		})
		want.Providers, want.Hosts = len(remaining), hosts()
		got := e.Groups[0]
		dropped := w.TreeCount()
		for i := range got.Drops {
			dropped -= got.Drops[i].Hosts
			got.Drops[i].Constraint, got.Drops[i].Hosts = "", 0
		}
		if diff := cmp.Diff(want, got); diff != "" || dropped != got.Hosts {
			rt.Errorf("%+v: %d hosts after all that are dropped; (-by the book +got):\n%s", q.Groups[0], dropped, diff)
		}
	})
}

// An explanation for people names numbers, hosts and what to change.
func TestText(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Trait("COMPUTE_STATUS_DISABLED")
	b.Trait("CUSTOM_PHYSNET_2")
	for i := range 4 {
		name := fmt.Sprintf("cn%d", i)
		host := b.Provider(name).Inventory("VCPU", 16, func(r *placement.InventoryRow) { r.Used = int64(i) })
		if i == 3 {
			host.Traits("COMPUTE_STATUS_DISABLED")
		}
		nic := b.Provider(name+"/eth0").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 1000_000, func(r *placement.InventoryRow) {
			r.Used = int64(i) * 300_000
		})
		if i != 1 {
			nic.Traits("CUSTOM_PHYSNET_2")
		}
	}
	q := placement.Query{
		RootForbidden: []string{"COMPUTE_STATUS_DISABLED"},
		Groups: []placement.RequestGroup{
			{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 16}}},
			{
				Suffix: "port", Required: [][]string{{"CUSTOM_PHYSNET_2"}},
				Resources: []placement.ClassAmount{{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 800_000}},
			},
		},
	}
	q.Groups[1].Resources[0].Amount = 1200_000
	port := q.Groups[1]
	e, err := Explain(t.Context(), b.Snapshot(), q, Options{Near: 2})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.Write(&text, nil); err != nil {
		t.Fatal(err)
	}
	want := `
No host fits; there are 4 hosts with 8 providers.

The group without suffix, VCPU: 1 host (1 provider) remaining
  4 providers dropped: no inventory of VCPU
  3 hosts (3 providers) dropped: no free capacity for VCPU:16

Group port: no host remains
  4 providers dropped: no inventory of NET_BW_EGR_KILOBIT_PER_SEC
  4 hosts (4 providers) dropped: no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:1200000

Traits of the host drop 1 host.
No host can serve each group by itself, and 0 all of them together.

With a single change:
  1 host would fit if 200000 NET_BW_EGR_KILOBIT_PER_SEC less were requested by group port (1000000 instead of 1200000): cn0
  1 host would fit if NET_BW_EGR_KILOBIT_PER_SEC were not requested by group port: cn0
  1 host would fit if group port were not there: cn0

What hosts lack that do not fit:
  cn0: group port: NET_BW_EGR_KILOBIT_PER_SEC:1200000 requested, 1000000 available on cn0/eth0 (0 of 1000000 used)
  cn1: VCPU:16 requested, 15 available on cn1 (1 of 16 used)
       group port: NET_BW_EGR_KILOBIT_PER_SEC:1200000 requested, 700000 available on cn1/eth0 (300000 of 1000000 used)
`
	if diff := cmp.Diff(want, "\n"+text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The same of one host, which is the beginning.
	if e, err = Explain(t.Context(), b.Snapshot(), q, Options{Host: "cn3"}); err != nil || len(e.Near) != 1 ||
		len(e.Near[0].Misses) != 3 {
		t.Errorf("cn3: %+v, %v", e.Near, err)
	}
	text.Reset()
	if err := e.Write(&text, nil); err != nil ||
		!strings.HasPrefix(text.String(), "cn3 does not fit:\n  the host has COMPUTE_STATUS_DISABLED\n  VCPU:16 requested") ||
		strings.Contains(text.String(), "What hosts lack") {
		t.Errorf("of cn3 it says, with the error %v:\n%s", err, text.String())
	}
	q.Groups = q.Groups[:1]
	if e, err = Explain(t.Context(), b.Snapshot(), q, Options{Host: "cn0/eth0"}); err != nil || !e.FitsHost() {
		t.Errorf("of a host that fits: %+v, %v", e, err)
	}
	text.Reset()
	if err := e.Write(&text, nil); err != nil ||
		!strings.HasPrefix(text.String(), "cn0 fits.\n\n1 host fits, of 4: cn0.\n") {
		t.Errorf("of cn0 it says, with the error %v:\n%s", err, text.String())
	}
	q.Groups = append(q.Groups, port)
	if e, err = Explain(t.Context(), b.Snapshot(), q, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err = Explain(t.Context(), b.Snapshot(), q, Options{Host: "cn9"}); err == nil {
		t.Error("a host that is not there is explained")
	}
	want = "no host remains for port: no free capacity for NET_BW_EGR_KILOBIT_PER_SEC:1200000; 1 host would fit if " +
		"200000 NET_BW_EGR_KILOBIT_PER_SEC less were requested by group port (1000000 instead of 1200000)"
	if got := e.Summary(); got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

// An amount that an inventory never gives in one allocation is no lack of capacity, whatever is
// free.
func TestOutOfUnits(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn0").Inventory("VCPU", 100, func(r *placement.InventoryRow) {
		r.MinUnit, r.MaxUnit, r.StepSize = 4, 8, 2
	})
	for amount, want := range map[int64]string{
		2:  "VCPU:2 requested, and cn0 offers at least 4 in one allocation",
		7:  "VCPU:7 requested, and cn0 offers multiples of 2 in one allocation",
		10: "VCPU:10 requested, and cn0 offers at most 8 in one allocation",
	} {
		q := placement.Query{
			Groups: []placement.RequestGroup{{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: amount}}}},
		}
		e, err := Explain(t.Context(), b.Snapshot(), q, Options{Near: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Near[0].Misses[0].String(); got != want || e.Constraint != "units" {
			t.Errorf("%d: %s (%s), want %s (units)", amount, got, e.Constraint, want)
		}
	}
}

// The summary advises to request less, and not to do without, even if that would help more hosts.
func TestSummaryPrefersSmallChanges(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("cn0").Inventory("VCPU", 8)
	b.Provider("cn1").Inventory("VCPU", 8)
	b.Provider("cn1/eth0").Inventory("NET_BW_EGR_KILOBIT_PER_SEC", 1000)
	q := placement.Query{Groups: []placement.RequestGroup{
		{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}}},
		{Suffix: "port", Resources: []placement.ClassAmount{{Class: "NET_BW_EGR_KILOBIT_PER_SEC", Amount: 1200}}},
	}}
	e, err := Explain(t.Context(), b.Snapshot(), q, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 host would fit if 200 NET_BW_EGR_KILOBIT_PER_SEC less were requested by group port (1000 instead of 1200)"
	if got := e.Summary(); !strings.HasSuffix(got, "; "+want) ||
		e.Changes[0].Kind != WithoutGroup && e.Changes[0].Kind != WithoutClass {
		t.Errorf("the summary is %q, want %q at its end; the changes are %v", got, want, e.Changes)
	}
}

// A host whose device lacks both directions of a guarantee is nearer than one without such a
// device, and has the numbers of both.
func TestNearHostsHaveAllNumbers(t *testing.T) {
	const egress, ingress = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"
	b := placementtest.NewBuilder()
	b.Provider("cn0").Inventory("VCPU", 8)
	b.Provider("cn1").Inventory("VCPU", 8)
	b.Provider("cn1/eth0").Inventory(egress, 1000).Inventory(ingress, 900)
	q := placement.Query{Groups: []placement.RequestGroup{
		{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}}},
		{Suffix: "port", Resources: []placement.ClassAmount{{Class: egress, Amount: 2000}, {Class: ingress, Amount: 2000}}},
	}}
	e, err := Explain(t.Context(), b.Snapshot(), q, Options{Near: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range e.Near {
		for _, m := range h.Misses {
			got = append(got, fmt.Sprintf("%s %s %s %d", h.Name, m.Kind, m.Class, m.Most))
		}
	}
	want := []string{
		"cn1 capacity " + egress + " 1000", "cn1 capacity " + ingress + " 900", "cn0 inventory " + egress + " 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what hosts lack (-want +got):\n%s", diff)
	}
}
