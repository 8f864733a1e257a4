package tracing

import (
	"net/http"
	"slices"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// untraced are the paths that monitoring polls.
var untraced = []string{"/healthz", "/readyz", "/metrics", "/healthcheck"}

// Handler returns h with a span around every request, and h itself when tracing is off. The span
// continues the trace that the client's traceparent names. It is named by method and route, "GET
// /resource_providers/{uuid}", and by the method alone where route returns ""; route must not
// return clients' values. In addition to OpenTelemetry's attributes for HTTP it has
// openstack.request_id and openstack.microversion when the answer's headers have them. Health
// checks are not traced.
func (t *Tracer) Handler(h http.Handler, route func(*http.Request) string) http.Handler {
	if t == nil {
		return h
	}
	traced := otelhttp.NewHandler(describe(h), "", t.httpOptions()...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(untraced, r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		r = r.WithContext(r.Context()) // a copy: the request is its sender's
		r.Pattern = route(r)
		traced.ServeHTTP(w, r)
	})
}

// Transport returns next with a span around every request that is sent, and next itself when
// tracing is off. Nil means http.DefaultTransport. The header traceparent propagates the trace to
// the other service. Spans are named by method and path, so paths should contain no ids; they have
// the URL but no headers.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(next, append(t.httpOptions(),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Path }))...)
}

// httpOptions are common to both directions. Metrics of the library are off: Berth has its own.
func (t *Tracer) httpOptions() []otelhttp.Option {
	return []otelhttp.Option{
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagator),
	}
}

// describe adds values of the answer's headers to the request's span.
func describe(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanFromContext(r.Context())
		if span.IsRecording() {
			defer func() { span.SetAttributes(answerAttributes(w.Header())...) }()
		}
		h.ServeHTTP(w, r)
	})
}

// answerAttributes returns the attributes of an answer's span. An API without microversions has no
// version.
func answerAttributes(h http.Header) (attrs []attribute.KeyValue) {
	for _, a := range []struct{ key, header string }{
		{"openstack.request_id", "X-Openstack-Request-Id"},
		{"openstack.microversion", "Openstack-Api-Version"},
	} {
		if v := h.Get(a.header); v != "" {
			attrs = append(attrs, attribute.String(a.key, v))
		}
	}
	return attrs
}
