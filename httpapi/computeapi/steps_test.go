package computeapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/microversion"
)

// withSteps is an API that speaks as Nova does, whose errors are their status and
// detail.
func withSteps() http.Handler {
	ok := func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	refuse := func(http.ResponseWriter, *http.Request) error { return fault.New(fault.NotFound, "", "gone") }
	return httpapi.New(httpapi.Config{
		Service: "compute", History: microversion.Compute, Authenticate: httpapi.NoAuth, PathFirst: computeapi.Steps,
		Problem: func(p httpapi.Problem) (string, []byte) {
			return "text/x", fmt.Appendf(nil, "%d %s", p.Status, p.Detail)
		},
		Routes: []httpapi.Route{
			{Method: "GET", Pattern: "/", Unversioned: true, Handle: ok},
			{Method: "GET", Pattern: "/a", Handle: ok},
			{Method: "POST", Pattern: "/a", Handle: ok},
			{Method: "PUT", Pattern: "/a", Since: 55, Handle: refuse},
		},
	})
}

func TestComputeOrder(t *testing.T) {
	for _, c := range []struct {
		request string // method, path, headers
		status  int
		body    string
		version string
	}{
		{"GET /a", 204, "", "2.1"},
		{"GET /a [OpenStack-API-Version: compute 2.7]", 204, "", "2.7"},
		{"GET /a [X-OpenStack-Nova-API-Version: 2.8]", 204, "", "2.8"},
		{
			"GET /a [OpenStack-API-Version: compute x]", 400,
			"400 API Version String x is of invalid format. Must be of format MajorNum.MinorNum.", "",
		},
		{
			"GET /a [OpenStack-API-Version: compute 2.999]", 406,
			"406 Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.104.", "2.999",
		},
		{"GET / [OpenStack-API-Version: compute 2.99]", 204, "", ""},
		{"GET /b [OpenStack-API-Version: compute x]", 404, "404 Not Found\n\nThe resource could not be found.\n\n   ", ""},
		{"DELETE /a", 404, "404 Not Found\n\nThe resource could not be found.\n\n   ", ""},
		{
			"GET /b [Accept: application/json]", 404,
			`{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`,
			"",
		},
		{"PUT /a", 404, "404 ", "2.1"},
		{"PUT /a [OpenStack-API-Version: compute 2.55]", 404, "404 gone", "2.55"},
		{"POST /a [Content-Type: text/xml]", 415, "415 Unsupported Content-Type", "2.1"},
		{"POST /a [Content-Type: application/json; charset=UTF-8]", 204, "", "2.1"},
	} {
		line, header, _ := strings.Cut(strings.TrimSuffix(c.request, "]"), " [")
		method, path, _ := strings.Cut(line, " ")
		r := httptest.NewRequest(method, path, http.NoBody)
		r.Header.Set("X-Auth-Token", "u:p")
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		withSteps().ServeHTTP(w, r)
		if d := cmp.Diff(c.body, w.Body.String()); d != "" || w.Code != c.status {
			t.Errorf("%s: %d, want %d (-want +got):\n%s", c.request, w.Code, c.status, d)
		}
		var version, legacy string
		var vary []string
		if c.version != "" {
			version, legacy = "compute "+c.version, c.version
			vary = []string{"OpenStack-API-Version", "X-OpenStack-Nova-API-Version"}
		}
		h := w.Header()
		if id := h.Get(httpapi.RequestIDHeader); id == "" || h.Get("X-Compute-Request-Id") != id {
			t.Errorf("%s: the request is %q and %q", c.request, id, h.Get("X-Compute-Request-Id"))
		}
		if h.Get("OpenStack-API-Version") != version || h.Get("X-OpenStack-Nova-API-Version") != legacy ||
			!cmp.Equal(h["Vary"], vary) {
			t.Errorf("%s: headers are %v, want version %q", c.request, h, c.version)
		}
	}
}

// A body needs no content-type, as long as it is JSON.
func TestComputeTakesBodiesWithoutType(t *testing.T) {
	r, w := httptest.NewRequest("POST", "/a", strings.NewReader("{}")), httptest.NewRecorder()
	r.Header.Set("X-Auth-Token", "u:p")
	withSteps().ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		t.Errorf("answer is %d %s", w.Code, w.Body)
	}
}
