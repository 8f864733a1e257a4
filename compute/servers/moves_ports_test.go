package servers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/topology"
)

// The devices of a host with cards, by slot, and the interface that each is a function of.
var cards = map[string]string{
	"0000:01:00.0": "ens1", "0000:01:00.1": "ens1", "0000:02:00.0": "ens2", "0000:02:00.1": "ens2", "0000:03:00.0": "ens3",
	"0000:03:00.1": "ens3",
}

// cards gives a host two NICs on physnet0 and one on physnet1, each with a function, and its bridge
// a packet rate.
func (w *fixture) cards(name string) {
	w.Helper()
	physical := map[string]string{"ens1": "physnet0", "ens2": "physnet0", "ens3": "physnet1"}
	var devices []compute.Device
	for slot, parent := range cards {
		devices = append(devices, compute.Device{
			Slot: slot, Vendor: "8086:154c", PhysicalNetwork: physical[parent], Parent: parent,
			Whole: strings.HasSuffix(slot, ".0"),
		})
	}
	_, node := computetest.Host(name, 0)
	var err error
	node.Devices, err = json.Marshal(devices)
	w.must(err)
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node}))
	for _, beat := range []agents.Heartbeat{
		{Type: guarantee.SRIOV.AgentType, Binary: guarantee.SRIOV.Binary, Configurations: fmt.Appendf(nil, `{
			"device_mappings": {"physnet0": ["ens1", "ens2"], "physnet1": ["ens3"]},
			"resource_provider_bandwidths": {"ens1": {"egress": 2000, "ingress": 2000}, "ens2": {"egress": 2000, "ingress": 2000}, "ens3": {"egress": 2000, "ingress": 2000}},
			"resource_provider_hypervisors": {"ens1": %q, "ens2": %[1]q, "ens3": %[1]q}}`, name)},
		{Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Configurations: fmt.Appendf(nil, `{
			"bridge_mappings": {"physnet0": "br0", "physnet1": "br1"}, "integration_bridge": "br-int",
			"resource_provider_bandwidths": {"br0": {"egress": 2500, "ingress": 2500}, "br1": {"egress": 2500, "ingress": 2500}},
			"resource_provider_packet_processing_without_direction": {%q: {"any": 500}},
			"resource_provider_hypervisors": {"br0": %[1]q, "br1": %[1]q, %[1]q: %[1]q}}`, name)},
	} {
		beat.Host, beat.Start = name, true
		a, _, err := w.network.Beat(ctx, beat)
		w.must(err)
		w.track(a, string(node.ID))
	}
}

// secondNet makes the network of the ports that follow one on physnet1.
func (w *fixture) secondNet() {
	w.Helper()
	nets, err := w.network.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: computetest.Project, Name: "net1"}, AdminStateUp: true, PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet1", SegmentationID: 101}},
	}})
	w.must(err)
	w.net = nets[0].ID
	_, err = w.network.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: computetest.Project}, Network: w.net, IPVersion: 4, CIDR: "10.1.0.0/16",
	}}})
	w.must(err)
}

// packets has the policy of a rate guarantee packets as well.
func (w *fixture) packets(rate int64) {
	w.Helper()
	_, err := w.network.CreateRule(ctx, network.RuleRow{
		Policy: w.policy(rate), Type: network.MinimumPacketRate, Direction: network.AnyDirection, Rate: 100,
	})
	w.must(err)
}

// ofOldNeutron has the network service answer with resource requests as Neutron did before they had
// groups.
func (w *fixture) ofOldNeutron() {
	now := w.paths.network.handler
	w.paths.network.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		now.ServeHTTP(answer, r)
		maps.Copy(out.Header(), answer.Header())
		out.Header().Del("Content-Length")
		out.WriteHeader(answer.Code)
		text := answer.Body.Bytes()
		var body any
		if strings.HasPrefix(r.URL.Path, "/v2.0/ports") && json.Unmarshal(text, &body) == nil {
			text, _ = json.Marshal(withoutGroups(body)) // it was JSON
		}
		_, _ = out.Write(text) // to the client
	})
}

