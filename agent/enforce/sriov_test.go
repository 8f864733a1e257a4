package enforce_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent"
	"github.com/berthcloud/berth/agent/enforce"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/portlist"
	"github.com/berthcloud/berth/osloconfig"
)

// load reads the settings of an agent of the host h.
func load(t *testing.T, kind settings.Kind, text string) *settings.Settings {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.ini")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := settings.Load(kind, osloconfig.Sources{Files: []string{path}}, settings.Names{Host: "h", Canonical: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A nics is a host with NICs: tctest's of both kinds.
type nics struct {
	*tctest.Kernel
	*tctest.VFs
}

// A rack is an SRIOV on a host with the card ens5, which has four VFs of which the last is
// not the agent's, and two NICs without any on one network.
type rack struct {
	t     *testing.T
	host  nics
	sriov *enforce.SRIOV
}

const nicFile = `[sriov_nic]
physical_device_mappings = physnet0:ens5,physnet1:ens6,physnet1:ens7
exclude_devices = ens5:0000:05:10.3
resource_provider_bandwidths = ens5:10000000:10000000,ens6:1000000:1000000,ens7:1000000:1000000
resource_provider_default_hypervisor = h
`

func newRack(t *testing.T) *rack {
	t.Helper()
	r := &rack{t: t, host: nics{tctest.NewKernel("ens5", "ens6", "ens7"), tctest.NewVFs("ens5", 4)}}
	r.host.Addresses = map[tc.VF]tc.MAC{}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "ens5", "device"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"0", "1", "2", "3"} {
		if err := os.Symlink("../0000:05:10."+n, filepath.Join(root, "ens5", "device", "virtfn"+n)); err != nil {
			t.Fatal(err)
		}
	}
	r.sriov = enforce.NewSRIOV(load(t, settings.SRIOV, nicFile), r.host, settings.Sysfs(root))
	return r
}

func (r *rack) hold(ports ...portlist.Port) agent.Enforced {
	r.t.Helper()
	enforced, err := r.sriov.Enforce(context.Background(), ports)
	if err != nil {
		r.t.Fatal(err)
	}
	return enforced
}

func minimum(direction string, kbps int64) portlist.Rule {
	return portlist.Rule{Type: "minimum_bandwidth", Direction: direction, Rate: kbps}
}

func limit(direction string, kbps int64) portlist.Rule {
	return portlist.Rule{Type: "bandwidth_limit", Direction: direction, Rate: kbps}
}

const mac = "fa:16:3e:00:00:01"

// direct is a port with a VF of ens5.
func direct(id, slot string, rules ...portlist.Rule) portlist.Port {
	return portlist.Port{ID: id, MAC: mac, VNIC: "direct", PCISlot: slot, PhysicalNetwork: "physnet0", Rules: rules}
}

func TestVFsGetTheRatesOfTheirPorts(t *testing.T) {
	r := newRack(t)
	r.host.VFs.State[tc.VF{PF: "ens5", Number: 2}] = tc.VFRate{Min: 7}  // of a port that was deleted
	r.host.VFs.State[tc.VF{PF: "ens5", Number: 3}] = tc.VFRate{Max: 11} // somebody else's
	port := direct("p1", "0000:05:10.1", minimum("egress", 1_000_000), limit("egress", 2_000_000))
	enforced := r.hold(port)
	want := map[tc.VF]tc.VFRate{
		{PF: "ens5", Number: 0}: {}, {PF: "ens5", Number: 1}: {Min: 1000, Max: 2000}, {PF: "ens5", Number: 2}: {},
		{PF: "ens5", Number: 3}: {Max: 11},
	}
	if diff := cmp.Diff(want, r.host.VFs.State); diff != "" {
		t.Errorf("the VFs' rates (-want +got):\n%s", diff)
	}
	if len(enforced.Findings) != 0 || len(enforced.Did) != 2 || enforced.Plugged["p1"] {
		t.Errorf("held %+v, want two changes, no finding, and a port without its address", enforced)
	}
	r.host.Addresses[tc.VF{PF: "ens5", Number: 1}] = tc.MAC{0xfa, 0x16, 0x3e, 0, 0, 1}
	if enforced = r.hold(port); len(enforced.Did) != 0 || !enforced.Plugged["p1"] {
		t.Errorf("held again %+v, want no change and a port that is plugged in", enforced)
	}
	r.hold()
	if got := r.host.VFs.State[tc.VF{PF: "ens5", Number: 1}]; got != (tc.VFRate{}) {
		t.Errorf("without the port its VF has %+v, want nothing", got)
	}
}

