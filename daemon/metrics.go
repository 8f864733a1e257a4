package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/sqlstore"
)

// serviceMetrics are the metrics that all services have, with the registry of the service: services
// in one process do not share metrics.
type serviceMetrics struct {
	registry *prometheus.Registry
	requests *httpapi.Metrics
	server   *httpserver.Metrics
	reloads  reloadMetrics
	keystone *keystoneMetrics
	database *databaseMetrics
}

// newServiceMetrics registers the metrics that do not depend on the kind of service, together with
// Go's and the process's own.
func newServiceMetrics() *serviceMetrics {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &serviceMetrics{
		registry: reg,
		requests: httpapi.NewMetrics(reg),
		server:   httpserver.NewMetrics(reg),
		reloads:  newReloadMetrics(reg),
		keystone: newKeystoneMetrics(reg),
		database: newDatabaseMetrics(reg),
	}
}

// watchReady registers a gauge of readiness, which calls ready at each scrape.
func (m *serviceMetrics) watchReady(ready func() (bool, string)) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_ready",
		Help: "1 while requests can be answered truthfully, 0 while the database cannot be read or written, " +
			"or placement is too old.",
	}, func() float64 {
		if ok, _ := ready(); ok {
			return 1
		}
		return 0
	}))
}

// watchUnfinished registers a gauge of the network service's pending changes in placement, which
// calls count at each scrape.
func (m *serviceMetrics) watchUnfinished(count func(context.Context) (int, error)) {
	m.watchCounts([]countedGauge{{
		name: "berth_network_unfinished_changes",
		help: "Changes in placement that the network service has written down and not made yet; not a number while the " +
			"database cannot be read.",
	}}, func(ctx context.Context) ([]float64, error) {
		n, err := count(ctx)
		return []float64{float64(n)}, err
	})
}

// watchSegments registers a gauge of the segments of routed networks that placement and compute
// lack changes of, which calls count at each scrape.
func (m *serviceMetrics) watchSegments(count func(context.Context) (int, error)) {
	m.watchCounts([]countedGauge{{
		name: "berth_network_unsynced_segments",
		help: "Segments of routed networks whose changes are not in placement and compute yet; not a number while the " +
			"database cannot be read.",
	}}, func(ctx context.Context) ([]float64, error) {
		n, err := count(ctx)
		return []float64{float64(n)}, err
	})
}

// watchUnknown registers a gauge of the servers on compute hosts that the service has not
// requested, from count.
func (m *serviceMetrics) watchUnknown(count func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_compute_unknown_servers",
		Help: "Servers of compute hosts that are not in their lists, as the hosts reported to this process last. They are " +
			"not touched.",
	}, func() float64 { return float64(count()) }))
}

// counter, counterVec and histogram register a metric with reg, which must not have one of the
// name.
func counter(reg prometheus.Registerer, name, help string) prometheus.Counter {
	return promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counterVec(reg prometheus.Registerer, name, help, label string) *prometheus.CounterVec {
	return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

func histogram(reg prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	return promauto.With(reg).NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// databaseMetrics are the metrics of a store.
type databaseMetrics struct {
	commit      prometheus.Histogram
	batch       prometheus.Histogram
	failed      prometheus.Counter
	queueFull   prometheus.Counter
	connections prometheus.Counter
	unanswered  *prometheus.CounterVec
}

func newDatabaseMetrics(reg prometheus.Registerer) *databaseMetrics {
	return &databaseMetrics{
		commit: histogram(reg, "berth_commit_seconds", "Time of a commit, from the start of its transaction.",
			prometheus.ExponentialBuckets(0.0002, 2.5, 12)),
		batch: histogram(reg, "berth_commit_batch_size", "Writes that shared a commit.",
			prometheus.ExponentialBuckets(1, 2, 8)),
		failed:      counter(reg, "berth_commit_failures_total", "Transactions that were lost and run again."),
		queueFull:   counter(reg, "berth_write_queue_full_total", "Writes that were refused because too many were waiting."),
		connections: counter(reg, "berth_database_connections_total", "Connections made to the database server."),
		unanswered: counterVec(reg, "berth_commit_unanswered_total",
			"Commits that the database did not answer, by what was found out: committed, not_committed, unknown.", "outcome"),
	}
}

func (m *databaseMetrics) hooks() sqlstore.Metrics {
	return sqlstore.Metrics{
		Committed: func(updates int, took time.Duration) {
			m.commit.Observe(took.Seconds())
			m.batch.Observe(float64(updates))
		},
		CommitFailed: func(int) { m.failed.Inc() },
		QueueFull:    m.queueFull.Inc,
		Reconnected:  m.connections.Inc,
		Settled:      m.settled,
		Unsettled:    func() { m.unanswered.WithLabelValues("unknown").Inc() },
	}
}

// settled counts a commit whose answer was lost, once the store has found out whether it took
// place.
func (m *databaseMetrics) settled(committed bool) {
	outcome := "not_committed"
	if committed {
		outcome = "committed"
	}
	m.unanswered.WithLabelValues(outcome).Inc()
}

// reloadMetrics count the reloads on SIGHUP.
type reloadMetrics struct{ *prometheus.CounterVec }

// newReloadMetrics registers the counter. Both outcomes have a series from the start: an increase
// from nothing to 1 would not be one for an alert.
func newReloadMetrics(reg prometheus.Registerer) reloadMetrics {
	m := reloadMetrics{counterVec(reg, "berth_reloads_total",
		"Reloads by SIGHUP, by outcome: ok, or failed when a part stays as it was.", "outcome")}
	for _, outcome := range []string{"ok", "failed"} {
		m.WithLabelValues(outcome)
	}
	return m
}

func (m reloadMetrics) count(ok bool) {
	outcome := "ok"
	if !ok {
		outcome = "failed"
	}
	m.WithLabelValues(outcome).Inc()
}
