package tracing

import (
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// sampler returns which requests are traced: all by default, and those that the
// client traces follow the client.
func (e *environment) sampler() sdktrace.Sampler {
	const name = "OTEL_TRACES_SAMPLER"
	v := e.choice(name, "parentbased_always_on", "always_on", "always_off", "traceidratio",
		"parentbased_always_off", "parentbased_traceidratio")
	plain, parent := strings.CutPrefix(v, "parentbased_")
	s := e.plainSampler(plain)
	if parent {
		return sdktrace.ParentBased(s)
	}
	return s
}

// plainSampler returns the sampler of a name without the prefix parentbased_.
func (e *environment) plainSampler(name string) sdktrace.Sampler {
	switch name {
	case "always_off":
		return sdktrace.NeverSample()
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(e.ratio("OTEL_TRACES_SAMPLER_ARG"))
	}
	return sdktrace.AlwaysSample()
}

// ratio returns a share from 0 to 1; the default is 1.
func (e *environment) ratio(name string) float64 {
	v := e.get(name)
	if v == "" {
		return 1
	}
	r, err := strconv.ParseFloat(v, 64)
	if err != nil || !(r >= 0 && r <= 1) {
		e.wrong(name, "%q is not a number from 0 to 1", v)
		return 1
	}
	return r
}