func TestPortsWithoutVFsShareTheNIC(t *testing.T) {
	r := newRack(t)
	provider := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: "h", Device: "ens7"}.UUID().String()
	enforced := r.hold(portlist.Port{
		ID: "p1", MAC: mac, VNIC: "macvtap", PhysicalNetwork: "physnet1", Providers: []string{provider},
		Rules: []portlist.Rule{minimum("egress", 200_000), limit("ingress", 300_000)},
	})
	if len(enforced.Findings) != 0 {
		t.Errorf("findings: %q", enforced.Findings)
	}
	if up := r.host.Kernel.State["ens7"].Tree; up == nil || up.Classes[tc.PortMinor].Rate != 200_000 ||
		up.Classes[tc.RootMinor].Ceil != 1_000_000 {
		t.Errorf("ens7 has %+v, want a class of 200 Mbit/s below 1 Gbit/s", up)
	}
	if down := r.host.Kernel.State[tc.IFBName("ens7")].Tree; down == nil || down.Classes[tc.PortMinor].Ceil != 300_000 {
		t.Errorf("what ens7 receives has %+v, want a class of 300 Mbit/s at most", down)
	}
	if r.host.Kernel.State["ens6"].Tree != nil {
		t.Error("the other NIC has classes too")
	}
	r.hold()
	if r.host.Kernel.State["ens7"].Tree != nil {
		t.Error("without the port its classes stay")
	}
}

// A plug of a port without a VF is an interface with its address, anywhere on the host.
func TestMacvtapsAreSeenByTheirAddress(t *testing.T) {
	r := newRack(t)
	enforced := r.hold(portlist.Port{ID: "p1", MAC: mac, VNIC: "macvtap", PhysicalNetwork: "physnet0"})
	if up, known := enforced.Plugged["p1"]; up || !known {
		t.Errorf("a port whose address no interface has is plugged in: %v", enforced.Plugged)
	}
}

// The interfaces of servers that are namespaces are on no list of the host's.
func TestInterfacesElsewhereAreSeen(t *testing.T) {
	r := newRack(t)
	address, err := net.ParseMAC(mac)
	if err != nil {
		t.Fatal(err)
	}
	r.sriov.Elsewhere = func() ([]net.HardwareAddr, error) { return []net.HardwareAddr{address}, nil }
	port := portlist.Port{ID: "p1", MAC: mac, VNIC: "macvtap", PhysicalNetwork: "physnet0"}
	if enforced := r.hold(port); !enforced.Plugged["p1"] {
		t.Errorf("a port whose address a server has is not plugged in: %v", enforced.Plugged)
	}
	missing := errors.New("nobody knows")
	r.sriov.Elsewhere = func() ([]net.HardwareAddr, error) { return nil, missing }
	if _, err := r.sriov.Enforce(t.Context(), []portlist.Port{port}); !errors.Is(err, missing) {
		t.Errorf("the error is %v, want %v: it is not known what is plugged in", err, missing)
	}
}

func TestWhatCannotBeHeldIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		port portlist.Port
		want string
	}{
		"NoSuchVF": {
			direct("p1", "0000:05:11.1", minimum("egress", 1000)),
			"port p1: 0000:05:11.1 is no virtual function",
		},
		"WhichDevice": {
			portlist.Port{ID: "p1", MAC: mac, PhysicalNetwork: "physnet1"},
			"port p1: its device among those of",
		},
		"NoDevice": {
			portlist.Port{ID: "p1", MAC: mac, PhysicalNetwork: "physnet7"},
			"port p1: its device among those of",
		},
		"IngressOfVF": {direct("p1", "0000:05:10.1", minimum("ingress", 1000)), "ens5 ingress port p1"},
		"OtherRule": {
			direct("p1", "0000:05:10.1", portlist.Rule{Type: "dscp_marking"}),
			"port p1: a rule of type dscp_marking is not applied",
		},
		"PacketRate":   {direct("p1", "0000:05:10.1", portlist.Rule{Type: "minimum_packet_rate"}), ""},
		"WholeNIC":     {portlist.Port{ID: "p1", VNIC: "direct-physical", PhysicalNetwork: "physnet7"}, ""},
		"ExcludedIsIt": {direct("p1", "0000:05:10.3", minimum("egress", 1000)), "ens5"},
	} {
		t.Run(name, func(t *testing.T) {
			enforced := newRack(t).hold(tc.port)
			if tc.want == "" {
				if len(enforced.Findings) != 0 {
					t.Errorf("findings: %q, want none", enforced.Findings)
				}
				return
			}
			if len(enforced.Findings) == 0 || !strings.Contains(strings.Join(enforced.Findings, "\n"), tc.want) {
				t.Errorf("findings: %q, want %q", enforced.Findings, tc.want)
			}
		})
	}
}
