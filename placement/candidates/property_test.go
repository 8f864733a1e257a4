package candidates_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// keys returns the keys of the candidates in the order of the search, or the
// text of the fault.
func keys(t testing.TB, w *snapshot.Snapshot, q placement.Query) ([]string, string) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return nil, err.Error()
	}
	var list []string
	for c := range r.All() {
		list = append(list, placementtest.Key(w, r, c))
		overcommits(t, c)
	}
	return list, ""
}

// overcommits fails the test when a candidate does not fit.
func overcommits(t testing.TB, c candidates.Candidate) {
	for _, u := range c.Uses {
		for _, a := range u.Amounts {
			s := u.Provider.Inventory(a.Class)
			if s == nil || !s.Fits(s.Used, a.Amount) || a.Amount > s.MaxUnit {
				t.Fatalf("%s cannot give %d of %d", u.Provider.Name, a.Amount, a.Class)
			}
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func TestSearchEqualsSlowSearch(t *testing.T) {
	compareWithSlow(t)
}

// The search that looks ahead at every step must not see dangers that are none.
func TestCautiousSearchEqualsSlowSearch(t *testing.T) {
	defer candidates.SetDeadEnds(0)()
	compareWithSlow(t)
}

func compareWithSlow(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		want, wantFault := placementtest.SearchSlow(w, q)
		cases.add(len(want) > 0)
		got, fault := keys(t, w, q)
		if diff := cmp.Diff(wantFault, fault); diff != "" {
			rt.Fatalf("fault (-slow +search):\n%s", diff)
		}
		if diff := cmp.Diff(want, sorted(got)); diff != "" {
			rt.Fatalf("%+v (-slow +search):\n%s", q, diff)
		}
	})
	cases.enough(t, mostHave)
}

func TestCutsAreSubsets(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		q.Flat = false // it comes after Max, so that nothing can be said of its number
		all, fault := keys(t, w, q)
		cases.add(len(all) > 0)
		if fault != "" {
			return
		}
		cut := q
		cut.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
		if rapid.Bool().Draw(rt, "sampled") {
			cut.Sample = &placement.Sample{Seed: rapid.Uint64().Draw(rt, "seed")}
		}
		want := min(len(all), cut.Limit)
		if rapid.Bool().Draw(rt, "maximum") {
			cut.Max = rapid.IntRange(1, 5).Draw(rt, "max")
			want = min(want, cut.Max)
		}
		got, _ := keys(t, w, cut)
		again, _ := keys(t, w, cut)
		if diff := cmp.Diff(got, again); diff != "" {
			rt.Fatalf("the same query twice:\n%s", diff)
		}
		if len(got) != want {
			rt.Errorf("%d candidates, want %d of %d", len(got), want, len(all))
		}
		for i, c := range got {
			if !slices.Contains(all, c) || slices.Contains(got[:i], c) {
				rt.Errorf("candidate %s is repeated or not one of the whole answer", c)
			}
		}
	})
	cases.enough(t, mostHave)
}

func TestCapacityNeverRemovesCandidates(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		q := placementtest.Question(rt, b)
		w := b.Snapshot()
		before, _ := keys(t, w, q)
		cases.add(len(before) > 0)
		if len(before) == 0 {
			return
		}
		for tree := range w.Trees() {
			for _, p := range tree.Providers {
				for _, s := range p.Inventories {
					if rapid.Bool().Draw(rt, "more") {
						b.Enlarge(p.Name, s.Class, 3)
					}
				}
			}
		}
		after, _ := keys(t, b.Snapshot(), q)
		for _, c := range before {
			if !slices.Contains(after, c) {
				rt.Errorf("%s is gone although there is more", c)
			}
		}
	})
	cases.enough(t, mostHave)
}

func TestCandidatesCanBeClaimed(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		q := placementtest.Question(rt, b)
		w := b.Snapshot()
		before, _ := keys(t, w, q)
		cases.add(len(before) > 0)
		if len(before) == 0 {
			return
		}
		r := search(t, w, q)
		for c := range r.All() {
			claimed := b.Clone()
			for _, u := range c.Uses {
				for _, a := range u.Amounts {
					claimed.Use(u.Provider.Name, a.Class, a.Amount)
				}
			}
			after, _ := keys(t, claimed.Snapshot(), q)
			for _, c := range after {
				if !slices.Contains(before, c) {
					rt.Errorf("%s came up after a claim", c)
				}
			}
			break
		}
	})
	cases.enough(t, mostHave)
}
