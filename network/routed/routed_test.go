package routed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/routed"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// TestServicesFollowRows changes all that the state of a segment in placement and compute depends
// on. Only segments that a change has marked are synced.
func TestServicesFollowRows(t *testing.T) {
	c := newCloud(t)
	ctx := t.Context()
	unsynced := func(when string, want int) {
		t.Helper()
		if n, err := c.service.UnsyncedSegments(ctx); n != want || err != nil {
			t.Errorf("%s: %d segments are not synced, %v; want %d", when, n, err, want)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		a, b string // states of the segments
	}{
		{"NoSubnets", func() { c.agent("cn1", "physnet0") }, "unknown", "unknown"},
		{"Subnet", func() { c.subnet("s0", "a") }, "IPV4_ADDRESS 11-2, hosts cn1", "unknown"},
		{
			"SecondSubnet", func() {
				c.subnet("s1", "a", func(s *topology.SubnetSpec) { s.NoGateway, s.EnableDHCP = true, false })
			},
			"IPV4_ADDRESS 21-2, hosts cn1", "unknown",
		},
		{
			"OtherSegment", func() { c.subnet("s2", "b") },
			"IPV4_ADDRESS 21-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"IPv6", func() {
				c.subnet("six", "a", func(s *topology.SubnetSpec) { s.IPVersion, s.CIDR, s.Pools = 6, "2001:db8::/64", nil })
			},
			"IPV4_ADDRESS 21-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"Agent", func() { c.agent("cn2", "physnet0", "physnet1") },
			"IPV4_ADDRESS 21-2, hosts cn1 cn2", "IPV4_ADDRESS 11-2, hosts cn2",
		},
		{
			"OtherMapping", func() { c.agent("cn2", "physnet1") },
			"IPV4_ADDRESS 21-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts cn2",
		},
		{
			"AgentOfNoSegment", func() { c.agent("cn3", "physnet9") },
			"IPV4_ADDRESS 21-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts cn2",
		},
		{
			"AgentDeleted", func() { c.removeAgent("cn2") },
			"IPV4_ADDRESS 21-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{"Port", func() { c.port("p0", "", "s0") }, "IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts "},
		{
			"PortOfServer", func() { c.port("p1", "compute:nova", "s0") },
			"IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"PortOfDHCP", func() { c.port("p2", "network:dhcp", "s2") },
			"IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"PortWithTwo", func() { c.port("p3", "network:x", "s0", "s1") },
			"IPV4_ADDRESS 21-5, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"FewerAddresses", func() {
				c.update("p3", func(s *ports.Spec) { s.FixedIPs, s.AnyIPs = []ports.FixedIP{{Subnet: c.subnets["s1"]}}, false })
			},
			"IPV4_ADDRESS 21-4, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"MoreAddresses", func() {
				c.update("p3", func(s *ports.Spec) {
					s.FixedIPs = []ports.FixedIP{{Subnet: c.subnets["s1"]}, {Subnet: c.subnets["s0"]}, {Subnet: c.subnets["s0"]}}
					s.AnyIPs = false
				})
			},
			"IPV4_ADDRESS 21-6, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"GivenToServer", func() { c.update("p3", func(s *ports.Spec) { s.DeviceOwner = "compute:nova" }) },
			"IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"TakenFromServer", func() { c.update("p1", func(s *ports.Spec) { s.DeviceOwner = "" }) },
			"IPV4_ADDRESS 21-4, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"PortDeleted", func() { c.must(c.service.DeletePort(ctx, c.ports["p0"])) },
			"IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"Deferred", func() {
				c.port("p4", "")
				c.update("p4", func(s *ports.Spec) { s.AnyIPs = true })
			},
			"IPV4_ADDRESS 21-3, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"NoGateway", func() { c.updateSubnet("s0", func(s *topology.SubnetSpec) { s.Gateway, s.NoGateway = "", true }) },
			"IPV4_ADDRESS 20-2, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"NoDHCP", func() { c.updateSubnet("s0", func(s *topology.SubnetSpec) { s.EnableDHCP = false }) },
			"IPV4_ADDRESS 20-1, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"OtherPools", func() {
				c.updateSubnet("s0", func(s *topology.SubnetSpec) {
					s.Pools = []network.Pool{{Start: "10.0.0.10", End: "10.0.0.10"}, {Start: "10.0.0.100", End: "10.0.0.129"}}
				})
			},
			"IPV4_ADDRESS 41-1, hosts cn1", "IPV4_ADDRESS 11-2, hosts ",
		},
		{
			"NoPoolsAnyMore", func() { c.updateSubnet("s2", func(s *topology.SubnetSpec) { s.Pools = nil }) },
			"IPV4_ADDRESS 41-1, hosts cn1", "unknown",
		},
		{
			"PoolsAgain", func() {
				c.updateSubnet("s2", func(s *topology.SubnetSpec) {
					s.Pools = []network.Pool{{Start: "10.0.2.10", End: "10.0.2.10"}}
				})
			},
			"IPV4_ADDRESS 41-1, hosts cn1", "IPV4_ADDRESS 2-2, hosts ",
		},
		{
			"MoreReservedThanTotal", func() {
				c.port("p5", "")
				c.update("p5", func(s *ports.Spec) {
					s.FixedIPs, s.AnyIPs = []ports.FixedIP{{Subnet: c.subnets["s2"], IP: "10.0.2.200"}}, false
				})
			},
			"IPV4_ADDRESS 41-1, hosts cn1", "IPV4_ADDRESS 2-2, hosts ",
		},
		{
			"SubnetDeleted", func() {
				c.must(c.service.DeletePort(ctx, c.ports["p5"]))
				c.must(c.service.DeletePort(ctx, c.ports["p2"]))
				c.must(c.service.DeleteSubnet(ctx, c.subnets["s2"]))
			},
			"IPV4_ADDRESS 41-1, hosts cn1", "unknown",
		},
		{
			"SegmentDeleted", func() { c.must(c.service.DeleteSegment(ctx, c.segments["b"])) },
			"IPV4_ADDRESS 41-1, hosts cn1", "unknown",
		},
		{
			"PortsDeleted", func() {
				for _, p := range []string{"p1", "p3", "p4"} {
					c.must(c.service.DeletePort(ctx, c.ports[p]))
				}
			},
			"IPV4_ADDRESS 41-0, hosts cn1", "unknown",
		},
		{"NetworkDeleted", func() { c.must(c.service.DeleteNetwork(ctx, c.net)) }, "unknown", "unknown"},
	} {
		step.do()
		if step.name == "Subnet" {
			unsynced("before the first sync", 1)
		}
		c.sync()
		unsynced(step.name, 0)
		if a, b := c.state("a"), c.state("b"); a != step.a || b != step.b {
			t.Errorf("%s: segment a has %q, want %q;\nsegment b has %q, want %q", step.name, a, step.a, b, step.b)
		}
	}
	if all := c.compute.list(); len(all) > 0 {
		t.Errorf("aggregates that remain: %v", all)
	}
}

