package guarantee_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// directions are those of the rules that placement tracks.
var directions = map[guarantee.RuleType][]string{
	guarantee.MinimumBandwidth:  {guarantee.Egress, guarantee.Ingress},
	guarantee.MinimumPacketRate: {guarantee.Egress, guarantee.Ingress, guarantee.AnyDirection},
}

// policy draws the rules of a policy as the API lets it be: one of a type and
// direction, and packet rates of one kind.
func policy(t *rapid.T, label string) []guarantee.Rule {
	var rules []guarantee.Rule
	add := func(kind guarantee.RuleType, direction string) {
		if rapid.Bool().Draw(t, label+" has "+string(kind)+" "+direction) {
			rules = append(rules, guarantee.Rule{
				ID:        rapid.StringMatching(`[0-9a-f]{4}`).Draw(t, "id") + string(kind) + direction,
				Type:      kind,
				Direction: direction,
				Amount:    rapid.Int64Range(0, 5).Draw(t, "amount"),
			})
		}
	}
	add(guarantee.MinimumBandwidth, guarantee.Egress)
	add(guarantee.MinimumBandwidth, guarantee.Ingress)
	if rapid.Bool().Draw(t, "directed") {
		add(guarantee.MinimumPacketRate, guarantee.Egress)
		add(guarantee.MinimumPacketRate, guarantee.Ingress)
	} else {
		add(guarantee.MinimumPacketRate, guarantee.AnyDirection)
	}
	return rules
}

func shuffled(t *rapid.T, rules []guarantee.Rule) []guarantee.Rule {
	return rapid.Permutation(slices.Clone(rules)).Draw(t, "order")
}

// bound returns what compute writes for a port with these rules: the profile and
// what the server holds, each group on a provider of its own.
func bound(rules []guarantee.Rule) (guarantee.ProfileAllocation, allocations.Amounts) {
	a := guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{}}
	allocated := allocations.Amounts{}
	port := guarantee.Port{
		ID: thePort, VNICType: "normal", Rules: rules,
		Segments: []guarantee.Segment{{Type: "vlan", PhysicalNetwork: "physnet0"}},
	}
	for _, g := range port.Request(guarantee.Extensions{}).Groups {
		a.Groups[g.ID] = providerOf(string(g.Type))
		allocated[providerOf(string(g.Type)).String()] = g.Resources
	}
	return a, allocated
}

func TestRequestsDoNotDependOnTheOrderOfRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := guarantee.Port{
			ID: thePort, VNICType: "direct", Rules: policy(t, "the policy"),
			Segments: []guarantee.Segment{{Type: "vlan", PhysicalNetwork: "physnet0"}},
		}
		want := p.Request(guarantee.Extensions{})
		p.Rules = shuffled(t, p.Rules)
		if diff := cmp.Diff(want, p.Request(guarantee.Extensions{})); diff != "" {
			t.Errorf("another order gives another request:\n%s", diff)
		}
		for kind := range directions {
			if diff := cmp.Diff(guarantee.GroupIDs(thePort, kind, p.Rules),
				guarantee.GroupIDs(thePort, kind, shuffled(t, p.Rules))); diff != "" {
				t.Errorf("another order gives other ids:\n%s", diff)
			}
		}
	})
}

