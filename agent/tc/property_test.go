package tc_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
)

func mac(last byte) tc.MAC { return tc.MAC{0x02, 0xbe, 0x47, 0, 0, last} }

var interfaces = []string{"eth0", "eth1", "eth2"}

// kbps is often the same, so that sums come out even, and sometimes absurd.
func kbps() *rapid.Generator[tc.Kbps] {
	return rapid.OneOf(
		rapid.SampledFrom([]tc.Kbps{0, 0, 1, 7, 1000, 100_000, 300_000, 500_000, 1_000_000}),
		rapid.Map(rapid.Int64Range(-10, 1<<33), func(n int64) tc.Kbps { return tc.Kbps(n) }),
	)
}

func port() *rapid.Generator[tc.Port] {
	return rapid.Custom(func(t *rapid.T) tc.Port {
		p := tc.Port{Min: kbps().Draw(t, "min"), Max: kbps().Draw(t, "max")}
		if n := rapid.ByteRange(0, 8).Draw(t, "mac"); n > 0 {
			p.MAC = mac(n)
		}
		p.Key = "port-" + p.MAC.String()
		return p
	})
}

func link() *rapid.Generator[tc.Link] {
	return rapid.Custom(func(t *rapid.T) tc.Link {
		return tc.Link{
			Interface: rapid.SampledFrom([]string{"eth0", "eth0", "eth0", "eth1", "eth2", "eth9", tc.IFBName("eth0")}).Draw(t,
				"interface"),
			Direction: rapid.SampledFrom([]tc.Direction{tc.Egress, tc.Ingress}).Draw(t, "direction"),
			Rate:      rapid.OneOf(rapid.Just(tc.Kbps(1_000_000)), kbps()).Draw(t, "rate"),
			Ports:     rapid.SliceOfN(port(), 1, 8).Draw(t, "ports"),
		}
	})
}

func links() *rapid.Generator[[]tc.Link] { return rapid.SliceOfN(link(), 2, 8) }

// TestConverges lets a host live through wishes that change, steps that fail or
// get lost, and other programs; then one undisturbed round must put everything
// right, and the next one has nothing to do.
func TestConverges(t *testing.T) {
	count := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		k := tctest.NewKernel(interfaces...)
		k.Plain = rapid.Bool().Draw(t, "plain")
		faults := rapid.SampledFrom([]tctest.Fault{
			tctest.None, tctest.None, tctest.None, tctest.None, tctest.Refuse, tctest.Lose, tctest.Interrupt, tctest.Repeat,
		})
		k.Faults = func(s tc.Step) tctest.Fault {
			count[string(s.Op)]++
			return faults.Draw(t, "fault")
		}
		foreign := make(map[string]tc.Device)
		var last []tc.Link
		for range rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(t, "rounds") {
			last = links().Draw(t, "links")
			mustEnforce(t, k, last)
			for range rapid.SampledFrom([]int{0, 1, 3, 6}).Draw(t, "damages") {
				damage(t, k)
			}
		}
		if rapid.Bool().Draw(t, "wishes change") {
			last = links().Draw(t, "last links")
		}
		for name, d := range k.State {
			if d.Foreign != "" && !d.IFB {
				foreign[name] = d
			}
		}
		k.Faults = nil
		r := mustEnforce(t, k, last)
		if len(r.Failed) > 0 {
			t.Fatalf("failed without a fault: %v", r.Failed)
		}
		if again := tc.Plan(last, k.State); len(again) > 0 {
			t.Fatalf("after\n%v\nthere is still to do\n%v", r.Steps, again)
		}
		if k.Cut > 0 {
			t.Fatalf("%d steps cut an interface off", k.Cut)
		}
		for name, d := range foreign {
			if dev := k.State[name]; dev.Foreign != d.Foreign || dev.Tree != nil {
				t.Fatalf("%s was somebody else's: %v became %v", name, d, dev)
			}
		}
		count["promises"] += checkPromises(t, k.State, last)
	})
	if !testing.Short() {
		for _, op := range []tc.Op{
			tc.AddIFB, tc.DelIFB, tc.SetRoot, tc.DelRoot, tc.SetClass, tc.DelClass, tc.SetLeaf,
			tc.SetFilter, tc.DelFilter, tc.SetRedirect, tc.DelRedirect, "promises",
		} {
			if count[string(op)] == 0 {
				t.Errorf("%q never happened: this proves nothing", op)
			}
		}
	}
}

