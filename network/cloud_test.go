package network_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/guarantee"
	"github.com/berthcloud/berth/sqlstore"
)

// A books is a placement service that keeps allocations only, and can be told to
// fail.
type books struct {
	network.Placement // nil: what is not below is not asked for

	mu         sync.Mutex
	held       map[string]network.Allocations
	capacity   int64 // of each provider and class
	calls      int
	failAt     int  // the call that fails, and all after it; 0 for none
	afterwards bool // it fails after it was done
}

var errDead = fault.New(fault.Unavailable, "", "the service is away")

// call counts a call and reports whether it is to fail, and whether it is done
// before.
func (b *books) call() (fail, done bool) {
	b.calls++
	if b.failAt > 0 && b.calls >= b.failAt {
		first := b.calls == b.failAt
		return true, first && b.afterwards
	}
	return false, false
}

func (b *books) Allocations(_ context.Context, consumer string) (network.Allocations, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fail, _ := b.call(); fail {
		return network.Allocations{}, errDead
	}
	return clone(b.held[consumer]), nil
}

func clone(a network.Allocations) network.Allocations {
	providers := map[string]map[string]int64{}
	for p, classes := range a.Providers {
		providers[p] = maps.Clone(classes)
	}
	a.Providers = providers
	return a
}

func (b *books) SetAllocations(_ context.Context, consumer string, a network.Allocations) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	fail, done := b.call()
	if fail && !done {
		return errDead
	}
	if a.Generation == nil || *a.Generation != *b.held[consumer].Generation {
		return network.ErrGeneration
	}
	for _, classes := range a.Providers {
		for _, n := range classes {
			if n > b.capacity {
				return network.ErrCapacity
			}
		}
	}
	next := clone(a)
	g := *a.Generation + 1
	next.Generation = &g
	b.held[consumer] = next
	if fail {
		return errDead
	}
	return nil
}

// A dying store is a store whose process ends with one of its transactions.
type dying struct {
	network.Store
	updates int
	endAt   int // the Update that does not take place, nor any after it; 0 for none
}

var errEnded = errors.New("the process has ended")

func (d *dying) Update(ctx context.Context, now time.Time, fn func(network.Writer) error) error {
	d.updates++
	if d.endAt > 0 && d.updates >= d.endAt {
		return errEnded
	}
	return d.Store.Update(ctx, now, fn)
}

// A cloud is a network with a guaranteed port that is bound for a server.
type cloud struct {
	t        *testing.T
	store    network.Store
	books    *books
	service  *network.Service
	net      network.ID
	port     network.ID
	policies map[string]network.ID
	provider string
}

const (
	server = "5e57b85f-b017-419a-8745-9c406e149f9e"
	host   = "devstack0"
)

// newCloud makes the policies "1000" and "2000", which promise so much in each
// direction, and "none"; and a port with the first.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	store, err := sqlstore.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := &cloud{t: t, store: store, books: &books{held: map[string]network.Allocations{}, capacity: 2500}, policies: map[string]network.ID{}}
	c.service = c.serve(store)
	ctx := context.Background()
	nets, err := c.service.CreateNetworks(ctx, []network.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p", Name: "net0"}, AdminStateUp: true, PortSecurity: true},
		Segments:   []network.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 100}},
	}})
	c.must(err)
	c.net = nets[0].ID
	for name, rate := range map[string]int64{"1000": 1000, "2000": 2000, "none": 0} {
		c.policies[name] = c.newPolicy(name, rate)
	}
	c.beat()
	c.port = c.newPort(c.policies["1000"])
	return c
}

func (c *cloud) serve(store network.Store) *network.Service {
	settings := network.DefaultSettings()
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}}
	return network.NewService(store, settings, network.Neighbours{Placement: c.books})
}

func (c *cloud) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cloud) newPolicy(name string, rate int64) network.ID {
	c.t.Helper()
	ctx := context.Background()
	made, err := c.service.CreatePolicies(ctx, []network.PolicyRow{{Common: network.Common{Project: "p", Name: name}}})
	c.must(err)
	for _, direction := range []string{network.Egress, network.Ingress} {
		if rate > 0 {
			_, err := c.service.CreateRule(ctx, network.RuleRow{Policy: made[0].ID, Type: network.MinimumBandwidth, Direction: direction, Rate: rate})
			c.must(err)
		}
	}
	return made[0].ID
}

