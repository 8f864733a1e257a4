package tc_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
	"github.com/berthcloud/berth/internal/traffictest"
)

// twoPorts is a link of 500 Mbit/s with two promises.
func twoPorts(d tc.Direction) tc.Link {
	return tc.Link{Interface: "nic", Direction: d, Rate: 500_000, Ports: []tc.Port{
		{Key: "a", MAC: mac(1), Min: 200_000},
		{Key: "b", MAC: mac(2), Min: 100_000, Max: 150_000},
	}}
}

// nic makes a namespace with an interface "nic".
func nic(t *testing.T) (string, *tc.Linux) {
	t.Helper()
	needKernel(t)
	ns := namespace(t, "nic")
	traffictest.Run(t, "ip", "-n", ns, "link", "add", "nic", "type", "veth", "peer", "name", "wire")
	traffictest.Run(t, "ip", "-n", ns, "link", "set", "nic", "up")
	traffictest.Run(t, "ip", "-n", ns, "link", "set", "wire", "up")
	return ns, openIn(t, ns)
}

// counters are what the tc program prints that changes with each packet.
var counters = regexp.MustCompile(`direct_packets_stat \d+`)

// shown gives the lines that the tc program prints of a device, sorted, with spaces and counters
// removed. It uses nothing of this package. (tc prints classes as text even when JSON is
// requested.)
func shown(t *testing.T, ns, kind, device string, more ...string) []string {
	t.Helper()
	out := traffictest.Run(t, append([]string{"tc", "-n", ns, kind, "show", "dev", device}, more...)...)
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(counters.ReplaceAllString(line, "")), " ")
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestClassesAreAsRequested(t *testing.T) {
	ns, k := nic(t)
	enforce(t, k, twoPorts(tc.Egress), twoPorts(tc.Ingress))
	want := []string{
		"class htb be70:1 root rate 500Mbit ceil 500Mbit burst 315500b cburst 315500b",
		"class htb be70:10 parent be70:1 leaf a010: prio 0 rate 200Mbit ceil 500Mbit burst 165525b cburst 315500b",
		"class htb be70:11 parent be70:1 leaf a011: prio 0 rate 100Mbit ceil 150Mbit burst 115525b cburst 140531b",
		"class htb be70:2 parent be70:1 leaf a002: prio 0 rate 200Mbit ceil 500Mbit burst 165525b cburst 315500b",
	}
	for _, device := range []string{"nic", tc.IFBName("nic")} {
		if diff := gocmp.Diff(want, shown(t, ns, "class", device)); diff != "" {
			t.Errorf("classes of %s (-want +got):\n%s", device, diff)
		}
	}
}

func TestFiltersAreAsRequested(t *testing.T) {
	ns, k := nic(t)
	enforce(t, k, twoPorts(tc.Egress), twoPorts(tc.Ingress))
	filters := strings.Join(shown(t, ns, "filter", "nic"), "\n")
	received := strings.Join(shown(t, ns, "filter", tc.IFBName("nic")), "\n")
	for i := range 2 {
		flower := fmt.Sprintf("_mac 02:be:47:00:00:0%d", i+1)
		for text, u32 := range map[string]string{
			filters:  fmt.Sprintf("match 000%d0000/ffff0000 at -4", i+1),
			received: fmt.Sprintf("match 4700000%d/ffffffff at -12", i+1),
		} {
			if !strings.Contains(text, u32) && !strings.Contains(text, flower) {
				t.Errorf("there is no filter of port %d, by u32 (%s) or flower (%s), in\n%s", i+1, u32, flower, text)
			}
			if flow := fmt.Sprintf("be70:1%d", i); !strings.Contains(text, flow) {
				t.Errorf("no filter leads to %s in\n%s", flow, text)
			}
		}
	}
	redirect := strings.Join(shown(t, ns, "filter", "nic", "ingress"), "\n")
	if want := "mirred (Egress Redirect to device " + tc.IFBName("nic") + ") stolen"; !strings.Contains(redirect, want) {
		t.Errorf("what nic receives is not led away:\n%s", redirect)
	}
}

