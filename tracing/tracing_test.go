package tracing_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/berthcloud/berth/tracing"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// env returns an environment of pairs "NAME=value".
func env(pairs ...string) func(string) string {
	all := make(map[string]string)
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

// start starts a Tracer that a test needs to be on.
func start(t *testing.T, opts tracing.Options, pairs ...string) *tracing.Tracer {
	t.Helper()
	opts.Service, opts.Version, opts.Getenv = "berth-placement", "1.2.3", env(pairs...)
	tracer, err := tracing.Start(t.Context(), opts)
	if err != nil || tracer == nil {
		t.Fatalf("Start with %q = %v, %v; want a Tracer", pairs, tracer, err)
	}
	t.Cleanup(func() { shutdown(t, tracer) })
	return tracer
}

func shutdown(t *testing.T, tracer *tracing.Tracer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := tracer.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown = %v", err)
	}
}

func route(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/resource_providers/") {
		return "/resource_providers/{uuid}"
	}
	return ""
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	token       = "gAAAA-secret-token"
)

// request is one that a client of the API sends, with a token and a trace.
func request(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("X-Service-Token", token)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Cookie", "session="+token)
	r.Header.Set("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-01")
	return r
}

// TestSpansOfARequest follows one request from its client through the service to
// the database and to another service.
func TestSpansOfARequest(t *testing.T) {
	c := newCollector(t)
	tracer := start(t, tracing.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL+"/base/",
		"OTEL_EXPORTER_OTLP_HEADERS=x-api-key=k%20ey",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=lab,service.name=other",
		"OTEL_SERVICE_NAME=mine")
	var heard string
	keystone := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		heard = r.Header.Get("Traceparent")
	}))
	defer keystone.Close()
	query := tracer.SQL("sqlite")
	h := tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Openstack-Request-Id", "req-1")
		w.Header().Set("OpenStack-API-Version", "placement 1.39")
		query(r.Context(), "SELECT id,\n\tuuid\nFROM resource_providers\nWHERE uuid = ?")(nil)
		query(r.Context(), "UPDATE consumers SET generation = ?")(fmt.Errorf("querying: %w", sql.ErrTxDone))
		call(t, r.Context(), tracer, keystone.URL+"/v3/auth/tokens")
		w.WriteHeader(http.StatusServiceUnavailable)
	}), route)
	h.ServeHTTP(httptest.NewRecorder(), request("/resource_providers/abc?member_of=secret-query"))
	shutdown(t, tracer)

	server := c.span(t, "GET /resource_providers/{uuid}")
	want := map[string]string{
		"http.route": "/resource_providers/{uuid}", "url.path": "/resource_providers/abc", "http.request.method": "GET",
		"http.response.status_code": "int_value:503", "openstack.request_id": "req-1",
		"openstack.microversion": "placement 1.39",
	}
	if diff := cmp.Diff(want, pick(attributes(server.GetAttributes()), want)); diff != "" {
		t.Errorf("attributes of the request (-want +got):\n%s", diff)
	}
	id, parent := hex.EncodeToString(server.GetTraceId()), hex.EncodeToString(server.GetParentSpanId())
	if id != clientTrace || parent != clientSpan {
		t.Errorf("the request is in trace %s below %s, want the client's %s and %s", id, parent, clientTrace, clientSpan)
	}
	for name, want := range map[string]map[string]string{
		"SELECT resource_providers": {
			"db.system.name": "sqlite", "db.query.summary": "SELECT resource_providers",
			"db.query.text": "SELECT id,\n\tuuid\nFROM resource_providers\nWHERE uuid = ?",
		},
		"UPDATE consumers":    {"error.type": "*errors.errorString"},
		"GET /v3/auth/tokens": {"url.full": keystone.URL + "/v3/auth/tokens"},
	} {
		s := c.span(t, name)
		if !bytes.Equal(s.GetParentSpanId(), server.GetSpanId()) || !bytes.Equal(s.GetTraceId(), server.GetTraceId()) {
			t.Errorf("span %q is not below the request's", name)
		}
		if diff := cmp.Diff(want, pick(attributes(s.GetAttributes()), want)); diff != "" {
			t.Errorf("attributes of %q (-want +got):\n%s", name, diff)
		}
	}
	if !strings.HasPrefix(heard, "00-"+clientTrace+"-") {
		t.Errorf("the other service heard the traceparent %q, want one of trace %s", heard, clientTrace)
	}
	wantResource := map[string]string{
		"service.name": "mine", "service.version": "1.2.3", "deployment.environment.name": "lab",
	}
	if diff := cmp.Diff(wantResource, pick(c.resource, wantResource)); diff != "" {
		t.Errorf("the resource (-want +got):\n%s", diff)
	}
	if c.path != "/base/v1/traces" || c.headers.Get("X-Api-Key") != "k ey" {
		t.Errorf("spans went to %s with key %q", c.path, c.headers.Get("X-Api-Key"))
	}
	for _, secret := range []string{token, "secret-query"} {
		if bytes.Contains(c.raw, []byte(secret)) {
			t.Errorf("the spans hold %q", secret)
		}
	}
}