// beat lets the agent of the host report a bridge.
func (c *cloud) beat() {
	c.t.Helper()
	_, _, err := c.service.Beat(context.Background(), network.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: host, Start: true,
		Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-physnet0"}, "integration_bridge": "br-int",
			"resource_provider_bandwidths": {"br-physnet0": {"egress": 10000000, "ingress": 10000000}},
			"resource_provider_hypervisors": {"br-physnet0": "devstack0"}}`),
	})
	c.must(err)
	c.provider = guarantee.Name{Driver: guarantee.OpenVSwitch, Hypervisor: host, Device: "br-physnet0"}.UUID().String()
}

// newPort makes a port, lets compute claim what it asks for, and binds it.
func (c *cloud) newPort(policy network.ID) network.ID {
	c.t.Helper()
	ctx := context.Background()
	made, err := c.service.CreatePorts(ctx, []network.PortSpec{{
		PortRow: network.PortRow{Common: network.Common{Project: "p"}, Network: c.net, Policy: policy},
		AnyIPs:  true, AnyGroups: true, AnyPortSecurity: true, VNIC: "normal",
	}})
	c.must(err)
	allocation := map[string]string{}
	for _, g := range c.service.Request(&made[0]).Groups {
		allocation[g.ID.String()] = c.provider
		c.claim(g.Resources)
	}
	profile, err := json.Marshal(map[string]any{"allocation": allocation, "pci_slot": "kept"})
	c.must(err)
	_, err = c.service.UpdatePort(ctx, made[0].ID, func(s *network.PortSpec) error {
		s.DeviceID, s.DeviceOwner, s.Host, s.Profile = server, "compute:nova", host, profile
		return nil
	})
	c.must(err)
	return made[0].ID
}

// claim adds to what the server holds.
func (c *cloud) claim(amounts map[string]int64) {
	a, ok := c.books.held[server]
	if !ok {
		g := int64(1)
		a = network.Allocations{Generation: &g, Providers: map[string]map[string]int64{"host": {"VCPU": 1}}}
	}
	if a.Providers[c.provider] == nil {
		a.Providers[c.provider] = map[string]int64{}
	}
	for class, n := range amounts {
		a.Providers[c.provider][class] += n
	}
	c.books.held[server] = a
}

// setPolicy gives the port another policy, "" for none.
func (c *cloud) setPolicy(s *network.Service, name string) error {
	_, err := s.UpdatePort(context.Background(), c.port, func(spec *network.PortSpec) error {
		spec.Policy = c.policies[name]
		return nil
	})
	return err
}

// holds looks whether the server holds so much of the bridge in each direction.
func (c *cloud) holds(want int64) {
	c.t.Helper()
	held := c.books.held[server].Providers[c.provider]
	if held[guarantee.EgressBandwidth] != want || held[guarantee.IngressBandwidth] != want {
		c.t.Errorf("the server holds %v of the bridge, want %d in each direction", held, want)
	}
	if c.books.held[server].Providers["host"]["VCPU"] != 1 {
		c.t.Error("what it holds elsewhere has changed")
	}
}

func (c *cloud) look(id network.ID) network.Port {
	c.t.Helper()
	all, err := c.service.Ports(context.Background(), network.Where(network.ByID, id))
	c.must(err)
	if len(all) != 1 {
		c.t.Fatalf("%d ports are %s", len(all), id)
	}
	return all[0]
}

// intents returns how many there are.
func (c *cloud) intents() int {
	c.t.Helper()
	n := 0
	c.must(c.store.View(context.Background(), func(r network.Reader) error {
		rows, err := network.Rows[network.IntentRow](r)
		n = len(rows)
		return err
	}))
	return n
}

// code returns the code of a fault.
func code(err error) fault.Code {
	_, c := fault.Of(err)
	return c
}
