package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/racetest"
)

const (
	operationsDoc    = "../docs/operations/"
	dashboardFile    = operationsDoc + "grafana/berth-placement.json"
	rulesFile        = operationsDoc + "alerts/berth.rules.yaml"
	rulesTestFile    = operationsDoc + "alerts/berth.rules.test.yaml"
	observabilityDoc = operationsDoc + "observability.md"
)

// A dashboard is the tested part of a Grafana dashboard.
type dashboard struct {
	SchemaVersion int
	Title, UID    string
	Templating    struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ Expr, LegendFormat string }
}

// A rule is an alert of a Prometheus rule file.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func readDashboard(t *testing.T, file string) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || len(d.Panels) == 0 {
		t.Fatalf("%s has %d panels: %v", file, len(d.Panels), err)
	}
	return d
}

func readRules(t *testing.T, path string) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%s has %d alerts: %v", path, len(all), err)
	}
	return all
}

// exportedSeries returns the labels of every series that the service exports,
// by the name a query uses: a histogram has three.
func exportedSeries(t *testing.T) map[string][]string {
	t.Helper()
	m := watchedMetrics(t)
	p := Process{Getenv: func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}[name]
	}}
	stopTracing(startTracing(t.Context(), p, "berth-placement", m.registry, logtest.Logger()), slog.Default())
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{"up": nil} // Prometheus's own
	for _, f := range families {
		var labels []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		name := f.GetName()
		switch f.GetType().String() {
		case "HISTOGRAM":
			all[name+"_bucket"] = append(slices.Clone(labels), "le")
			all[name+"_sum"], all[name+"_count"] = labels, labels
		case "SUMMARY":
			all[name], all[name+"_sum"], all[name+"_count"] = append(slices.Clone(labels), "quantile"), labels, labels
		default:
			all[name] = labels
		}
	}
	return all
}

// A use is the use of series in one expression: the matchers that select them, and the labels by
// which they are grouped.
type use struct {
	series   map[string][]matcher
	grouping []string
}

type matcher struct{ label, value string }

var (
	grouped   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	matchers  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	selector  = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?\s*(\()?`)
	durations = regexp.MustCompile(`\[[^\]]*\]|offset\s+\w+|\b[0-9.]+(?:e[0-9]+)?\b`)
	words     = []string{"and", "or", "unless", "by", "without", "on", "ignoring", "bool", "offset"}
)

// uses takes an expression apart as far as the tests need it.
func uses(expr string) use {
	u := use{series: make(map[string][]matcher)}
	for _, g := range grouped.FindAllStringSubmatch(expr, -1) {
		u.grouping = append(u.grouping, strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	expr = durations.ReplaceAllString(grouped.ReplaceAllString(expr, " "), " ")
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		if s[3] == "(" || slices.Contains(words, s[1]) {
			continue // a function or an operator
		}
		u.series[s[1]] = append(u.series[s[1]], matcher{})
		for _, m := range matchers.FindAllStringSubmatch(s[2], -1) {
			u.series[s[1]] = append(u.series[s[1]], matcher{m[1], m[2]})
		}
	}
	return u
}

func TestUses(t *testing.T) {
	got := uses(`sum by (le, job) (rate(a_total{x=~"b|c", y!="z"}[$__rate_interval])) / on (job) b2 unless b2 offset ` +
		`15m > 1.5`)
	want := use{
		series:   map[string][]matcher{"a_total": {{}, {"x", "b|c"}, {"y", "z"}}, "b2": {{}, {}}},
		grouping: []string{"le", "job", "job"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(use{}, matcher{})); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
}

// scraped are the labels that Prometheus adds.
var scraped = []string{"job", "instance"}

// checkExpression reports series and labels that the service does not export.
func checkExpression(t *testing.T, path, expr string, exported map[string][]string) use {
	t.Helper()
	u := uses(expr)
	known := slices.Clone(scraped)
	for name, ms := range u.series {
		labels, ok := exported[name]
		if !ok {
			t.Errorf("%s: the service does not export %s:\n%s", path, name, expr)
		}
		known = append(known, labels...)
		for _, m := range ms {
			if m.label != "" && !slices.Contains(labels, m.label) && !slices.Contains(scraped, m.label) {
				t.Errorf("%s: %s has no label %s:\n%s", path, name, m.label, expr)
			}
			checkOutcome(t, path, name, m)
		}
	}
	if len(u.series) == 0 {
		t.Errorf("%s: no series in %q", path, expr)
	}
	for _, label := range u.grouping {
		if !slices.Contains(known, label) {
			t.Errorf("%s: nothing has the label %s that it groups by:\n%s", path, label, expr)
		}
	}
	return u
}

// checkOutcome requires the outcomes in an expression to be documented: one that never occurs would
// disable an alert.
func checkOutcome(t *testing.T, path, name string, m matcher) {
	t.Helper()
	if m.label != "outcome" {
		return
	}
	for value := range strings.SplitSeq(m.value, "|") {
		if !strings.Contains(documentation(t), "`"+value+"`") {
			t.Errorf("%s: %s has no documented outcome %q", path, name, value)
		}
	}
}

// documentation returns the documents that list metrics.
var documentation = func() func(t *testing.T) string {
	var once sync.Once
	var text []byte
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() {
			for _, name := range []string{metricsDoc, observabilityDoc} {
				part, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				text = append(text, part...)
			}
		})
		return string(text)
	}
}()

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

// TestDashboard compares the dashboard's metrics with the existing ones.
func TestDashboard(t *testing.T) {
	d, exported := readDashboard(t, dashboardFile), exportedSeries(t)
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 36 {
		t.Errorf("title %q, uid %q, schema version %d", d.Title, d.UID, d.SchemaVersion)
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		for _, values := range regexp.MustCompile(`label_values\((.*), \w+\)`).FindAllStringSubmatch(string(v.Query), -1) {
			checkExpression(t, "variable "+v.Name, strings.ReplaceAll(values[1], `\"`, `"`), exported)
		}
	}
	if diff := cmp.Diff([]string{"datasource", "job", "instance"}, variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	shown := make(map[string]bool)
	for _, p := range d.Panels {
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("panel %q has %d queries and the description %q", p.Title, len(p.Targets), p.Description)
		}
		for _, target := range p.Targets {
			u := checkExpression(t, "panel "+p.Title, target.Expr, exported)
			checkPanel(t, p.Title, target.LegendFormat, u)
			for name := range u.series {
				shown[name] = true
			}
		}
	}
	for name := range exported {
		family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "berth_") && !shown[name] && !shown[family+"_bucket"] && !shown[family+"_count"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// checkPanel requires every query to use the variables, and legends to name labels in the query's
// result.
func checkPanel(t *testing.T, title, legend string, u use) {
	t.Helper()
	for name, ms := range u.series {
		if !slices.Contains(ms, matcher{"job", "$job"}) || !slices.Contains(ms, matcher{"instance", "$instance"}) {
			t.Errorf("panel %q: %s does not follow the variables job and instance", title, name)
		}
	}
	for _, m := range legendLabel.FindAllStringSubmatch(legend, -1) {
		if len(u.grouping) > 0 && !slices.Contains(u.grouping, m[1]) {
			t.Errorf("panel %q: the legend's {{%s}} is not among the labels grouped by", title, m[1])
		}
	}
}

// TestDashboardLayout requires that panels do not overlap.
func TestDashboardLayout(t *testing.T) {
	for _, file := range []string{dashboardFile, cloudDashboardFile, hostDashboardFile} {
		t.Run(filepath.Base(file), func(t *testing.T) { checkLayout(t, readDashboard(t, file)) })
	}
}

func checkLayout(t *testing.T, d dashboard) {
	t.Helper()
	taken := make(map[[2]int]string)
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q: the id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q does not fit: %+v", p.Title, g)
		}
		for x := range g.W {
			for y := range g.H {
				span := [2]int{g.X + x, g.Y + y}
				if other := taken[span]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[span] = p.Title
			}
		}
	}
}

// TestAlerts compares the alerts' metrics with the existing ones, and requires that each alert
// says what to do.
func TestAlerts(t *testing.T) {
	exported := exportedSeries(t)
	names := make(map[string]bool)
	for _, r := range readRules(t, rulesFile) {
		if names[r.Alert] || !strings.HasPrefix(r.Alert, "Berth") {
			t.Errorf("alert %q is there twice or has an odd name", r.Alert)
		}
		names[r.Alert] = true
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
	}
}

var (
	mentionedAlert = regexp.MustCompile(`\bBerth(?:[A-Z][a-z]+)+\b`)
	mentionedPanel = regexp.MustCompile(`panel "([^"]+)"`)
)