// TestRestartChangesNothing has another process read the same kernel, and
// carry out everything a second time.
func TestRestartChangesNothing(t *testing.T) {
	ns, k := nic(t)
	links := []tc.Link{twoPorts(tc.Egress), twoPorts(tc.Ingress)}
	first := enforce(t, k, links...)
	before, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	again := openIn(t, ns)
	if r := enforce(t, again, links...); len(r.Steps) > 0 {
		t.Errorf("a restart changed %v", r.Steps)
	}
	if failed := tc.Apply(again, first.Steps); len(failed) > 0 {
		t.Errorf("steps cannot run twice: %v", failed)
	}
	after, err := again.Observe()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("running all steps twice changed (-before +after):\n%s", diff)
	}
}

// TestChangesAreInPlace wants a port that stays to keep its class while others
// come and go, and nothing to remain in the end.
func TestChangesAreInPlace(t *testing.T) {
	ns, k := nic(t)
	clean := shown(t, ns, "qdisc", "nic")
	enforce(t, k, twoPorts(tc.Egress), twoPorts(tc.Ingress))

	link := twoPorts(tc.Egress)
	link.Ports = []tc.Port{link.Ports[1], {Key: "c", MAC: mac(3), Min: 50_000}}
	link.Ports[0].Min = 120_000
	enforce(t, k, link)
	want := []string{
		"class htb be70:1 root rate 500Mbit ceil 500Mbit burst 315500b cburst 315500b",
		"class htb be70:10 parent be70:1 leaf a010: prio 0 rate 50Mbit ceil 500Mbit burst 90531b cburst 315500b",
		"class htb be70:11 parent be70:1 leaf a011: prio 0 rate 120Mbit ceil 150Mbit burst 125535b cburst 140531b",
		"class htb be70:2 parent be70:1 leaf a002: prio 0 rate 330Mbit ceil 500Mbit burst 230505b cburst 315500b",
	}
	if diff := gocmp.Diff(want, shown(t, ns, "class", "nic")); diff != "" {
		t.Errorf("classes after the change (-want +got):\n%s", diff)
	}
	enforce(t, k)
	if diff := gocmp.Diff(clean, shown(t, ns, "qdisc", "nic")); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
	if out := traffictest.Run(t, "ip", "-n", ns, "link"); strings.Contains(out, tc.IFBName("nic")) {
		t.Errorf("the IFB is left behind:\n%s", out)
	}
}

// TestOthersAreLeftAlone has other programs' qdiscs in both directions.
func TestOthersAreLeftAlone(t *testing.T) {
	ns, k := nic(t)
	traffictest.Run(t, "tc", "-n", ns, "qdisc", "add", "dev", "nic", "root", "handle", "1:", "htb")
	traffictest.Run(t, "tc", "-n", ns, "class", "add", "dev", "nic", "parent", "1:", "classid", "1:1", "htb",
		"rate", "1mbit")
	traffictest.Run(t, "tc", "-n", ns, "qdisc", "add", "dev", "nic", "clsact")
	traffictest.Run(t, "tc", "-n", ns, "filter", "add", "dev", "nic", "ingress", "protocol", "ip", "pref", "7",
		"u32", "match", "ip", "protocol", "1", "0xff", "flowid", ":1")
	look := func() [][]string {
		return [][]string{
			shown(t, ns, "qdisc", "nic"), shown(t, ns, "class", "nic"), shown(t, ns, "filter", "nic", "ingress"),
		}
	}
	before := look()
	r := enforce(t, k, twoPorts(tc.Egress), twoPorts(tc.Ingress))
	if !slices.ContainsFunc(r.Findings, func(f tc.Finding) bool {
		return f.Reason == tc.Foreign && f.Direction == tc.Egress
	}) {
		t.Errorf("another program's root qdisc is not reported: %v", r.Findings)
	}
	if !strings.Contains(strings.Join(look()[2], "\n"), tc.IFBName("nic")) {
		t.Error("what nic receives is not led away, though there is room after the other program's filter")
	}
	root := tc.Step{Op: tc.SetRoot, Device: "nic"}
	class := tc.Step{Op: tc.SetClass, Device: "nic", Minor: tc.RootMinor, Class: tc.Class{Rate: 1, Ceil: 1}}
	if failed := tc.Apply(k, []tc.Step{root, class}); len(failed) != 2 {
		t.Errorf("steps into another program's qdisc: %d failed, want 2", len(failed))
	}
	enforce(t, k)
	if diff := gocmp.Diff(before, look()); diff != "" {
		t.Errorf("other programs' work is not as it was (-before +after):\n%s", diff)
	}
}

