package main

import "github.com/prometheus/client_golang/prometheus"

// reloadMetrics count the reloads that SIGHUP asks for.
type reloadMetrics struct{ reloads *prometheus.CounterVec }

// newReloadMetrics registers them with reg.
func newReloadMetrics(reg prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_reloads_total", Help: "Reloads by SIGHUP, by outcome: ok, or failed when a part stays as it was.",
	}, []string{"outcome"})}
	for _, outcome := range []string{"ok", "failed"} {
		m.reloads.WithLabelValues(outcome)
	}
	reg.MustRegister(m.reloads)
	return m
}

func (m *reloadMetrics) count(ok bool) {
	outcome := "ok"
	if !ok {
		outcome = "failed"
	}
	m.reloads.WithLabelValues(outcome).Inc()
}
