package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixed is a work whose figures do not change.
type fixed figures

func (f fixed) measure(*lab) (figures, error) { return figures(f), nil }

// TestGate holds doctored results against a record.
func TestGate(t *testing.T) {
	b := &baseline{}
	b.put("mixed",
		[]figures{{{"cpu / limits", 1.9, ratio}}, {{"cpu / limits", 2, ratio}}, {{"cpu / limits", 2.2, ratio}}},
		conditions{})
	b.put("claims",
		[]figures{{{"writes / minimal", 0.9, ratio}}, {{"writes / minimal", 1, ratio}}, {{"writes / minimal", 1.1, ratio}}},
		conditions{})
	for _, c := range []struct {
		name, row string
		figure    figure
		want      outcome
	}{
		{"WithinTheSpread", "mixed", figure{"cpu / limits", 2.1, ratio}, reached},
		{"TheWorstOfTheRecord", "mixed", figure{"cpu / limits", 2.2, ratio}, reached},
		{"WithinTheMargin", "mixed", figure{"cpu / limits", 2.59, ratio}, reached},
		{"BeyondTheMargin", "mixed", figure{"cpu / limits", 2.61, ratio}, short},
		{"SlowerBy1.6", "mixed", figure{"cpu / limits", 1.6 * 2, ratio}, short},
		{"Faster", "mixed", figure{"cpu / limits", 0.5, ratio}, reached},
		{"WritesWithinTheSpread", "claims", figure{"writes / minimal", 0.95, ratio}, reached},
		{"WritesWithinTheMargin", "claims", figure{"writes / minimal", 0.71, ratio}, reached},
		{"WritesSlowerBy1.6", "claims", figure{"writes / minimal", 1 / 1.6, ratio}, short},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := row{name: c.row, work: fixed{c.figure}, bars: []bar{atMost("cpu / limits", 3)}}
			r.bars = b.shortBars(r)
			l := &lab{options: options{short: true}, ctx: context.Background(), log: io.Discard}
			if got := l.try(r); got.Outcome != c.want {
				t.Errorf("%s: %q", got.Outcome, got.Reasons)
			}
		})
	}
}

// A margin is at least a fifth of the median, and else follows from the spread.
func TestMargins(t *testing.T) {
	for _, c := range []struct {
		rec  recorded
		want bar
	}{
		{recorded{Figure: "cpu / canned", Min: 2, Median: 2, Max: 2}, atMost("cpu / canned", 2.4)},
		{recorded{Figure: "cpu / canned", Min: 1, Median: 2, Max: 3}, atMost("cpu / canned", 4)},
		{recorded{Figure: "writes / minimal", Min: 1, Median: 1, Max: 2}, atLeast("writes / minimal", 0.8)},
		{recorded{Figure: "writes / minimal", Min: 0.25, Median: 1, Max: 2}, atLeast("writes / minimal", 0.125)},
		{recorded{Figure: "writes / minimal", Min: 0.75, Median: 1, Max: 2}, atLeast("writes / minimal", 0.5)},
	} {
		if diff := cmp.Diff(c.want, c.rec.bar(), cmp.AllowUnexported(bar{})); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", c.rec, diff)
		}
	}
}

// What the baseline does not have keeps the bars of the table that apply anywhere, as they are.
func TestRowsThatAreNotRecorded(t *testing.T) {
	bars := []bar{
		atMost("cpu / canned", 2), atLeast("writes / minimal", 0.75), atMost("cpu", 1), atMost("p99 / p50", 20),
		exactly("candidates", 1000), exactly("lost", 0), atLeast("cycles / upstream", 100), atMost(wasted, 0.1),
	}
	got := (&baseline{}).shortBars(row{name: "new", bars: bars})
	if diff := cmp.Diff([]bar{bars[0], bars[1], bars[5], bars[7]}, got, cmp.AllowUnexported(bar{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestBaselineFile writes a baseline and reads it again; rows that were not measured stay.
func TestBaselineFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "short.json")
	b := &baseline{}
	runs := []figures{
		{{"cpu / canned", 1.5, ratio}, {"rate", 900, perSecond}},
		{{"cpu / canned", 1.25, ratio}, {"rate", 1000, perSecond}},
		{{"cpu / canned", 2, ratio}, {"rate", 950, perSecond}},
	}
	before := conditions{sampleReport.Date, sampleReport.Machine, sampleReport.Load}
	after := conditions{before.Date.Add(time.Hour), before.Machine, 0}
	b.put("one", runs, before)
	b.put("two", runs, before)
	b.put("one", runs[:2], after)
	if err := b.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again := &baseline{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	want := []recorded{
		{Row: "two", Figure: "cpu / canned", Unit: ratio, Min: 1.25, Median: 1.5, Max: 2, N: 3, conditions: before},
		{Row: "one", Figure: "cpu / canned", Unit: ratio, Min: 1.25, Median: 1.375, Max: 1.5, N: 2, conditions: after},
	}
	if diff := cmp.Diff(want, again.Figures, cmp.AllowUnexported(recorded{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if strings.Count(string(text), "\n") != 4 {
		t.Errorf("no line for each figure:\n%s", text)
	}
}

// TestBaselineIsComplete requires a record of every ratio that the short form measures, of several
// runs.
func TestBaselineIsComplete(t *testing.T) {
	b, err := builtInBaseline()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, r := range b.Figures {
		has[r.Row] = true
		if r.N < 3 || r.Min <= 0 || r.Min > r.Median || r.Median > r.Max {
			t.Errorf("%+v", r)
		}
		if r.Date.IsZero() || r.Machine.Revision == "" {
			t.Errorf("%s: the conditions are not recorded", r.Row)
		}
	}
	for _, r := range table(shortSmaller) {
		if r.hasLimit() && !has[r.name] {
			t.Errorf("%s has no record: go run ./bench -short -record -rows '^%s$'", r.name, r.name)
		}
	}
}
