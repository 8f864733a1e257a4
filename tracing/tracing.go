// Package tracing sends what happened during a request to an OpenTelemetry
// collector: one span for the request, one for each statement and each call to
// another service below it. It is off unless OpenTelemetry's environment
// variables turn it on. It is not for metrics or logs, and it knows nothing of
// what any request means.
//
// A span passes these stations, and none of them waits for the next:
//
//	request → queue (bounded; what finds it full is dropped) → one goroutine
//	that sends batches, with a time limit, over OTLP/HTTP → collector
//
// A collector that is slow or away therefore costs spans and nothing else.
// Spans hold no headers, no query strings and no values of statements.
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

// Options say who traces and who is told of it.
type Options struct {
	Service string // the name of the service unless the environment has one
	Version string // of the program
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
	// Log hears, at most once a minute, that spans are lost. Nil for silence.
	Log     *slog.Logger
	Metrics Metrics
}

// Metrics are told what became of spans, how many at a time. Any may be nil;
// they must be quick and safe for concurrent use.
type Metrics struct {
	Exported func(spans int) // a collector has them
	Dropped  func(spans int) // they found the queue full
	Failed   func(spans int) // they were sent in vain, or not at all when tracing ended
}

// A Tracer traces requests. A nil Tracer is one that is off: all its methods
// may be called and cost nothing. It may be used from many goroutines.
type Tracer struct {
	provider   *sdktrace.TracerProvider
	statements trace.Tracer
	queue      *queue
	exporter   *exporter
	endpoint   string
}

// scope is the name under which spans of statements are made.
const scope = "github.com/berthcloud/berth/tracing"

// propagator reads and writes W3C's traceparent and tracestate. Baggage is left
// out: it would carry what clients say to other services.
var propagator = propagation.TraceContext{}

// Start returns a Tracer when the environment turns tracing on, nil when it does
// not, and an error when its variables make no sense; the error names each of
// them and shows no secret. It does not connect: a collector may come later.
// Whoever called Start calls Shutdown.
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

// maxAttribute is how many characters of a value a span keeps: statements with
// a thousand places and headers that clients make up are long.
const maxAttribute = 2048

// Endpoint returns the URL that spans are sent to, "" when tracing is off.
func (t *Tracer) Endpoint() string {
	if t == nil {
		return ""
	}
	return t.endpoint
}

// Shutdown sends the spans that wait and stops. It returns by the end of ctx,
// with an error when spans were lost for lack of time, and has then stopped all
// the same. Further calls do nothing.
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
