package cloudapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/berthcloud/berth/ops/cloudapi"
)

// What an answer to a request for the stream of events means: the stream, that there is none, that
// it is refused, or that it is to be tried again. A token that is not taken any more is replaced,
// once.
func TestEvents(t *testing.T) {
	const stream = "text/event-stream"
	for name, tc := range map[string]struct {
		status   int
		kind     string // Content-Type
		text     string
		expired  int // tokens that are not taken any more
		want     string
		none     bool
		refused  bool
		requests int
	}{
		"a stream":                  {200, stream, "retry: 1000\n\n", 0, "", false, false, 1},
		"a stream with a charset":   {200, stream + "; charset=utf-8", "retry: 1000\n\n", 0, "", false, false, 1},
		"a page of a proxy":         {200, "text/html", "hello", 0, "no stream", true, false, 1},
		"another placement service": {404, "text/html", "404 Not Found", 0, "no stream", true, false, 1},
		"a tree that does not exist": {
			404, "application/json", `{"errors": [{"detail": "There is no provider with the name or UUID \"cn9\"."}]}`, 0,
			`with 404 Not Found: There is no provider with the name or UUID "cn9"`, false, true, 1,
		},
		"a wrong parameter": {
			400, "application/json", `{"errors": [{"detail": "There is no parameter."}]}`, 0,
			"with 400 Bad Request: There is no parameter", false, true, 1,
		},
		"a user who may not": {
			403, "application/json", `{"errors": [{"detail": "Policy does not allow it."}]}`, 0, "take a user that may", false,
			true, 1,
		},
		"too many streams of a project": {
			429, "application/json", `{"errors": [{"detail": "Too many streams."}]}`, 0,
			"with 429 Too Many Requests: Too many streams", false, false, 1,
		},
		"a service that fails":          {500, "text/plain", "", 0, "with 500", false, false, 1},
		"no service behind a proxy":     {503, "text/html", "<h1>503</h1>", 0, "with 503", false, false, 1},
		"a token that has expired":      {200, stream, "retry: 1000\n\n", 1, "", false, false, 2},
		"tokens that are never taken":   {200, stream, "", 9, "with 401", false, true, 2},
		"it has expired, and no stream": {404, "text/html", "", 1, "no stream", true, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, requests := 0, 0
			var path string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/v3/auth/tokens":
					tokens++
					w.Header().Set("X-Subject-Token", fmt.Sprint(tokens))
					w.WriteHeader(http.StatusCreated)
					fmt.Fprintf(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "project": {"id": "p1"}, "catalog": [
						{"type": "placement", "endpoints": [{"interface": "public", "region_id": "one", "region": "one", "url": %q}]}]}}`, path+"/placement")
				case r.URL.RequestURI() != "/placement/berth/v1/events?class=VCPU&since=1h" ||
					r.Header.Get("Last-Event-ID") != "7.x":
					t.Errorf("the request is %s behind %q", r.URL, r.Header.Get("Last-Event-ID"))
				case r.Header.Get("X-Auth-Token") <= fmt.Sprint(tc.expired):
					requests++
					w.WriteHeader(http.StatusUnauthorized)
				default:
					requests++
					w.Header().Set("Content-Type", tc.kind)
					w.WriteHeader(tc.status)
					fmt.Fprint(w, tc.text)
				}
			}))
			defer s.Close()
			path = s.URL
			client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(s.URL, nil)})
			if err != nil {
				t.Fatal(err)
			}
			body, err := client.Events(t.Context(), url.Values{"class": {"VCPU"}, "since": {"1h"}}, "7.x")
			switch {
			case err == nil:
				text, bad := io.ReadAll(body)
				if tc.want != "" || string(text) != tc.text || bad != nil {
					t.Errorf("the stream is %q, %v; want %q", text, bad, tc.text)
				}
				body.Close()
			case tc.want == "" || !strings.Contains(err.Error(), tc.want):
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
			if none, refused := errors.Is(err, cloudapi.ErrNoEvents), cloudapi.Refused(err); none != tc.none ||
				refused != tc.refused || requests != tc.requests {
				t.Errorf("no stream %v, refused %v, %d requests: %v", none, refused, requests, err)
			}
		})
	}
}

// A service that cannot be reached is no refusal.
func TestEventsOfAServiceThatIsDown(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: alone(s.URL)})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err = client.Events(t.Context(), nil, "")
	if err == nil || cloudapi.Refused(err) || errors.Is(err, cloudapi.ErrNoEvents) ||
		!strings.Contains(err.Error(), "querying the placement service: ") {
		t.Errorf("the error is %v", err)
	}
}
