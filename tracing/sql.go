package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// SQL returns a function for a store to call before every statement, with its text, which must
// contain no values; the store calls the returned function with the statement's error, or nil, at
// its end. SQL returns nil when tracing is off. System is OpenTelemetry's name of the database:
// sqlite, mysql, mariadb, postgresql.
//
// Only statements of a traced request create spans. They are named by operation and table, "SELECT
// resource_providers". Of an error they have only the type, since its text may contain values.
func (t *Tracer) SQL(system string) func(ctx context.Context, statement string) (end func(err error)) {
	if t == nil {
		return nil
	}
	name := semconv.DBSystemNameKey.String(system)
	return func(ctx context.Context, statement string) func(error) {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return ignore
		}
		summary := summarize(statement)
		_, span := t.statements.Start(ctx, summary, trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(name, semconv.DBQuerySummary(summary), semconv.DBQueryText(statement)))
		return func(err error) { finish(span, err) }
	}
}

// ignore ends a statement that has no span.
func ignore(error) {}

// finish ends a statement's span. A span without an error has no status, as OpenTelemetry wants it
// of instrumentation.
func finish(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
	}
	span.End()
}

// errorType names the innermost error's type, or why the context ended.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// summarize returns a statement's operation and the first table it names. It is a guess that suits
// Berth's own statements, and no parser: of a sub-query it may name the inner table.
func summarize(statement string) string {
	op, named := "", false
	for word := range strings.FieldsSeq(statement) {
		switch {
		case op == "":
			op = strings.ToUpper(word)
			named = op == "UPDATE"
		case named && word[0] != '(':
			table, _, _ := strings.Cut(word, "(")
			return op + " " + strings.Trim(table, "`\",;)")
		default:
			upper := strings.ToUpper(word)
			named = upper == "FROM" || upper == "INTO"
		}
	}
	return op
}
