package daemon

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/exporter"
	"github.com/berthcloud/berth/ops/metrics"
)

// The dashboards and alerts about a cloud that the exporter reads.
const (
	cloudDashboardFile = operationsDoc + "grafana/berth-cloud.json"
	hostDashboardFile  = operationsDoc + "grafana/berth-host.json"
	cloudRulesFile     = operationsDoc + "alerts/berth-cloud.rules.yaml"
	cloudRulesTestFile = operationsDoc + "alerts/berth-cloud.rules.test.yaml"
	exporterDoc        = operationsDoc + "exporter.md"
)

// cloudSeries returns the labels of every series of the exporter, without those that have the names
// of other exporters.
func cloudSeries(t *testing.T) map[string][]string {
	t.Helper()
	series := map[string][]string{"up": nil}
	for _, d := range metrics.Described() {
		if strings.HasPrefix(d.Name, "berth_") {
			series[d.Name] = d.Labels
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := exporter.New(exporter.Options{
		Read: func(context.Context) exporter.Reading {
			return exporter.Reading{Cloud: &cloud.Cloud{}, Failed: map[string]error{"placement": nil}}
		},
		Requests: func() int64 { return 0 },
		Log:      slog.New(slog.DiscardHandler),
		Wait:     func(context.Context, time.Time) { cancel() },
	})
	e.Run(ctx)
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, m := range regexp.MustCompile(`(?m)^(berth_\w+)(?:\{(\w+)=)?`).FindAllStringSubmatch(w.Body.String(), -1) {
		series[m[1]] = nil
		if m[2] != "" {
			series[m[1]] = []string{m[2]}
		}
	}
	return series
}

// TestCloudDashboards compares the dashboards' metrics with those of the exporter: one of them
// shows each.
func TestCloudDashboards(t *testing.T) {
	exported, shown := cloudSeries(t), map[string]bool{}
	for file, want := range map[string][]string{
		cloudDashboardFile: {"datasource", "job", "instance"}, hostDashboardFile: {"datasource", "job", "instance", "host"},
	} {
		d := readDashboard(t, file)
		if d.Title == "" || d.UID == "" || d.SchemaVersion < 36 {
			t.Errorf("%s: title %q, uid %q, schema version %d", file, d.Title, d.UID, d.SchemaVersion)
		}
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
			for _, values := range regexp.MustCompile(`label_values\((.*), \w+\)`).FindAllStringSubmatch(string(v.Query), -1) {
				checkExpression(t, "variable "+v.Name, strings.ReplaceAll(values[1], `\"`, `"`), exported)
			}
		}
		if diff := cmp.Diff(want, variables); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", file, diff)
		}
		for _, p := range d.Panels {
			if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
				t.Errorf("%s: panel %q has %d queries and the description %q", file, p.Title, len(p.Targets), p.Description)
			}
			for _, target := range p.Targets {
				u := checkExpression(t, "panel "+p.Title, target.Expr, exported)
				checkPanel(t, p.Title, target.LegendFormat, u)
				for name, ms := range u.series {
					shown[name] = true
					if file == hostDashboardFile && !slices.Contains(ms, matcher{"host", "$host"}) {
						t.Errorf("panel %q: %s does not follow the variable host", p.Title, name)
					}
				}
			}
		}
	}
	for name := range exported {
		if name != "up" && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// TestCloudAlerts compares the alerts' metrics with those of the exporter, and the alerts with the
// table of the page.
func TestCloudAlerts(t *testing.T) {
	exported, panels := cloudSeries(t), readDashboard(t, cloudDashboardFile).Panels
	var want, got []string
	for _, r := range readRules(t, cloudRulesFile) {
		want = append(want, r.Alert+" "+r.Labels["severity"])
		checkExpression(t, "alert "+r.Alert, r.Expr, exported)
		if d, err := time.ParseDuration(r.For); err != nil || d <= 0 {
			t.Errorf("alert %s: for is %q", r.Alert, r.For)
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("alert %s: severity is %q, want page or ticket", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 80 {
			t.Errorf("alert %s does not say what to do: %q", r.Alert, r.Annotations)
		}
		for _, m := range mentionedPanel.FindAllStringSubmatch(r.Annotations["description"], -1) {
			if !slices.ContainsFunc(panels, func(p panel) bool { return p.Title == m[1] }) {
				t.Errorf("alert %s sends its reader to the panel %q, which there is not", r.Alert, m[1])
			}
		}
	}
	page, err := os.ReadFile(exporterDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range alertRow.FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s and %s differ (-rules +document):\n%s", cloudRulesFile, exporterDoc, diff)
	}
}
