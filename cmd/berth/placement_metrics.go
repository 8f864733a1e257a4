package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// placementMetrics are the numbers of the service beside those of HTTP.
type placementMetrics struct {
	registry   *prometheus.Registry
	http       *httpapi.Metrics
	reloads    *reloadMetrics
	search     prometheus.Histogram
	candidates prometheus.Histogram
	claims     *prometheus.CounterVec
	commit     prometheus.Histogram
	batch      prometheus.Histogram
	failed     prometheus.Counter
	queueFull  prometheus.Counter
	sharing    *sharingMetrics
	keystone   *keystoneMetrics
}

func newPlacementMetrics() *placementMetrics {
	reg := prometheus.NewRegistry()
	m := &placementMetrics{
		registry: reg,
		http:     httpapi.NewMetrics(reg),
		reloads:  newReloadMetrics(reg),
		search: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_search_seconds", Help: "Time of a search for allocation candidates, writing the answer included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}),
		candidates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_search_candidates", Help: "Allocation candidates in an answer.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 9),
		}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_claims_total", Help: "Writes of allocations, by what became of them: accepted, refused, conflict, retried, failed.",
		}, []string{"outcome"}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_commit_seconds", Help: "Time of a commit, from the start of its transaction.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 12),
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_commit_batch_size", Help: "Writes that shared a commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 8),
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_commit_failures_total", Help: "Transactions that were lost and run again.",
		}),
		queueFull: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_write_queue_full_total", Help: "Writes that were refused because too many were waiting.",
		}),
	}
	reg.MustRegister(m.search, m.candidates, m.claims, m.commit, m.batch, m.failed, m.queueFull,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.sharing = newSharingMetrics(reg)
	m.keystone = newKeystoneMetrics(reg)
	return m
}

func (m *placementMetrics) store() sqlstore.Metrics {
	return sqlstore.Metrics{
		Committed: func(updates int, took time.Duration) {
			m.commit.Observe(took.Seconds())
			m.batch.Observe(float64(updates))
		},
		CommitFailed: func(int) { m.failed.Inc() },
		QueueFull:    m.queueFull.Inc,
		Reconnected:  m.sharing.connections.Inc,
		Settled:      m.sharing.settled,
		Unsettled:    func() { m.sharing.unanswered.WithLabelValues("unknown").Inc() },
	}
}

func (m *placementMetrics) claim(e placement.ClaimEvent) { m.claims.WithLabelValues(string(e)).Inc() }

func (m *placementMetrics) searched(took time.Duration, found int) {
	m.search.Observe(took.Seconds())
	m.candidates.Observe(float64(found))
}

// watch adds what the world tells of itself.
func (m *placementMetrics) watch(s *placement.Service) {
	gauge := func(name, help string, value func(*placement.World) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			w, _ := s.Ready()
			return value(w)
		}))
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_ready", Help: "1 while requests can be answered truthfully, 0 while the database cannot be read.",
	}, func() float64 {
		if _, ok := s.Ready(); ok {
			return 1
		}
		return 0
	}))
	gauge("berth_world_providers", "Resource providers in the picture that reads are answered from.",
		func(w *placement.World) float64 { return float64(w.Len()) })
	gauge("berth_world_trees", "Provider trees in that picture.",
		func(w *placement.World) float64 { return float64(w.TreeCount()) })
	gauge("berth_world_age_seconds", "Time since that picture was last changed.",
		func(w *placement.World) float64 { return time.Since(w.Built()).Seconds() })
}
