package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// placementMetrics are the numbers of the placement service.
type placementMetrics struct {
	*serviceMetrics
	search     prometheus.Histogram
	candidates prometheus.Histogram
	empty      *prometheus.CounterVec
	claims     *prometheus.CounterVec
	sharing    *sharingMetrics
}

func newPlacementMetrics() *placementMetrics {
	m := &placementMetrics{
		serviceMetrics: newServiceMetrics(),
		search: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_search_seconds", Help: "Time of a search for allocation candidates, writing the answer included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}),
		candidates: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_search_candidates", Help: "Allocation candidates in an answer.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 9),
		}),
		empty: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_candidates_empty_total", Help: "Answers without allocation candidates, by the constraint that left none.",
		}, []string{"constraint"}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_claims_total", Help: "Writes of allocations, by what became of them: accepted, refused, conflict, retried, failed.",
		}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.search, m.candidates, m.empty, m.claims)
	m.sharing = newSharingMetrics(m.registry)
	return m
}

func (m *placementMetrics) claim(e placement.ClaimEvent) { m.claims.WithLabelValues(string(e)).Inc() }

func (m *placementMetrics) searched(took time.Duration, found int) {
	m.search.Observe(took.Seconds())
	m.candidates.Observe(float64(found))
}

func (m *placementMetrics) foundNone(c candidates.Constraint) {
	m.empty.WithLabelValues(string(c)).Inc()
}

// watch adds what the world tells of itself.
func (m *placementMetrics) watch(s *placement.Service) {
	gauge := func(name, help string, value func(*placement.World) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			w, _ := s.Ready()
			return value(w)
		}))
	}
	m.watchReady(func() (bool, string) {
		_, err := s.Ready()
		return err == nil, ""
	})
	gauge("berth_world_providers", "Resource providers in the picture that reads are answered from.",
		func(w *placement.World) float64 { return float64(w.Len()) })
	gauge("berth_world_trees", "Provider trees in that picture.",
		func(w *placement.World) float64 { return float64(w.TreeCount()) })
	gauge("berth_world_age_seconds", "Time since that picture was last changed.",
		func(w *placement.World) float64 { return time.Since(w.Built()).Seconds() })
}