// A port that was bound for the old policy and comes to the new one ends as one that
// was bound for the new policy, as far as the old one had a provider for it; and the
// difference that Change returns is the one between the two.
func TestChangedPortsAreAsIfBoundAgain(t *testing.T) {
	followed := 0
	rapid.Check(t, func(t *rapid.T) {
		c := guarantee.PolicyChange{Port: thePort, Old: policy(t, "the old policy"), New: policy(t, "the new policy")}
		var allocated allocations.Amounts
		c.Allocation, allocated = bound(c.Old)
		plan, err := c.Plan()
		if err != nil {
			return // from packet rates of one kind to the other
		}
		wantProfile, wantAllocated := bound(c.New)
		if c.Allocation.Empty() {
			wantProfile, wantAllocated = c.Allocation, allocated
		}
		maps.DeleteFunc(wantProfile.Groups, func(_, p guarantee.UUID) bool { return allocated[p.String()] == nil })
		maps.DeleteFunc(wantAllocated, func(p string, _ map[string]int64) bool { return allocated[p] == nil })
		if diff := cmp.Diff(wantProfile, plan.Allocation); diff != "" {
			t.Errorf("the profile (-as if bound again +after the change):\n%s", diff)
		}
		if len(plan.Differences) > 0 {
			followed++
			if allocated, err = allocated.Add(plan.Differences); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(wantAllocated, allocated); diff != "" {
			t.Errorf("the server holds (-as if bound again +after the change):\n%s", diff)
		}
	})
	if !testing.Short() && followed == 0 {
		t.Error("no change had differences")
	}
}

// drawReport draws a report over a few names, with all that may be missing.
func drawReport(t *rapid.T) guarantee.Report {
	rate := rapid.Ptr(rapid.Int64Range(0, 3), true)
	device := rapid.SampledFrom([]string{"br0", "br1", "br2", guarantee.DefaultTunnelDevice})
	host := rapid.SampledFrom([]string{"cn1", "cn2", ""})
	directed := rapid.Custom(func(t *rapid.T) guarantee.Directed {
		return guarantee.Directed{Egress: rate.Draw(t, "egress"), Ingress: rate.Draw(t, "ingress")}
	})
	undirected := rapid.Custom(func(t *rapid.T) guarantee.Undirected {
		return guarantee.Undirected{Any: rate.Draw(t, "any")}
	})
	r := guarantee.Report{
		Bandwidths:            rapid.MapOf(device, directed).Draw(t, "bandwidths"),
		PacketRates:           rapid.MapOf(host, directed).Draw(t, "packet rates"),
		UndirectedPacketRates: rapid.MapOf(host, undirected).Draw(t, "undirected packet rates"),
		BridgeMappings:        rapid.MapOf(rapid.SampledFrom([]string{"n0", "N0", "n1"}), device).Draw(t, "bridges"),
		DeviceMappings:        rapid.MapOf(rapid.SampledFrom([]string{"n0", "n2"}), rapid.SliceOf(device)).Draw(t, "devices"),
	}
	r.InventoryDefaults.StepSize = rate.Draw(t, "step size")
	if rapid.Bool().Draw(t, "names hypervisors") {
		r.Hypervisors = rapid.MapOf(device, host).Draw(t, "hypervisors")
	}
	return r
}

func TestStatesAreFunctionsOfReports(t *testing.T) {
	devices := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawReport(t)
		read, err := guarantee.ParseReport(encode(t, r))
		if diff := cmp.Diff(r, read); err != nil || diff != "" {
			t.Fatalf("written and read: %v (-before +after):\n%s", err, diff)
		}
		for _, d := range guarantee.Drivers() {
			s := d.State("host0", r)
			checkState(t, s)
			if diff := cmp.Diff(s, d.State("host0", read)); diff != "" {
				t.Errorf("the same report makes two states of %s:\n%s", d.Name, diff)
			}
			devices += checkDevices(t, d, r, s)
		}
	})
	if !testing.Short() && devices == 0 {
		t.Error("no device became a provider")
	}
}

// checkDevices wants each device to be a provider once or to be spoken of, and
// returns how many are providers.
func checkDevices(t *rapid.T, d guarantee.Driver, r guarantee.Report, s guarantee.State) int {
	providers := map[string]int{}
	for _, p := range s.Providers {
		if p.Device != "" {
			providers[p.Device]++
		}
		if n, ok := guarantee.ParseName(p.Name); !ok || n.UUID() != p.UUID || n.Driver.Name != d.Name {
			t.Errorf("the name %q does not lead back to %s", p.Name, p.UUID)
		}
	}
	for device := range r.Bandwidths {
		warned := slices.ContainsFunc(s.Warnings, func(w string) bool {
			return w[:len(device)+2] == fmt.Sprintf("%q", device)
		})
		if (providers[device] == 1) == warned || providers[device] > 1 {
			t.Errorf("%s is %d providers; warnings are %q", device, providers[device], s.Warnings)
		}
	}
	return len(providers)
}

func TestNamesComeBack(t *testing.T) {
	word := rapid.StringMatching(`[a-zA-Z0-9._:-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		n := guarantee.Name{
			Driver:     rapid.SampledFrom(guarantee.Drivers()).Draw(t, "driver"),
			Hypervisor: word.Draw(t, "hypervisor"),
		}
		if rapid.Bool().Draw(t, "device") {
			n.Device = word.Draw(t, "name of the device")
		}
		got, ok := guarantee.ParseName(n.String())
		if diff := cmp.Diff(n, got); !ok || diff != "" {
			t.Errorf("ParseName(%q): %v (-want +got):\n%s", n, ok, diff)
		}
		id, err := guarantee.ParseUUID(n.UUID().String())
		if err != nil || id != n.UUID() {
			t.Errorf("%s is read as %s, %v", n.UUID(), id, err)
		}
	})
}