// TestSubnetComesToSegment associates the subnet of a network that was not routed with its segment.
func TestSubnetComesToSegment(t *testing.T) {
	c := newCloud(t)
	c.agent("cn1", "physnet0")
	c.must(c.service.DeleteSegment(t.Context(), c.segments["b"]))
	c.subnet("s0", "none") // on the whole network
	c.port("p", "", "s0")
	c.sync()
	if got := c.state("a"); got != "unknown" {
		t.Errorf("before: %q", got)
	}
	c.updateSubnet("s0", func(s *topology.SubnetSpec) { s.Segment = c.segments["a"] })
	c.sync()
	if got, want := c.state("a"), "IPV4_ADDRESS 11-3, hosts cn1"; got != want {
		t.Errorf("after: %q, want %q", got, want)
	}
}

// A scenario is a change of a segment that is synced.
type scenario struct {
	before, change func(*cloud)
	want           string
}

func scenarios() map[string]scenario {
	begin := func(c *cloud) {
		c.agent("cn1", "physnet0")
		c.agent("cn2", "physnet0")
	}
	return map[string]scenario{
		"Created": {begin, func(c *cloud) { c.subnet("s0", "a") }, "IPV4_ADDRESS 11-2, hosts cn1 cn2"},
		"Changed": {func(c *cloud) { begin(c); c.subnet("s0", "a") }, func(c *cloud) {
			c.port("p", "", "s0")
			c.removeAgent("cn1")
			c.agent("cn3", "physnet0")
		}, "IPV4_ADDRESS 11-3, hosts cn2 cn3"},
		"Removed": {
			func(c *cloud) { begin(c); c.subnet("s0", "a") },
			func(c *cloud) { c.must(c.service.DeleteSubnet(c.t.Context(), c.subnets["s0"])) }, "unknown",
		},
	}
}

