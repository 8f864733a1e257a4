package routed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/routed"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A cloud is a network service with a routed network of two segments, a real placement, and the
// aggregates of a compute service.
type cloud struct {
	t         *testing.T
	store     network.Store
	service   *service.Service
	placement *placementclient.Client
	compute   *aggregates
	now       time.Time // of the workers

	net      network.ID
	segments map[string]network.ID // "a" on physnet0, "b" on physnet1
	subnets  map[string]network.ID
	ports    map[string]network.ID
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	store, err := rowtable.OpenNetwork(t.Context(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	server := httptest.NewServer(clienttest.Berth(t))
	t.Cleanup(server.Close)
	client := placementclient.New(clienttest.Options(t, server.URL))
	t.Cleanup(client.Close)
	c := &cloud{
		t: t, store: store, placement: client, compute: &aggregates{known: []string{"cn1", "cn2", "cn3"}},
		now:      networktest.Now.Truncate(time.Second),
		segments: map[string]network.ID{}, subnets: map[string]network.ID{}, ports: map[string]network.ID{},
	}
	settings := network.DefaultSettings()
	settings.VLANs = map[string][]network.Range{"physnet0": nil, "physnet1": nil}
	c.service = service.New(store, settings,
		service.Peers{Segments: client, Aggregates: c.compute, Log: logtest.Logger()})
	nets, err := c.service.CreateNetworks(t.Context(), []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true, PortSecurity: true},
		Segments: []topology.SegmentSpec{
			{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 7},
			{Type: network.VLAN, PhysicalNetwork: "physnet1", SegmentationID: 8},
		},
	}})
	c.must(err)
	c.net = nets[0].ID
	for i, name := range []string{"a", "b"} {
		c.segments[name] = nets[0].Segments[i].ID
	}
	return c
}

func (c *cloud) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// worker returns a worker of a process that has just started, on a store, with clients.
func (c *cloud) worker(store network.Store, instance string, p routed.Placement, a network.Aggregates) *routed.Service {
	settings := network.DefaultSettings()
	settings.Instance = instance
	return routed.New(network.NewDatabase(store, network.Rules{
		Settings: settings, SyncSegments: true, Log: logtest.Logger(), Now: func() time.Time { return c.now },
	}), p, a)
}

// sync has a worker sync what is due.
func (c *cloud) sync() {
	c.t.Helper()
	c.must(c.worker(c.store, "", c.placement, c.compute).SyncSegments(context.Background()))
}

// state says what both services have of a segment, and whether it is due.
func (c *cloud) state(segment string) string {
	c.t.Helper()
	id := c.segments[segment]
	tree, err := c.placement.Tree(context.Background(), placement.UUID(id), nil)
	c.must(err)
	var words []string
	if p, exists := tree.Find(placement.UUID(id)); exists {
		for class, i := range p.Inventories {
			words = append(words, fmt.Sprintf("%s %d-%d", class, i.Total, i.Reserved))
			rest := placement.Inventory{MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
			if i.Total, i.Reserved = 0, 0; i != rest {
				words = append(words, fmt.Sprintf("units %+v", i))
			}
		}
		if p.Name != routed.Name(id) {
			words = append(words, "named "+p.Name)
		}
	}
	for _, a := range c.compute.list() {
		if a.Name != routed.Name(id) {
			continue
		}
		words = append(words, "hosts "+strings.Join(a.Hosts, " "))
		if !slices.Contains(c.memberships(id), a.ID) {
			words = append(words, "the provider is not in the aggregate")
		}
	}
	if row, exists := c.row(segment); exists {
		if row.Synced < row.Changes || row.Process != "" {
			words = append(words, "due")
		}
		if row.Error != "" {
			words = append(words, row.Error)
		}
	} else {
		words = append(words, "unknown")
	}
	return strings.Join(words, ", ")
}

// memberships are the aggregates of a provider.
func (c *cloud) memberships(id network.ID) (all []string) {
	c.t.Helper()
	ids, err := (&placementclient.Compute{Client: c.placement}).Aggregates(context.Background(), compute.ID(id))
	if err == nil {
		for _, a := range ids {
			all = append(all, string(a))
		}
	}
	return all
}

func (c *cloud) row(segment string) (row network.SegmentSyncRow, exists bool) {
	c.t.Helper()
	c.must(c.store.View(context.Background(), func(r network.Reader) error {
		rows, err := network.Rows[network.SegmentSyncRow](r, network.Where(network.BySegment, c.segments[segment]))
		if len(rows) > 0 {
			row, exists = rows[0], true
		}
		return err
	}))
	return row, exists
}

// subnet creates a subnet on a segment: 10 addresses, a gateway, and DHCP.
func (c *cloud) subnet(name, segment string, change ...func(*topology.SubnetSpec)) {
	c.t.Helper()
	block := fmt.Sprintf("10.0.%d.", len(c.subnets))
	spec := topology.SubnetSpec{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: "p"}, Network: c.net, Segment: c.segments[segment], IPVersion: 4,
		CIDR: block + "0/24", EnableDHCP: true, Pools: []network.Pool{{Start: block + "10", End: block + "19"}},
	}}
	for _, fn := range change {
		fn(&spec)
	}
	all, err := c.service.CreateSubnets(c.t.Context(), []topology.SubnetSpec{spec})
	c.must(err)
	c.subnets[name] = all[0].ID
}

