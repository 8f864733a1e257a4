package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// settings are the environment's settings of tracing.
type settings struct {
	endpoint   *url.URL
	headers    map[string]string // they may contain secrets
	timeout    time.Duration     // of one batch
	gzip, json bool
	tls        *tls.Config // nil for the system's
	sampler    sdktrace.Sampler
	attributes []attribute.KeyValue

	queue, batch int           // spans
	delay        time.Duration // a batch that is not full waits this long
}

// An environment reads variables and collects errors in them. An error never contains a value that
// may be secret.
type environment struct {
	getenv func(string) string
	errs   []error
}

// readSettings returns the settings, or nil when tracing is off.
func readSettings(getenv func(string) string) (*settings, error) {
	e := &environment{getenv: getenv}
	if !e.on() {
		return nil, errors.Join(e.errs...)
	}
	set := &settings{
		endpoint:   e.endpoint(),
		headers:    e.headers(),
		timeout:    e.millis(e.otlp("TIMEOUT"), 10*time.Second),
		gzip:       e.choice(e.otlp("COMPRESSION"), "none", "gzip") == "gzip",
		json:       e.choice(e.otlp("PROTOCOL"), "http/protobuf", "http/json") == "http/json",
		tls:        e.tls(),
		sampler:    e.sampler(),
		attributes: e.attributes(),
		queue:      e.count("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
		batch:      e.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
		delay:      e.millis("OTEL_BSP_SCHEDULE_DELAY", 5*time.Second),
	}
	set.batch = min(set.batch, set.queue)
	return set, errors.Join(e.errs...)
}

// exporterOptions converts the settings for the exporter. They override its own reading of the
// process's environment.
func (s *settings) exporterOptions() []otlptracehttp.Option {
	opts := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(s.endpoint.String()),
		otlptracehttp.WithHeaders(s.headers),
		otlptracehttp.WithTimeout(s.timeout),
		otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithMaxResponseSize(64 << 10),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: s.timeout,
		}),
	}
	if s.gzip {
		opts = append(opts, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	if s.json {
		opts = append(opts, otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON))
	}
	if s.tls != nil {
		opts = append(opts, otlptracehttp.WithTLSClientConfig(s.tls))
	}
	return opts
}

// get returns a variable. An empty one counts as unset, as OpenTelemetry's specification requires.
func (e *environment) get(name string) string { return strings.TrimSpace(e.getenv(name)) }

// wrong notes an error about a variable. What format quotes of its value must not be secret.
func (e *environment) wrong(name, format string, args ...any) {
	e.errs = append(e.errs, fmt.Errorf(name+": "+format, args...))
}

// otlp returns the name of an exporter's variable: the one for traces when it is
// set, or else the one for all signals.
func (e *environment) otlp(name string) string {
	if traces := "OTEL_EXPORTER_OTLP_TRACES_" + name; e.get(traces) != "" {
		return traces
	}
	return "OTEL_EXPORTER_OTLP_" + name
}

// on reports whether tracing is enabled: by naming the exporter or a collector. The specification
// has tracing on by default; a service without a collector would then log failures.
func (e *environment) on() bool {
	if strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch v := e.get("OTEL_TRACES_EXPORTER"); v {
	case "":
		return e.get(e.otlp("ENDPOINT")) != ""
	case "none":
		return false
	case "otlp":
		return true
	default:
		e.wrong("OTEL_TRACES_EXPORTER", "%q is not known; otlp and none are", v)
		return false
	}
}

// endpoint returns the URL for traces. A URL for all signals is the base of it.
func (e *environment) endpoint() *url.URL {
	name := e.otlp("ENDPOINT")
	v := e.get(name)
	if v == "" {
		v = "http://localhost:4318"
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.wrong(name, "not a URL such as http://localhost:4318")
		return &url.URL{}
	}
	if u.User != nil || u.RawQuery != "" {
		e.wrong(name, "a user or query in the URL is not sent; %s is the place for secrets", e.otlp("HEADERS"))
	}
	if !strings.Contains(name, "_TRACES_") {
		u.Path = path.Join("/", u.Path, "v1/traces")
	}
	return u
}

// headers returns the headers of every batch. Tokens for a collector are among them, which is why
// pairs does not quote values in its errors.
func (e *environment) headers() map[string]string {
	name := e.otlp("HEADERS")
	return e.pairs(name, e.get(name))
}

// attributes returns the environment's attributes of the service.
func (e *environment) attributes() (attrs []attribute.KeyValue) {
	const name = "OTEL_RESOURCE_ATTRIBUTES"
	for k, v := range e.pairs(name, e.get(name)) {
		attrs = append(attrs, attribute.String(k, v))
	}
	if v := e.get("OTEL_SERVICE_NAME"); v != "" {
		attrs = append(attrs, semconv.ServiceName(v))
	}
	return attrs
}

// pairs reads "key=value,key=value", whose values are percent-encoded.
func (e *environment) pairs(name, text string) map[string]string {
	all := make(map[string]string)
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		k, v, found := strings.Cut(pair, "=")
		k = strings.TrimSpace(k)
		value, err := url.PathUnescape(strings.TrimSpace(v))
		if !found || !isName(k) || err != nil || strings.ContainsAny(value, "\r\n") {
			e.wrong(name, "entry %d is not key=value with a percent-encoded value", i+1)
			continue
		}
		all[k] = value
	}
	return all
}

// isName reports whether a key can be sent: printable ASCII without blanks and separators.
func isName(k string) bool {
	return k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// tls returns how to recognise the collector and to be recognised, nil for the
// system's way.
func (e *environment) tls() *tls.Config {
	ca, cert, key := e.otlp("CERTIFICATE"), e.otlp("CLIENT_CERTIFICATE"), e.otlp("CLIENT_KEY")
	if e.get(ca)+e.get(cert)+e.get(key) == "" {
		return nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := e.get(ca); file != "" {
		cfg.RootCAs = e.roots(ca, file)
	}
	if e.get(cert)+e.get(key) != "" {
		pair, err := tls.LoadX509KeyPair(e.get(cert), e.get(key))
		if err != nil {
			e.wrong(cert, "and %s: %w", key, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

// roots returns the authorities in a file, of which the variable name is the source.
func (e *environment) roots(name, file string) *x509.CertPool {
	text, err := os.ReadFile(file)
	if err != nil {
		e.wrong(name, "%w", err)
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		e.wrong(name, "%s has no certificate in PEM format", file)
	}
	return pool
}

// choice returns a variable that has few values, the first being the default.
func (e *environment) choice(name string, values ...string) string {
	v := e.get(name)
	if v == "" {
		return values[0]
	}
	for _, known := range values {
		if v == known {
			return v
		}
	}
	e.wrong(name, "%q cannot be used; %s can", v, strings.Join(values, " and "))
	return values[0]
}

// count returns a number of spans, from 1 to 1048576.
func (e *environment) count(name string, otherwise int) int {
	v := e.get(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<20 {
		e.wrong(name, "%q is not a number from 1 to %d", v, 1<<20)
		return otherwise
	}
	return n
}

// millis returns a duration; the variable has milliseconds, an hour at most.
func (e *environment) millis(name string, otherwise time.Duration) time.Duration {
	v := e.get(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 3_600_000 {
		e.wrong(name, "%q is not a number of milliseconds from 1 to 3600000", v)
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}
