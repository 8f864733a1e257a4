package guarantee_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
)

// A question is "state", the driver, the host and options, then the report:
//
//	state openvswitch cn1 without=direct tunnel=none
//	{"resource_provider_bandwidths": …}
func TestStateScenarios(t *testing.T) {
	golden.Answer(t, "testdata/state.txt", func(t *testing.T, question []string) []string {
		words := strings.Fields(question[0])
		report, err := guarantee.ParseReport([]byte(strings.Join(question[1:], "\n")))
		if err != nil {
			return []string{"error " + err.Error()}
		}
		d := driver(t, words[1], words[3:])
		s := d.State(words[2], report)
		checkState(t, s)
		return render(s)
	})
}

// driver returns the driver of a name with options.
func driver(t *testing.T, name string, options []string) guarantee.Driver {
	t.Helper()
	i := slices.IndexFunc(guarantee.Drivers(), func(d guarantee.Driver) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("there is no driver %q", name)
	}
	d := guarantee.Drivers()[i]
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "without":
			var err error
			if d, err = d.Without(strings.Split(value, ",")); err != nil {
				t.Fatal(err)
			}
		case "tunnel":
			d.TunnelDevice = strings.TrimPrefix(value, "none")
		default:
			t.Fatalf("unknown option %q", o)
		}
	}
	return d
}

// render writes a state with all that it has; parents as names, and UUIDs only as
// far as they are not those of the names.
func render(s guarantee.State) []string {
	lines := []string{strings.TrimSpace("traits " + strings.Join(s.Traits, " "))}
	names := map[guarantee.UUID]string{{}: "the root"}
	for _, p := range s.Providers {
		names[p.UUID] = p.Name
		lines = append(lines, fmt.Sprintf("provider %s below %s of %s", p.Name, names[p.Parent], p.Hypervisor))
		if n, ok := guarantee.ParseName(p.Name); !ok || n.UUID() != p.UUID || n.Device != p.Device ||
			n.Hypervisor != p.Hypervisor {
			lines = append(lines, "  with the UUID "+p.UUID.String())
		}
		if len(p.Traits) > 0 {
			lines = append(lines, "  traits "+strings.Join(p.Traits, " "))
		}
		for _, class := range slices.Sorted(maps.Keys(p.Inventories)) {
			lines = append(lines, "  "+class+renderInventory(p.Inventories[class]))
		}
	}
	for _, w := range s.Warnings {
		lines = append(lines, "warning "+w)
	}
	return lines
}

func renderInventory(inv guarantee.Inventory) string {
	s := fmt.Sprintf(" total=%d", inv.Total)
	if inv.AllocationRatio != nil {
		s += fmt.Sprintf(" ratio=%v", *inv.AllocationRatio)
	}
	for _, f := range []struct {
		name string
		n    *int64
	}{{"min", inv.MinUnit}, {"max", inv.MaxUnit}, {"step", inv.StepSize}, {"reserved", inv.Reserved}} {
		if f.n != nil {
			s += fmt.Sprintf(" %s=%d", f.name, *f.n)
		}
	}
	return s
}

// The host of the guide has exactly the providers and traits that it prints. (The
// guide's UUID of br-physnet0 belongs to another host.)
func TestStateOfTheGuide(t *testing.T) {
	traits := map[string]bool{}
	var names []string
	for _, s := range []guarantee.State{
		ovs.State("devstack0", parse(t, `{"bridge_mappings": {"physnet0": "br-physnet0"},
			"resource_provider_bandwidths": {"br-physnet0": {"egress": 10000000, "ingress": 10000000}}}`)),
		sriov.State("devstack0", parse(t, `{"device_mappings": {"physnet0": ["ens5"]},
			"resource_provider_bandwidths": {"ens5": {"egress": 40000000, "ingress": 40000000}}}`)),
	} {
		for _, trait := range s.Traits {
			traits[trait] = true
		}
		for _, p := range s.Providers {
			names = append(names, p.UUID.String()+" "+p.Name)
		}
	}
	wantNames := []string{
		"89ca1421-5117-5348-acab-6d0e2054239c devstack0:Open vSwitch agent",
		"4a6f5f40-b7a1-5df4-9938-63983543f365 devstack0:Open vSwitch agent:br-physnet0",
		"4a8a819d-61f9-5822-8c5c-3e9c7cb942d6 devstack0:NIC Switch agent",
		"1c7e83f0-108d-5c35-ada7-7ebebbe43aad devstack0:NIC Switch agent:ens5",
	}
	wantTraits := []string{
		"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL",
		"CUSTOM_VNIC_TYPE_MACVTAP", "CUSTOM_VNIC_TYPE_NORMAL",
	}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTraits, slices.Sorted(maps.Keys(traits))); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
}

// What an agent of Neutron reported makes the tree that was seen in placement.
func TestStateOfNeutron(t *testing.T) {
	data, err := os.ReadFile("testdata/ovs.json")
	if err != nil {
		t.Fatal(err)
	}
	s := ovs.State("elsewhere", parse(t, string(data)))
	if diff := cmp.Diff([]string{"devstack0"}, s.Hypervisors()); diff != "" {
		t.Errorf("hypervisors (-want +got):\n%s", diff)
	}
	agent, ok := s.Provider(s.Providers[1].Parent)
	if !ok || agent.Name != "devstack0:Open vSwitch agent" || len(agent.Inventories) != 2 {
		t.Errorf("the device hangs on %+v, %v", agent, ok)
	}
	if p, ok := s.Provider(guarantee.UUID{}); ok {
		t.Errorf("a provider without a UUID is %+v", p)
	}
}

func parse(t *testing.T, report string) guarantee.Report {
	t.Helper()
	r, err := guarantee.ParseReport([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