// TestRepairs breaks things as other programs would.
func TestRepairs(t *testing.T) {
	ns, k := nic(t)
	links := []tc.Link{twoPorts(tc.Egress), twoPorts(tc.Ingress)}
	enforce(t, k, links...)
	sound, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	ifb := tc.IFBName("nic")
	for _, damage := range []string{
		"tc class change dev nic parent be70:1 classid be70:10 htb rate 1mbit",
		"tc filter del dev nic parent be70: pref 16",
		"tc filter del dev nic parent be70: pref 17 protocol all handle 801::800 u32",
		"tc filter add dev nic parent be70: pref 16 protocol all u32 match u32 0 0 flowid be70:2",
		"tc filter add dev nic parent be70: pref 5 protocol ip u32 match ip protocol 6 0xff flowid be70:11",
		"tc class add dev nic parent be70:1 classid be70:77 htb rate 1mbit",
		"tc class add dev nic parent be70:10 classid be70:78 htb rate 1mbit",
		"tc qdisc del dev nic parent be70:10",
		"tc qdisc del dev nic root",
		"tc qdisc del dev nic ingress",
		"tc filter del dev nic ingress pref 48752",
		"ip link set " + ifb + " down",
		"ip link del " + ifb,
		"tc qdisc del dev " + ifb + " root",
	} {
		program, args, _ := strings.Cut(damage, " ")
		traffictest.Run(t, append([]string{program, "-n", ns}, strings.Fields(args)...)...)
		if r := enforce(t, k, links...); len(r.Steps) == 0 {
			t.Errorf("%s: not noticed", damage)
		}
		after, err := k.Observe()
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(sound, after); diff != "" {
			t.Errorf("%s: not repaired (-sound +after):\n%s", damage, diff)
		}
	}
}

// TestKernelAndModelAgree gives random wishes to the kernel and to the one in
// memory that other tests trust, and wants the same of both.
func TestKernelAndModelAgree(t *testing.T) {
	needKernel(t)
	ns := namespace(t, "agree")
	for _, name := range interfaces {
		traffictest.Run(t, "ip", "-n", ns, "link", "add", name, "type", "veth", "peer", "name", "peer-"+name)
		traffictest.Run(t, "ip", "-n", ns, "link", "set", name, "up")
	}
	k := openIn(t, ns)
	plain := slices.ContainsFunc(enforce(t, k, tc.Link{
		Interface: "eth0", Direction: tc.Egress, Rate: 1000, Ports: []tc.Port{{Min: 1}},
	}).Findings, func(f tc.Finding) bool { return f.Reason == tc.Degraded })
	rapid.Check(t, func(rt *rapid.T) {
		model := tctest.NewKernel(interfaces...)
		model.Plain = plain
		enforce(t, k)
		for range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			wishes := links().Draw(rt, "links")
			mustEnforce(rt, model, wishes)
			enforce(t, k, wishes...)
			if diff := gocmp.Diff(tidy(rt, model), tidy(rt, k), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("the model and the kernel differ (-model +kernel):\n%s", diff)
			}
		}
	})
}

// tidy gives what k has of the test's interfaces, with filters in order.
func tidy(t *rapid.T, k tc.Kernel) tc.Actual {
	actual, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(actual, func(name string, _ tc.Device) bool {
		return name == "lo" || strings.HasPrefix(name, "peer-")
	})
	for _, d := range actual {
		if d.Tree != nil {
			slices.SortFunc(d.Tree.Filters, func(a, b tc.Filter) int { return cmp.Compare(a.Pref, b.Pref) })
		}
	}
	return actual
}