// TestKilledWorkers ends a worker before and after each of its requests and commits. The next
// process finishes what it has begun: that of the same instance at once, another one when the lease
// has ended.
func TestKilledWorkers(t *testing.T) {
	for name, sc := range scenarios() {
		for _, instance := range []string{"same", "other"} {
			t.Run(name+"/"+instance, func(t *testing.T) {
				t.Parallel()
				kills := 0
				for at := 1; ; at++ {
					c := newCloud(t)
					sc.before(c)
					c.sync()
					sc.change(c)
					if !c.kill(at) {
						break
					}
					kills++
					if instance == "other" {
						c.now = c.now.Add(time.Hour)
					}
					next := c.worker(c.store, instance, c.placement, c.compute)
					c.must(next.SyncSegments(context.Background()))
					if got := c.state("a"); got != sc.want || strings.Contains(got, "aggregate") {
						t.Errorf("after the end at point %d: %q, want %q", at, got, sc.want)
					}
				}
				if kills < 8 {
					t.Errorf("the worker has only %d points to end at", kills)
				}
			})
		}
	}
}

// kill runs a worker of the instance "same" that ends at a point: before or after a request, or
// before a commit. It reports whether the worker came to that point.
func (c *cloud) kill(at int) bool {
	points, ended := 0, false
	point := func() bool {
		points++
		ended = ended || points >= at
		return ended
	}
	pass := func(string) error {
		if point() {
			return errEnded
		}
		return nil
	}
	g := &gate{Placement: c.placement, compute: c.compute, before: pass, after: pass}
	err := c.worker(&dyingStore{c.store, point}, "same", g, g).SyncSegments(context.Background())
	if !ended {
		c.must(err)
	}
	return ended
}

// TestKilledWorkerKeepsItsLease has another instance wait for the end of a lease.
func TestKilledWorkerKeepsItsLease(t *testing.T) {
	c := newCloud(t)
	c.subnet("s0", "a")
	if !c.kill(3) {
		t.Fatal("the worker was not ended")
	}
	other := c.worker(c.store, "other", c.placement, c.compute)
	c.must(other.SyncSegments(t.Context()))
	if got := c.state("a"); got != "due" {
		t.Errorf("before the lease has ended: %q", got)
	}
	c.now = c.now.Add(3 * time.Minute)
	c.must(other.SyncSegments(t.Context()))
	if got := c.state("a"); got != "IPV4_ADDRESS 11-2, hosts " {
		t.Errorf("after the lease has ended: %q", got)
	}
}

// TestFailedRequests fails each request of a sync twice, before or after it took effect. The sync
// is repeated after ten seconds, then after a minute, and not before.
func TestFailedRequests(t *testing.T) {
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				c := newCloud(t)
				sc.before(c)
				c.sync()
				sc.change(c)
				requests, failing := 0, ""
				pass := func(request string) error {
					if requests++; requests == at {
						failing = request
					}
					if request == failing {
						return errors.New("connection reset")
					}
					return nil
				}
				g := &gate{Placement: c.placement, compute: c.compute, before: pass, after: pass}
				w := c.worker(c.store, "", g, g)
				c.must(w.SyncSegments(t.Context()))
				if requests < at {
					break
				}
				if row, exists := c.row("a"); !exists || !strings.Contains(row.Error, "connection reset") {
					t.Errorf("after the failure of request %d, the row is %+v", at, row)
				}
				for _, pause := range []time.Duration{10 * time.Second, time.Minute} {
					c.now = c.now.Add(pause - time.Second)
					before := requests
					c.must(w.SyncSegments(t.Context()))
					if requests > before {
						t.Errorf("after the failure of request %d, the sync is repeated before %s", at, pause)
					}
					if c.now = c.now.Add(time.Second); pause == time.Minute {
						failing = ""
					}
					c.must(w.SyncSegments(t.Context()))
				}
				if got := c.state("a"); got != sc.want {
					t.Errorf("after the failure of request %d: %q, want %q", at, got, sc.want)
				}
			}
		})
	}
}

