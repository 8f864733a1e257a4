// Package tracing sends traces of requests to an OpenTelemetry collector: one span for the request,
// and below it one for each statement and each call to another service. It is off unless
// OpenTelemetry's environment variables enable it. It is independent of metrics, logs and the
// meaning of requests.
//
// A span passes these stages, none of which blocks on the next:
//
//	request → queue (bounded; spans are dropped when it is full) → one goroutine
//	that sends batches, with a time limit, over OTLP/HTTP → collector
//
// A slow or unavailable collector therefore costs spans and nothing else. Spans contain no headers,
// no query strings and no values of statements.
//
// settings.go and sampler.go read the variables, since the SDK would ignore wrong ones with a line
// on standard error; http.go and sql.go make spans; queue.go and export.go count what becomes of
// them.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are the parameters of Start.
type Options struct {
	Service string // the name of the service unless the environment has one
	Version string // of the program
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Log gets, at most once a minute, a warning about lost spans. Nil disables it.
	Log     *slog.Logger
	Metrics Metrics
}

// Metrics are functions that are called with numbers of spans by their outcome. Any may be nil;
// they must be quick and safe for concurrent use.
type Metrics struct {
	Exported func(spans int) // a collector has them
	Dropped  func(spans int) // they found the queue full
	Failed   func(spans int) // they were sent in vain, or not at all when tracing ended
}

// A Tracer traces requests. A nil Tracer is disabled: all its methods may be called and cost
// nothing. It may be used concurrently.
type Tracer struct {
	provider   *sdktrace.TracerProvider
	statements trace.Tracer
	queue      *queue
	exporter   *exporter
	endpoint   string
}

// scope is the instrumentation scope of the spans of statements.
const scope = "github.com/berthcloud/berth/tracing"

// propagator reads and writes W3C's traceparent and tracestate. Baggage is not propagated: it would
// forward clients' values to other services.
var propagator = propagation.TraceContext{}

// Start returns a Tracer when the environment enables tracing, nil when it does not, and an error
// when its variables are invalid; the error names each of them and contains no secret. Start does
// not connect: the collector may be unavailable. The caller calls Shutdown.
func Start(ctx context.Context, opts Options) (*Tracer, error) {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	set, err := readSettings(opts.Getenv)
	if err != nil || set == nil {
		return nil, err
	}
	client, err := otlptracehttp.New(ctx, set.exporterOptions()...)
	if err != nil {
		return nil, fmt.Errorf("making the exporter of traces: %w", err)
	}
	res, err := describeProcess(ctx, opts, set)
	if err != nil {
		return nil, fmt.Errorf("describing this process for traces: %w", err)
	}
	return newTracer(opts, set, client, res), nil
}

// newTracer puts the parts together. The SDK reads OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and the limits
// of counts from the environment; maxAttribute applies when that sets none.
func newTracer(opts Options, set *settings, client sdktrace.SpanExporter, res *resource.Resource) *Tracer {
	e := newExporter(client, set.endpoint.Host, opts)
	q := newQueue(e, set)
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	p := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(q),
		sdktrace.WithSampler(set.sampler),
		sdktrace.WithResource(res),
		sdktrace.WithRawSpanLimits(limits),
	)
	return &Tracer{provider: p, statements: p.Tracer(scope), queue: q, exporter: e, endpoint: set.endpoint.String()}
}

// maxAttribute bounds the characters of a span's value: statements with a thousand placeholders and
// headers from clients are long.
const maxAttribute = 2048

// Endpoint returns the URL that spans are sent to, "" when tracing is off.
func (t *Tracer) Endpoint() string {
	if t == nil {
		return ""
	}
	return t.endpoint
}

// Shutdown sends the queued spans and stops. It returns by the end of ctx, with an error when spans
// were lost for lack of time, and has stopped in any case. Further calls do nothing.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	// The queue itself: the provider leaves it running when ctx has ended.
	err := t.queue.Shutdown(ctx)
	t.exporter.stop()
	if err := errors.Join(err, t.provider.Shutdown(context.Background())); err != nil {
		return fmt.Errorf("sending the last traces to %s: %w", t.endpoint, err)
	}
	return nil
}
