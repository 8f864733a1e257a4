package tracing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector receives spans as a real one does: over OTLP/HTTP.
type collector struct {
	*httptest.Server

	mu       sync.Mutex // guards the rest
	spans    map[string]*tracepb.Span
	resource map[string]string
	headers  http.Header
	path     string
	raw      []byte // all bodies
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{spans: make(map[string]*tracepb.Span)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collectorpb.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil {
			t.Errorf("the collector cannot read what it got: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.take(r, body, &sent)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(r *http.Request, body []byte, sent *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.headers, c.path = append(c.raw, body...), r.Header, r.URL.Path
	for _, rs := range sent.GetResourceSpans() {
		c.resource = attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, span := range ss.GetSpans() {
				c.spans[span.GetName()] = span
			}
		}
	}
}

// span returns the span of a name.
func (c *collector) span(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spans[name]
	if s == nil {
		var names []string
		for n := range c.spans {
			names = append(names, n)
		}
		t.Fatalf("there is no span %q, only %q", name, names)
	}
	return s
}

// attributes returns them as text.
func attributes(list []*commonpb.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		default:
			all[a.GetKey()] = a.GetValue().String()
		}
	}
	return all
}
