package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

const metricsDoc = "../docs/operations/metrics.md"

// A documentedMetric is one metric's row in the document's table.
type documentedMetric struct {
	Type   string
	Labels string // sorted, separated by commas
}

// TestMetricsDocument compares the table of metrics with those that the service registers: names,
// types and labels.
func TestMetricsDocument(t *testing.T) {
	m := watchedMetrics(t)
	names := describedMetrics(m.registry)
	gathered := gatheredMetrics(t, m.registry)
	for name := range names {
		if _, ok := gathered[name]; !ok {
			t.Errorf("%s has no sample: make watchedMetrics touch it, so that its type and labels can be compared", name)
		}
	}
	if diff := cmp.Diff(gathered, tabledMetrics(t)); diff != "" {
		t.Errorf("%s and the registry differ (-registered +documented):\n%s", metricsDoc, diff)
	}
}

// watchedMetrics returns the metrics of a service over an empty database, with
// a sample in each that has labels.
func watchedMetrics(t *testing.T) *placementMetrics {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s, err := service.New(context.Background(), store, service.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	host := placement.NewProvider{UUID: "6f1b1a5e-0000-4000-8000-000000000001", Name: "host"}
	if _, err := s.CreateProvider(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	stock := placement.InventoryOf{
		Class: "VCPU", Inventory: placement.Inventory{Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1},
	}
	if _, err := s.AddInventory(t.Context(), host.UUID, stock, placement.InventoryRule{}); err != nil {
		t.Fatal(err)
	}
	m := newPlacementMetrics(newServiceMetrics())
	m.watch(s, func() (bool, string) { return true, "" })
	m.streams(0, "client")
	m.watchUnfinished(func(context.Context) (int, error) { return 0, nil })
	m.watchSegments(func(context.Context) (int, error) { return 0, nil })
	m.watchUnknown(func() int { return 0 })
	m.watchAgents(func(context.Context) ([]agents.Agent, error) { return nil, nil })
	m.watchHosts(func(context.Context) ([]compute.HostService, error) { return nil, nil })
	m.watchOperations(func(context.Context) (int, time.Duration, error) { return 0, 0, nil })
	m.claim(service.ClaimAccepted)
	m.foundNone(candidates.NoCapacity)
	m.database.settled(true)
	m.keystone.hooks().Validated(keystone.Accepted)
	m.keystone.hooks().Queries(time.Second, keystone.Accepted)
	api := httpapi.New(httpapi.Config{
		Service: "placement", History: microversion.Placement, Authenticate: httpapi.NoAuth, Metrics: m.requests,
	})
	api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return m
}

var (
	describedName = regexp.MustCompile(`fqName: "(berth_[a-z0-9_]+)"`)
	metricRow     = regexp.MustCompile("^\\| `(berth_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*) \\| [^|]+ \\|$")
)

// describedMetrics lists Berth's own metrics, also those without a sample.
func describedMetrics(reg *prometheus.Registry) map[string]bool {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		reg.Describe(descs)
	}()
	names := make(map[string]bool)
	for d := range descs {
		if m := describedName.FindStringSubmatch(d.String()); m != nil {
			names[m[1]] = true
		}
	}
	return names
}

// gatheredMetrics returns the types and labels of Berth's own metrics that have
// a sample.
func gatheredMetrics(t *testing.T, reg prometheus.Gatherer) map[string]documentedMetric {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]documentedMetric)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "berth_") {
			continue
		}
		var labels []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		slices.Sort(labels)
		all[f.GetName()] = documentedMetric{strings.ToLower(f.GetType().String()), strings.Join(labels, ", ")}
	}
	return all
}

// tabledMetrics reads the table of the document.
func tabledMetrics(t *testing.T) map[string]documentedMetric {
	t.Helper()
	text, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]documentedMetric)
	for line := range strings.Lines(string(text)) {
		m := metricRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			if strings.HasPrefix(line, "| `berth_") {
				t.Errorf("%s: not a row of name, type, labels and meaning: %s", metricsDoc, line)
			}
			continue
		}
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("`, –", r) })
		slices.Sort(labels)
		if _, twice := all[m[1]]; twice {
			t.Errorf("%s has %s twice", metricsDoc, m[1])
		}
		all[m[1]] = documentedMetric{m[2], strings.Join(labels, ", ")}
	}
	return all
}
