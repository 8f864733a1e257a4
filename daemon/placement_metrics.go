package daemon

import (
	"time"

	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/placement/snapshot"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/berthcloud/berth/placement/candidates"
)

// placementMetrics are the metrics of the placement service.
type placementMetrics struct {
	*serviceMetrics
	search     prometheus.Histogram
	candidates prometheus.Histogram
	empty      *prometheus.CounterVec
	claims     *prometheus.CounterVec
	// refreshFailed counts refreshes that failed after a commit.
	refreshFailed prometheus.Counter
	sharing       *sharingMetrics
	openStreams   prometheus.Gauge
	endedStreams  *prometheus.CounterVec
}

func newPlacementMetrics(common *serviceMetrics) *placementMetrics {
	reg := common.registry
	return &placementMetrics{
		serviceMetrics: common,
		sharing:        newSharingMetrics(reg),
		search: histogram(reg, "berth_search_seconds",
			"Time of a search for allocation candidates, writing the answer included.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 14)),
		candidates: histogram(reg, "berth_search_candidates", "Allocation candidates in an answer.",
			prometheus.ExponentialBuckets(1, 4, 9)),
		empty: counterVec(reg, "berth_candidates_empty_total",
			"Answers without allocation candidates, by the constraint that left none.", "constraint"),
		claims: counterVec(reg, "berth_claims_total",
			"Writes of allocations, by what became of them: accepted, refused, conflict, retried, failed.", "outcome"),
		openStreams: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
			Name: "berth_event_streams", Help: "Streams of events that are open.",
		}),
		endedStreams: counterVec(reg, "berth_event_streams_ended_total",
			"Streams of events that have ended, by the reason.", "reason"),
		refreshFailed: counter(reg, "berth_refresh_failures_total",
			"Commits after which the snapshot could not be brought up to date."),
	}
}

// streams notes how many streams of events there are, and why one has ended.
func (m *placementMetrics) streams(open int, ended string) {
	m.openStreams.Set(float64(open))
	if ended != "" {
		m.endedStreams.WithLabelValues(ended).Inc()
	}
}

func (m *placementMetrics) claim(e service.ClaimEvent) { m.claims.WithLabelValues(string(e)).Inc() }

// searched observes a search, including the time of writing its answer.
func (m *placementMetrics) searched(took time.Duration, count int) {
	m.search.Observe(took.Seconds())
	m.candidates.Observe(float64(count))
}

// foundNone counts a search without candidates by the constraint that left none, which is found
// out after the answer; it is unknown when too many such answers come at once.
func (m *placementMetrics) foundNone(c candidates.Constraint) {
	m.empty.WithLabelValues(string(c)).Inc()
}

// maxCapacityClasses bounds the resource classes with series of their own, since clients create
// classes. Those with the lowest ids are included, and so all standard classes.
const maxCapacityClasses = 500

// A capacityCollector reports the sums over all providers for each resource class. The snapshot
// maintains the sums, so that the cost of a scrape does not depend on the number of providers.
type capacityCollector struct {
	snapshot                                 func() *snapshot.Snapshot
	total, reserved, usable, used, providers *prometheus.Desc
}

func newCapacityCollector(snapshot func() *snapshot.Snapshot) *capacityCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"resource_class"}, nil)
	}
	return &capacityCollector{
		snapshot: snapshot,
		total:    desc("berth_capacity_total_units", "Units of a resource class that all inventories have together."),
		reserved: desc("berth_capacity_reserved_units", "Those that are reserved."),
		usable: desc("berth_capacity_usable_units",
			"Units that can be allocated in all: of each inventory what is not reserved times the allocation ratio."),
		used:      desc("berth_capacity_used_units", "Units that are allocated."),
		providers: desc("berth_capacity_providers", "Resource providers that have inventory of the class."),
	}
}

// Describe implements prometheus.Collector.
func (c *capacityCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.total, c.reserved, c.usable, c.used, c.providers} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *capacityCollector) Collect(metrics chan<- prometheus.Metric) {
	snap := c.snapshot()
	totals := snap.Totals()
	for _, t := range totals[:min(len(totals), maxCapacityClasses)] {
		class := snap.ClassName(t.Class)
		for desc, value := range map[*prometheus.Desc]int64{
			c.total: t.Total, c.reserved: t.Reserved, c.usable: t.Capacity, c.used: t.Used, c.providers: t.Providers,
		} {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), class)
		}
	}
}

// watch registers the metrics of the snapshot.
func (m *placementMetrics) watch(s *service.Service, ready func() (bool, string)) {
	gauge := func(name, help string, value func(*snapshot.Snapshot) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			snap, _ := s.Ready() // an old snapshot counts too
			return value(snap)
		}))
	}
	m.watchReady(ready)
	m.registry.MustRegister(newCapacityCollector(func() *snapshot.Snapshot {
		snap, _ := s.Ready() // an old snapshot counts too
		return snap
	}))
	gauge("berth_snapshot_providers", "Resource providers in the snapshot that reads are answered from.",
		func(snap *snapshot.Snapshot) float64 { return float64(snap.Len()) })
	gauge("berth_snapshot_trees", "Provider trees in that snapshot.",
		func(snap *snapshot.Snapshot) float64 { return float64(snap.TreeCount()) })
	gauge("berth_snapshot_age_seconds", "Time since that snapshot was last changed.",
		func(snap *snapshot.Snapshot) float64 { return time.Since(snap.Built()).Seconds() })
}