func mustEnforce(t *rapid.T, k *tctest.Kernel, links []tc.Link) tc.Report {
	r, err := tc.Enforce(k, links)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkPromises compares the state with the desired links in another way than the
// package does: it looks up each port's class as the kernel does for a packet. It
// returns the number of promises that it has checked.
func checkPromises(t *rapid.T, state tc.Actual, links []tc.Link) int {
	done := make(map[string]bool)
	seen := 0
	for _, l := range links {
		id := l.Interface + string(l.Direction)
		iface, ok := state[l.Interface]
		if done[id] || !ok || iface.IFB {
			continue
		}
		done[id] = true
		if l.Rate <= 0 {
			continue
		}
		device, address := l.Interface, tc.Source
		if l.Direction == tc.Ingress {
			device, address = tc.IFBName(l.Interface), tc.Destination
		}
		d := state[device]
		if d.Foreign != "" {
			continue
		}
		seen += checkLink(t, d.Tree, l, address)
		if d.Tree != nil && l.Direction == tc.Ingress && (iface.Redirect != device || !d.Up) {
			t.Fatalf("what %s receives does not pass %s", l.Interface, device)
		}
	}
	return seen
}

func checkLink(t *rapid.T, tree *tc.Tree, l tc.Link, address tc.Address) int {
	first := make(map[tc.MAC]bool)
	var sum, got tc.Kbps
	limit := min(l.Rate, 1<<31-1)
	promises := 0
	for _, p := range l.Ports {
		if first[p.MAC] || (p.Min <= 0 && p.Max <= 0) {
			continue
		}
		first[p.MAC] = true
		promises++
		if tree == nil {
			t.Fatalf("%v has no tree", l)
		}
		n := lead(tree, p.MAC, address)
		guarantee := max(min(p.Min, 1<<31-1), 0)
		if p.Max > 0 {
			guarantee = min(guarantee, p.Max)
		}
		sum += guarantee
		if guarantee > 0 {
			got += n.Rate
		}
		if ceil := min(limit, positiveOr(p.Max, limit)); n.Ceil != ceil || n.Rate > n.Ceil || n.Rate < 1 || n.Leaf == "" {
			t.Fatalf("port %v of %v has the class %v, ceil should be %d", p, l, n, ceil)
		}
		if n.Rate < guarantee && sum <= limit && total(l) <= limit {
			t.Fatalf("port %v of %v has the class %v", p, l, n)
		}
	}
	if promises == 0 && tree != nil {
		t.Fatalf("nothing is promised, but there is %v", tree)
	}
	if tree != nil {
		checkShape(t, tree)
	}
	if tree != nil && len(tree.Filters) > promises {
		t.Fatalf("%d promises, but filters %v", promises, tree.Filters)
	}
	if got > limit+tc.Kbps(len(l.Ports)) {
		t.Fatalf("classes of %v guarantee %d", l, got)
	}
	return promises
}

// checkShape wants every class but the link's to be the link's child, and a
// class for packets of no port.
func checkShape(t *rapid.T, tree *tc.Tree) {
	for minor, n := range tree.Classes {
		parent := tc.RootMinor
		if minor == tc.RootMinor {
			parent = 0
		}
		if n.Parent != parent {
			t.Fatalf("class %x hangs below %x", minor, n.Parent)
		}
	}
	if tree.Classes[tree.Default].Rate == 0 {
		t.Fatalf("packets of no port go nowhere in %v", tree)
	}
}

func positiveOr(n, def tc.Kbps) tc.Kbps {
	if n > 0 {
		return n
	}
	return def
}

// total is what a link guarantees at the most.
func total(l tc.Link) tc.Kbps {
	sum := tc.Kbps(0)
	for _, p := range l.Ports {
		sum += max(min(p.Min, 1<<31-1), 0)
	}
	return sum
}

// lead gives the class in which a packet ends.
func lead(tree *tc.Tree, m tc.MAC, address tc.Address) tc.Node {
	minor := tree.Default
	for _, f := range tree.Filters {
		if f.Address == address && f.MAC == m && m != (tc.MAC{}) {
			minor = f.Class
		}
	}
	return tree.Classes[minor]
}

// damage does something that another program could.
func damage(t *rapid.T, k *tctest.Kernel) {
	names := slices.Sorted(maps.Keys(k.State))
	trees := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return k.State[n].Tree == nil })
	if len(trees) > 0 && rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "in a tree") {
		damageTree(t, k.State[rapid.SampledFrom(trees).Draw(t, "device")].Tree)
		return
	}
	name := rapid.SampledFrom(names).Draw(t, "device")
	d := k.State[name]
	switch rapid.SampledFrom([]string{"root", "down", "redirect", "gone"}).Draw(t, "damage") {
	case "root":
		d.Tree = nil
		if rapid.Bool().Draw(t, "foreign") {
			d.Foreign = "tbf 8001:"
		}
	case "down":
		d.Up = !d.IFB
	case "redirect":
		d.Redirect = rapid.SampledFrom([]string{"", tc.Nowhere, "eth2", tc.IFBName("eth0")}).Draw(t, "to")
		if _, ok := k.State[d.Redirect]; d.Redirect != "" && !ok {
			d.Redirect = tc.Nowhere
		}
	case "gone":
		if d.IFB {
			remove(k, name)
			return
		}
	}
	k.State[name] = d
}

