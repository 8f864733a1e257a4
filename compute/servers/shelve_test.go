package servers_test

import (
	"errors"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

// offloaded boots a server with ports and shelves it.
func (w *fixture) offloaded(ports ...compute.ID) compute.ID {
	w.Helper()
	vm := w.boot("vm", ports...)
	w.work(w.cloudService, nil)
	w.must(w.ShelveServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	if one := must(w.Server(ctx, vm)); one.State != compute.ShelvedOffloaded || one.Host != "" ||
		len(one.Ports) != len(ports) {
		w.Fatalf("the server is %+v: %s", one.ServerRow, w.why(vm))
	}
	w.agrees("a shelved server")
	return vm
}

// A shelved server has nothing allocated, keeps its ports, and is built again with them, on another
// host if its own has no room any more.
func TestShelve(t *testing.T) {
	w := newFixture(t, 1500, "cn1", "cn2")
	port := w.port(1000)
	vm := w.boot("vm", port)
	w.work(w.cloudService, nil)
	first := must(w.Server(ctx, vm)).Host
	w.must(w.ShelveServer(ctx, ann, vm))
	w.refusedWith(w.ShelveServer(ctx, ann, vm), fault.Conflict, compute.InvalidState)
	w.work(w.cloudService, nil)
	w.agrees("a shelved server")
	if used := w.used(); used[egress] != 0 || used["VCPU"] != 0 {
		t.Errorf("%v is used", used)
	}
	w.disable(first, true)
	w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
	w.work(w.cloudService, nil)
	w.agrees("an unshelved server")
	one := must(w.Server(ctx, vm))
	if one.State != compute.Active || one.Host == first || len(one.Ports) != 1 || one.Ports[0].Port != port ||
		w.used()[egress] != 1000 {
		t.Errorf("the server is %+v: %s", one.ServerRow, w.why(vm))
	}
	if all := must(w.network.Ports(ctx)); len(all) != 1 {
		t.Errorf("there are %d ports", len(all))
	}
}

// What the network service releases late, of a port that was deleted or got a smaller policy before
// its server was shelved, is not taken from what the server has when it is built again.
func TestLateReleasesOfAShelvedServer(t *testing.T) {
	for what, change := range map[string]func(*fixture, network.ID) error{
		"deleted": func(w *fixture, port network.ID) error { return w.network.DeletePort(ctx, port) },
		"smaller": func(w *fixture, port network.ID) error {
			policy := w.policy(100)
			_, err := w.network.UpdatePort(ctx, port, func(s *ports.Spec) error { s.Policy = policy; return nil })
			return err
		},
	} {
		w := newFixture(t, 10000, "cn1")
		vm := w.boot("vm", w.port(1000), w.port(1000))
		w.work(w.cloudService, nil)
		w.paths.amounts.breaks(1, true, false)
		w.must(change(w, w.last))
		w.must(w.ShelveServer(ctx, ann, vm))
		w.work(w.cloudService, nil)
		if w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}) == nil { // it does not wait for the release
			w.work(w.cloudService, nil)
		}
		w.paths.amounts.heals()
		w.afterwards(what)
		if w.state(vm) == compute.ShelvedOffloaded {
			w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
			w.afterwards(what + ", built again")
		}
		if got := w.state(vm); got != compute.Active {
			t.Errorf("%s: the server is %s: %s", what, got, w.why(vm))
		}
	}
}

// A port that is deleted while its server is shelved releases nothing: what it had is others' by
// then.
func TestPortOfAShelvedServerIsDeleted(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	port := w.port(1000)
	vm := w.offloaded(port, w.port(1000))
	other := w.boot("other", w.port(1000))
	w.work(w.cloudService, nil)
	w.must(w.network.DeletePort(ctx, network.ID(port)))
	must(w.Receive(ctx, []servers.ExternalEvent{{Name: "network-vif-deleted", Server: vm, Tag: string(port)}}))
	w.agrees("a port was deleted")
	if w.used()[egress] != 1000 || w.state(other) != compute.Active {
		t.Errorf("%v is used, the other server is %s", w.used(), w.state(other))
	}
	w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
	w.work(w.cloudService, nil)
	w.agrees("the rest is built")
	if w.state(vm) != compute.Active || w.used()[egress] != 2000 {
		t.Errorf("the server is %s, %v is used: %s", w.state(vm), w.used(), w.why(vm))
	}
}

// A host that is down while its server is shelved destroys it when it is back, and does not take
// what it has for the server that it is to build.
func TestShelveOnAHostThatIsDown(t *testing.T) {
	w := newFixture(t, 2500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.must(w.ShelveServer(ctx, ann, vm))
	w.later(2 * time.Minute)
	must(w.Recover(ctx))
	if w.state(vm) != compute.ShelvedOffloaded || w.used()[egress] != 0 {
		t.Fatalf("the server is %s, %v is used", w.state(vm), w.used())
	}
	w.report()
	w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
	must(w.Recover(ctx))
	if listed := must(w.Wanted(ctx, "cn1")); len(listed) != 1 || listed[0].Deleted || listed[0].Generation != 1 {
		t.Errorf("the host is to have %+v", listed)
	}
	w.work(w.cloudService, nil)
	w.agrees("a host that is back")
}

// What cannot be is refused; a server that no host can take stays shelved.
func TestUnshelveIsRefused(t *testing.T) {
	w := newFixture(t, 1500, "cn1")
	vm := w.boot("vm", w.port(1000))
	w.work(w.cloudService, nil)
	w.refusedWith(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}), fault.Conflict, compute.InvalidState)
	w.refusedWith(w.OffloadServer(ctx, ann, vm), fault.Conflict, compute.InvalidState)
	w.must(w.ShelveServer(ctx, ann, vm))
	w.work(w.cloudService, nil)
	nowhere, zone, denied := "nowhere", "nova", errors.New("not allowed")
	may := func() error { return nil }
	w.refusedWith(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{Zone: &nowhere}), fault.Invalid, "InvalidRequest")
	w.refusedWith(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{Host: nowhere, MayChoose: may}), fault.Invalid,
		"ComputeHostNotFound")
	if err := w.UnshelveServer(ctx, ann, vm,
		servers.Unshelving{Host: "cn1", MayChoose: func() error { return denied }}); !errors.Is(err, denied) {
		t.Errorf("a host that the caller may not choose: %v", err)
	}
	other := w.boot("other", w.port(1000)) // has the bandwidth
	w.work(w.cloudService, nil)
	w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{Zone: &zone, Host: "cn1", MayChoose: may}))
	w.work(w.cloudService, nil)
	w.agrees("no host has room")
	if w.state(vm) != compute.ShelvedOffloaded || w.state(other) != compute.Active {
		t.Errorf("the servers are %s and %s", w.state(vm), w.state(other))
	}
	w.must(w.DeleteServer(ctx, ann, other))
	w.work(w.cloudService, nil)
	w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
	w.work(w.cloudService, nil)
	w.agrees("there is room again")
	if one := must(w.Server(ctx, vm)); one.State != compute.Active || one.Zone != "nova" {
		t.Errorf("the server is %+v: %s", one.ServerRow, w.why(vm))
	}
}
