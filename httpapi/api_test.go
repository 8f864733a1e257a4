package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
)

// serveOne returns an API with one route, "/x/{name}" for GET and POST, and
// what it logs.
func serveOne(h httpapi.Handler) (*httpapi.API, *bytes.Buffer) {
	var log bytes.Buffer
	c := config()
	c.MaxBody = 10
	c.Log = slog.New(logging.NewHandler(&log, logging.Options{Debug: true}))
	c.Routes = []httpapi.Route{
		{Method: "GET", Pattern: "/x/{name}", Handle: h},
		{Method: "POST", Pattern: "/x/{name}", NeedsJSON: true, Handle: h},
	}
	return httpapi.New(c), &log
}

func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "u:p")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func answerTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// firstError reads the one error of an answer.
func firstError(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var body struct{ Errors []map[string]any }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || len(body.Errors) != 1 {
		t.Fatalf("answer %d %q is no error: %v", w.Code, w.Body, err)
	}
	return body.Errors[0]
}

func TestFaultsBecomeStatuses(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
		vary   bool
	}{
		{fault.New(fault.Invalid, "placement.query.bad_value", "text"), 400, "placement.query.bad_value", true},
		{fault.New(fault.Denied, "", "text"), 403, "placement.undefined_code", false},
		{fault.New(fault.NotFound, "", "text"), 404, "placement.undefined_code", false},
		{httpapi.Trapped(fault.New(fault.NotFound, "", "text")), 404, "placement.undefined_code", true},
		{&httpapi.Error{Status: 404, Detail: "text"}, 404, "placement.undefined_code", true},
		{fmt.Errorf("context: %w", fault.New(fault.Conflict, "c", "text")), 409, "c", true},
		{fault.New(fault.Unavailable, "", "text"), 503, "placement.undefined_code", true},
	} {
		a, _ := serveOne(func(http.ResponseWriter, *http.Request) error { return tc.err })
		w := answerTo(a, request("GET", "/x/y", ""))
		e := firstError(t, w)
		if w.Code != tc.status || e["code"] != tc.code || !strings.HasSuffix(e["detail"].(string), "\n\n text  ") {
			t.Errorf("%v is answered with %d %v", tc.err, w.Code, e)
		}
		if vary := w.Header().Get("Vary") != ""; vary != tc.vary {
			t.Errorf("%v: answer has Vary: %v, want %v", tc.err, vary, tc.vary)
		}
		if again := w.Header().Get("Retry-After") != ""; again != (tc.status == 503) {
			t.Errorf("%v: answer has Retry-After: %v", tc.err, again)
		}
	}
}

func TestTrappedNilIsNil(t *testing.T) {
	if err := httpapi.Trapped(nil); err != nil {
		t.Errorf("Trapped(nil) = %v", err)
	}
}

func TestInternalErrorsStayInTheLog(t *testing.T) {
	secret := errors.New("disk 7 is on fire")
	for name, h := range map[string]httpapi.Handler{
		"Error": func(w http.ResponseWriter, _ *http.Request) error {
			httpapi.SetLastModified(w.Header(), time.Now())
			return fmt.Errorf("reading: %w", secret)
		},
		"Fault": func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.Internal, "", "%v", secret)
		},
		"Panic": func(http.ResponseWriter, *http.Request) error { panic(secret) },
	} {
		t.Run(name, func(t *testing.T) {
			a, log := serveOne(h)
			w := answerTo(a, request("GET", "/x/y", ""))
			const want = "The server has either erred or is incapable of performing the requested operation.\n\n" +
				" Internal error.  "
			if e := firstError(t, w); w.Code != 500 || e["detail"] != want || e["title"] != "Internal Server Error" {
				t.Errorf("answer is %d %v", w.Code, e)
			}
			for _, deleted := range []string{"Vary", "Openstack-Api-Version", "Last-Modified", "Cache-Control"} {
				if v := w.Header().Get(deleted); v != "" {
					t.Errorf("answer has %s: %s", deleted, v)
				}
			}
			id := w.Header().Get(httpapi.RequestIDHeader)
			if !strings.Contains(log.String(), "on fire") || !strings.Contains(log.String(), id) {
				t.Errorf("log is %s", log)
			}
			if strings.Contains(log.String(), "goroutine") != (name == "Panic") {
				t.Errorf("the stack is missing or not requested: %s", log)
			}
		})
	}
}