// TestUnknownHosts adds a host to its aggregate once compute knows it.
func TestUnknownHosts(t *testing.T) {
	c := newCloud(t)
	c.agent("cn1", "physnet0")
	c.agent("cn9", "physnet0")
	c.subnet("s0", "a")
	c.sync()
	const unknown = "compute does not know the hosts cn9"
	if got, want := c.state("a"), "IPV4_ADDRESS 11-2, hosts cn1, "+unknown; got != want {
		t.Errorf("before compute knows the host: %q, want %q", got, want)
	}
	c.port("p", "", "s0") // a change does not wait for the host
	c.sync()
	if got, want := c.state("a"), "IPV4_ADDRESS 11-3, hosts cn1, "+unknown; got != want {
		t.Errorf("with a port: %q, want %q", got, want)
	}
	c.compute.known = append(c.compute.known, "cn9")
	c.now = c.now.Add(time.Minute)
	c.sync()
	if got, want := c.state("a"), "IPV4_ADDRESS 11-3, hosts cn1 cn9"; got != want {
		t.Errorf("once compute knows the host: %q, want %q", got, want)
	}
}

// TestProvidersInUseRemain keeps the provider and the aggregate of a segment without subnets while
// a consumer has allocations, and what others have added while there are subnets.
func TestProvidersInUseRemain(t *testing.T) {
	c := newCloud(t)
	ctx := t.Context()
	c.agent("cn1", "physnet0")
	c.subnet("s0", "a")
	c.sync()
	id := placement.UUID(c.segments["a"])
	tree, err := c.placement.Tree(ctx, id, nil)
	c.must(err)
	p, _ := tree.Find(id)
	p.Inventories["DISK_GB"] = placement.Inventory{Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1}
	p.Generation, err = c.placement.SetInventories(ctx, p)
	c.must(err)
	c.must(c.placement.EnsureTrait(ctx, "CUSTOM_RACK"))
	p.Traits = []string{"CUSTOM_RACK"}
	_, err = c.placement.SetTraits(ctx, p)
	c.must(err)
	const consumer = "0a0a0a0a-0000-4000-8000-000000000001"
	c.must(c.placement.SetAllocations(ctx, consumer, allocations.Consumer{
		Amounts: allocations.Amounts{string(id): {"IPV4_ADDRESS": 1}}, Project: "p", User: "u",
	}))
	c.port("p", "", "s0")
	c.sync()
	tree, err = c.placement.Tree(ctx, id, nil)
	c.must(err)
	p, _ = tree.Find(id)
	if len(p.Traits) != 1 || p.Inventories["DISK_GB"].Total != 1 || p.Inventories["IPV4_ADDRESS"].Reserved != 3 {
		t.Errorf("after a change the provider is %+v", p)
	}

	c.must(c.service.DeletePort(ctx, c.ports["p"]))
	c.must(c.service.DeleteSubnet(ctx, c.subnets["s0"]))
	c.sync()
	if got := c.state("a"); !strings.Contains(got, "hosts cn1") || !strings.Contains(got, "cannot be removed") {
		t.Errorf("while it is in use: %q", got)
	}
	allocated, err := c.placement.Allocations(ctx, consumer)
	c.must(err)
	allocated.Amounts = nil
	c.must(c.placement.SetAllocations(ctx, consumer, allocated))
	c.now = c.now.Add(time.Minute)
	c.sync()
	if got := c.state("a"); got != "unknown" {
		t.Errorf("once it is not in use: %q", got)
	}
}

// TestStartCorrectsEverything marks at a start what was never marked, and what others have changed.
func TestStartCorrectsEverything(t *testing.T) {
	c := newCloud(t)
	ctx := t.Context()
	c.agent("cn1", "physnet0", "physnet1")
	c.subnet("s0", "a")
	c.subnet("s1", "b")
	c.sync()
	c.must(c.placement.Remove(ctx, placement.UUID(c.segments["a"])))
	c.must(c.compute.RemoveHost(ctx, c.compute.list()[0].Number, "cn1"))
	c.must(c.store.Update(ctx, c.now, func(w network.Writer) error { // as in a database from before
		_, err := w.Remove(&network.SegmentSyncRow{},
			network.Where(network.BySegment, c.segments["a"], c.segments["b"]))
		return err
	}))
	w := c.worker(c.store, "", c.placement, c.compute)
	running, stop := context.WithCancel(ctx)
	tick := make(chan time.Time)
	ended := make(chan struct{})
	go func() { defer close(ended); w.RunSegments(running, tick) }()
	tick <- c.now // it is taken after the first syncs
	stop()
	<-ended
	for _, segment := range []string{"a", "b"} {
		if got, want := c.state(segment), "IPV4_ADDRESS 11-2, hosts cn1"; got != want {
			t.Errorf("segment %s: %q, want %q", segment, got, want)
		}
	}
}

