package tracing

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// describeProcess returns the resource attributes of all spans. Those of the environment override
// those of the program.
func describeProcess(ctx context.Context, opts Options, set *settings) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{
		semconv.ServiceName(opts.Service),
		semconv.ServiceVersion(opts.Version),
		semconv.ProcessPID(os.Getpid()),
	}
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(append(attrs, set.attributes...)...),
	)
}