// TestDangerousStepsAreRefused requests what would cut an interface off, or
// touch what is not this package's.
func TestDangerousStepsAreRefused(t *testing.T) {
	ns, k := nic(t)
	enforce(t, k, twoPorts(tc.Ingress))
	ifb := tc.IFBName("nic")
	traffictest.Run(t, "ip", "-n", ns, "link", "add", tc.IFBName("other"), "type", "ifb") // and down
	traffictest.Run(t, "ip", "-n", ns, "link", "set", "wire", "name", tc.IFBName("third"))
	before, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	refused := []tc.Step{
		{Op: tc.DelIFB, Device: ifb},
		{Op: tc.DelIFB, Device: "nic"},
		{Op: tc.AddIFB, Device: tc.IFBName("third")},
		{Op: tc.SetRedirect, Device: "nic", To: tc.IFBName("other")},
		{Op: tc.SetRedirect, Device: "nic", To: "nowhere"},
		{Op: tc.SetRoot, Device: "nowhere"},
		{Op: tc.SetFilter, Device: "nic", Filter: tc.Filter{Pref: 16, Address: tc.Source, MAC: mac(1), Class: 16}},
		{Op: tc.SetLeaf, Device: "nic", Minor: 16},
		{Op: "dance", Device: "nic"},
	}
	if failed := tc.Apply(k, refused); len(failed) != len(refused) {
		t.Errorf("of %d dangerous steps only these were refused: %v", len(refused), failed)
	}
	done := []tc.Step{
		{Op: tc.DelIFB, Device: "nowhere"},
		{Op: tc.DelRoot, Device: "nowhere"},
		{Op: tc.DelRedirect, Device: "nowhere"},
		{Op: tc.DelRoot, Device: "nic"},
		{Op: tc.DelClass, Device: "nic", Minor: 16},
		{Op: tc.DelFilter, Device: "nic", Filter: tc.Filter{Pref: 16}},
		{Op: tc.DelRedirect, Device: tc.IFBName("third")},
	}
	if failed := tc.Apply(k, done); len(failed) > 0 {
		t.Errorf("removing what is not there failed: %v", failed)
	}
	after, err := k.Observe()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

func TestLargeAndSmallRates(t *testing.T) {
	_, k := nic(t)
	for _, rate := range []tc.Kbps{1, 9, 1000, 34_359_738, 34_359_739, 100_000_000, 1<<31 - 1, 1 << 40} {
		link := tc.Link{Interface: "nic", Direction: tc.Egress, Rate: rate, Ports: []tc.Port{
			{Key: "a", MAC: mac(1), Min: max(rate/3, 1)}, {Key: "b", MAC: mac(2), Max: max(rate/2, 1)},
		}}
		enforce(t, k, link)
		if r := enforce(t, k, link); len(r.Steps) > 0 {
			t.Errorf("a link of %d kbit/s is never done: %v", rate, r.Steps)
		}
	}
}

// TestNoVFs queries the kernel about interfaces that are no cards.
func TestNoVFs(t *testing.T) {
	_, k := nic(t)
	pf := func(name string) tc.PF {
		return tc.PF{Interface: name, Ports: []tc.VFPort{{Key: "a", Direction: tc.Egress, Min: 1000}}}
	}
	r, err := tc.EnforceVFs(k, []tc.PF{pf("nic"), pf("no-such-card")})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != 0 || len(r.Findings) != 2 {
		t.Errorf("steps %v, findings %v; want none and one for each", r.Steps, r.Findings)
	}
	err = k.SetVFRate(tc.VF{PF: "nic"}, tc.VFRate{Max: 100})
	if err == nil {
		t.Error("a veth took a VF's rate")
	}
	t.Logf("a veth answers: %v", err)
}

func TestOpenFails(t *testing.T) {
	for _, ns := range []string{"berth-tc-no-such-namespace", "/nonexistent/namespace"} {
		if k, err := tc.Open(ns); err == nil {
			k.Close()
			t.Errorf("Open(%q) worked", ns)
		}
	}
}
