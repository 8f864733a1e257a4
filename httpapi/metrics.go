package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the Prometheus metrics of connections and requests, of any number of APIs. All methods of a nil
// Metrics do nothing. It may be used from many goroutines.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec

	connections    prometheus.Gauge
	delayed        prometheus.Counter
	refusedConns   prometheus.Counter
	refusedReqs    prometheus.Counter
	handshakes     prometheus.Counter
	tlsLoads       *prometheus.CounterVec
	tlsCertificate prometheus.Gauge
}

// NewMetrics returns Metrics registered with reg. It panics when reg already
// has metrics of these names.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total",
			Help: "Requests answered, by service, route, method and status.",
		}, []string{"service", "route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_seconds",
			Help: "Time from a request's header to the end of its answer, by service, route and method.",
			// 15 bounds, from 0.1 ms to 37 s.
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 15),
		}, []string{"service", "route", "method"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_http_requests_in_flight",
			Help: "Requests that are being answered, by service.",
		}, []string{"service"}),
	}
	m.addServing()
	reg.MustRegister(m.requests, m.seconds, m.inFlight, m.connections, m.delayed, m.refusedConns, m.refusedReqs,
		m.handshakes, m.tlsLoads, m.tlsCertificate)
	return m
}

// declare has a route and method in the metrics before its first request. A nil Metrics has none.
func (m *Metrics) declare(service, route, method string) {
	if m != nil {
		m.seconds.WithLabelValues(service, route, method)
	}
}

// An apiMetrics counts the requests of one API. A nil one counts nothing.
type apiMetrics struct {
	all      *Metrics
	service  string
	inFlight prometheus.Gauge
}

// of returns what counts the requests of a service.
func (m *Metrics) of(service string) *apiMetrics {
	if m == nil {
		return nil
	}
	return &apiMetrics{m, service, m.inFlight.WithLabelValues(service)}
}

// begin counts a request in.
func (m *apiMetrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// end counts a request out. Paths and methods without a route share one method, so that callers cannot
// make up labels.
func (m *apiMetrics) end(x *exchange, took time.Duration) {
	if m == nil {
		return
	}
	method := "other"
	if x.route != nil {
		method = x.route.Method
	}
	m.inFlight.Dec()
	m.all.seconds.WithLabelValues(m.service, x.routeName(), method).Observe(took.Seconds())
	m.all.requests.WithLabelValues(m.service, x.routeName(), method, strconv.Itoa(x.status)).Inc()
}
