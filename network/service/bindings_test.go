package service_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
)

const (
	destinationHost = "devstack1" // where the server moves to
	destinationID   = "e37bb3dc-7d06-4a23-8ab8-0cbd1f3a1e21"
	migration       = "11167a7e-0000-4000-8000-000000000001" // the consumer of what the source gives
)

// A moving cloud has a server with one guaranteed port that moves to another host.
type moving struct {
	*cloud
	source, destination string // their providers
}

func newMoving(t *testing.T) *moving {
	t.Helper()
	c := newCloud(t)
	m := &moving{cloud: c, source: c.provider}
	a, _, err := c.service.Beat(t.Context(), agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: destinationHost, Start: true,
		Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-physnet0"}, "integration_bridge": "br-int",
			"resource_provider_bandwidths": {"br-physnet0": {"egress": 2500, "ingress": 2500}},
			"resource_provider_hypervisors": {"br-physnet0": "devstack1"}}`),
	})
	c.must(err)
	c.setHost(destinationID, destinationHost)
	c.track(a, destinationHost, destinationID)
	m.destination, c.provider = c.provider, m.source
	return m
}

// claimThere gives the migration what the server has, and the server as much at the destination.
func (m *moving) claimThere() {
	m.t.Helper()
	had := m.allocated()
	source, has := had, had
	source.Type, source.Generation = "MIGRATION", nil
	has.Amounts = allocations.Amounts{destinationID: had.Amounts[hostID], m.destination: had.Amounts[m.source]}
	m.must(m.direct.SetManyAllocations(context.Background(),
		map[string]allocations.Consumer{migration: source, server: has}))
}

// profileThere is the profile of a port at the destination.
func (m *moving) profileThere() []byte {
	m.t.Helper()
	p := m.look(m.port)
	return []byte(fmt.Sprintf(`{"allocation": {"%s": "%s"}, "pci_slot": "kept"}`, m.service.Request(&p).Groups[0].ID,
		m.destination))
}

func (m *moving) bindThere() {
	m.t.Helper()
	_, err := m.service.CreateBinding(context.Background(), m.port,
		ports.BindingSpec{Host: destinationHost, VNIC: "normal", Profile: m.profileThere()})
	m.must(err)
}

func (m *moving) activate(host string) {
	m.t.Helper()
	_, err := m.service.ActivateBinding(context.Background(), m.port, host)
	m.must(err)
}

// bandwidth is what the server and its migration have: "server 1000 there, migration 1000 here".
func (m *moving) bandwidth() string {
	m.t.Helper()
	var all []string
	for _, c := range []struct{ name, id string }{{"server", server}, {"migration", migration}} {
		allocated, err := m.direct.Allocations(context.Background(), c.id)
		m.must(err)
		for _, p := range []struct{ name, id string }{{"here", m.source}, {"there", m.destination}} {
			if n := allocated.Amounts[p.id][guarantee.EgressBandwidth]; n != 0 {
				all = append(all, fmt.Sprintf("%s %d %s", c.name, n, p.name))
			}
		}
	}
	return strings.Join(all, ", ")
}

// phases are those of a live migration, and of a resize, after which the port is removed or gets
// another policy.
var phases = map[string]struct {
	move    func(*moving)
	removed string // what is left when the port is removed
	raised  string // and when it gets the policy 2000, if that is not refused
	cleared string // and when it gets none
}{
	"Stays": {func(*moving) {}, "", "server 2000 here", ""},
	"Bound": {func(m *moving) {
		m.claimThere()
		m.bindThere()
	}, "migration 1000 here", "refused", "refused"},
	"Activated": {func(m *moving) {
		m.claimThere()
		m.bindThere()
		m.activate(destinationHost)
	}, "migration 1000 here", "server 2000 there, migration 1000 here", "migration 1000 here"},
	"Moved": {func(m *moving) {
		m.claimThere()
		m.bindThere()
		m.activate(destinationHost)
		m.must(m.service.DeleteBinding(context.Background(), m.port, host))
		m.must(m.direct.SetAllocations(context.Background(), migration, m.consumer(migration, nil)))
	}, "", "server 2000 there", ""},
	"RolledBack": {func(m *moving) {
		m.claimThere()
		m.bindThere()
		m.must(m.service.DeleteBinding(context.Background(), m.port, destinationHost))
		source := m.consumer(migration, nil)
		m.must(m.direct.SetManyAllocations(context.Background(), map[string]allocations.Consumer{
			migration: source, server: m.consumer(server, m.amounts(migration)),
		}))
	}, "", "server 2000 here", ""},
	"Resized": {func(m *moving) {
		m.claimThere()
		profile := m.profileThere()
		m.update(m.port, func(s *ports.Spec) { s.Host, s.Profile, s.Rebind = destinationHost, profile, true })
	}, "migration 1000 here", "server 2000 there, migration 1000 here", "migration 1000 here"},
}

func (m *moving) amounts(consumer string) allocations.Amounts {
	m.t.Helper()
	allocated, err := m.direct.Allocations(context.Background(), consumer)
	m.must(err)
	return allocated.Amounts
}

// consumer is a consumer with other amounts.
func (m *moving) consumer(id string, amounts allocations.Amounts) allocations.Consumer {
	m.t.Helper()
	allocated, err := m.direct.Allocations(context.Background(), id)
	m.must(err)
	allocated.Amounts = amounts
	return allocated
}

// A port that is removed while its server moves frees what the server has for it, wherever that is,
// and nothing of what the migration has.
func TestPortsAreRemovedDuringMoves(t *testing.T) {
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			m := newMoving(t)
			phase.move(m)
			m.must(m.service.DeletePort(t.Context(), m.port))
			if got := m.bandwidth(); got != phase.removed || m.intents() != 0 {
				t.Errorf("there is %q and %d intents, want %q", got, m.intents(), phase.removed)
			}
		})
	}
}

// What is freed is freed once, whichever request to placement is not answered.
func TestPortsAreRemovedDuringMovesOnce(t *testing.T) {
	for at := 1; at <= 6; at++ {
		for _, done := range []bool{false, true} {
			m := newMoving(t)
			other := m.newPort(m.policies["1000"])
			phases["Bound"].move(m)
			m.flaky.calls, m.flaky.failAt, m.flaky.afterwards = 0, at, done
			m.must(m.service.DeletePort(t.Context(), m.port))
			m.flaky.failAt = 0
			if left, err := m.service.Recover(t.Context(), 0); left != 0 || err != nil {
				t.Errorf("at call %d: %d intents are left, %v", at, left, err)
			}
			if got := m.bandwidth(); got != "server 1000 there, migration 2000 here" {
				t.Errorf("at call %d (%t), with the port %s left, there is %q", at, done, other, got)
			}
		}
	}
}

// The policy of a port does not change while its server has one allocation and the migration
// another one that would have to follow. Otherwise what the server has follows it, and nothing
// else.
func TestPoliciesDuringMoves(t *testing.T) {
	for name, phase := range phases {
		for policy, want := range map[string]string{"2000": phase.raised, "none": phase.cleared} {
			for _, own := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/%t", name, policy, own), func(t *testing.T) {
					m := newMoving(t)
					set := m.setPolicy
					if !own {
						m.must(m.service.DeletePort(t.Context(), m.port))
						m.must(m.setNetworkPolicy(m.service, "1000"))
						m.port = m.newPort("")
						set = m.setNetworkPolicy
					}
					phase.move(m)
					want, refusal := want, ""
					if want == "refused" {
						want, refusal = m.bandwidth(), "PortBeingChanged"
					}
					if err := set(m.service, policy); string(code(err)) != refusal {
						t.Errorf("the answer is %v, want %q", err, refusal)
					}
					if got := m.bandwidth(); got != want || m.intents() != 0 {
						t.Errorf("there is %q and %d intents, want %q", got, m.intents(), want)
					}
				})
			}
		}
	}
}

// A second binding is for the port's request groups and for providers of its host; one that is not
// is not kept, and says why it failed.
func TestSecondBindings(t *testing.T) {
	m := newMoving(t)
	bind := func(host, profile string) error {
		_, err := m.service.CreateBinding(t.Context(), m.port,
			ports.BindingSpec{Host: host, VNIC: "normal", Profile: []byte(profile)})
		return err
	}
	right := string(m.profileThere())
	group, _, _ := strings.Cut(strings.TrimPrefix(right, `{"allocation": {"`), `"`)
	for _, test := range []struct{ host, profile, code, log string }{
		{destinationHost, strings.ReplaceAll(right, group, destinationID), "ResourceRequestChanged", ""},
		{
			destinationHost, strings.ReplaceAll(right, m.destination, m.source), "PortBindingError",
			"no driver's agents on the host have all providers",
		},
		{"nowhere", `{}`, "PortBindingError", "driver openvswitch: host nowhere has no Open vSwitch agent"},
		{host, right, "PortBindingAlreadyExists", ""},
	} {
		if err := bind(test.host, test.profile); string(code(err)) != test.code || !strings.Contains(err.Error(),
			test.log) {
			t.Errorf("a binding to %s with %s: %v, want %s", test.host, test.profile, err, test.code)
		}
	}
	if p := m.look(m.port); len(p.Inactive) != 0 || p.Binding.Host != host {
		t.Errorf("the bindings are %+v and %+v", p.Binding, p.Inactive)
	}
	m.bindThere()
	for at, want := range map[string]string{
		"": "", host: "", destinationHost: "",
		"nowhere": "driver openvswitch: host nowhere has no Open vSwitch agent",
	} {
		if reason, err := m.service.WhyUnbound(t.Context(), m.port, at); err != nil || reason != want {
			t.Errorf("why not on %q: %q, %v; want %q", at, reason, err, want)
		}
	}
	_, err := m.service.UpdateBinding(t.Context(), m.port, destinationHost, func(s *ports.BindingSpec) error {
		s.Profile = []byte(strings.ReplaceAll(right, m.destination, m.source))
		return nil
	})
	if code(err) != "PortBindingError" {
		t.Errorf("providers of the other host: %v", err)
	}
}

// An agent has the ports of its host until they are active elsewhere, and those that come only from
// then on; it is heard of those only.
func TestHostsDuringMoves(t *testing.T) {
	m := newMoving(t)
	m.must(m.service.SetPortsUp(t.Context(), host, []network.ID{m.port}, true))
	seen := func(when, status string, want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for _, h := range []string{host, destinationHost} {
			all, err := m.service.HostPorts(t.Context(), h)
			m.must(err)
			got[h] = len(all)
		}
		if diff := cmp.Diff(want, got); diff != "" || m.look(m.port).Status != status {
			t.Errorf("%s the port is %s, want %s; hosts have (-want +got):\n%s", when, m.look(m.port).Status, status,
				diff)
		}
	}
	m.claimThere()
	m.bindThere()
	seen("before it is activated", network.PortActive, map[string]int{host: 1, destinationHost: 0})
	m.must(m.service.SetPortsUp(t.Context(), destinationHost, []network.ID{m.port}, false))
	seen("plugged in nowhere at the destination", network.PortActive, map[string]int{host: 1, destinationHost: 0})
	m.activate(destinationHost)
	seen("activated", network.PortDown, map[string]int{host: 0, destinationHost: 1})
	m.must(m.service.SetPortsUp(t.Context(), host, []network.ID{m.port}, true))
	seen("still plugged in at the source", network.PortDown, map[string]int{host: 0, destinationHost: 1})
	m.must(m.service.SetPortsUp(t.Context(), destinationHost, []network.ID{m.port}, true))
	seen("plugged in at the destination", network.PortActive, map[string]int{host: 0, destinationHost: 1})
	m.must(m.service.SetPortsUp(t.Context(), host, []network.ID{m.port}, false))
	seen("unplugged at the source", network.PortActive, map[string]int{host: 0, destinationHost: 1})
}

// Inactive bindings are removed with the server that moved.
func TestInactiveBindingsEndWithTheirServer(t *testing.T) {
	for name, change := range map[string]func(*ports.Spec){
		"Another": func(s *ports.Spec) { s.DeviceID = destinationID },
		"None": func(s *ports.Spec) {
			s.DeviceID, s.DeviceOwner, s.Host, s.Profile, s.Rebind = "", "", "", nil, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoving(t)
			m.bindThere()
			m.update(m.port, change)
			if p := m.look(m.port); len(p.Inactive) != 0 {
				t.Errorf("the inactive bindings are %+v", p.Inactive)
			}
		})
	}
}

// A port that is a whole device has the address of the one that it is, which no other port may
// have.
func TestAddressesOfDevicesFollowTheBinding(t *testing.T) {
	m := newMoving(t)
	m.must(m.service.DeletePort(t.Context(), m.port))
	port := func(host, mac string) network.ID {
		created, err := m.service.CreatePorts(t.Context(), []ports.Spec{{
			PortRow: network.PortRow{
				Common: network.Common{Project: "p"}, Network: m.net, DeviceID: server,
				DeviceOwner: "compute:nova",
			},
			Host: host, VNIC: "direct-physical", Profile: []byte(`{"device_mac_address": "` + mac + `"}`),
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}})
		m.must(err)
		return created[0].ID
	}
	m.port = port(host, "02:00:00:00:00:01")
	other := port(destinationHost, "02:00:00:00:00:02")
	bind := func(host, mac string) {
		_, err := m.service.CreateBinding(t.Context(), m.port, ports.BindingSpec{
			Host: host, VNIC: "direct-physical", Profile: []byte(`{"device_mac_address": "` + mac + `"}`),
		})
		m.must(err)
	}
	bind(destinationHost, "02:00:00:00:00:02")
	if _, err := m.service.ActivateBinding(t.Context(), m.port, destinationHost); code(err) != "MacAddressInUse" {
		t.Errorf("the device of another port: %v", err)
	}
	if p := m.look(m.port); p.Binding.Host != host || p.MAC != "02:00:00:00:00:01" {
		t.Errorf("the port is on %s with %s", p.Binding.Host, p.MAC)
	}
	m.must(m.service.DeletePort(t.Context(), other))
	m.activate(destinationHost)
	if p := m.look(m.port); p.Binding.Host != destinationHost || p.MAC != "02:00:00:00:00:02" {
		t.Errorf("the port is on %s with %s", p.Binding.Host, p.MAC)
	}
}
