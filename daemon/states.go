package daemon

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
)

// A countedGauge is a gauge whose value is read from the database at each scrape. state is the
// value of its only label, "" for a gauge without labels.
type countedGauge struct{ name, help, state string }

// A countCollector reports gauges whose values come from one read of the database. They are NaN
// while the database is unavailable.
type countCollector struct {
	descs []*prometheus.Desc
	read  func(context.Context) ([]float64, error) // in the order of the gauges
}

// watchCounts registers gauges, whose values read returns in their order.
func (m *serviceMetrics) watchCounts(gauges []countedGauge, read func(context.Context) ([]float64, error)) {
	c := &countCollector{read: read}
	for _, g := range gauges {
		var labels prometheus.Labels
		if g.state != "" {
			labels = prometheus.Labels{"state": g.state}
		}
		c.descs = append(c.descs, prometheus.NewDesc(g.name, g.help, nil, labels))
	}
	m.registry.MustRegister(c)
}

// Describe implements prometheus.Collector.
func (c *countCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *countCollector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	values, err := c.read(ctx)
	for i, d := range c.descs {
		value := math.NaN()
		if err == nil {
			value = values[i]
		}
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
}

// watchAgents registers gauges of the network service's agents, from agents.
func (m *serviceMetrics) watchAgents(agents func(context.Context) ([]agents.Agent, error)) {
	const name, help = "berth_network_agents", "Agents by state: alive, unsynced (alive, and placement does not have " +
		"its devices), dead (no heartbeat within agent_down_time)."
	m.watchCounts([]countedGauge{{name, help, "alive"}, {name, help, "unsynced"}, {name, help, "dead"}},
		func(ctx context.Context) ([]float64, error) {
			all, err := agents(ctx)
			counts := make([]float64, 3)
			for _, a := range all {
				switch {
				case !a.Alive:
					counts[2]++
				case a.Synced == network.SyncDue || a.Synced == network.SyncFailed:
					counts[1]++
				default:
					counts[0]++
				}
			}
			return counts, err
		})
}

// watchHosts registers gauges of the compute hosts, from services.
func (m *serviceMetrics) watchHosts(services func(context.Context) ([]compute.HostService, error)) {
	const name, help = "berth_compute_hosts", "Compute hosts by state: up, down (no report within service_down_time, or " +
		"forced down), disabled (whether up or down)."
	m.watchCounts([]countedGauge{{name, help, "up"}, {name, help, "down"}, {name, help, "disabled"}},
		func(ctx context.Context) ([]float64, error) {
			all, err := services(ctx)
			counts := make([]float64, 3)
			for _, h := range all {
				switch {
				case h.Disabled:
					counts[2]++
				case !h.Up:
					counts[1]++
				default:
					counts[0]++
				}
			}
			return counts, err
		})
}

// watchOperations registers how many operations of servers are under way, and the age of the
// oldest.
func (m *serviceMetrics) watchOperations(operations func(context.Context) (int, time.Duration, error)) {
	m.watchCounts([]countedGauge{
		{
			name: "berth_compute_operations",
			help: "Operations of servers that are under way: builds, deletions, changes of ports and of power.",
		},
		{name: "berth_compute_oldest_operation_seconds", help: "Age of the oldest of them; 0 when there is none."},
	}, func(ctx context.Context) ([]float64, error) {
		n, oldest, err := operations(ctx)
		return []float64{float64(n), oldest.Seconds()}, err
	})
}
