package computeapi_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/tracking"
	placementservice "github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A cloud is the API with placement and network services, each behind its API and on an empty
// database, with hosts, for the dialogues that were recorded from a whole Nova.
type cloud struct {
	compute, network, placement *standIn
	gates                       map[string]*gate // of the hosts, by name

	// bridges are those of the hosts that have others than to physnet0, by name.
	bridges map[string]map[string]int
	// routed has segments in placement and compute, once networks has synced them, and servers
	// scheduled by them.
	routed   bool
	networks *service.Service
}

var _ neutron.Cloud = (*cloud)(nil)

// A standIn is a server whose handler can be replaced.
type standIn struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
}

func newStandIn(t testing.TB) *standIn {
	s := &standIn{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*s.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// A gate is what a host passes before it does something.
type gate struct {
	mu   sync.Mutex
	free chan struct{} // closed when the host is not held
}

func newGate() *gate {
	g := &gate{free: make(chan struct{})}
	close(g.free)
	return g
}

func (g *gate) pass() {
	g.mu.Lock()
	free := g.free
	g.mu.Unlock()
	<-free
}

func (g *gate) hold(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.free:
		if closed {
			g.free = make(chan struct{})
		}
	default:
		if !closed {
			close(g.free)
		}
	}
}

// users are the ids of the people.
var users = map[string]string{
	"admin": "a0000000000000000000000000000001", "member": "a0000000000000000000000000000002",
	"reader": "a0000000000000000000000000000003", "other": "a0000000000000000000000000000004",
	"service": "a0000000000000000000000000000005",
}

// authenticateUser is authenticate with the ids of users.
func authenticateUser(r *http.Request) (identity.Caller, error) {
	c, err := authenticate(r)
	c.UserID = users[c.UserID]
	return c, err
}

func (c *cloud) URL() string                           { return c.compute.URL }
func (c *cloud) NetworkURL() string                    { return c.network.URL }
func (c *cloud) PlacementURL() string                  { return c.placement.URL }
func (c *cloud) PlacementToken() string                { return client.NoAuth }
func (c *cloud) Token(_ testing.TB, who string) string { return nova.Token(who) }

func (c *cloud) Projects() map[string]string {
	all := maps.Clone(nova.Projects())
	for who, id := range users {
		all[who+"_user"] = id
	}
	return all
}

func (c *cloud) Hold(_ testing.TB, host string)    { c.gates[host].hold(true) }
func (c *cloud) Release(_ testing.TB, host string) { c.gates[host].hold(false) }

func (c *cloud) Heartbeat(t testing.TB, _ neutron.Agent)        { t.Fatal("the hosts report by themselves") }
func (c *cloud) Silence(t testing.TB, _ neutron.Kind, _ string) { t.Fatal("no host is silent") }
func (c *cloud) Wired(t testing.TB, _, _ string)                { t.Fatal("the hosts report what they plug in") }

// Reset starts all of it again.
func (c *cloud) Reset(t testing.TB) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer t.Cleanup(func() {
		for _, g := range c.gates {
			g.hold(false)
		}
		stop()
		all.Wait()
	})
	places := placementapitest.New(t, placementservice.DefaultSettings())
	c.placement.handler.Store(&places)
	c.resetNetwork(ctx, t, &all)
	c.resetCompute(ctx, t, &all)
	hosts := &fakehosts.Services{
		Placement: c.placement.URL, Network: c.network.URL, Compute: c.compute.URL,
		Client: &http.Client{Timeout: time.Minute},
		Again:  20 * time.Millisecond, Inventories: true,
	}
	c.gates = make(map[string]*gate)
	for name, id := range nova.Hosts() {
		h := &fakehosts.Host{
			Name: name, ID: id, VCPUs: 10, MemoryMB: 8192, DiskGB: 1028, Bridges: map[string]int{"physnet0": nova.Bandwidth},
		}
		if bridges := c.bridges[name]; bridges != nil {
			h.Bridges = bridges
		}
		g := newGate()
		c.gates[name] = g
		h.Driver.Fail = func(string, string) error { g.pass(); return nil }
		if err := hosts.Introduce(ctx, h); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { hosts.Run(ctx, h) })
	}
}

