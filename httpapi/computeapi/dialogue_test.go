package computeapi_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/logtest"
)

// A side is the API on an empty database, for the dialogues that were recorded from
// Nova.
type side struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
	store   compute.Store
	service services
	options computetest.Options // what the service has besides its clock
}

func newSide(t *testing.T) *side {
	s := &side{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*s.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// authenticate knows the people of the dialogues by their names.
func authenticate(r *http.Request) (identity.Caller, error) {
	demo, other := nova.Projects()["demo"], nova.Projects()["other"]
	who := r.Header.Get("X-Auth-Token")
	c, ok := map[string]identity.Caller{
		"admin":   {ProjectID: demo, Roles: []string{"admin", "member", "reader"}},
		"manager": {ProjectID: demo, Roles: []string{"manager", "member", "reader"}},
		"member":  {ProjectID: demo, Roles: []string{"member", "reader"}},
		"reader":  {ProjectID: demo, Roles: []string{"reader"}},
		"other":   {ProjectID: other, Roles: []string{"member", "reader"}},
		"service": {ProjectID: "service", Roles: []string{"service"}},
		"root":    {ProjectID: other, Roles: []string{"admin", "member", "reader"}},
	}[who]
	c.UserID = who
	if !ok {
		return c, &httpapi.Challenge{Err: fault.New(fault.Unauthentic, "", "no token"), Keystone: "http://127.0.0.1/identity"}
	}
	return c, nil
}

func (s *side) URL() string                           { return s.Server.URL }
func (s *side) PlacementURL() string                  { return "" }
func (s *side) PlacementToken() string                { return "" }
func (s *side) Token(_ testing.TB, who string) string { return nova.Token(who) }
func (s *side) Projects() map[string]string           { return nova.Projects() }

func (s *side) Reset(t testing.TB) {
	t.Helper()
	s.store = newStore(t)
	settings := compute.DefaultSettings()
	settings.ServiceDownTime = time.Hour // the clock below is a fast one
	o := s.options
	rules := compute.Rules{Settings: settings, Now: secondsApart(), Log: logtest.Logger()}
	nowhere, err := client.Fixed("http://127.0.0.1:1", client.NoAuth)
	if err != nil {
		t.Fatal(err)
	}
	o.Placement = placementclient.NewCompute(client.Options{Access: nowhere, Timeout: time.Second})
	if o.Network == nil {
		o.Network = neutronclient.New(client.Options{Access: nowhere, Timeout: time.Second})
	}
	s.service = newServices(s.store, rules, o, nil)
	h := handler(t, s.service, authenticate)
	s.handler.Store(&h)
}

// secondsApart is a clock that goes on by a second each time, so that what was made
// first is the older one.
func secondsApart() func() time.Time {
	start := time.Now()
	var ticks atomic.Int64
	return func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Second) }
}

func (s *side) Heartbeat(t testing.TB, a neutron.Agent) {
	t.Helper()
	switch a.Kind {
	case nova.Server:
		s.makeServer(t, a)
		return
	case nova.Migration:
		s.makeMigration(t, a)
		return
	}
	_, node := computetest.Host(a.Host, 0)
	err := s.service.fleet.Report(context.Background(), compute.Report{Host: a.Host, Version: 66, Node: *node})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *side) Silence(t testing.TB, _ neutron.Kind, host string) {
	t.Helper()
	now := time.Now().UTC()
	if err := s.store.Update(context.Background(), now, func(w compute.Writer) error {
		row, err := compute.One[compute.ServiceRow](w, compute.Where(compute.ByHost, host))
		if err != nil {
			return err
		}
		row.ReportedAt = now.Add(-24 * time.Hour)
		return w.Replace(&row)
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *side) Wired(t testing.TB, _, _ string) { t.Fatal("compute hears of no wires") }

// differing counts the answers of the dialogues that differ from Nova's yet, and not on
// purpose, by file. A number may only fall; a file that is not here has none.
var differing = map[string]int{}

// What Nova answers, Berth answers, but for what differs on purpose: that stands in
// testdata/differences, under the name of the dialogue, with the reason.
func TestDialogues(t *testing.T) {
	neutron.PlayAll(t, newSide(t), "../../conformance/nova/testdata/*.txt", "testdata/differences", *updateDifferences,
		differing)
}

var updateDifferences = flag.Bool("update", false,
	"write what is answered to the requests in testdata/differences into these files")
