package networkapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
)

// TestChangesAreListed lists changes of allocations in each of their states, the oldest first, to
// administrators.
func TestChangesAreListed(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	now := time.Now().UTC().Truncate(time.Second)
	const server = "33333333-0000-4000-8000-000000000001"
	provider := string(networktest.ID("provider"))
	change := func(name string, age time.Duration, kind, rest string) *network.IntentRow {
		return &network.IntentRow{
			ID: string(networktest.ID(name)), Kind: kind, About: string(networktest.ID("port " + name)),
			CreatedAt: now.Add(-age),
			Body: fmt.Appendf(nil, `{"Consumer": %q, "Differences": {%q: {"NET_BW_EGR_KILOBIT_PER_SEC": -1000}}, `+
				`"Maker": {"Instance": "net1", "Process": "p"}%s}`, server, provider, rest),
		}
	}
	attempt := func(age time.Duration, rest string) string {
		return fmt.Sprintf(`, "Attempt": {"at": %q, "generation": 1, "before": {}%s}`, now.Add(-age).Format(time.RFC3339),
			rest)
	}
	if err := s.store.Update(context.Background(), now, func(w network.Writer) error {
		for _, row := range []*network.IntentRow{
			change("new", 0, "policy", ""),
			change("requested", 10*time.Second, "policy", attempt(time.Second, "")),
			change("late", 2*time.Minute, "release", attempt(90*time.Second, "")),
			change("lost", 3*time.Minute, "release", attempt(2*time.Minute, `, "lost": true`)),
			change("made", 4*time.Minute, "policy", `, "Done": true`),
		} {
			if err := w.Insert(row); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	request := func(who, query string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "/berth/v1/changes"+query, nil)
		r.Header.Set("X-Auth-Token", who)
		w := httptest.NewRecorder()
		(*s.network.handler.Load()).ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	type listed struct {
		Port, Server, Kind, State, Instance string
		Created                             time.Time `json:"created_at"`
		Attempted                           time.Time `json:"attempted_at"`
		Abandoned                           bool
		Differences                         map[string]map[string]int64
	}
	want := []listed{
		{Port: "made", Kind: "policy", State: "made", Created: now.Add(-4 * time.Minute), Abandoned: true},
		{
			Port: "lost", Kind: "release", State: "unknown", Created: now.Add(-3 * time.Minute),
			Attempted: now.Add(-2 * time.Minute), Abandoned: true,
		},
		{
			Port: "late", Kind: "release", State: "unknown", Created: now.Add(-2 * time.Minute),
			Attempted: now.Add(-90 * time.Second), Abandoned: true,
		},
		{
			Port: "requested", Kind: "policy", State: "requested", Created: now.Add(-10 * time.Second),
			Attempted: now.Add(-time.Second),
		},
		{Port: "new", Kind: "policy", State: "waiting", Created: now},
	}
	for i := range want {
		want[i].Port, want[i].Server, want[i].Instance = string(networktest.ID("port "+want[i].Port)), server, "net1"
		want[i].Differences = map[string]map[string]int64{provider: {"NET_BW_EGR_KILOBIT_PER_SEC": -1000}}
	}
	for query, only := range map[string][]listed{
		"": want, "?limit=3": want[:3], "?min_age=60": want[:3], "?port=" + want[1].Port: want[1:2],
		"?server=" + server: want, "?server=another": {},
	} {
		status, answer := request("admin", query)
		var list struct {
			Changes []listed
			More    bool
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil || status != http.StatusOK {
			t.Fatalf("GET /berth/v1/changes%s is answered %d %s: %v", query, status, answer, err)
		}
		if diff := cmp.Diff(only, list.Changes); diff != "" || list.More != (query == "?limit=3") {
			t.Errorf("%q (-want +got):\n%s\nand there is more: %v", query, diff, list.More)
		}
	}
	for _, refused := range []struct {
		who, query string
		status     int
	}{
		{"member", "", http.StatusForbidden},
		{"service", "", http.StatusForbidden},
		{"nobody", "", http.StatusUnauthorized},
		{"admin", "?limit=-1", http.StatusBadRequest},
		{"admin", "?min_age=x", http.StatusBadRequest},
		{"admin", "?ports=x", http.StatusBadRequest},
	} {
		if status, answer := request(refused.who, refused.query); status != refused.status {
			t.Errorf("GET /berth/v1/changes%s of %s is answered %d %s, want %d", refused.query, refused.who, status, answer,
				refused.status)
		}
	}
}