// TestInterruptedSync ends the lease of a worker that stops during a request.
func TestInterruptedSync(t *testing.T) {
	c := newCloud(t)
	c.subnet("s0", "a")
	ctx, stop := context.WithCancel(t.Context())
	pass := func(request string) error {
		if request == "create aggregate" {
			stop()
		}
		return ctx.Err()
	}
	g := &gate{Placement: c.placement, compute: c.compute, before: pass, after: pass}
	if err := c.worker(c.store, "one", g, g).SyncSegments(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("SyncSegments = %v, want that it was cancelled", err)
	}
	if row, _ := c.row("a"); row.Process != "" || row.Error != "" || row.Synced == row.Changes {
		t.Errorf("after the interruption the row is %+v", row)
	}
	c.must(c.worker(c.store, "two", c.placement, c.compute).SyncSegments(t.Context()))
	if got := c.state("a"); got != "IPV4_ADDRESS 11-2, hosts " {
		t.Errorf("another instance has made %q", got)
	}
}

// TestChangesDuringSync changes the rows while a request of a sync is under way. The segment is
// synced again in the same run, also when the first sync has just removed everything.
func TestChangesDuringSync(t *testing.T) {
	for name, tc := range map[string]struct {
		request      string
		before, then func(*cloud)
		want         string
	}{
		"SubnetAfterRemoval": {
			"delete aggregate", func(c *cloud) {
				c.subnet("s0", "a")
				c.sync()
				c.must(c.service.DeleteSubnet(c.t.Context(), c.subnets["s0"]))
			}, func(c *cloud) { c.subnet("s1", "a") }, "IPV4_ADDRESS 11-2, hosts cn1",
		},
		"SubnetDeletedDuringCreation": {
			"add cn1", func(c *cloud) { c.subnet("s0", "a") },
			func(c *cloud) { c.must(c.service.DeleteSubnet(c.t.Context(), c.subnets["s0"])) }, "unknown",
		},
		"Port": {
			"join", func(c *cloud) { c.subnet("s0", "a") }, func(c *cloud) { c.port("p", "", "s0") },
			"IPV4_ADDRESS 11-3, hosts cn1",
		},
		"Host": {
			"join", func(c *cloud) { c.subnet("s0", "a") }, func(c *cloud) { c.agent("cn2", "physnet0") },
			"IPV4_ADDRESS 11-2, hosts cn1 cn2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.agent("cn1", "physnet0")
			tc.before(c)
			changed := false
			g := &gate{Placement: c.placement, compute: c.compute, after: func(string) error { return nil }}
			g.before = func(request string) error {
				if request == tc.request && !changed {
					changed = true
					tc.then(c)
				}
				return nil
			}
			c.must(c.worker(c.store, "", g, g).SyncSegments(t.Context()))
			if got := c.state("a"); got != tc.want || !changed {
				t.Errorf("%q, want %q; changed: %t", got, tc.want, changed)
			}
		})
	}
}

// TestBusySegmentsDoNotDelayOthers marks all segments but the last again and again while they are
// synced.
func TestBusySegmentsDoNotDelayOthers(t *testing.T) {
	c := newCloud(t)
	rows := make([]network.SegmentRow, 40)
	for i := range rows {
		rows[i] = network.SegmentRow{
			Network: c.net, Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 100 + i,
		}
	}
	segments, err := c.service.CreateSegments(t.Context(), rows)
	c.must(err)
	var ids []network.ID
	for i, s := range segments {
		ids = append(ids, s.ID)
		c.segments[fmt.Sprint(i)] = s.ID
		c.subnet(fmt.Sprint(i), fmt.Sprint(i))
	}
	slices.Sort(ids)
	last := ids[len(ids)-1]
	db := network.NewDatabase(c.store, network.Rules{SyncSegments: true})
	joins, at := 0, 0 // and which of them was that of the last segment
	pass := func(request string) error {
		if request != "join" || joins > 200 {
			return nil
		}
		joins++
		return db.Update(t.Context(), func(tx *network.Tx) error {
			row, err := network.One[network.SegmentSyncRow](tx, network.Where(network.BySegment, last))
			if at == 0 && row.Process != "" {
				at = joins
			}
			return errors.Join(err, tx.MarkSegments(ids[:len(ids)-1]...))
		})
	}
	g := &gate{Placement: c.placement, compute: c.compute, before: pass, after: func(string) error { return nil }}
	c.must(c.worker(c.store, "", g, g).SyncSegments(t.Context()))
	if at == 0 || at > len(ids) {
		t.Errorf("the last of %d segments was leased before join %d of %d", len(ids), at, joins)
	}
}

