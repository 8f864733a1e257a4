package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// An exporter sends batches and counts the outcomes of their spans. It never returns an error:
// failures are counted, and logged at most once a minute.
type exporter struct {
	next    sdktrace.SpanExporter
	host    string // of the collector
	log     *slog.Logger
	metrics Metrics

	pending atomic.Int64 // spans that wait or are being sent
	lost    atomic.Int64 // dropped or failed since the last warning

	mu       sync.Mutex // guards lastWarn
	lastWarn time.Time
	now      func() time.Time

	ctx  context.Context // ends when sending has to stop
	end  context.CancelFunc
	done chan struct{} // closed when the last batch has ended
	once sync.Once
}

// newExporter returns an exporter that sends with next; host is for the log.
func newExporter(next sdktrace.SpanExporter, host string, opts Options) *exporter {
	e := &exporter{
		next: next, host: host, log: opts.Log, metrics: opts.Metrics,
		now: time.Now, done: make(chan struct{}),
	}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// ExportSpans sends a batch. It is called by one goroutine at a time.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	err := e.next.ExportSpans(ctx, spans)
	e.pending.Add(-int64(len(spans)))
	if err != nil {
		e.lost.Add(int64(len(spans)))
		count(e.metrics.Failed, len(spans))
	} else {
		count(e.metrics.Exported, len(spans))
	}
	if e.lost.Load() > 0 {
		e.warn(err)
	}
	return nil
}

// Shutdown is called after the last batch.
func (e *exporter) Shutdown(ctx context.Context) error {
	e.once.Do(func() { close(e.done) })
	return e.next.Shutdown(ctx)
}

// stop cancels the batch that is being sent and waits until it has ended. Queued spans then fail at
// once.
func (e *exporter) stop() {
	e.end()
	<-e.done
}

// drop counts a span that was dropped because the queue was full.
func (e *exporter) drop() {
	e.lost.Add(1)
	count(e.metrics.Dropped, 1)
}

// warnEvery is the time between two warnings.
const warnEvery = time.Minute

// warn logs that spans were lost, at most once an interval.
func (e *exporter) warn(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if !e.lastWarn.IsZero() && now.Sub(e.lastWarn) < warnEvery {
		return
	}
	e.lastWarn = now
	reason := "more spans than could be sent: OTEL_BSP_MAX_QUEUE_SIZE, OTEL_TRACES_SAMPLER"
	if err != nil {
		reason = shorten(err.Error())
	}
	e.log.Warn("traces are lost; requests are not harmed", "collector", e.host, "spans", e.lost.Swap(0), "error", reason)
}

// shorten truncates a text of a collector, which may be longer than a log line should be.
func shorten(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// count calls fn, which may be nil.
func count(fn func(int), n int) {
	if fn != nil {
		fn(n)
	}
}
