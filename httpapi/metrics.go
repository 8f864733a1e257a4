package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the Prometheus metrics of requests, of any number of APIs. They may be used from many
// goroutines.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
}

// NewMetrics returns Metrics registered with reg. It panics when reg already has metrics of these
// names.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	auto := promauto.With(reg)
	return &Metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total",
			Help: "Requests answered, by service, route, method and status.",
		}, []string{"service", "route", "method", "status"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_seconds",
			Help: "Time from a request's header to the end of its answer, by service, route and method.",
			// 15 bounds, from 0.1 ms to 37 s.
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 15),
		}, []string{"service", "route", "method"}),
		inFlight: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_http_requests_in_flight",
			Help: "Requests that are being answered, by service.",
		}, []string{"service"}),
	}
}

// orUnread returns the Metrics, and for nil some that are in no registry, so that the code that
// counts need not check whether somebody reads the result.
func (m *Metrics) orUnread() *Metrics {
	if m == nil {
		return NewMetrics(prometheus.NewRegistry())
	}
	return m
}

// An apiMetrics counts the requests of one API.
type apiMetrics struct {
	all      *Metrics
	service  string
	inFlight prometheus.Gauge
}

// of returns what counts the requests of a service.
func (m *Metrics) of(service string) *apiMetrics {
	return &apiMetrics{m, service, m.inFlight.WithLabelValues(service)}
}

// end counts a request out. Paths and methods without a route share one method, so that callers
// cannot make up labels.
func (m *apiMetrics) end(x *exchange, took time.Duration) {
	method := "other"
	if x.route != nil {
		method = x.route.Method
	}
	m.inFlight.Dec()
	m.all.seconds.WithLabelValues(m.service, x.routeName(), method).Observe(took.Seconds())
	m.all.requests.WithLabelValues(m.service, x.routeName(), method, strconv.Itoa(x.status)).Inc()
}
