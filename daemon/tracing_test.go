package daemon

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/internal/logtest"
)

// collect starts a collector for spans. It returns its URL, and a function that returns the
// received spans, by name.
func collect(t *testing.T) (url string, spans func() map[string]*tracepb.Span) {
	t.Helper()
	var mu sync.Mutex // guards all
	all := make(map[string]*tracepb.Span)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent collectorpb.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err != nil || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("the collector cannot read %d bytes: %v", len(body), err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range sent.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					all[s.GetName()] = s
				}
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]*tracepb.Span {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// TestRequestsAreTraced runs the service with a collector: a write creates a span with the name of
// its route, and below it one for each statement.
func TestRequestsAreTraced(t *testing.T) {
	url, spans := collect(t)
	p := Process{Stderr: io.Discard, Getenv: func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}[name]
	}}
	cfg := config.DefaultPlacement()
	cfg.API.AuthStrategy = config.StrategyNoAuth2
	cfg.Database.Connection = "sqlite://"
	cfg.Berth.Listen = "127.0.0.1:0"
	s, err := StartPlacement(t.Context(), p, cfg, logtest.Logger(), Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/resource_providers", strings.NewReader(`{"name": "cn1"}`))
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("POST /resource_providers is answered with %d %s", w.Code, w.Body)
	}
	s.Close() // sends the queued spans
	got := spans()
	request, insert := got["POST /resource_providers"], got["INSERT resource_providers"]
	if request == nil || insert == nil {
		t.Fatalf("there are no spans of the request and its statement among %d", len(got))
	}
	if !bytes.Equal(insert.GetParentSpanId(), request.GetSpanId()) {
		t.Error("the statement's span is not below the request's")
	}
	want := map[string]string{
		"http.route": "/resource_providers", "openstack.microversion": "placement 1.39",
		"openstack.request_id": w.Header().Get("X-Openstack-Request-Id"),
	}
	attrs := make(map[string]string)
	for _, a := range request.GetAttributes() {
		if _, ok := want[a.GetKey()]; ok {
			attrs[a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	if diff := cmp.Diff(want, attrs); diff != "" {
		t.Errorf("attributes of the request (-want +got):\n%s", diff)
	}
}

// TestWrongTracingVariablesDoNotStopTheService has variables for another
// program.
func TestWrongTracingVariablesDoNotStopTheService(t *testing.T) {
	var log bytes.Buffer
	p := Process{Getenv: func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "console"}[name]
	}}
	reg := prometheus.NewRegistry()
	tracer := startTracing(t.Context(), p, "berth-placement", reg, slog.New(slog.NewTextHandler(&log, nil)))
	if tracer != nil {
		t.Error("tracing is on")
	}
	for _, part := range []string{"level=WARN", "OTEL_TRACES_EXPORTER", "console"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log has no %s:\n%s", part, &log)
		}
	}
	stopTracing(tracer, logtest.Logger())
	if families, err := reg.Gather(); err != nil || len(families) != 0 {
		t.Errorf("metrics of tracing that is off: %v, %v", families, err)
	}
}

func TestRouteNames(t *testing.T) {
	api := &placementapi.API{}
	name := routeNames(api.Routes())
	for path, want := range map[string]string{
		"/":                             "/",
		"/traits":                       "/traits",
		"/traits/HW_CPU_X86_VMX":        "/traits/{name}",
		"/resource_providers/x/usages":  "/resource_providers/{uuid}/usages",
		"/resource_providers/x/nothing": "",
		"/nowhere":                      "",
		"/traits/":                      "",
	} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPatch, path, http.NoBody)
		if got := name(r); got != want {
			t.Errorf("the route of %s is %q, want %q", path, got, want)
		}
	}
	for _, odd := range []string{"", "*", "//", "no-slash"} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody)
		r.URL.Path = odd
		if got := name(r); got != "" && got != "/" {
			t.Errorf("the route of %q is %q", odd, got)
		}
	}
}

const tracingRow = "| `berth_trace_spans_total` | counter | `outcome` |"

// TestTracingMetricIsDocumented compares its row in the document.
func TestTracingMetricIsDocumented(t *testing.T) {
	if !strings.Contains(documentation(t), tracingRow) {
		t.Errorf("no document has the row %s", tracingRow)
	}
	reg := prometheus.NewRegistry()
	p := Process{Getenv: func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}[name]
	}}
	tracer := startTracing(t.Context(), p, "berth-placement", reg, logtest.Logger())
	defer stopTracing(tracer, logtest.Logger())
	if got := gatheredMetrics(t, reg)["berth_trace_spans_total"]; got != (documentedMetric{"counter", "outcome"}) {
		t.Errorf("berth_trace_spans_total is %+v", got)
	}
}
