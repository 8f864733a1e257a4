package daemon

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/console"
)

func TestConsoleCounts(t *testing.T) {
	got, err := ConsoleCounts(&Server{metrics: watchedMetrics(t).serviceMetrics})
	if err != nil {
		t.Fatal(err)
	}
	want := console.Counts{
		Since: processStart,
		Requests: []console.RequestCount{{
			Service: "placement", Request: "other none", Statuses: map[int]int64{404: 1},
		}},
		Outcomes: []console.Outcome{
			{What: "searches without candidates: capacity", Count: 1},
			{What: "writes of allocations: accepted", Count: 1},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(console.RequestCount{}, "Bounds", "Within")); d != "" {
		t.Error(d)
	}
	for i := range got.Requests {
		r := &got.Requests[i]
		if n := len(r.Bounds); n == 0 || n != len(r.Within) || !slices.IsSorted(r.Bounds) || r.Within[n-1] != 1 {
			t.Errorf("%s takes %v of %v", r.Request, r.Within, r.Bounds)
		}
	}
}
