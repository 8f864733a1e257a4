package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Summarize exports summarize to the tests.
var Summarize = summarize

// failing is an exporter that fails with the given text.
type failing string

func (f failing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New(string(f))
}
func (failing) Shutdown(context.Context) error { return nil }

// TestWarningsAreRare has a fake clock.
func TestWarningsAreRare(t *testing.T) {
	var log bytes.Buffer
	e := newExporter(failing(strings.Repeat("x", 10_000)), "c:4318",
		Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	now := time.Unix(0, 0)
	e.now = func() time.Time { return now }
	for range 10 {
		if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 3)); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Second)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "spans=3 ") || !strings.Contains(lines[1], "spans=18 ") {
		t.Errorf("in 100 s of failures the log has\n%.2000s\nwant warnings about 3 and 18 spans", log.String())
	}
	if len(log.String()) > 1200 {
		t.Errorf("two warnings have %d bytes", len(log.String()))
	}
}

// TestDropsAreReported warns of spans that were dropped although sending works.
func TestDropsAreReported(t *testing.T) {
	var log bytes.Buffer
	e := newExporter(tracetest.NewInMemoryExporter(), "c:4318", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	e.drop()
	if err := e.ExportSpans(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "spans=1 ") || !strings.Contains(log.String(), "OTEL_BSP_MAX_QUEUE_SIZE") {
		t.Errorf("the log has %q", log.String())
	}
}
