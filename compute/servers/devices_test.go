package servers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/agents"
)

// nics gives a host two NICs on physnet0, with a virtual function or two each and so many
// kbit/s.
func (w *fixture) nics(name string, room string, more ...compute.Device) {
	w.Helper()
	_, node := computetest.Host(name, 0)
	var err error
	node.Devices, err = json.Marshal(append([]compute.Device{
		{Slot: "0000:01:00.1", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens1"},
		{Slot: "0000:02:00.1", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens2"},
		{Slot: "0000:02:00.2", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens2"},
		{Slot: "0000:03:00.1", Vendor: "8086:154c", PhysicalNetwork: "physnet1", Parent: "ens3"},
	}, more...))
	w.must(err)
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
	a, _, err := w.network.Beat(ctx, agents.Heartbeat{
		Type: guarantee.SRIOV.AgentType, Binary: guarantee.SRIOV.Binary, Host: name, Start: true,
		Configurations: []byte(`{"device_mappings": {"physnet0": ["ens1", "ens2"]},
			"resource_provider_bandwidths": {"ens1": {"egress": ` + room + `, "ingress": ` + room + `}, "ens2": {"egress": ` + room + `, "ingress": ` + room + `}},
			"resource_provider_hypervisors": {"ens1": "` + name + `", "ens2": "` + name + `"}}`),
	})
	w.must(err)
	w.track(a, string(node.ID))
}

// A port that is a device is one of the interface whose bandwidth it has, and of no other
// else.
func TestDevices(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	w.nics("cn1", "2000")
	parents := map[string]string{"0000:01:00.1": "ens1", "0000:02:00.1": "ens2", "0000:02:00.2": "ens2"}
	taken := map[string]bool{}
	check := func(p compute.ServerPort) {
		t.Helper()
		slot := p.Shown.Slot
		nic := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: "cn1", Device: parents[slot]}.UUID()
		if providers := p.Shown.Allocation.Providers(); taken[slot] || len(providers) != 1 || providers[0] != nic {
			t.Errorf("the port is %q of %v, taken are %v", slot, providers, taken)
		}
		taken[slot] = true
	}
	// Either NIC has bandwidth for two, and ens1 has one function only.
	for range 2 {
		vm := w.boot("vm", w.port(1000, "direct"))
		w.work(w.cloudService, nil)
		w.agrees("boot with a device")
		if got := w.state(vm); got != compute.Active {
			t.Fatalf("the server is %s: %s", got, w.why(vm))
		}
		check(must(w.Server(ctx, vm)).Ports[0])
	}
	vm := w.running()
	check(must(w.attach(w.cloudService, vm, compute.NetworkSpec{Port: w.port(1000, "direct")}, nil)))
	w.agrees("attach of a device")
	if len(taken) != 3 {
		t.Errorf("%v are taken", taken)
	}
	_, err := w.attach(w.cloudService, vm, compute.NetworkSpec{Port: w.port(500, "direct")}, nil)
	w.refusedWith(err, fault.Invalid, "InterfaceAttachPciClaimFailed")
	if f, ok := fault.Find(err); !ok ||
		f.Error() != "Failed to claim PCI device for "+string(vm)+" during interface attach" {
		t.Errorf("the error is %v", err)
	}
	w.agrees("attach without a device")
	failed := w.boot("vm", w.port(500, "direct"))
	w.work(w.cloudService, nil)
	w.agrees("boot without a device")
	if got, why := w.state(failed),
		w.why(failed); got != compute.Error || !strings.Contains(why, "no device is free for port") {
		t.Errorf("the server is %s: %s", got, why)
	}
	w.must(w.DeleteServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	again := w.boot("vm", w.port(500, "direct"))
	w.work(w.cloudService, nil)
	w.agrees("boot with a device that became free")
	if got := w.state(again); got != compute.Active {
		t.Errorf("the server is %s: %s", got, w.why(again))
	}
}

// A card whose functions servers have is given to no server as a whole, and the other way round.
func TestWholeDevices(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	w.nics("cn1", "2000", compute.Device{
		Slot: "0000:01:00.0", Vendor: "8086:1528", PhysicalNetwork: "physnet0", Parent: "ens1", Whole: true,
	})
	try := func(vnic, want string) compute.ID {
		t.Helper()
		vm := w.boot("vm", w.port(1000, vnic))
		w.work(w.cloudService, nil)
		w.agrees("boot with a " + vnic + " port")
		got := w.state(vm)
		if got == compute.Active {
			got = must(w.Server(ctx, vm)).Ports[0].Shown.Slot
		}
		if got != want {
			t.Errorf("a server with a %s port has %s (%s), want %s", vnic, got, w.why(vm), want)
		}
		return vm
	}
	card := try("direct-physical", "0000:01:00.0")
	try("direct", "0000:02:00.1")
	try("direct", "0000:02:00.2")
	try("direct", compute.Error) // the other card has one, and is a server's
	w.must(w.DeleteServer(ctx, ann, card))
	w.work(w.cloudService, nil)
	try("direct", "0000:01:00.1")
	try("direct-physical", compute.Error)
}

// A virtual function whose host does not report its interface serves no guaranteed bandwidth: a
// server with such a port is in ERROR, and its fault says why. A port without a guarantee gets it.
func TestFunctionsWithoutAnInterface(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	w.nics("cn1", "2000")
	_, node := computetest.Host("cn1", 0)
	node.Devices = []byte(`[{"slot": "0000:01:00.1", "vendor": "8086:154c", "physical_network": "physnet0"}]`)
	w.must(w.Report(ctx, compute.Report{Host: "cn1", Version: 66, Node: *node}))
	failed := w.boot("vm", w.port(1000, "direct"))
	w.work(w.cloudService, nil)
	w.agrees("boot with a function without an interface")
	one := must(w.Server(ctx, failed))
	const reason = "the host does not report which interface 0000:01:00.1 is a function of"
	f, _ := one.Failure()
	if one.State != compute.Error || !strings.HasPrefix(f.Message, "No valid host was found.") ||
		!strings.Contains(f.Details, reason) || !strings.Contains(w.why(failed), reason) {
		t.Errorf("the server is %s, %+v: %s", one.State, f, w.why(failed))
	}
	_, err := w.attach(w.cloudService, w.running(), compute.NetworkSpec{Port: w.port(1000, "direct")}, nil)
	w.refusedWith(err, fault.Invalid, "InterfaceAttachPciClaimFailed")
	w.agrees("attach of a function without an interface")
	vm := w.boot("vm", w.port(0, "direct"))
	w.work(w.cloudService, nil)
	w.agrees("boot without a guarantee")
	if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Ports[0].Shown.Slot != "0000:01:00.1" {
		t.Errorf("the server is %s: %s", one.State, w.why(vm))
	}
}

// A host that lists no devices has no servers with ports that are one: the next host is tried.
func TestHostsWithoutDevices(t *testing.T) {
	w := newFixture(t, 0, "cn1")
	failed := w.boot("vm", w.port(0, "direct"))
	w.work(w.cloudService, nil)
	if got, why := w.state(failed),
		w.why(failed); got != compute.Error || !strings.Contains(why, "no device is free for port") {
		t.Errorf("the server is %s: %s", got, why)
	}
	vm := w.running()
	_, err := w.attach(w.cloudService, vm, compute.NetworkSpec{Port: w.port(0, "direct")}, nil)
	w.refusedWith(err, fault.Invalid, "InterfaceAttachPciClaimFailed")
	w.host("cn2", 0)
	w.nics("cn2", "2000")
	for range 3 {
		vm := w.boot("vm", w.port(0, "direct"))
		w.work(w.cloudService, nil)
		one := must(w.Server(ctx, vm))
		if one.State != compute.Active || one.Host != "cn2" || one.Ports[0].Shown.Slot == "" {
			t.Errorf("the server is %s on %s: %s", one.State, one.Host, w.why(vm))
		}
	}
	w.agrees("servers with devices")
}
