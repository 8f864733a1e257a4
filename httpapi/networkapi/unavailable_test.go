package networkapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// unavailablePlacements are ways in which placement does not work.
func unavailablePlacements() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"Unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"Broken":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"Disconnects": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
}

// setPlacement has placement answer by another handler, and returns the handler before.
func (s *side) setPlacement(h http.Handler) http.Handler { return *s.placement.handler.Swap(&h) }

// TestRoutesWithoutPlacement requests every route while placement does not work: it works, or is
// answered 503.
func TestRoutesWithoutPlacement(t *testing.T) {
	table, err := os.ReadFile("testdata/access.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newSide(t)
	got := access(t, s, string(table), func() { s.setPlacement(unavailablePlacements()["Unavailable"]) })
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, status := range strings.Fields(line) {
			if len(status) == 3 && status[0] == '5' && status != "503" {
				t.Errorf("without placement: %s", line)
				break
			}
		}
	}
}

// TestBoundPortWithoutPlacement changes, moves and deletes a port with a guarantee while placement
// does not work. What is refused changes nothing; what is done is completed in placement
// afterwards.
func TestBoundPortWithoutPlacement(t *testing.T) {
	const server = "5e57b85f-b017-419a-8745-9c406e149f9e"
	type request struct {
		method, path, body string // path: behind that of the port
		want               []int
	}
	for name, way := range unavailablePlacements() {
		for what, tc := range map[string]struct {
			requests []request
			left     int64 // what the server has in the end
		}{
			"Grows":   {[]request{{"PUT", "", `{"port": {"qos_policy_id": "@bigger@"}}`, []int{503}}}, 1000},
			"Shrinks": {[]request{{"PUT", "", `{"port": {"qos_policy_id": "@smaller@"}}`, []int{200, 503}}}, 0},
			"Loses":   {[]request{{"PUT", "", `{"port": {"qos_policy_id": null}}`, []int{200, 503}}}, 0},
			"Renamed": {[]request{{"PUT", "", `{"port": {"name": "renamed"}}`, []int{200}}}, 1000},
			"Deleted": {[]request{{"DELETE", "", "", []int{204}}}, 0},
			"Moves": {[]request{
				// The host has no agent: PortBindingError, as in Neutron.
				{"POST", "/bindings", `{"binding": {"host": "nowhere"}}`, []int{500, 503}},
				{"GET", "/bindings", "", []int{200}},
				{"DELETE", "/bindings/nowhere", "", []int{404}},
			}, 1000},
			"Settles": {[]request{
				{"DELETE", "", "", []int{204}},
				{"POST", "settle", "", []int{503}},
			}, 0},
		} {
			t.Run(name+what, func(t *testing.T) {
				s := newSide(t)
				s.Reset(t)
				c := &cloud{t: t, url: s.URL()}
				path := c.allocated(s, server)
				policies := map[string]string{}
				for word, kbps := range map[string]int{"bigger": 2000, "smaller": 400} {
					id := c.made("admin", "qos/policies", "policy", `{"name": "`+word+`"}`)["id"].(string)
					c.made("admin", "qos/policies/"+id+"/minimum_bandwidth_rules",
						"minimum_bandwidth_rule", fmt.Sprintf(`{"min_kbps": %d}`, kbps))
					policies["@"+word+"@"] = id
				}
				before := c.policyOf(path)
				works := s.setPlacement(way)
				for _, r := range tc.requests {
					at, body := path+r.path, r.body
					if r.path == "settle" {
						at = "/berth/v1/servers/" + server + "/settle"
					}
					for word, id := range policies {
						body = strings.ReplaceAll(body, word, id)
					}
					status, answer := c.request("admin", r.method, at, body)
					if !slices.Contains(r.want, status) {
						t.Errorf("%s %s %s is answered %d %s, want %v", r.method, at, body, status, answer, r.want)
					}
					if after := c.policyOf(path); status >= 500 && what != "Settles" && after != before {
						t.Errorf("after an answer with %d the port has the policy %q, before %q", status, after, before)
					}
				}
				refused := c.policyOf(path) == before
				s.setPlacement(works)
				if remaining, err := s.service.Recover(t.Context(), 0); remaining != 0 || err != nil {
					t.Errorf("%d changes are not completed: %v", remaining, err)
				}
				want := tc.left
				switch {
				case what == "Shrinks" && !refused:
					want = 400
				case (what == "Shrinks" || what == "Loses") && refused:
					want = 1000
				}
				got, err := s.places.Allocations(t.Context(), server)
				if err != nil {
					t.Fatal(err)
				}
				sum := allocations.Amounts{}
				for provider, amounts := range got.Amounts {
					if n := amounts[guarantee.EgressBandwidth]; n > 0 {
						sum[provider] = map[string]int64{guarantee.EgressBandwidth: n}
					}
				}
				expected := allocations.Amounts{}
				if want > 0 {
					expected[c.deviceProvider(&cloud{t: t, url: s.PlacementURL()})] = map[string]int64{guarantee.EgressBandwidth: want}
				}
				if diff := cmp.Diff(expected, sum); diff != "" {
					t.Errorf("the server has (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// policyOf is the policy of a port, "" for none and for no port.
func (c *cloud) policyOf(path string) string {
	c.t.Helper()
	_, answer := c.request("admin", "GET", path, "")
	var shown struct {
		Port struct {
			Policy string `json:"qos_policy_id"`
		} `json:"port"`
	}
	_ = json.Unmarshal([]byte(answer), &shown)
	return shown.Port.Policy
}
