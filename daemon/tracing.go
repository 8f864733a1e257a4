package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/tracing"
)

// startTracing enables tracing when OpenTelemetry's variables request it, and registers its metrics
// then. With invalid variables tracing stays off and a warning is logged: the variables may be
// meant for another program, and must not keep the service from starting.
func startTracing(
	ctx context.Context, p Process, service string, reg prometheus.Registerer, log *slog.Logger,
) *tracing.Tracer {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_trace_spans_total", Help: "Spans of traces, by what became of them: exported, dropped, failed.",
	}, []string{"outcome"})
	tracer, err := tracing.Start(ctx, tracing.Options{
		Service: service,
		Version: p.Version,
		Getenv:  p.Getenv,
		Log:     log,
		Metrics: tracing.Metrics{
			Exported: addTo(spans.WithLabelValues("exported")),
			Dropped:  addTo(spans.WithLabelValues("dropped")),
			Failed:   addTo(spans.WithLabelValues("failed")),
		},
	})
	switch {
	case err != nil:
		log.Warn("traces stay off until OpenTelemetry's variables are corrected", "error", err)
	case tracer != nil:
		reg.MustRegister(spans)
		log.Info("requests are traced", "collector", tracer.Endpoint())
	}
	return tracer
}

// addTo returns a function that adds to a counter.
func addTo(c prometheus.Counter) func(int) { return func(n int) { c.Add(float64(n)) } }

// stopTracing sends the last spans, for a few seconds at most. Further calls do nothing.
func stopTracing(t *tracing.Tracer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.Shutdown(ctx); err != nil {
		log.Warn("some traces were not sent", "error", err)
	}
}

// routeNames returns a function that finds the route of a request, so that a span has its name even
// when the request is refused before routing. It is "" for a path without a route.
func routeNames(routes []httpapi.Route) func(*http.Request) string {
	mux := http.NewServeMux()
	names := make(map[string]string)
	for _, r := range routes {
		pattern := r.Pattern
		if pattern == "" || pattern == "/" {
			pattern = "/{$}" // "/" alone would be every path
		}
		if _, known := names[pattern]; !known {
			mux.Handle(pattern, http.NotFoundHandler())
		}
		names[pattern] = cmp.Or(r.Name, r.Pattern)
	}
	return func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return names[pattern]
	}
}
