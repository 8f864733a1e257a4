package httpserver

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the Prometheus metrics of connections, of TLS and of requests that are refused before
// a handler sees them. They may be used from many goroutines.
type Metrics struct {
	connections    prometheus.Gauge
	delayed        prometheus.Counter
	refusedConns   prometheus.Counter
	refusedReqs    prometheus.Counter
	handshakes     prometheus.Counter
	tlsLoads       *prometheus.CounterVec
	tlsCertificate prometheus.Gauge
}

// NewMetrics returns Metrics registered with reg. It panics when reg already has metrics of these
// names.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	auto := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		connections: auto.NewGauge(prometheus.GaugeOpts{
			Name: "berth_http_connections", Help: "Connections to the API that are open.",
		}),
		delayed: counter("berth_http_connections_delayed_total",
			"Connections that had to wait because too many were open."),
		refusedConns: counter("berth_http_connections_refused_total",
			"Connections that were refused because their client had too many."),
		refusedReqs: counter("berth_http_requests_refused_total",
			"Requests that were refused because too many were under way."),
		handshakes: counter("berth_tls_handshake_failures_total", "TLS handshakes that failed."),
		tlsLoads: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_tls_loads_total", Help: "Attempts to read the TLS files, by outcome: ok, failed.",
		}, []string{"outcome"}),
		tlsCertificate: auto.NewGauge(prometheus.GaugeOpts{
			Name: "berth_tls_certificate_expiry_seconds",
			Help: "When the certificate in use expires, as Unix time; 0 without TLS.",
		}),
	}
	m.tlsLoads.WithLabelValues(outcomeOK)
	m.tlsLoads.WithLabelValues(outcomeFailed)
	return m
}

// orUnread returns the Metrics, and for nil some that are in no registry, so that the code that
// counts need not check whether somebody reads the result.
func (m *Metrics) orUnread() *Metrics {
	if m == nil {
		return NewMetrics(prometheus.NewRegistry())
	}
	return m
}

const (
	outcomeOK     = "ok"
	outcomeFailed = "failed"
)

// loadedCertificate notes what became of an attempt to read the TLS files. After an error cfg is
// not used: the expiry stays that of the certificate in use.
func (m *Metrics) loadedCertificate(cfg *tls.Config, err error) {
	if err != nil {
		m.tlsLoads.WithLabelValues(outcomeFailed).Inc()
		return
	}
	m.tlsLoads.WithLabelValues(outcomeOK).Inc()
	m.tlsCertificate.Set(float64(cfg.Certificates[0].Leaf.NotAfter.Unix()))
}
