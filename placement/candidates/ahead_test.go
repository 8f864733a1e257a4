package candidates_test

import (
	"testing"

	"github.com/berthcloud/berth/bench/worlds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
)

// Trees are announced before their candidates come, and not all at once.
func TestAllAhead(t *testing.T) {
	for _, c := range []struct {
		name string
		w    *placement.World
		q    placement.Query
	}{
		{"Flat", worlds.Flat(1000, 1).Picture(), asks(flavor(4096))},
		{"Flat/Sampled", worlds.Flat(1000, 1).Picture(), sampled(asks(flavor(4096)))},
		{"Ports", worlds.Bandwidth(300, 1).Picture(), limited(server(4096, 1000), 200)},
		{"Ports/Sampled", worlds.Bandwidth(300, 1).Picture(), limited(sampled(server(4096, 1000)), 200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := candidates.Search(c.w, c.q)
			if err != nil {
				t.Fatal(err)
			}
			announced := make(map[*placement.Tree]bool)
			first, n := 0, 0
			for candidate := range r.AllAhead(func(tree *placement.Tree) { announced[tree] = true }) {
				if n == 0 {
					first = len(announced)
				}
				if n++; !announced[candidate.Anchor] {
					t.Fatalf("the tree of candidate %d was not announced", n)
				}
			}
			if n < 200 || first == 0 || first > 64 {
				t.Errorf("%d candidates, %d trees announced before the first", n, first)
			}
		})
	}
}