// port creates a port with an address of each of some subnets.
func (c *cloud) port(name, owner string, subnets ...string) {
	c.t.Helper()
	spec := ports.Spec{
		PortRow: network.PortRow{
			Common: network.Common{Project: "p"}, Network: c.net, DeviceOwner: owner, AdminStateUp: true,
		},
		AnyGroups: true, VNIC: "normal",
	}
	for _, s := range subnets {
		spec.FixedIPs = append(spec.FixedIPs, ports.FixedIP{Subnet: c.subnets[s]})
	}
	all, err := c.service.CreatePorts(c.t.Context(), []ports.Spec{spec})
	c.must(err)
	c.ports[name] = all[0].ID
}

func (c *cloud) update(port string, fn func(*ports.Spec)) {
	c.t.Helper()
	_, err := c.service.UpdatePort(c.t.Context(), c.ports[port], func(s *ports.Spec) error { fn(s); return nil })
	c.must(err)
}

func (c *cloud) updateSubnet(name string, fn func(*topology.SubnetSpec)) {
	c.t.Helper()
	_, err := c.service.UpdateSubnet(c.t.Context(), c.subnets[name],
		func(s *topology.SubnetSpec) error { fn(s); return nil })
	c.must(err)
}

// agent has the agent of a host report mappings.
func (c *cloud) agent(host string, physical ...string) {
	c.t.Helper()
	mappings := make([]string, len(physical))
	for i, name := range physical {
		mappings[i] = fmt.Sprintf(`%q: "br%d"`, name, i)
	}
	_, _, err := c.service.Beat(c.t.Context(), agents.Heartbeat{
		Type: "Open vSwitch agent", Host: host,
		Configurations: []byte(`{"bridge_mappings": {` + strings.Join(mappings, ", ") + `}}`),
	})
	c.must(err)
}

func (c *cloud) removeAgent(host string) {
	c.t.Helper()
	all, err := c.service.Agents(c.t.Context(), network.Where(network.ByHost, host))
	c.must(err)
	_, err = c.service.DeleteAgent(c.t.Context(), all[0].ID)
	c.must(err)
}

// aggregates are those of a compute service, by Nova's rules.
type aggregates struct {
	mu    sync.Mutex // guards what follows
	known []string   // hosts
	last  int64
	all   []network.Aggregate
}

func (a *aggregates) list() []network.Aggregate {
	all, _ := a.Aggregates(context.Background())
	return all
}

func (a *aggregates) Aggregates(context.Context) ([]network.Aggregate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(a.all)
	for i := range all {
		all[i].Hosts = slices.Sorted(slices.Values(all[i].Hosts))
	}
	return all, nil
}

func (a *aggregates) CreateAggregate(_ context.Context, name string) (network.Aggregate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.all, func(o network.Aggregate) bool { return o.Name == name }) {
		return network.Aggregate{}, network.ErrTaken
	}
	a.last++
	added := network.Aggregate{Number: a.last, ID: string(network.NewID()), Name: name}
	a.all = append(a.all, added)
	return added, nil
}

