package networkapi_test

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/tracking"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
	placementservice "github.com/berthcloud/berth/placement/service"
)

// A side is the API on an empty database with a placement service, for the
// dialogues that were recorded from Neutron.
type side struct {
	network, placement *standIn
	rules              string // a policy file, "" for none
	store              network.Store
	service            *service.Service
	places             providertreetest.Placement // as the service sees it
	tracker            *tracking.Tracker
	synced             chan network.SyncResult
	stop               func()
}

// A standIn is a server whose handler can be replaced.
type standIn struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
}

func newStandIn(t *testing.T) *standIn {
	s := &standIn{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*s.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// people are who the tokens are for.
var people = map[string]identity.Caller{
	"admin":   {UserID: "admin", ProjectID: demo, Roles: []string{"admin", "member", "reader"}},
	"member":  {UserID: "member", ProjectID: demo, Roles: []string{"member", "reader"}},
	"reader":  {UserID: "reader", ProjectID: demo, Roles: []string{"reader"}},
	"other":   {UserID: "other", ProjectID: other, Roles: []string{"member", "reader"}},
	"service": {UserID: "service", ProjectID: "service", Roles: []string{"service"}},
}

const (
	demo  = "bb97402a60c6465ba86323edee57a55e"
	other = "6622d0e44b8a41d2af0f24ce7f6ca799"
)

func authenticate(r *http.Request) (identity.Caller, error) {
	c, ok := people[r.Header.Get("X-Auth-Token")]
	if !ok {
		return c, &httpapi.Challenge{Err: fault.New(fault.Unauthentic, "", "no token"), Keystone: "http://127.0.0.1/identity"}
	}
	return c, nil
}

func newSide(t *testing.T) *side {
	s := &side{network: newStandIn(t), placement: newStandIn(t), synced: make(chan network.SyncResult, 1), stop: func() {}}
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *side) URL() string                           { return s.network.URL }
func (s *side) PlacementURL() string                  { return s.placement.URL }
func (s *side) PlacementToken() string                { return "admin" }
func (s *side) Token(_ testing.TB, who string) string { return who }
func (s *side) Projects() map[string]string           { return map[string]string{"demo": demo, "other": other} }

func (s *side) Reset(t testing.TB) {
	t.Helper()
	settings := network.DefaultSettings()
	settings.Types = []string{network.Flat, network.VLAN, network.VXLAN, network.GRE, network.Local}
	settings.ProjectTypes = []string{network.VXLAN}
	settings.VLANs = map[string][]network.Range{"physnet0": {{Low: 3100, High: 3900}}, "physnet1": nil}
	tunnels := []network.Range{{Low: 200_000, High: 201_000}} // none that a dialogue names
	settings.Tunnels = map[string][]network.Range{network.VXLAN: tunnels, network.GRE: tunnels}
	s.places = s.resetPlacement(t)
	s.store = newStore(t)
	s.service = service.New(s.store, settings, service.Peers{Placement: s.places, Log: logtest.Logger()})
	api := newAPI(t, s.service)
	api.Policy = newPolicy(t, s.rules)
	api.Without = []string{
		networkapi.DriverNUMA, networkapi.DriverNUMASocket, networkapi.DriverDeviceProfile, networkapi.DriverTrusted,
	} // as the reference is
	h := handler(api, authenticate)
	s.network.handler.Store(&h)
	s.track(s.places)
}

// resetPlacement starts an empty placement service and returns a client of it.
func (s *side) resetPlacement(t testing.TB) providertreetest.Placement {
	t.Helper()
	h := placementapitest.New(t, placementservice.DefaultSettings())
	s.placement.handler.Store(&h)
	access, err := client.Fixed(s.placement.URL, client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	places := placementclient.New(client.Options{Access: access})
	t.Cleanup(places.Close)
	return places
}

// track follows the agents of the service that there is now.
func (s *side) track(places providertreetest.Placement) {
	s.stop()
	ctx, cancel := context.WithCancel(context.Background())
	service, done := s.service, make(chan struct{})
	s.tracker = tracking.New(tracking.Options{
		Placement: places, Shared: service.Shared,
		Done: func(ctx context.Context, agent network.ID, r network.SyncResult) {
			_ = service.RecordSync(ctx, agent, r)
			s.synced <- r
		},
	})
	tracker := s.tracker
	go func() { tracker.Run(ctx); close(done) }()
	s.stop = func() { cancel(); <-done }
}

func (s *side) Heartbeat(t testing.TB, a neutron.Agent) {
	t.Helper()
	text, err := json.Marshal(a.Configurations)
	if err != nil {
		t.Fatal(err)
	}
	agent, sync, err := s.service.Beat(context.Background(), agents.Heartbeat{
		Type: a.Kind.Type(), Binary: a.Kind.Binary(), Host: a.Host, Zone: a.Zone, Topic: "N/A", Configurations: text,
		Start: a.Start,
	})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := s.service.State(agent.AgentRow); sync && err == nil {
		s.tracker.Report(tracking.Report{Agent: agent.ID, State: state, Hypervisors: agent.Hypervisors, Started: a.Start})
		<-s.synced
	}
}

func (s *side) Silence(t testing.TB, kind neutron.Kind, host string) {
	t.Helper()
	now := time.Now().UTC()
	if err := s.store.Update(context.Background(), now, func(w network.Writer) error {
		row, err := network.One[network.AgentRow](w, network.Where(network.ByHost, host),
			network.Where(network.ByAgentType, kind.Type()))
		if err != nil {
			return err
		}
		row.HeartbeatAt = now.Add(-time.Hour)
		return w.Replace(&row)
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *side) Wired(t testing.TB, port, host string) {
	t.Helper()
	if err := s.service.SetPortsUp(context.Background(), host, []network.ID{network.ID(port)}, true); err != nil {
		t.Fatal(err)
	}
}

// differing counts the answers of the dialogues that differ from Neutron's yet, and
// not on purpose, by file. A number may only fall; a file that is not here has none.
var differing = map[string]int{}

// What Neutron answers, Berth answers, but for what differs on purpose: that stands
// in testdata/differences, under the name of the dialogue, with the reason.
func TestDialogues(t *testing.T) {
	neutron.PlayAll(t, newSide(t), "../../conformance/neutron/testdata/*.txt", "testdata/differences", *updateDifferences,
		differing)
}

// Rules of an operator's own are evaluated for the same targets as Neutron evaluates them for.
func TestOwnRules(t *testing.T) {
	s := newSide(t)
	const dir = "../../conformance/neutron/testdata/rules/"
	s.rules = dir + "policy.yaml"
	neutron.Play(t, s, dir+"own.txt")
}

var updateDifferences = flag.Bool("update", false,
	"write what is answered to the requests in testdata/differences into these files")
