package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	placementservice "github.com/berthcloud/berth/placement/service"
)

// A flaky placement can be unavailable from one of its calls on.
type flaky struct {
	providertreetest.Placement

	mu         sync.Mutex // guards what follows
	calls      int
	failAt     int  // the call that fails, and all after it; 0 for none
	afterwards bool // it fails after it was done
}

var errDead = fault.New(fault.Unavailable, "", "the service is away")

// call makes a call, unless it is to fail before.
func (f *flaky) call(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.failAt == 0 || f.calls < f.failAt {
		return do()
	}
	if f.calls == f.failAt && f.afterwards {
		_ = do()
	}
	return errDead
}

func (f *flaky) Allocations(ctx context.Context, consumer string) (a allocations.Consumer, err error) {
	err = f.call(func() (err error) {
		a, err = f.Placement.Allocations(ctx, consumer)
		return err
	})
	return a, err
}

func (f *flaky) SetAllocations(ctx context.Context, consumer string, a allocations.Consumer) error {
	return f.call(func() error { return f.Placement.SetAllocations(ctx, consumer, a) })
}

// A dying store is a store whose process ends with one of its transactions.
type dying struct {
	network.Store
	updates int
	endAt   int // the Update that does not take place, nor any after it; 0 for none
	nextAt  int // the same for the process after it
}

var errEnded = errors.New("the process has ended")

func (d *dying) Update(ctx context.Context, now time.Time, fn func(network.Writer) error) error {
	d.updates++
	if d.endAt > 0 && d.updates >= d.endAt {
		return errEnded
	}
	return d.Store.Update(ctx, now, fn)
}

// A cloud is a network with a guaranteed port that is bound for a server, and a real
// placement.
type cloud struct {
	t         *testing.T
	store     network.Store
	direct    providertreetest.Placement // as everybody else sees it
	placement providertreetest.Placement // as the network service does
	flaky     *flaky                     // between the two, at first
	clock     func() time.Time
	service   *service.Service
	net       network.ID
	port      network.ID
	policies  map[string]network.ID
	provider  string
}

const (
	server = "5e57b85f-b017-419a-8745-9c406e149f9e"
	host   = "devstack0"
	hostID = "9cbd0c2a-1d5b-4db7-a573-69912c693d79" // the host's provider
)

// newCloud makes the policies "1000" and "2000", which promise so much in each
// direction of the 2500 that there are, and "none"; and a port with the first.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	return newCloudOn(t, newPlacement(t))
}

// newPlacement returns a real placement that is empty.
func newPlacement(t *testing.T) providertreetest.Placement {
	t.Helper()
	return clientOf(t, placementapitest.New(t, placementservice.DefaultSettings()), time.Minute)
}

// newCloudOn is newCloud with a given placement.
func newCloudOn(t *testing.T, places providertreetest.Placement) *cloud {
	t.Helper()
	store := newStore(t)
	c := &cloud{t: t, store: store, direct: places, clock: time.Now, policies: map[string]network.ID{}}
	c.flaky = &flaky{Placement: c.direct}
	c.placement = c.flaky
	c.service = c.serve(store)
	ctx := context.Background()
	nets, err := c.service.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: "p", Name: "net0"}, AdminStateUp: true,
			PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 100}},
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

func (c *cloud) serve(store network.Store) *service.Service {
	settings := network.DefaultSettings()
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}}
	s := service.New(store, settings, service.Peers{Placement: c.placement, Log: logtest.Logger()})
	s.SetClock(c.clock)
	return s
}

func (c *cloud) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cloud) newPolicy(name string, rate int64, directions ...string) network.ID {
	c.t.Helper()
	ctx := context.Background()
	created, err := c.service.CreatePolicies(ctx, []network.PolicyRow{{Common: network.Common{Project: "p", Name: name}}})
	c.must(err)
	if len(directions) == 0 {
		directions = []string{network.Egress, network.Ingress}
	}
	for _, direction := range directions {
		if rate > 0 {
			_, err := c.service.CreateRule(ctx,
				network.RuleRow{Policy: created[0].ID, Type: network.MinimumBandwidth, Direction: direction, Rate: rate})
			c.must(err)
		}
	}
	return created[0].ID
}