func call(t *testing.T, ctx context.Context, tracer *tracing.Tracer, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("X-Subject-Token", token)
	base := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tracer.Transport(base), Timeout: 5 * time.Second}).Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// pick returns the values of got under the keys of want.
func pick(got, want map[string]string) map[string]string {
	some := make(map[string]string)
	for k := range want {
		if v, ok := got[k]; ok {
			some[k] = v
		}
	}
	return some
}

func TestWhatIsNotTraced(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		parent string
		env    []string
		traced bool
	}{
		"Unknown":   {path: "/nowhere", traced: true},
		"Health":    {path: "/healthz"},
		"Ready":     {path: "/readyz"},
		"AlwaysOff": {path: "/nowhere", env: []string{"OTEL_TRACES_SAMPLER=always_off"}},
		"RatioOfNothing": {
			path: "/nowhere", env: []string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"},
		},
		"RatioOfAll":    {path: "/nowhere", env: []string{"OTEL_TRACES_SAMPLER=traceidratio"}, traced: true},
		"ClientDoesNot": {path: "/nowhere", parent: "00"},
		"ClientDoes": {
			path: "/nowhere", parent: "01", env: []string{"OTEL_TRACES_SAMPLER=parentbased_always_off"}, traced: true,
		},
		"ClientNotFollowed": {path: "/nowhere", parent: "01", env: []string{"OTEL_TRACES_SAMPLER=always_off"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			tracer := start(t, tracing.Options{}, append(tc.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)...)
			query := tracer.SQL("sqlite")
			h := tracer.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				query(r.Context(), "SELECT 1")(nil)
			}), route)
			r := httptest.NewRequest(http.MethodGet, tc.path, http.NoBody)
			if tc.parent != "" {
				r.Header.Set("Traceparent", "00-"+clientTrace+"-"+clientSpan+"-"+tc.parent)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			query(context.Background(), "SELECT 2 FROM background")(nil)
			shutdown(t, tracer)
			want := 0
			if tc.traced {
				want = 2
				c.span(t, "GET")
				c.span(t, "SELECT")
			}
			if len(c.spans) != want {
				t.Errorf("the collector has %d spans, want %d", len(c.spans), want)
			}
		})
	}
}