// options are those of a client of a service.
func options(t testing.TB, url string) client.Options {
	t.Helper()
	access, err := client.Fixed(url, client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	return client.Options{Access: access, Timeout: time.Minute}
}

// resetNetwork starts an empty network service, which brings agents into placement.
func (c *cloud) resetNetwork(ctx context.Context, t testing.TB, all *sync.WaitGroup) {
	t.Helper()
	store, err := rowtable.OpenNetwork(ctx, sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	rules, err := policy.New(policy.Options{Defaults: networkapi.PolicyDefaults(), Networking: true})
	if err != nil {
		t.Fatal(err)
	}
	settings := network.DefaultSettings()
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 1, High: 4000}}, "physnet1": {{Low: 1, High: 4000}}}
	places := placementclient.New(options(t, c.placement.URL))
	t.Cleanup(places.Close)
	peers := service.Peers{Placement: places, Log: logtest.Logger()}
	if c.routed {
		aggregates := novaclient.New(options(t, c.compute.URL+"/v2.1"))
		t.Cleanup(aggregates.Close)
		peers.Segments, peers.Aggregates = places, aggregates
	}
	nets := service.New(store, settings, peers)
	c.networks = nets
	tracker := tracking.New(tracking.Options{
		Placement: places, Shared: nets.Shared,
		Done: func(ctx context.Context, agent network.ID, r network.SyncResult) { _ = nets.RecordSync(ctx, agent, r) },
	})
	all.Go(func() { tracker.Run(ctx) })
	api := &networkapi.API{Network: nets, Policy: rules, Reported: func(agent agents.Agent, started bool) {
		if state, err := nets.State(agent.AgentRow); err == nil {
			tracker.Report(tracking.Report{Agent: agent.ID, State: state, Hypervisors: agent.Hypervisors, Started: started})
		}
	}}
	h := networkapi.Handler(httpapi.New(httpapi.Config{
		Service: "network", Routes: api.Routes(),
		Authenticate: httpapi.Agents{TokensForAll: true, Others: authenticateUser}.Authenticate, Public: networkapi.Public,
		Problem: networkapi.Problem,
	}))
	c.network.handler.Store(&h)
}

// resetCompute starts an empty compute service with an image.
func (c *cloud) resetCompute(ctx context.Context, t testing.TB, all *sync.WaitGroup) {
	t.Helper()
	places, nets := placementclient.NewCompute(options(t, c.placement.URL)), neutronclient.New(options(t, c.network.URL))
	t.Cleanup(func() {
		places.Close()
		nets.Close()
	})
	settings := compute.DefaultSettings()
	settings.Requests.RoutedNetworks = c.routed
	s := newServices(newStore(t), compute.Rules{Settings: settings, Log: logtest.Logger()},
		computetest.Options{
			Placement: places, Network: nets,
			Images: images{fakehosts.Image: {
				Image: extraspecs.Image{ID: fakehosts.Image, Name: fakehosts.ImageName, DiskFormat: "qcow2"}, Status: "active",
				Size: 16338944,
			}},
		}, places)
	all.Go(func() { s.lifecycle.RunOperations(ctx) })
	h := handler(t, s, authenticateUser)
	c.compute.handler.Store(&h)
}

// TestCloudDialogues holds Berth to what a whole Nova answers about servers on hosts, but for what
// differs on purpose, which is in testdata/differences with the reason.
func TestCloudDialogues(t *testing.T) {
	c := &cloud{compute: newStandIn(t), network: newStandIn(t), placement: newStandIn(t)}
	neutron.PlayAll(t, c, "../../conformance/nova/testdata/cloud/*.txt", "testdata/differences", *updateDifferences,
		differing)
}
