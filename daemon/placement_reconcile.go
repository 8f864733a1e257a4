package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
)

// sharingMetrics are the metrics of a database that other instances and programs write to.
type sharingMetrics struct {
	others          prometheus.Counter
	reconcile       prometheus.Histogram
	reconciled      prometheus.Counter
	reconcileFailed prometheus.Counter
}

func newSharingMetrics(reg prometheus.Registerer) *sharingMetrics {
	return &sharingMetrics{
		others: counter(reg, "berth_changes_followed_total",
			"Provider trees read again because the change log names them, whichever instance changed them."),
		reconcile: histogram(reg, "berth_reconcile_seconds",
			"Time of a comparison of the snapshot in memory with the database.", prometheus.ExponentialBuckets(0.001, 2.5, 12)),
		reconciled: counter(reg, "berth_reconcile_trees_total",
			"Provider trees that such a comparison read again because a program that keeps no change log changed some of them."),
		reconcileFailed: counter(reg, "berth_reconcile_failures_total", "Comparisons that failed."),
	}
}

// followed counts the trees in entries of the change log.
func (m *sharingMetrics) followed(c placement.Changes) { m.others.Add(float64(len(c.Roots))) }

// reconcileEvery compares the snapshot with the database until ctx ends, which detects writes of
// upstream's service next to this one, and recovers a snapshot whose refresh has failed without
// waiting for a request. The interval grows with the duration of a comparison, so that comparisons
// take a tenth of the time at most.
func reconcileEvery(
	ctx context.Context, s *service.Service, interval time.Duration, m *sharingMetrics, log *slog.Logger,
) {
	if interval <= 0 {
		return
	}
	next := time.NewTimer(interval)
	defer next.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		begin := time.Now()
		trees, err := s.Reconcile(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			m.reconcileFailed.Inc()
			if !failing {
				log.Error("the database cannot be read: requests are answered 503 until it can", "error", err)
			}
		case failing:
			log.Info("the database can be read again")
		case trees > 0:
			log.Info("another program changed the database", "trees", trees)
		}
		failing = err != nil
		took := time.Since(begin)
		m.reconcile.Observe(took.Seconds())
		m.reconciled.Add(float64(trees))
		next.Reset(pause(interval, took))
	}
}

// pause returns the wait after a comparison that took some time: nine times as long at least, but
// no more than a minute, since comparisons that fail or wait for others take long too.
func pause(interval, took time.Duration) time.Duration {
	return max(interval-took, min(9*took, time.Minute))
}
