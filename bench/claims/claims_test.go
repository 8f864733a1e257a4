package claims_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/bench/claims"
)

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []string
	}{
		{"None", `{"allocation_requests": [], "provider_summaries": {}}`, nil},
		{"One", `{"allocation_requests": [{"allocations": {"a": {}}}]}`, []string{`{"allocations": {"a": {}}}`}},
		{
			"Two", `{"provider_summaries":{"x":[{}]},"allocation_requests":[{"a":[{}]} , {"b":1}],"c":[{}]}`,
			[]string{`{"a":[{}]}`, `{"b":1}`},
		},
		{"BracesInText", `{"allocation_requests": [{"a}\"{": "]"}, {}]}`, []string{`{"a}\"{": "]"}`, `{}`}},
		{"NoList", `{"usages": {}}`, nil},
		{"Cut", `{"allocation_requests": [{"a": {}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, body := range claims.Requests([]byte(c.answer)) {
				got = append(got, string(body))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestBodyIsAClaim(t *testing.T) {
	body := claims.Body(
		[]byte("{\"allocations\": {\"a\": {\"resources\": {\"VCPU\": 1}}}, \"mappings\": {\"\": [\"a\"]}\n}"), claims.Owner)
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	want := map[string]any{
		"allocations":         map[string]any{"a": map[string]any{"resources": map[string]any{"VCPU": 1.0}}},
		"mappings":            map[string]any{"": []any{"a"}},
		"consumer_generation": nil, "project_id": "bench", "user_id": "bench", "consumer_type": "INSTANCE",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A cloud is a service with some units of free capacity. Every third claim is refused.
type cloud struct {
	mu             sync.Mutex
	room, refusals int
	holds          map[string]bool
	puts, deletes  int
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	consumer := strings.TrimPrefix(r.URL.Path, "/allocations/")
	switch {
	case r.Method == "GET" && c.room == 0:
		fmt.Fprint(w, `{"allocation_requests": []}`)
	case r.Method == "GET":
		fmt.Fprint(w, `{"allocation_requests": [{"allocations": {}}, {"allocations": {}}]}`)
	case r.Method == "PUT" && (c.puts+c.refusals)%3 == 2 || r.Method == "PUT" && c.room == 0:
		c.refusals++
		w.WriteHeader(http.StatusConflict)
	case r.Method == "PUT" && !c.holds[consumer]:
		c.puts, c.room = c.puts+1, c.room-1
		c.holds[consumer] = true
		w.WriteHeader(http.StatusNoContent)
	case r.Method == "DELETE" && c.holds[consumer]:
		c.deletes, c.room = c.deletes+1, c.room+1
		delete(c.holds, consumer)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "no")
	}
}

func run(t *testing.T, c *cloud, p claims.Plan) (claims.Result, error) {
	t.Helper()
	c.holds = map[string]bool{}
	s := httptest.NewServer(c)
	defer s.Close()
	p.Addr, p.Query = s.Listener.Addr().String(), func(int) string { return "/allocation_candidates" }
	return claims.Run(p)
}

func TestRunFillsACloud(t *testing.T) {
	c := &cloud{room: 100}
	r, err := run(t, c, claims.Plan{Clients: 8, Time: time.Minute, Keep: -1})
	if err != nil {
		t.Fatal(err)
	}
	got := []int{r.Claims, r.Refused, r.Releases, len(r.Took), c.room}
	if diff := cmp.Diff([]int{100, c.refusals, 0, 100, 0}, got); diff != "" || c.refusals == 0 {
		t.Errorf("claims, refused, releases, times, room (-want +got)\n%s", diff)
	}
}

func TestRunReleasesTheOldestClaims(t *testing.T) {
	c := &cloud{room: 100}
	r, err := run(t, c, claims.Plan{Clients: 2, Time: 20 * time.Millisecond, Keep: 3})
	if err != nil {
		t.Fatal(err)
	}
	if r.Claims == 0 || r.Claims != c.puts || r.Releases != c.deletes ||
		len(c.holds) != r.Claims-r.Releases || len(c.holds) > 2*3 {
		t.Errorf("%d claims and %d releases, the cloud has seen %d and %d, holds %d, room %d", r.Claims, r.Releases, c.puts,
			c.deletes, len(c.holds), c.room)
	}
	if p := r.Parts; len(p.Claims) != r.Claims+r.Refused || len(p.Releases) != r.Releases ||
		len(p.Searches) != len(p.Claims) {
		t.Errorf("times of %d searches, %d claims, %d releases", len(p.Searches), len(p.Claims), len(p.Releases))
	}
	if want := float64(c.puts+c.deletes) / r.Elapsed.Seconds(); r.Writes() != want {
		t.Errorf("Writes() = %v, want %v", r.Writes(), want)
	}
}

func TestRunReportsOtherAnswers(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := claims.Run(claims.Plan{
		Addr: s.Listener.Addr().String(), Clients: 2, Time: time.Minute,
		Query: func(int) string { return "/allocation_candidates" },
	})
	if err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Errorf("got %v", err)
	}
}
