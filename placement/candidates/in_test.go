package candidates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// The candidates of all trees, each searched by itself, are those of the whole search, whatever its
// limits.
func TestInHasTheCandidatesOfAll(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		r, err := candidates.Search(w, q)
		if err != nil {
			cases.add(false)
			return
		}
		want := orderedKeys(w, r)
		cases.add(len(want) > 0)
		q.Limit = 1
		r = search(t, w, q)
		got := []string{}
		for tree := range w.Trees() {
			for c := range r.In(tree) {
				got = append(got, placementtest.Key(w, r, c))
			}
		}
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			rt.Errorf("%+v (-all +tree by tree):\n%s", q, diff)
		}
	})
	cases.enough(t, mostHave)
}
