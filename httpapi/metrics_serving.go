package httpapi

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"
)

// addServing makes the metrics of what happens before an API sees a request.
func (m *Metrics) addServing() {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m.connections = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "berth_http_connections", Help: "Connections to the API that are open.",
	})
	m.delayed = counter("berth_http_connections_delayed_total", "Connections that had to wait because too many were open.")
	m.refusedConns = counter("berth_http_connections_refused_total", "Connections that were refused because their client had too many.")
	m.refusedReqs = counter("berth_http_requests_refused_total", "Requests that were refused because too many were under way.")
	m.handshakes = counter("berth_tls_handshake_failures_total", "TLS handshakes that failed.")
	m.tlsLoads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_tls_loads_total", Help: "Attempts to read the TLS files, by outcome: ok, failed.",
	}, []string{"outcome"})
	m.tlsLoads.WithLabelValues(outcomeOK)
	m.tlsLoads.WithLabelValues(outcomeFailed)
	m.tlsCertificate = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "berth_tls_certificate_expiry_seconds", Help: "When the certificate in use expires, as Unix time; 0 without TLS.",
	})
}

const (
	outcomeOK     = "ok"
	outcomeFailed = "failed"
)

func (m *Metrics) openConnections(delta float64) {
	if m != nil {
		m.connections.Add(delta)
	}
}

// delayConnection counts a connection once, when its wait begins.
func (m *Metrics) delayConnection() {
	if m != nil {
		m.delayed.Inc()
	}
}

// refuseConnection counts a refused connection, whether its client gets an answer or not.
func (m *Metrics) refuseConnection() {
	if m != nil {
		m.refusedConns.Inc()
	}
}

// refuseRequest counts a 503 for the bound of requests under way. A 403 for a foreign Host is not
// counted.
func (m *Metrics) refuseRequest() {
	if m != nil {
		m.refusedReqs.Inc()
	}
}

// failHandshake counts handshakes that failed or timed out, but not those that the end of the
// service cut off.
func (m *Metrics) failHandshake() {
	if m != nil {
		m.handshakes.Inc()
	}
}

// loadedCertificate notes what became of an attempt to read the TLS files. After an error cfg is
// not used: the expiry stays that of the certificate in use.
func (m *Metrics) loadedCertificate(cfg *tls.Config, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.tlsLoads.WithLabelValues(outcomeFailed).Inc()
	default:
		m.tlsLoads.WithLabelValues(outcomeOK).Inc()
		m.tlsCertificate.Set(float64(cfg.Certificates[0].Leaf.NotAfter.Unix()))
	}
}
