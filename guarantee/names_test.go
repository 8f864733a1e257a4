package guarantee_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
)

var (
	ovs   = guarantee.OpenVSwitch
	sriov = guarantee.SRIOV
	ovn   = guarantee.OVN
)

// The first two of each kind are what Neutron's guide prints; the rest was made
// with Python's uuid.
func TestNames(t *testing.T) {
	for _, tc := range []struct {
		name  guarantee.Name
		s, id string
	}{
		{
			guarantee.Name{Driver: ovs, Hypervisor: "devstack0"},
			"devstack0:Open vSwitch agent",
			"89ca1421-5117-5348-acab-6d0e2054239c",
		},
		{
			guarantee.Name{Driver: sriov, Hypervisor: "devstack0"},
			"devstack0:NIC Switch agent",
			"4a8a819d-61f9-5822-8c5c-3e9c7cb942d6",
		},
		{
			guarantee.Name{Driver: sriov, Hypervisor: "devstack0", Device: "ens5"},
			"devstack0:NIC Switch agent:ens5",
			"1c7e83f0-108d-5c35-ada7-7ebebbe43aad",
		},
		{
			guarantee.Name{Driver: sriov, Hypervisor: "devstack0", Device: "ens6"},
			"devstack0:NIC Switch agent:ens6",
			"e87a3e44-94ae-5ae9-8d2a-1f367971d771",
		},
		{
			guarantee.Name{Driver: ovs, Hypervisor: "devstack0", Device: "br-physnet0"},
			"devstack0:Open vSwitch agent:br-physnet0", "4a6f5f40-b7a1-5df4-9938-63983543f365",
		},
		{
			guarantee.Name{Driver: ovs, Hypervisor: "devstack0", Device: "br-ex"},
			"devstack0:Open vSwitch agent:br-ex",
			"193134fd-464c-5545-9d20-df7d58c0166f",
		},
		{
			guarantee.Name{Driver: ovs, Hypervisor: "devstack0", Device: "rp_tunnelled"},
			"devstack0:Open vSwitch agent:rp_tunnelled", "cab576e3-2a9a-5601-b007-aed73ba1e4b1",
		},
		{
			guarantee.Name{Driver: ovn, Hypervisor: "devstack0"},
			"devstack0:OVN Controller agent",
			"e3f2c998-fd69-5284-af02-a23406b25ed1",
		},
		{
			guarantee.Name{Driver: ovn, Hypervisor: "devstack0", Device: "br-ex"},
			"devstack0:OVN Controller agent:br-ex",
			"95b9a155-32f4-509d-8d97-3d9072fce738",
		},
	} {
		if s, id := tc.name.String(), tc.name.UUID().String(); s != tc.s || id != tc.id {
			t.Errorf("%+v is %q, %s; want %q, %s", tc.name, s, id, tc.s, tc.id)
		}
		parsed, ok := guarantee.ParseName(tc.s)
		if diff := cmp.Diff(tc.name, parsed); !ok || diff != "" {
			t.Errorf("ParseName(%q) = %v (-want +got):\n%s", tc.s, ok, diff)
		}
	}
}

func TestNamesOfOthers(t *testing.T) {
	for _, s := range []string{
		"", "devstack0", "devstack0:Linux bridge agent", ":Open vSwitch agent", "devstack0:Open vSwitch agent:",
		"devstack0:Open vSwitch agents", "devstack0 Open vSwitch agent",
	} {
		if n, ok := guarantee.ParseName(s); ok {
			t.Errorf("ParseName(%q) = %v; want none", s, n)
		}
	}
	n, ok := guarantee.ParseName("cn1:8080:NIC Switch agent:ens5:1")
	if !ok || n.Hypervisor != "cn1:8080" || n.Device != "ens5:1" {
		t.Errorf("names with colons are read as %q, %q", n.Hypervisor, n.Device)
	}
}

