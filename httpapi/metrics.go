package httpapi

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests. One Metrics serves any number of APIs; a nil one
// counts nothing. It may be used from many goroutines.
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
			Name:    "berth_http_request_seconds",
			Help:    "Time from a request's header to the end of its answer, by service, route and method.",
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

// commonStatuses have their counters at hand.
var commonStatuses = [...]int{200, 201, 204, 400, 401, 403, 404, 405, 406, 409, 413, 415, 500, 503}

// A series has the metrics of one route and method, so that counting a request needs no lookup.
type series struct {
	m                      *Metrics
	service, route, method string
	seconds                prometheus.Observer
	counts                 [len(commonStatuses)]atomic.Pointer[prometheus.Counter]
}

// series returns the handles of a route and method.
func (m *Metrics) series(service, route, method string) *series {
	if m == nil {
		return nil
	}
	s := &series{m: m, service: service, route: route, method: method}
	s.seconds = m.seconds.WithLabelValues(service, route, method)
	return s
}

func (s *series) observe(status int, d time.Duration) {
	s.seconds.Observe(d.Seconds())
	s.counter(status).Inc()
}

func (s *series) counter(status int) prometheus.Counter {
	i := slices.Index(commonStatuses[:], status)
	if i >= 0 {
		if c := s.counts[i].Load(); c != nil {
			return *c
		}
	}
	c := s.m.requests.WithLabelValues(s.service, s.route, s.method, strconv.Itoa(status))
	if i >= 0 {
		s.counts[i].Store(&c)
	}
	return c
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

// end counts a request out.
func (m *apiMetrics) end(x *exchange, took time.Duration) {
	if m != nil {
		m.inFlight.Dec()
		m.find(x).observe(x.status, took)
	}
}

// find returns the series a request belongs to. Paths and methods without a
// route share one, so that callers cannot make up labels.
func (m *apiMetrics) find(x *exchange) *series {
	if x.route != nil {
		if s := x.pattern.series[x.route.Method]; s != nil {
			return s
		}
	}
	return m.all.series(m.service, x.routeName(), "other")
}