func TestTurningOnAndOff(t *testing.T) {
	for name, tc := range map[string]struct {
		env      []string
		endpoint string
	}{
		"Nothing":   {nil, ""},
		"None":      {[]string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, ""},
		"Disabled":  {[]string{"OTEL_SDK_DISABLED=True", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, ""},
		"NameAlone": {[]string{"OTEL_SERVICE_NAME=x"}, ""},
		"Exporter":  {[]string{"OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4318/v1/traces"},
		"Endpoint":  {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c"}, "https://c/v1/traces"},
		"TracesEndpoint": {
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b:1/in"},
			"http://b:1/in",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, err := tracing.Start(t.Context(), tracing.Options{Getenv: env(tc.env...)})
			if err != nil {
				t.Fatal(err)
			}
			defer shutdown(t, tracer)
			if got := tracer.Endpoint(); got != tc.endpoint {
				t.Errorf("with %q spans go to %q, want %q", tc.env, got, tc.endpoint)
			}
		})
	}
}

func TestWrongVariables(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want []string
	}{
		"Exporter": {[]string{"OTEL_TRACES_EXPORTER=zipkin"}, []string{"OTEL_TRACES_EXPORTER", "zipkin", "otlp"}},
		"Endpoint": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT"}},
		"Password": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:s3cret@c"}, []string{"OTEL_EXPORTER_OTLP_HEADERS"}},
		"Query": {
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/?key=s3cret"}, []string{"OTEL_EXPORTER_OTLP_HEADERS"},
		},
		"BadPassword": {
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:s3cret@c:port"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT"},
		},
		"Protocol": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
			[]string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"},
		},
		"Headers": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=b,s3cret"},
			[]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "entry 2"},
		},
		"Header": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_HEADERS=authorization=s3cret%zz"}, []string{"entry 1"},
		},
		"Certificate": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere.pem"},
			[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem"},
		},
		"Key": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_CLIENT_KEY=/nowhere.key"},
			[]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY"},
		},
		"AllAtOnce": {
			[]string{
				"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_BSP_MAX_QUEUE_SIZE=-1",
				"OTEL_EXPORTER_OTLP_TIMEOUT=soon",
			},
			[]string{"OTEL_TRACES_SAMPLER", "sometimes", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_EXPORTER_OTLP_TIMEOUT"},
		},
		"Ratio": {
			[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN"},
			[]string{"OTEL_TRACES_SAMPLER_ARG"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, err := tracing.Start(t.Context(), tracing.Options{Getenv: env(tc.env...)})
			if err == nil {
				shutdown(t, tracer)
				t.Fatalf("Start with %q works", tc.env)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Start with %q says %q, want %q in it", tc.env, err, part)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// TestOffCostsNothing compares a handler with the result of an absent Tracer.
func TestOffCostsNothing(t *testing.T) {
	var off *tracing.Tracer
	plain := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	w, r := httptest.NewRecorder(), request("/resource_providers/abc")
	if n := testing.AllocsPerRun(100, func() { off.Handler(plain, route).ServeHTTP(w, r) }); n != 0 {
		t.Errorf("a request allocates %v times with tracing off, want 0", n)
	}
	if off.SQL("sqlite") != nil {
		t.Error("SQL has a function with tracing off")
	}
	if got := off.Transport(http.DefaultTransport); got != http.DefaultTransport {
		t.Errorf("Transport wraps with tracing off: %v", got)
	}
	if err := off.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// counts are the numbers that Metrics were called with.
type counts struct{ exported, dropped, failed atomic.Int64 }

func (c *counts) metrics() tracing.Metrics {
	add := func(n *atomic.Int64) func(int) { return func(d int) { n.Add(int64(d)) } }
	return tracing.Metrics{Exported: add(&c.exported), Dropped: add(&c.dropped), Failed: add(&c.failed)}
}

// TestUnreachableCollector has a collector that refuses connections, and one
// that takes them and never answers.
func TestUnreachableCollector(t *testing.T) {
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer silent.Close()
	defer close(release)
	const requests = 200
	for name, url := range map[string]string{"Gone": ended.URL, "Silent": silent.URL} {
		t.Run(name, func(t *testing.T) {
			var n counts
			var log bytes.Buffer
			tracer := start(t, tracing.Options{Metrics: n.metrics(), Log: slog.New(slog.NewTextHandler(&log, nil))},
				"OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_BSP_MAX_QUEUE_SIZE=20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5")
			h := tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "fine")
			}), route)
			begin := time.Now()
			for range requests {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, request("/resource_providers/abc")); w.Code != http.StatusOK || w.Body.String() != "fine" {
					t.Fatalf("a request is answered with %d %q", w.Code, w.Body)
				}
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("%d requests took %s", requests, took)
			}
			stop(t, tracer)
			if got := n.dropped.Load() + n.failed.Load(); got != requests || n.exported.Load() != 0 {
				t.Errorf("%d spans dropped and %d failed, want %d in all; %d exported", n.dropped.Load(), n.failed.Load(), requests,
					n.exported.Load())
			}
			if name == "Silent" && n.dropped.Load() == 0 {
				t.Error("no span is dropped although no collector takes them")
			}
			if got := strings.Count(log.String(), "level=WARN"); got != 1 {
				t.Errorf("%d warnings, want 1:\n%s", got, log.String())
			}
		})
	}
}

// stop shuts a Tracer down with little time, and expects it to return in that time.
func stop(t *testing.T, tracer *tracing.Tracer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := tracer.Shutdown(ctx)
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("Shutdown within 300 ms took %s", took)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown = %v", err)
	}
}

// TestShutdownWithoutTime shuts down with an expired context.
func TestShutdownWithoutTime(t *testing.T) {
	c := newCollector(t)
	tracer := start(t, tracing.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tracer.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v", err)
	}
}

// TestPanicsPassThrough has a handler that cuts its answer short.
func TestPanicsPassThrough(t *testing.T) {
	c := newCollector(t)
	tracer := start(t, tracing.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	h := tracer.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), route)
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("the handler's panic arrives as %v", v)
		}
		shutdown(t, tracer)
		c.span(t, "GET /resource_providers/{uuid}")
	}()
	h.ServeHTTP(httptest.NewRecorder(), request("/resource_providers/abc"))
}

// TestLongValuesAreCut bounds the size of a span for any statement.
func TestLongValuesAreCut(t *testing.T) {
	c := newCollector(t)
	tracer := start(t, tracing.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	query := tracer.SQL("mysql")
	h := tracer.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		query(r.Context(), "DELETE FROM inventories WHERE id IN ("+strings.Repeat("?, ", 5000)+"?)")(nil)
	}), route)
	h.ServeHTTP(httptest.NewRecorder(), request("/resource_providers/abc"))
	shutdown(t, tracer)
	text := attributes(c.span(t, "DELETE inventories").GetAttributes())["db.query.text"]
	if !strings.HasPrefix(text, "DELETE FROM inventories") || len(text) != 2048 {
		t.Errorf("the statement in the span has %d bytes, want 2048: %.60q…", len(text), text)
	}
}