// remove takes a device away. What was led to it goes nowhere.
func remove(k *tctest.Kernel, device string) {
	delete(k.State, device)
	for name, d := range k.State {
		if d.Redirect == device {
			d.Redirect = tc.Nowhere
			k.State[name] = d
		}
	}
}

func damageTree(t *rapid.T, tree *tc.Tree) {
	minor := rapid.SampledFrom([]tc.Minor{1, 2, 3, 0x10, 0x11, 0x12, 0x20, 0x1000}).Draw(t, "minor")
	n, ok := tree.Classes[minor]
	switch rapid.SampledFrom([]string{"default", "class", "leaf", "filters", "filter", "no class"}).Draw(t, "part") {
	case "default":
		tree.Default = minor
	case "class":
		n.Rate++
		n.Burst = 0
		if !ok {
			n.Parent = rapid.SampledFrom([]tc.Minor{0, 1, 2, 0x10}).Draw(t, "parent")
		}
		tree.Classes[minor] = n
	case "leaf":
		n.Leaf = ""
		if ok {
			tree.Classes[minor] = n
		}
	case "filters":
		tree.Filters = slices.DeleteFunc(tree.Filters, func(f tc.Filter) bool { return f.Pref == uint16(minor) })
	case "filter":
		f := tc.Filter{Pref: uint16(rapid.SampledFrom([]tc.Minor{5, 0x10, 0x11, minor}).Draw(t, "pref")), Class: minor}
		if rapid.Bool().Draw(t, "with address") {
			f.Address = rapid.SampledFrom([]tc.Address{tc.Source, tc.Destination}).Draw(t, "address")
			f.MAC = mac(rapid.ByteRange(1, 9).Draw(t, "mac"))
		}
		tree.Filters = append(tree.Filters, f)
	case "no class":
		tree.Filters = slices.DeleteFunc(tree.Filters, func(f tc.Filter) bool { return f.Class == minor })
		delete(tree.Classes, minor)
	}
}

// TestPlanIsPure wants the same steps from the same arguments, which stay as
// they are.
func TestPlanIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := tctest.NewKernel(interfaces...)
		mustEnforce(t, k, links().Draw(t, "before"))
		want := links().Draw(t, "links")
		observed, _ := k.Observe()
		text := fmt.Sprint(want)
		first, findings := tc.Plan(want, observed), tc.Check(want, observed)
		if diff := cmp.Diff(first, tc.Plan(want, observed)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(findings, tc.Check(want, observed)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(k.State, observed); diff != "" || text != fmt.Sprint(want) {
			t.Fatalf("Plan changed its arguments: %s", diff)
		}
	})
}
