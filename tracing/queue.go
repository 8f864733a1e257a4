package tracing

import (
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A queue bounds the spans that wait for export. The processor below it has capacity for all of
// them, so that spans are dropped, and counted, only here.
type queue struct {
	sdktrace.SpanProcessor
	exporter *exporter
	// size bounds the spans that wait or are being sent.
	size int64
}

func newQueue(e *exporter, set *settings) *queue {
	p := sdktrace.NewBatchSpanProcessor(e,
		sdktrace.WithMaxQueueSize(set.queue),
		sdktrace.WithMaxExportBatchSize(set.batch),
		sdktrace.WithBatchTimeout(set.delay),
		// A batch is retried within its time-out; the last attempt has as much time again.
		sdktrace.WithExportTimeout(2*set.timeout+time.Second),
	)
	return &queue{SpanProcessor: p, exporter: e, size: int64(set.queue)}
}

// OnEnd queues a finished span. It never blocks.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.exporter.pending.Add(1) > q.size {
		q.exporter.pending.Add(-1)
		q.exporter.drop()
		return
	}
	q.SpanProcessor.OnEnd(s)
}