// TestAlertsSendTheirReaderSomewhere looks up the alerts and panels that
// descriptions mention.
func TestAlertsSendTheirReaderSomewhere(t *testing.T) {
	rules, panels := readRules(t, rulesFile), readDashboard(t, dashboardFile).Panels
	for _, r := range rules {
		text := r.Annotations["description"]
		for _, name := range mentionedAlert.FindAllString(text, -1) {
			if !slices.ContainsFunc(rules, func(other rule) bool { return other.Alert == name }) {
				t.Errorf("alert %s sends its reader to %s, which there is not", r.Alert, name)
			}
		}
		for _, m := range mentionedPanel.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(panels, func(p panel) bool { return p.Title == m[1] }) {
				t.Errorf("alert %s sends its reader to the panel %q, which there is not", r.Alert, m[1])
			}
		}
	}
}

var alertRow = regexp.MustCompile("(?m)^\\| `(Berth\\w+)` \\| (\\w+) \\| [^|]+ \\|$")

// TestAlertsAreDocumented compares the document's table with the rules.
func TestAlertsAreDocumented(t *testing.T) {
	var want, got []string
	for _, r := range readRules(t, rulesFile) {
		want = append(want, r.Alert+" "+r.Labels["severity"])
	}
	for _, m := range alertRow.FindAllStringSubmatch(documentation(t), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s and %s differ (-rules +document):\n%s", rulesFile, observabilityDoc, diff)
	}
}

// TestPromtool has Prometheus's own tool read every expression and run the
// tests of the alerts.
func TestPromtool(t *testing.T) {
	racetest.Skip(t)
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	for name, args := range map[string][]string{
		"Alerts":    {"check", "rules", rulesFile},
		"Fire":      {"test", "rules", rulesTestFile},
		"Dashboard": {"check", "rules", dashboardAsRules(t, dashboardFile)},

		"CloudAlerts":    {"check", "rules", cloudRulesFile},
		"CloudFire":      {"test", "rules", cloudRulesTestFile},
		"CloudDashboard": {"check", "rules", dashboardAsRules(t, cloudDashboardFile)},
		"HostDashboard":  {"check", "rules", dashboardAsRules(t, hostDashboardFile)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %q: %v\n%s", args, err, out)
			}
		})
	}
}

// dashboardAsRules writes the dashboard's queries as a rule file.
func dashboardAsRules(t *testing.T, file string) string {
	t.Helper()
	var rules []map[string]string
	for _, p := range readDashboard(t, file).Panels {
		for _, target := range p.Targets {
			rules = append(rules, map[string]string{
				"record": fmt.Sprintf("query:%d", len(rules)),
				"expr":   strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"),
			})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.rules.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