func TestAnAnswerThatBrokeOffIsCut(t *testing.T) {
	a, _ := serveOne(func(w http.ResponseWriter, _ *http.Request) error {
		io.WriteString(w, "half")
		return errors.New("the rest is lost")
	})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("ServeHTTP panicked with %v, want http.ErrAbortHandler", v)
		}
	}()
	answerTo(a, request("GET", "/x/y", ""))
	t.Error("ServeHTTP returned")
}

func TestAuthenticatorErrors(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
	}{
		{fault.New(fault.Unauthentic, "", "expired"), 401},
		{fault.New(fault.Unavailable, "", "away"), 503},
		{errors.New("bug"), 500},
	} {
		c := config()
		c.Authenticate = func(*http.Request) (identity.Caller, error) { return identity.Caller{}, tc.err }
		w := answerTo(httpapi.New(c), request("GET", "/traits", ""))
		if w.Code != tc.status || strings.Contains(w.Body.String(), "expired") {
			t.Errorf("%v is answered with %d %s", tc.err, w.Code, w.Body)
		}
	}
}

func TestHandlersSeeTheRequest(t *testing.T) {
	var got []string
	a, _ := serveOne(func(_ http.ResponseWriter, r *http.Request) error {
		c, _ := identity.From(r.Context())
		got = append(got, httpapi.Param(r, "name"), httpapi.Param(r, "other"), c.UserID, c.ProjectID,
			microversion.From(r.Context()).String(), httpapi.RequestID(r))
		return nil
	})
	w := answerTo(a, request("GET", "/x/%C3%A9%20y%0A", ""))
	want := []string{"Ã© y", "", "u", "p", "1.39", w.Header().Get(httpapi.RequestIDHeader)}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != 200 {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
}

func TestOutsideAnAPIThereIsNoRequest(t *testing.T) {
	r := httptest.NewRequest("GET", "/x/y", nil)
	if p, id := httpapi.Param(r, "name"), httpapi.RequestID(r); p != "" || id != "" {
		t.Errorf("Param = %q, RequestID = %q; want nothing", p, id)
	}
}

func TestBodyLimit(t *testing.T) {
	a, _ := serveOne(func(w http.ResponseWriter, r *http.Request) error {
		b, err := httpapi.ReadBody(r)
		if err != nil {
			return err
		}
		w.Write(b)
		return nil
	})
	chunked := func(body string) *http.Request {
		r := request("POST", "/x/y", body)
		r.ContentLength = -1
		return r
	}
	for _, tc := range []struct {
		name   string
		r      *http.Request
		status int
	}{
		{"Fits", request("POST", "/x/y", "0123456789"), 200},
		{"TooLong", request("POST", "/x/y", "0123456789a"), 413},
		{"FitsInChunks", chunked("0123456789"), 200},
		{"TooLongInChunks", chunked("0123456789a"), 413},
		{"None", request("GET", "/x/y", ""), 200},
	} {
		w := answerTo(a, tc.r)
		if w.Code != tc.status {
			t.Errorf("%s: status is %d, want %d", tc.name, w.Code, tc.status)
		}
		if tc.status == 413 {
			if e := firstError(t, w); e["title"] != "Request Entity Too Large" {
				t.Errorf("%s: %v", tc.name, e)
			}
		}
	}
	r := request("POST", "/x/y", "0123456789a")
	r.Header.Del("X-Auth-Token")
	if w := answerTo(a, r); w.Code != 401 {
		t.Errorf("a long body without a token gets %d, want 401", w.Code)
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	a, _ := serveOne(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := httpapi.ReadBody(r)
		return err
	})
	r := request("POST", "/x/y", "abc")
	r.ContentLength = 5
	if w := answerTo(a, r); w.Code != 400 {
		t.Errorf("status is %d, want 400", w.Code)
	}
}

func TestAccessLog(t *testing.T) {
	a, log := serveOne(func(w http.ResponseWriter, r *http.Request) error {
		slog.New(slog.DiscardHandler).InfoContext(r.Context(), "x")
		io.WriteString(w, "12345")
		return nil
	})
	r := request("GET", "/x/y?secret=1", "")
	const global = "req-11111111-1111-1111-1111-111111111111"
	r.Header.Set(httpapi.RequestIDHeader, global)
	w := answerTo(a, r)
	var got map[string]any
	if err := json.Unmarshal(log.Bytes(), &got); err != nil {
		t.Fatalf("log is not one line: %v\n%s", err, log)
	}
	if d, ok := got["duration"].(float64); !ok || d <= 0 {
		t.Errorf("duration is %v", got["duration"])
	}
	delete(got, "time")
	delete(got, "duration")
	want := map[string]any{
		"name": "berth", "process": float64(os.Getpid()),
		"level": "INFO", "msg": "request", "request_id": w.Header().Get(httpapi.RequestIDHeader),
		"global_request_id": global, "user": "u", "project": "p", "method": "GET", "path": "/x/y",
		"route": "/x/{name}", "microversion": "1.39", "status": 200.0, "bytes": 5.0, "client": "192.0.2.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	log.Reset()
	r = httptest.NewRequest("GET", "/nowhere", nil)
	r.Header.Set(httpapi.RequestIDHeader, "req-forged\n")
	answerTo(a, r)
	if s := log.String(); !strings.Contains(s, `"route":"none","microversion":"-","status":401`) ||
		strings.Contains(s, "forged") {
		t.Errorf("log is %s", s)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := config()
	c.Metrics = httpapi.NewMetrics(reg)
	a := httpapi.New(c)
	for _, r := range []*http.Request{
		request("GET", "/", ""), request("GET", "/", ""), request("GET", "/traits/a", ""), request("GET", "/traits/b", ""),
		request("GET", "/nowhere", ""), request("BREW", "/traits/b", ""), httptest.NewRequest("GET", "/traits", nil),
	} {
		answerTo(a, r)
	}
	const want = `
		# HELP berth_http_requests_in_flight Requests that are being answered, by service.
		# TYPE berth_http_requests_in_flight gauge
		berth_http_requests_in_flight{service="placement"} 0
		# HELP berth_http_requests_total Requests answered, by service, route, method and status.
		# TYPE berth_http_requests_total counter
		berth_http_requests_total{method="GET",route="/",service="placement",status="200"} 2
		berth_http_requests_total{method="GET",route="/traits/{name}",service="placement",status="404"} 2
		berth_http_requests_total{method="other",route="/traits/{name}",service="placement",status="405"} 1
		berth_http_requests_total{method="other",route="none",service="placement",status="401"} 1
		berth_http_requests_total{method="other",route="none",service="placement",status="404"} 1
	`
	err := testutil.GatherAndCompare(reg, strings.NewReader(want), "berth_http_requests_total",
		"berth_http_requests_in_flight")
	if err != nil {
		t.Error(err)
	}
}

func TestOverlappingRoutesPanic(t *testing.T) {
	overlap := func(second httpapi.Route) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		c := config()
		c.Routes = []httpapi.Route{{Method: "GET", Pattern: "/x", Since: 2, Until: 6}, second}
		httpapi.New(c)
		return false
	}
	for _, tc := range []struct {
		route httpapi.Route
		want  bool
	}{
		{httpapi.Route{Method: "GET", Pattern: "/x", Since: 7}, false},
		{httpapi.Route{Method: "GET", Pattern: "/x", Until: 1}, false},
		{httpapi.Route{Method: "PUT", Pattern: "/x"}, false},
		{httpapi.Route{Method: "GET", Pattern: "/x", Since: 6}, true},
		{httpapi.Route{Method: "GET", Pattern: "/x"}, true},
	} {
		if got := overlap(tc.route); got != tc.want {
			t.Errorf("New with %+v panics: %v, want %v", tc.route, got, tc.want)
		}
	}
}

func TestRoutesByVersion(t *testing.T) {
	say := func(s string) httpapi.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	c := config()
	c.Routes = []httpapi.Route{
		{Method: "PUT", Pattern: "/x", Since: 2, Until: 6, Handle: say("old")},
		{Method: "PUT", Pattern: "/x", Since: 7, Handle: say("new")},
		{Method: "GET", Pattern: "/x", Handle: say("got")},
	}
	a := httpapi.New(c)
	for version, want := range map[string]string{"1.2": "old", "1.6": "old", "1.7": "new", "1.39": "new"} {
		r := request("PUT", "/x", "")
		r.Header.Set("OpenStack-API-Version", "placement "+version)
		if w := answerTo(a, r); w.Body.String() != want {
			t.Errorf("%s is answered by %q, want %q", version, w.Body, want)
		}
	}
	if w := answerTo(a, request("POST", "/x", "")); w.Header().Get("Allow") != "PUT, GET" {
		t.Errorf("Allow is %q, want each method once, in order", w.Header().Get("Allow"))
	}
}

func TestAbsoluteURL(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "h:1"
	if got := httpserver.AbsoluteURL(r, "/traits/X"); got != "http://h:1/traits/X" {
		t.Errorf("AbsoluteURL = %s", got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := httpserver.AbsoluteURL(r, "/traits/X"); got != "https://h:1/traits/X" {
		t.Errorf("AbsoluteURL under TLS = %s", got)
	}
}

func TestAnyOrigin(t *testing.T) {
	c := config()
	c.CORS = placementCORS("*")
	c.CORS.AllowCredentials = false
	r := request("GET", "/", "")
	r.Header.Set("Origin", "http://anybody")
	h := answerTo(httpapi.New(c), r).Header()
	if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers are %v", h)
	}
}

// A request that fails after its client has closed the connection has the status 499 in log and
// metrics, whatever it failed with, and is no error of the service. What a handler panics with is.
func TestClientsThatLeaveAreNoErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err    func(context.Context) error
		status string
	}{
		"Internal":    {func(ctx context.Context) error { return ctx.Err() }, "499"},
		"Unavailable": {func(context.Context) error { return fault.New(fault.Unavailable, "", "away") }, "499"},
		"Keystone": {func(context.Context) error {
			return &httpapi.Challenge{Err: fault.New(fault.Unavailable, "", "away")}
		}, "499"},
		"Refused":  {func(context.Context) error { return fault.New(fault.Conflict, "", "taken") }, "409"},
		"Panicked": {func(context.Context) error { panic("no") }, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			reg, log, closed := prometheus.NewRegistry(), bytes.Buffer{}, make(chan struct{})
			c := config()
			c.Log = slog.New(logging.NewHandler(&log, logging.Options{Debug: true}))
			c.Metrics = httpapi.NewMetrics(reg)
			c.Routes = []httpapi.Route{{
				Method: "GET", Pattern: "/x", Handle: func(_ http.ResponseWriter, r *http.Request) error {
					closed <- struct{}{}
					<-r.Context().Done()
					return tc.err(r.Context())
				},
			}}
			a, served := httpapi.New(c), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a.ServeHTTP(w, r)
				close(served)
			}))
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			r := request("GET", s.URL+"/x", "").WithContext(ctx)
			r.RequestURI = ""
			go func() {
				<-closed
				cancel()
			}()
			if res, err := http.DefaultClient.Do(r); err == nil {
				res.Body.Close()
			}
			<-served
			if text := log.String(); !strings.Contains(text, `"status":`+tc.status) ||
				strings.Contains(text, `"ERROR"`) != (name == "Panicked") {
				t.Errorf("log is %s", text)
			}
			err := testutil.GatherAndCompare(reg, strings.NewReader(`
				# HELP berth_http_requests_total Requests answered, by service, route, method and status.
				# TYPE berth_http_requests_total counter
				berth_http_requests_total{method="GET",route="/x",service="placement",status="`+tc.status+`"} 1
			`), "berth_http_requests_total")
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// placementCORS are upstream Placement's defaults for the origins.
func placementCORS(origins ...string) *httpapi.CORS {
	return &httpapi.CORS{
		AllowedOrigin:    origins,
		AllowCredentials: true,
		ExposeHeaders: []string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token", "OpenStack-API-Version",
		},
		MaxAge:       3600,
		AllowMethods: []string{"GET", "PUT", "POST", "DELETE", "PATCH"},
		AllowHeaders: []string{
			"X-Auth-Token", "X-Openstack-Request-Id", "X-Identity-Status", "X-Roles", "X-Service-Catalog",
			"X-User-Id", "X-Tenant-Id", "OpenStack-API-Version",
		},
	}
}

// What is not done here is no failure that an operator has to look at.
func TestWhatIsUnsupportedIsNoFailure(t *testing.T) {
	a, log := serveOne(func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.Unsupported, "", "not here")
	})
	if w := answerTo(a, request("GET", "/x/y", "")); w.Code != http.StatusNotImplemented ||
		strings.Contains(log.String(), "ERROR") {
		t.Errorf("answer is %d, the log says %s", w.Code, log)
	}
}
