package cloudapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// Allocations that other requests disturbed are sent again, so many times; other conflicts are
// errors at once, and after an error nothing more is sent.
func TestSend(t *testing.T) {
	const (
		claim  = "/allocations/00000000-0000-4000-8000-0000000000c9"
		traits = cn1 + "/traits"
	)
	for name, tc := range map[string]struct {
		path, body string
		conflicts  int64 // answers 409 first, or 400 with this code
		code       string
		requests   int64
		err        string
	}{
		"Fine":      {claim, claimBody, 0, "", 1, ""},
		"Disturbed": {claim, claimBody, 4, "placement.concurrent_update", 5, ""},
		"Always": {
			claim, claimBody, 5, "placement.concurrent_update", 5,
			"the placement service answers PUT " + claim + " with 409 Conflict: why",
		},
		"Full":    {claim, claimBody, 1, "placement.undefined_code", 1, "409 Conflict: why"},
		"Unknown": {cn1 + "/traits", `{"traits": [], "resource_provider_generation": 6}`, 2, "400", 3, ""},
		"Never":   {claim, claimBody, 9, "400", 5, "400 Bad Request: No such resource class CUSTOM_X"},
		"Moved": {
			traits, `{"traits": [], "resource_provider_generation": 0}`, 1, "placement.concurrent_update", 1,
			"409 Conflict: why",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet || requests.Add(1) > tc.conflicts {
					return false
				}
				if tc.code == "400" {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(w, `{"errors": [{"status": 400, "detail": "No such resource class CUSTOM_X"}]}`)
					return true
				}
				w.WriteHeader(http.StatusConflict)
				fmt.Fprintf(w, `{"errors": [{"status": 409, "detail": "why", "code": %q}]}`, tc.code)
				return true
			})
			client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(url), Wait: atOnce})
			if err != nil {
				t.Fatal(err)
			}
			done := 0
			r := cloud.Request{
				Service: "placement", Method: "PUT", Path: tc.path, Microversion: "1.39", Body: json.RawMessage(tc.body),
			}
			err = client.Send(t.Context(), []cloud.Request{r}, func() { done++ })
			if text := fmt.Sprint(err); (err != nil) != (tc.err != "") || !strings.Contains(text, tc.err) && err != nil {
				t.Errorf("the error is %v, want %q", err, tc.err)
			}
			if n := requests.Load(); n != tc.requests || done != map[bool]int{true: 1}[tc.err == ""] {
				t.Errorf("%d requests are sent, want %d; done is called %d times", n, tc.requests, done)
			}
		})
	}
}

// One request is answered whatever the status is, with its headers. No answer is an error, which
// names the service.
func TestDo(t *testing.T) {
	var got atomic.Pointer[http.Request]
	url := placementWith(t, func(w http.ResponseWriter, r *http.Request) bool {
		got.Store(r)
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/changed":
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprint(w, `{"NeutronError": {"message": "constrained to 3", "type": "x", "detail": ""}}`)
		case "/cut":
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	})
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(url), Wait: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		status    int
		said, err string
	}{
		cn1:                           {200, "OK", ""},
		"/resource_providers/nothing": {404, "No resource provider with uuid nothing found", ""},
		"/busy":                       {503, "Service Unavailable", ""},
		"/changed":                    {412, "constrained to 3", ""},
		"/cut":                        {0, "", "querying the placement service: GET /cut"},
	} {
		status, body, err := client.Do(t.Context(), cloud.Request{
			Service: "placement", Method: "GET", Path: path, Microversion: "1.30",
			Headers: map[string]string{"If-Match": "revision_number=3"},
		})
		if status != want.status || (err != nil) != (want.err != "") ||
			err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("GET %s is answered with %d, %v", path, status, err)
		}
		if text := cloudapi.Message(status, body); err == nil && !strings.Contains(text, want.said) {
			t.Errorf("GET %s says %q, want %q", path, text, want.said)
		}
		if h := got.Load().Header; h.Get("If-Match") != "revision_number=3" ||
			h.Get("OpenStack-API-Version") != "placement 1.30" {
			t.Errorf("GET %s has the headers %v", path, h)
		}
	}
	if path, err := client.Endpoint("placement"); path != url || err != nil {
		t.Errorf("the endpoint is %q, %v; want %q", path, err, url)
	}
	if _, _, err := client.Do(t.Context(), cloud.Request{Service: "network", Method: "GET", Path: "/ports"}); err == nil ||
		!strings.Contains(err.Error(), "network") {
		t.Errorf("a request to a service that is not there: %v", err)
	}
}

const claimBody = `{"allocations": {"00000000-0000-4000-8000-000000000002": {"resources": {"VCPU": 1}}}, ` +
	`"project_id": "p1", "user_id": "u1", "consumer_generation": null, "consumer_type": "INSTANCE"}`