// TestRepeatedCreation has compute refuse the name of an aggregate that the same request has
// created: its answer was lost, and the client has repeated it.
func TestRepeatedCreation(t *testing.T) {
	c := newCloud(t)
	c.agent("cn1", "physnet0")
	c.subnet("s0", "a")
	g := &gate{Placement: c.placement, compute: c.compute, before: func(string) error { return nil }}
	g.after = func(request string) error {
		if request == "create aggregate" {
			return network.ErrTaken
		}
		return nil
	}
	c.must(c.worker(c.store, "", g, g).SyncSegments(t.Context()))
	if got, want := c.state("a"), "IPV4_ADDRESS 11-2, hosts cn1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLostLease has a worker wait in a request until another one has synced the segment for a later
// change. What the first one does then is repaired.
func TestLostLease(t *testing.T) {
	for _, request := range []string{"set inventories", "create aggregate", "add cn1", "join"} {
		t.Run(request, func(t *testing.T) {
			c := newCloud(t)
			c.agent("cn1", "physnet0")
			c.subnet("s0", "a")
			waits, goOn := make(chan struct{}), make(chan struct{})
			var once sync.Once
			g := &gate{
				Placement: c.placement, compute: c.compute, after: func(string) error { return nil },
				before: func(next string) error {
					if next == request {
						once.Do(func() { close(waits); <-goOn })
					}
					return nil
				},
			}
			slow := c.worker(c.store, "slow", g, g)
			ended := make(chan error)
			go func() { ended <- slow.SyncSegments(t.Context()) }()
			<-waits
			c.port("p", "", "s0")
			c.removeAgent("cn1")
			c.agent("cn2", "physnet0")
			c.now = c.now.Add(time.Hour)
			c.must(c.worker(c.store, "fast", c.placement, c.compute).SyncSegments(t.Context()))
			const want = "IPV4_ADDRESS 11-3, hosts cn2"
			if got := c.state("a"); got != want {
				t.Errorf("after the second worker: %q, want %q", got, want)
			}
			close(goOn)
			c.must(<-ended)
			if got := c.state("a"); got != want {
				t.Errorf("in the end: %q, want %q", got, want)
			}
		})
	}
}

// TestTwoServices has two services sync segments while ports and agents change. No two syncs of a
// segment overlap, and at the end both segments are as the rows say.
func TestTwoServices(t *testing.T) {
	c := newCloud(t)
	c.agent("cn1", "physnet0", "physnet1")
	c.subnet("s0", "a", func(s *topology.SubnetSpec) { s.Pools = []network.Pool{{Start: "10.0.0.10", End: "10.0.0.200"}} })
	c.subnet("s1", "b")
	var mu sync.Mutex
	syncing := map[placement.UUID]int{}
	overlap := func(p *watchedPlacement, id placement.UUID, by int) {
		mu.Lock()
		defer mu.Unlock()
		if syncing[id] += by; syncing[id] > 1 {
			t.Errorf("two workers sync segment %s", id)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 2 {
		p := &watchedPlacement{Placement: c.placement, overlap: overlap}
		w := c.worker(c.store, fmt.Sprint("service ", i), p, c.compute)
		running.Go(func() {
			for ctx.Err() == nil {
				if err := w.SyncSegments(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 30 {
		c.port(fmt.Sprint("p", i), "", "s0")
		if i%3 == 0 {
			c.agent("cn2", "physnet"+fmt.Sprint(i%2))
		}
	}
	stop()
	running.Wait()
	c.sync()
	if got, want := c.state("a"), "IPV4_ADDRESS 192-32, hosts cn1"; got != want {
		t.Errorf("segment a: %q, want %q", got, want)
	}
	if got, want := c.state("b"), "IPV4_ADDRESS 11-2, hosts cn1 cn2"; got != want {
		t.Errorf("segment b: %q, want %q", got, want)
	}
}

// A watchedPlacement reports when the sync of a provider begins and when its inventory was changed.
type watchedPlacement struct {
	routed.Placement
	overlap func(p *watchedPlacement, id placement.UUID, by int)
}

func (p *watchedPlacement) SetInventories(ctx context.Context, want providertree.Provider) (int64, error) {
	p.overlap(p, want.ID, 1)
	defer p.overlap(p, want.ID, -1)
	return p.Placement.SetInventories(ctx, want)
}
