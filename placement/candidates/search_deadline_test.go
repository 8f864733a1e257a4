package candidates_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// puzzle returns a host with 20 NICs and a query for 21 ports, of which any two need different
// NICs, for reasons that differ from pair to pair. The search would try all ways to place them, for
// years.
func puzzle() (*placementtest.Builder, placement.Query) {
	b := placementtest.NewBuilder()
	b.Provider("cn1").Inventory("VCPU", 8)
	for i := range 20 {
		b.Provider(fmt.Sprintf("cn1/nic%d", i)).Inventory("NET_BW_EGR_KILOBIT_PER_SEC",
			100).Inventory("NET_BW_IGR_KILOBIT_PER_SEC", 100)
	}
	var q placement.Query
	for i := range int64(21) {
		q.Groups = append(q.Groups, placement.RequestGroup{
			Suffix: fmt.Sprintf("_%d", i),
			Resources: resources(amount("NET_BW_EGR_KILOBIT_PER_SEC", 45+15*(i%2)),
				amount("NET_BW_IGR_KILOBIT_PER_SEC", 60-15*(i%2))),
		})
	}
	return b, q
}

// Searches within one tree end with what they are done for.
func TestSearchesEndEarly(t *testing.T) {
	b, q := puzzle()
	w := b.Snapshot()
	for name, search := range map[string]func(context.Context, *candidates.Result) error{
		"All": func(_ context.Context, r *candidates.Result) error {
			for range r.All() {
				t.Error("there is a candidate")
			}
			return nil
		},
		"In": func(_ context.Context, r *candidates.Result) error {
			for tree := range w.Trees() {
				for range r.In(tree) {
					t.Error("there is a candidate")
				}
			}
			return nil
		},
		"Anchors": func(_ context.Context, r *candidates.Result) error {
			for range r.Anchors() {
				t.Error("there is a candidate")
			}
			return nil
		},
		"Reasons": func(_ context.Context, r *candidates.Result) error {
			for tree := range w.Trees() {
				r.Reasons(tree)
				if r.HasAnchor(tree) {
					t.Error("there is a candidate")
				}
			}
			return nil
		},
		"Count": func(ctx context.Context, _ *candidates.Result) error {
			e, err := candidates.Count(ctx, w, q)
			if err == nil && !e.Partial {
				t.Errorf("the counts are not partial: %+v", e)
			}
			return err
		},
	} {
		for _, way := range []string{"depth", "breadth", "sample"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				q := q
				switch way {
				case "breadth":
					q.BreadthFirst, q.Limit = true, 10
				case "sample":
					q.Sample = &placement.Sample{Seed: 1}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				r, err := candidates.Search(w, q)
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- search(ctx, r.Until(ctx.Done())) }()
				select {
				case err := <-ended:
					if err != nil || ctx.Err() == nil {
						t.Errorf("the search ended with %v, its context with %v", err, ctx.Err())
					}
				case <-time.After(20 * time.Second):
					t.Fatal("the search goes on after its context has ended")
				}
			})
		}
	}
}