func TestTraits(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{guarantee.PhysicalNetworkTrait("physnet0"), "CUSTOM_PHYSNET_PHYSNET0"},
		{guarantee.PhysicalNetworkTrait("Physnet0"), "CUSTOM_PHYSNET_PHYSNET0"},
		{guarantee.PhysicalNetworkTrait("dc-1..a"), "CUSTOM_PHYSNET_DC_1_A"},
		{guarantee.PhysicalNetworkTrait("a__b "), "CUSTOM_PHYSNET_A_B_"},
		{guarantee.PhysicalNetworkTrait("-a"), "CUSTOM_PHYSNET_A"},
		{guarantee.PhysicalNetworkTrait("ünet"), "CUSTOM_PHYSNET_NET"},
		{guarantee.PhysicalNetworkTrait("ß"), "CUSTOM_PHYSNET_"}, // in upper case it would be SS
		{guarantee.PhysicalNetworkTrait("ı"), "CUSTOM_PHYSNET_"}, // in upper case it would be I
		{guarantee.PhysicalNetworkTrait(""), "CUSTOM_PHYSNET_"},
		{guarantee.VNICTypeTrait("normal"), "CUSTOM_VNIC_TYPE_NORMAL"},
		{guarantee.VNICTypeTrait("direct-physical"), "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL"},
	} {
		if tc.got != tc.want {
			t.Errorf("trait is %s; want %s", tc.got, tc.want)
		}
	}
}

func TestParseUUID(t *testing.T) {
	const canonical = "4a6f5f40-b7a1-5df4-9938-63983543f365"
	for _, s := range []string{canonical, "4A6F5F40-B7A1-5DF4-9938-63983543F365", "4a6f5f40b7a15df4993863983543f365"} {
		if id, err := guarantee.ParseUUID(s); err != nil || id.String() != canonical {
			t.Errorf("ParseUUID(%q) = %s, %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", "x", canonical + "0", canonical[1:], "4a6f5f40-b7a1-5df4-993863983543f365",
		"4a6f5f40-b7a1-5df4-9938-63983543f36g", "4a6f5f40-b7a1-5df4-9938-63983543fßß5",
	} {
		if id, err := guarantee.ParseUUID(s); err == nil {
			t.Errorf("ParseUUID(%q) = %s; want an error", s, id)
		}
	}
}

// The ports, rules and groups were seen on a running Neutron.
func TestGroupIDs(t *testing.T) {
	rules := []guarantee.Rule{
		{ID: "e818d905-823b-4df0-af26-512741fd54f7", Type: guarantee.MinimumBandwidth, Direction: guarantee.Ingress},
		{ID: "00000000-0000-0000-0000-000000000000", Type: guarantee.DSCPMarking},
		{ID: "4fb16f2a-9abc-4f63-8ec1-70a842ba0c9e", Type: guarantee.MinimumBandwidth, Direction: guarantee.Egress},
	}
	for _, tc := range []struct {
		port string
		want []string
	}{
		{
			"67d00727-44be-438b-83ae-f8b3dfb6e7e8",
			[]string{"9e3bc887-23ac-5571-9d5d-78a868bb1d93", "fe68ff29-07f1-5056-bdaf-5e6ebc7e63f2"},
		},
		{"36c02ca9-ab1d-457e-8817-18d7be336f0b", []string{"9eb94ff3-9124-5c17-aeeb-c81874da2580"}},
	} {
		port, err := guarantee.ParseUUID(tc.port)
		if err != nil {
			t.Fatal(err)
		}
		ids := guarantee.GroupIDs(port, guarantee.MinimumBandwidth, rules)
		if len(ids) != 2 {
			t.Fatalf("two rules have the ids %v", ids)
		}
		for i, want := range tc.want {
			if ids[i].String() != want {
				t.Errorf("id %d of the group of port %s is %s; want %s", i, tc.port, ids[i], want)
			}
		}
	}
}