// withoutGroups makes each resource_request in a value its only group.
func withoutGroups(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutGroups(v[i])
		}
	case map[string]any:
		if request, ok := v["resource_request"].(map[string]any); ok {
			group := request["request_groups"].([]any)[0].(map[string]any)
			delete(group, "id")
			v["resource_request"] = group
		}
		for key, member := range v {
			v[key] = withoutGroups(member)
		}
	}
	return v
}

// Whatever ports a server has: each of its moves leaves them on the providers and the devices of
// its host, with what they request, and a move that is reverted or aborted leaves them where they
// were.
func TestMovesOfPorts(t *testing.T) {
	kinds := map[string]func(w *fixture) []compute.ID{
		"two physical networks": func(w *fixture) []compute.ID {
			first := []compute.ID{w.port(1000), w.port(1500, "direct")}
			w.secondNet()
			return append(first, w.port(500), w.port(1200, "direct"))
		},
		"whole device": func(w *fixture) []compute.ID { return []compute.ID{w.port(1500, "direct-physical"), w.port(1000)} },
		"macvtap": func(w *fixture) []compute.ID {
			return []compute.ID{w.port(1500, "macvtap"), w.port(1000, "direct")}
		},
		"packet rate": func(w *fixture) []compute.ID {
			w.packets(1000)
			return []compute.ID{w.port(1000), w.port(500), w.port(1000)}
		},
		"old Neutron": func(w *fixture) []compute.ID {
			w.ofOldNeutron()
			return []compute.ID{w.port(1000), w.port(1500, "direct"), w.port(300)}
		},
	}
	for name, ports := range kinds {
		if racetest.Few() && name != "two physical networks" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, 2500, "cn1", "cn2")
			w.cards("cn1")
			w.cards("cn2")
			vm := w.boot("vm", ports(w)...)
			w.work(w.cloudService, nil)
			first := w.placed("a boot", vm)
			move := func(what string, moved bool, do func() error) {
				t.Helper()
				before := must(w.Server(ctx, vm)).Host
				w.must(do())
				w.work(w.cloudService, nil)
				w.placed(what, vm)
				if now := must(w.Server(ctx, vm)).Host; (now != before) != moved {
					t.Errorf("%s: the server is on %q, and was on %q: %s, %s", what, now, before, w.lastMigration().Status, w.why(vm))
				}
			}
			move("a resize", true, func() error { return w.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"}) })
			move("a revert", true, func() error { return w.RevertResize(ctx, ann, vm) })
			if back := w.placed("a revert", vm); !maps.Equal(back, first) {
				t.Errorf("the ports are %v, and were %v", back, first)
			}
			move("a resize, again", true, func() error { return w.ResizeServer(ctx, ann, vm, servers.Resizing{Flavor: "m2"}) })
			move("a confirmation", false, func() error { return w.ConfirmResize(ctx, ann, vm) })
			move("a cold migration", true, func() error { return w.MigrateServer(ctx, root, vm, "") })
			move("its confirmation", false, func() error { return w.ConfirmResize(ctx, ann, vm) })
			move("a live migration", true, func() error { return w.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{}) })
			before := w.placed("a live migration", vm)
			move("an abortion", false, func() error {
				w.must(w.LiveMigrateServer(ctx, root, vm, servers.LiveMigration{}))
				must(w.Recover(ctx)) // the destination gets its command
				return w.AbortLiveMigration(ctx, root, vm, w.lastMigration().Number, true)
			})
			if back := w.placed("an abortion", vm); !maps.Equal(back, before) {
				t.Errorf("the ports are %v, and were %v", back, before)
			}
			w.must(w.ShelveServer(ctx, ann, vm))
			w.work(w.cloudService, nil)
			w.agrees("a shelved server")
			w.must(w.UnshelveServer(ctx, ann, vm, servers.Unshelving{}))
			w.work(w.cloudService, nil)
			w.placed("an unshelved server", vm)
			source := must(w.Server(ctx, vm)).Host
			w.must(w.evacuateOn(w.cloudService))
			w.cards(map[string]string{"cn1": "cn2", "cn2": "cn1"}[source])
			w.work(w.cloudService, nil)
			w.cards(source) // it is back
			w.work(w.cloudService, nil)
			w.placed("an evacuation", vm)
			if now := must(w.Server(ctx, vm)).Host; now == source {
				t.Errorf("the server is still on %s: %s", now, w.why(vm))
			}
		})
	}
}