// beat lets the agent of the host report a bridge, and brings that into placement.
func (c *cloud) beat() {
	c.t.Helper()
	ctx := context.Background()
	a, _, err := c.service.Beat(ctx, agents.Heartbeat{
		Type: guarantee.OpenVSwitch.AgentType, Binary: guarantee.OpenVSwitch.Binary, Host: host, Start: true,
		Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-physnet0"}, "integration_bridge": "br-int",
			"resource_provider_bandwidths": {"br-physnet0": {"egress": 2500, "ingress": 2500}},
			"resource_provider_hypervisors": {"br-physnet0": "devstack0"}}`),
	})
	c.must(err)
	c.setHost(hostID, host)
	c.track(a, host, hostID)
}

// setHost makes placement have a host.
func (c *cloud) setHost(id placement.UUID, name string) {
	c.t.Helper()
	c.must(providertreetest.Set(context.Background(), c.direct, providertree.Provider{
		ID: id, Name: name, Inventories: map[string]placement.Inventory{"VCPU": providertreetest.Offer(8)},
	}))
}

// track brings what an agent has reported of one hypervisor into placement, below its
// root. The last device is the one that servers hold something of.
func (c *cloud) track(a agents.Agent, hypervisor string, root placement.UUID) {
	c.t.Helper()
	state, err := c.service.State(a.AgentRow)
	c.must(err)
	for _, p := range tracking.Desired(state, hypervisor, root) {
		if p.Parent != root {
			c.provider = string(p.ID)
		}
		p.Traits = nil
		c.must(providertreetest.Set(context.Background(), c.direct, p))
	}
}

// newPort makes a port, claims its resource request as compute does, and binds it.
func (c *cloud) newPort(policy network.ID) network.ID {
	c.t.Helper()
	ctx := context.Background()
	created, err := c.service.CreatePorts(ctx, []ports.Spec{{
		PortRow: network.PortRow{Common: network.Common{Project: "p"}, Network: c.net, Policy: policy},
		AnyIPs:  true, AnyGroups: true, AnyPortSecurity: true, VNIC: "normal",
	}})
	c.must(err)
	allocation := map[string]string{}
	for _, g := range c.service.Request(&created[0]).Groups {
		allocation[g.ID.String()] = c.provider
		c.claim(g.Resources)
	}
	profile, err := json.Marshal(map[string]any{"allocation": allocation, "pci_slot": "kept"})
	c.must(err)
	_, err = c.service.UpdatePort(ctx, created[0].ID, func(s *ports.Spec) error {
		s.DeviceID, s.DeviceOwner, s.Host, s.Profile = server, "compute:nova", host, profile
		return nil
	})
	c.must(err)
	return created[0].ID
}

// claim adds to the allocations of the server, as compute does.
func (c *cloud) claim(amounts map[string]int64) {
	c.t.Helper()
	a := c.allocated()
	if a.Amounts == nil {
		a = allocations.Consumer{
			Amounts: allocations.Amounts{hostID: {"VCPU": 1}}, Project: "p", User: "u",
			Type: "INSTANCE",
		}
	}
	if a.Amounts[c.provider] == nil {
		a.Amounts[c.provider] = map[string]int64{}
	}
	for class, n := range amounts {
		a.Amounts[c.provider][class] += n
	}
	c.must(c.direct.SetAllocations(context.Background(), server, a))
}

// allocated returns what the server has allocated.
func (c *cloud) allocated() allocations.Consumer {
	c.t.Helper()
	a, err := c.direct.Allocations(context.Background(), server)
	c.must(err)
	return a
}

// setPolicy gives the port another policy, "" for none.
func (c *cloud) setPolicy(s *service.Service, name string) error {
	return c.setPolicyOf(s, c.port, name)
}

func (c *cloud) setPolicyOf(s *service.Service, port network.ID, name string) error {
	_, err := s.UpdatePort(context.Background(), port, func(spec *ports.Spec) error {
		spec.Policy = c.policies[name]
		return nil
	})
	return err
}

// checkAllocated checks whether the server has so much allocated of the bridge in each direction.
func (c *cloud) checkAllocated(want int64) {
	c.t.Helper()
	all := c.allocated()
	allocated := all.Amounts[c.provider]
	if allocated[guarantee.EgressBandwidth] != want || allocated[guarantee.IngressBandwidth] != want {
		c.t.Errorf("the server has allocated %v of the bridge, want %d in each direction", allocated, want)
	}
	if all.Amounts[hostID]["VCPU"] != 1 {
		c.t.Error("its other allocations have changed")
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
