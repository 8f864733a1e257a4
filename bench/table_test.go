package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/clouds"
)

// TestTableIsComplete names every piece of work that Berth promises to be fast at.
func TestTableIsComplete(t *testing.T) {
	rows := []string{
		"flat-1000", "flat-10000-member", "flat-10000-zone", "flat-10000-ten", "nested-1000", "bandwidth-1000",
		"wide-isolate", "wide-none", "none-trait", "none-class", "none-room",
	}
	want := []string{
		"bandwidth-100000", "claims-sqlite", "claims-mariadb-1", "claims-mariadb-16",
		"until-full-sqlite", "until-full-mariadb", "agent-reads", "boots",
		"nova-bandwidth-1000-mariadb", "nova-flat-1000-mariadb",
	}
	for _, cloud := range []string{"flat-1000", "nested-1000", "bandwidth-1000", "bandwidth-100000"} {
		want = append(want, "mixed-"+cloud+"-sqlite", "mixed-"+cloud+"-mariadb")
	}
	for _, name := range rows {
		want = append(want, name, name+"-random")
	}
	var got []string
	for _, r := range table(1) {
		got = append(got, r.name)
		if r.title == "" || len(r.bars) == 0 {
			t.Errorf("%s has no title or no bar", r.name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBothOrdersHaveTheSameBars(t *testing.T) {
	rows := chosen(table(1), regexp.MustCompile(`^nested-1000`))
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	if !rows[1].work.(candidates).random || rows[0].work.(candidates).random {
		t.Error("the second row is the random one, and only it")
	}
	if diff := cmp.Diff(rows[0].bars, rows[1].bars, cmp.AllowUnexported(bar{})); diff != "" {
		t.Error(diff)
	}
}

func TestChosen(t *testing.T) {
	for match, want := range map[string]int{"": len(table(1)), "^claims": 3, "nothing": 0} {
		if got := len(chosen(table(1), regexp.MustCompile(match))); got != want {
			t.Errorf("%q chooses %d rows, want %d", match, got, want)
		}
	}
}

// TestQuestionsRotate checks that a server would not gain from caching its answers.
func TestQuestionsRotate(t *testing.T) {
	w := clouds.Flat(10, seed)
	for name, q := range map[string]question{
		"everyHost": everyHost, "anyZone": anyZone, "oneZone": oneZone, "fullCloud": fullCloud, "noTrait": noTrait,
		"noClass":  noClass,
		"isolated": isolated, "together": together, "limited": limited(everyHost, "10"),
	} {
		paths := q.variants(w)
		slices.Sort(paths)
		if got := len(slices.Compact(paths)); got < 24 {
			t.Errorf("%s has only %d different questions", name, got)
		}
	}
}