// While the service of some host does not know of ports with groups of requests, servers with such
// ports are neither created nor moved. Others are, and servers of a host that was forced down.
func TestMovesNeedHostsThatKnowGroups(t *testing.T) {
	w := newFixture(t, 10000, "cn1", "cn2")
	vm, plain := w.boot("vm", w.port(1000)), w.boot("plain", w.port(0))
	w.work(w.cloudService, nil)
	for _, version := range []int{59, 58, 57} {
		_, node := computetest.Host("cn2", 0)
		w.must(w.Report(ctx, compute.Report{Host: "cn2", Version: version, Node: *node}))
		port := w.port(1000)
		for what, do := range map[string]func(compute.ID) error{
			"create": func(id compute.ID) error {
				spec := servers.ServerSpec{
					Name: "next", Flavor: "m1", Image: cirros, PortsMayRequest: true, Networks: []compute.NetworkSpec{{Port: port}},
				}
				if id == plain {
					spec.Networks[0].Port = w.port(0)
				}
				_, err := w.CreateServers(ctx, ann, spec)
				return err
			},
			"resize":   func(id compute.ID) error { return w.ResizeServer(ctx, ann, id, servers.Resizing{Flavor: "m2"}) },
			"migrate":  func(id compute.ID) error { return w.MigrateServer(ctx, root, id, "") },
			"live":     func(id compute.ID) error { return w.LiveMigrateServer(ctx, root, id, servers.LiveMigration{}) },
			"unshelve": func(id compute.ID) error { return w.UnshelveServer(ctx, ann, id, servers.Unshelving{}) },
			"evacuate": func(id compute.ID) error { return w.EvacuateServer(ctx, root, id, servers.Evacuation{}) },
		} {
			const refusal fault.Code = "ExtendedResourceRequestOldCompute"
			_, code := fault.Of(do(vm))
			if _, others := fault.Of(do(plain)); others == refusal ||
				(code == refusal) != (version < 58 || version < 59 && what != "create") {
				t.Errorf("%s, where a host has version %d: %q, and %q for another server", what, version, code, others)
			}
			w.work(w.cloudService, nil)
		}
	}
}

// placed checks that each port of a server is on the server's host, and each that is a device is
// one of the interface that its bandwidth is of. It returns the devices, by port.
func (w *fixture) placed(what string, vm compute.ID) map[compute.ID]string {
	w.Helper()
	w.agrees(what)
	one, slots := must(w.Server(ctx, vm)), map[compute.ID]string{}
	if one.State != compute.Active && one.State != compute.Resized {
		w.Fatalf("%s: the server is %s: %s", what, one.State, w.why(vm))
	}
	for _, p := range one.Ports {
		at := p.Shown
		slots[p.Port] = at.Slot
		if at.VNIC == "normal" {
			continue
		}
		nic := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: one.Host, Device: cards[at.Slot]}
		if got := at.Allocation.Providers(); at.Host != one.Host || len(got) != 1 || got[0] != nic.UUID() ||
			(at.VNIC == "direct-physical") != strings.HasSuffix(at.Slot, ".0") {
			w.Errorf("%s: the %s port is %q on %q, of %v; its server is on %q", what, at.VNIC, at.Slot, at.Host, got, one.Host)
		}
	}
	return slots
}
