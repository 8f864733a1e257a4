package service_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
)

// A trunked service has a server's port that is the parent of a trunk with one subport. The hosts
// h1 and h2 are connected to the networks of both, the host h3 to that of the parent only.
type trunked struct {
	t *testing.T
	*service.Service
	parent, subport, spare network.ID
	trunk                  network.ID
}

func newTrunked(t *testing.T) *trunked {
	t.Helper()
	w := &trunked{t: t, Service: service.New(newStore(t), network.DefaultSettings(), service.Peers{})}
	for host, bridges := range map[string]string{
		"h1": `{"physnet0": "br0", "physnet1": "br1"}`, "h2": `{"physnet0": "br0", "physnet1": "br1"}`,
		"h3": `{"physnet0": "br0"}`,
	} {
		_, _, err := w.Beat(t.Context(), agents.Heartbeat{
			Type: guarantee.OpenVSwitch.AgentType, Host: host, Configurations: []byte(`{"bridge_mappings": ` + bridges + `}`),
		})
		w.must(err)
	}
	var specs []topology.NetworkSpec
	for _, physical := range []string{"physnet0", "physnet1"} {
		specs = append(specs, topology.NetworkSpec{
			NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true},
			Segments:   []topology.SegmentSpec{{Type: network.Flat, PhysicalNetwork: physical, SegmentationID: -1}},
		})
	}
	nets, err := w.CreateNetworks(t.Context(), specs)
	w.must(err)
	port := func(net network.ID, owner string) ports.Spec {
		return ports.Spec{
			PortRow: network.PortRow{
				Common: network.Common{Project: "p"}, Network: net,
				DeviceOwner: owner,
			}, VNIC: "normal",
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}
	}
	created, err := w.CreatePorts(t.Context(), []ports.Spec{
		port(nets[0].ID, "compute:nova"), port(nets[1].ID, ""), port(nets[1].ID, ""),
	})
	w.must(err)
	w.parent, w.subport, w.spare = created[0].ID, created[1].ID, created[2].ID
	trunks, err := w.CreateTrunks(t.Context(), []ports.TrunkSpec{{
		TrunkRow: network.TrunkRow{Common: network.Common{Project: "p"}, Port: w.parent, AdminStateUp: true},
		Subports: []ports.SubportSpec{{Port: w.subport, SegmentationType: network.VLAN, SegmentationID: 42}},
	}})
	w.must(err)
	w.trunk = trunks[0].ID
	return w
}

func (w *trunked) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// bind binds the parent to a host, or to none.
func (w *trunked) bind(host string) {
	w.t.Helper()
	_, err := w.UpdatePort(w.t.Context(), w.parent, func(s *ports.Spec) error {
		s.Host = host
		return nil
	})
	w.must(err)
}

func (w *trunked) report(host string, port network.ID, up bool) {
	w.t.Helper()
	w.must(w.SetPortsUp(w.t.Context(), host, []network.ID{port}, up))
}