// change changes the hosts of an aggregate, and reports whether it exists.
func (a *aggregates) change(number int64, fn func([]string) []string) bool {
	i := slices.IndexFunc(a.all, func(o network.Aggregate) bool { return o.Number == number })
	if i >= 0 {
		a.all[i].Hosts = fn(slices.Clone(a.all[i].Hosts))
	}
	return i >= 0
}

func (a *aggregates) AddHost(_ context.Context, number int64, host string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.known, host) || !a.change(number, func(hosts []string) []string {
		if slices.Contains(hosts, host) {
			return hosts
		}
		return append(hosts, host)
	}) {
		return network.ErrNoHost
	}
	return nil
}

func (a *aggregates) RemoveHost(_ context.Context, number int64, host string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(number, func(hosts []string) []string {
		return slices.DeleteFunc(hosts, func(o string) bool { return o == host })
	})
	return nil
}

func (a *aggregates) DeleteAggregate(_ context.Context, number int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.all, func(o network.Aggregate) bool { return o.Number == number })
	if i < 0 {
		return nil
	}
	if len(a.all[i].Hosts) > 0 {
		return errors.New("the aggregate is not empty")
	}
	a.all = slices.Delete(a.all, i, i+1)
	return nil
}

// A gate is between a worker and the services: before is called before each request, after after
// it. An error of either is that of the request.
type gate struct {
	routed.Placement
	compute       network.Aggregates
	before, after func(request string) error
}

// through sends a request unless the gate is closed.
func through[T any](g *gate, request string, send func() (T, error)) (result T, err error) {
	if err = g.before(request); err != nil {
		return result, err
	}
	result, err = send()
	if closed := g.after(request); closed != nil {
		err = closed
	}
	return result, err
}

// throughAll is through for a request without a result.
func throughAll(g *gate, request string, send func() error) error {
	_, err := through(g, request, func() (struct{}, error) { return struct{}{}, send() })
	return err
}

func (g *gate) Tree(
	ctx context.Context, id placement.UUID, contents func(providertree.Provider) bool,
) (providertree.Tree, error) {
	return through(g, "tree", func() (providertree.Tree, error) { return g.Placement.Tree(ctx, id, contents) })
}

func (g *gate) Create(ctx context.Context, p providertree.Provider) (int64, error) {
	return through(g, "create provider", func() (int64, error) { return g.Placement.Create(ctx, p) })
}

func (g *gate) Remove(ctx context.Context, id placement.UUID) error {
	return throughAll(g, "remove provider", func() error { return g.Placement.Remove(ctx, id) })
}

func (g *gate) SetInventories(ctx context.Context, p providertree.Provider) (int64, error) {
	return through(g, "set inventories", func() (int64, error) { return g.Placement.SetInventories(ctx, p) })
}

func (g *gate) Join(ctx context.Context, provider, aggregate placement.UUID) error {
	return throughAll(g, "join", func() error { return g.Placement.Join(ctx, provider, aggregate) })
}

func (g *gate) Aggregates(ctx context.Context) ([]network.Aggregate, error) {
	return through(g, "aggregates", func() ([]network.Aggregate, error) { return g.compute.Aggregates(ctx) })
}

func (g *gate) CreateAggregate(ctx context.Context, name string) (network.Aggregate, error) {
	return through(g, "create aggregate",
		func() (network.Aggregate, error) { return g.compute.CreateAggregate(ctx, name) })
}

func (g *gate) AddHost(ctx context.Context, number int64, host string) error {
	return throughAll(g, "add "+host, func() error { return g.compute.AddHost(ctx, number, host) })
}

func (g *gate) RemoveHost(ctx context.Context, number int64, host string) error {
	return throughAll(g, "remove "+host, func() error { return g.compute.RemoveHost(ctx, number, host) })
}

func (g *gate) DeleteAggregate(ctx context.Context, number int64) error {
	return throughAll(g, "delete aggregate", func() error { return g.compute.DeleteAggregate(ctx, number) })
}

// A dyingStore makes no Updates after its process has ended.
type dyingStore struct {
	network.Store
	ended func() bool // counts an Update
}

var errEnded = errors.New("the process has ended")

func (d *dyingStore) Update(ctx context.Context, now time.Time, fn func(network.Writer) error) error {
	if d.ended() {
		return errEnded
	}
	return d.Store.Update(ctx, now, fn)
}
