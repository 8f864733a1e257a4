package tracing

import (
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A queue bounds the spans that wait for being sent. The processor below it has
// room for all of them, so that every span that is dropped is dropped, and
// counted, here.
type queue struct {
	sdktrace.SpanProcessor
	exporter *exporter
	size     int64
}

func newQueue(e *exporter, set *settings) *queue {
	p := sdktrace.NewBatchSpanProcessor(e,
		sdktrace.WithMaxQueueSize(set.queue),
		sdktrace.WithMaxExportBatchSize(set.batch),
		sdktrace.WithBatchTimeout(set.delay),
		// A batch is sent again within its time-out; the last attempt has
		// as much time once more.
		sdktrace.WithExportTimeout(2*set.timeout+time.Second),
	)
	return &queue{SpanProcessor: p, exporter: e, size: int64(set.queue)}
}

// OnEnd takes in a span that is over. It never waits.
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