// expect compares the trunk's status, and a subport's host, VIF type, status and owner.
func (w *trunked) expect(when string, port network.ID, want string) {
	w.t.Helper()
	trunks, err := w.Trunks(w.t.Context(), network.Where(network.ByID, w.trunk))
	w.must(err)
	ports, err := w.Ports(w.t.Context(), network.Where(network.ByID, port))
	w.must(err)
	p := ports[0]
	got := fmt.Sprintf("%s: %s %s %s %s", trunks[0].Status, p.Binding.Host, p.Binding.VIF, p.Status, p.DeviceOwner)
	if got != want {
		w.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// Subports are bound where the parent of their trunk is plugged in, and go along when it moves.
func TestSubportsFollowTheirParent(t *testing.T) {
	w := newTrunked(t)
	w.expect("at first", w.subport, "DOWN:  unbound DOWN ")
	w.bind("h1")
	w.expect("the parent is bound", w.subport, "DOWN:  unbound DOWN ")
	w.report("h1", w.parent, true)
	w.expect("it is plugged in", w.subport, "ACTIVE: h1 ovs ACTIVE trunk:subport")

	// A live migration: nothing follows before the server runs at the destination.
	_, err := w.CreateBinding(t.Context(), w.parent, ports.BindingSpec{Host: "h2", VNIC: "normal"})
	w.must(err)
	w.report("h2", w.parent, true)
	w.expect("it is bound to a second host", w.subport, "ACTIVE: h1 ovs ACTIVE trunk:subport")
	_, err = w.ActivateBinding(t.Context(), w.parent, "h2")
	w.must(err)
	w.expect("the second binding is active", w.subport, "ACTIVE: h1 ovs DOWN trunk:subport")
	w.report("h2", w.parent, true)
	w.expect("it is plugged in there", w.subport, "ACTIVE: h2 ovs ACTIVE trunk:subport")
	all, err := w.HostPorts(t.Context(), "h2")
	w.must(err)
	if len(all) != 2 {
		t.Errorf("the agent of h2 has %d ports, want the parent and its subport", len(all))
	}

	w.report("h2", w.subport, false)
	w.expect("the agent has no interface of the subport", w.subport, "DEGRADED: h2 ovs DOWN trunk:subport")
	w.report("h2", w.subport, true)
	w.expect("it has one", w.subport, "ACTIVE: h2 ovs ACTIVE trunk:subport")
	w.report("h2", w.parent, false)
	w.expect("the parent is unplugged", w.subport, "ACTIVE: h2 ovs DOWN trunk:subport")
	w.report("h2", w.parent, true)
	w.bind("")
	w.expect("the parent is unbound", w.subport, "DOWN: h2 ovs DOWN trunk:subport")
}

// Subports come and go while the parent is plugged in.
func TestSubportsOfPluggedTrunks(t *testing.T) {
	w := newTrunked(t)
	w.bind("h1")
	w.report("h1", w.parent, true)
	trunk, err := w.AddSubports(t.Context(), w.trunk,
		[]ports.SubportSpec{{Port: w.spare, SegmentationType: network.VLAN, SegmentationID: 43}}, "")
	w.must(err)
	if trunk.Status != network.TrunkActive || len(trunk.Subports) != 2 {
		t.Errorf("the trunk is %+v, want an active one with two subports", trunk)
	}
	w.expect("one is added", w.spare, "ACTIVE: h1 ovs ACTIVE trunk:subport")
	_, err = w.RemoveSubports(t.Context(), w.trunk, []network.ID{w.subport})
	w.must(err)
	w.expect("one is removed", w.subport, "ACTIVE: h1 ovs DOWN trunk:subport")
}

// A trunk with a subport that cannot be bound on the parent's host is ERROR until that is removed.
func TestTrunksWithUnboundSubports(t *testing.T) {
	w := newTrunked(t)
	w.bind("h3")
	w.report("h3", w.parent, true)
	w.expect("h3 is not connected to the subport's network", w.subport, "ERROR: h3 binding_failed DOWN trunk:subport")
	_, err := w.AddSubports(t.Context(), w.trunk,
		[]ports.SubportSpec{{Port: w.spare, SegmentationType: network.VLAN, SegmentationID: 43}}, "")
	if kind, code := fault.Of(err); kind != fault.Conflict || code != "TrunkInErrorState" {
		t.Errorf("adding a subport to it: %v, want TrunkInErrorState", err)
	}
	w.bind("h1")
	w.report("h1", w.parent, true)
	w.expect("the parent is on h1", w.subport, "ACTIVE: h1 ovs ACTIVE trunk:subport")
	w.bind("h3")
	w.report("h3", w.parent, true)
	_, err = w.RemoveSubports(t.Context(), w.trunk, []network.ID{w.subport})
	w.must(err)
	w.expect("it is removed", w.subport, "ACTIVE: h3 binding_failed DOWN trunk:subport")
}
