package candidates_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/internal/growthtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
)

// Every query without candidates has a constraint that is to blame.
func TestEmptyAnswersAreExplained(t *testing.T) {
	var cases tally
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		w, q := b.Snapshot(), placementtest.Question(rt, b)
		found, fault := keys(t, w, q)
		cases.add(fault == "" && len(found) == 0)
		if fault != "" || len(found) > 0 {
			return
		}
		e, err := candidates.Explain(t.Context(), w, q)
		if err != nil {
			rt.Fatal(err)
		}
		c := e.Constraint()
		if c == candidates.UnknownConstraint || c == candidates.BeforeTrees && !q.Flat || e.Reason() == "" {
			rt.Errorf("%+v is explained by %s: %s", q, c, e.Reason())
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err = candidates.Explain(cancelled, w, q); err != nil || !e.Partial && w.Len() > 0 && len(e.Requests) > 1 {
			rt.Errorf("a cancelled explanation has %d requests: %v", len(e.Requests), err)
		}
	})
	cases.enough(t, 0.15) // most questions have candidates
}

// A reason is one line.
func TestReasons(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	b.Provider("b").Inventory("MEMORY_MB", 4)
	for want, g := range map[string]placement.RequestGroup{
		"VCPU: no inventory of VCPU drops 1, no free capacity for VCPU:5 " +
			"drops 1, 0 left": {Resources: resources(amount("VCPU", 5))},
		"2 providers in 2 trees; VCPU: no inventory of VCPU drops 1, 1 left; MEMORY_MB: no inventory of MEMORY_MB " +
			"drops 1, 1 left; 0 trees have a provider for every group; 0 trees can serve all groups together": {
			Resources: resources(amount("VCPU", 1), amount("MEMORY_MB", 1)),
		},
	} {
		e, err := candidates.Explain(t.Context(), b.Snapshot(), requests(g))
		if got := e.Reason(); got != want || err != nil {
			t.Errorf("the reason is %q, %v; want %q", got, err, want)
		}
	}
}

// To find the groups before one that names what does not exist takes no longer than to
// read them.
func TestExplainingUnknownNamesOfManyGroups(t *testing.T) {
	b := placementtest.NewBuilder()
	b.Provider("a").Inventory("VCPU", 4)
	w := b.Snapshot()
	growthtest.NearLinear(t, 1000, func(n int) {
		q := requests(placement.RequestGroup{Suffix: "_0", Resources: resources(amount("VCPU", 5))})
		for i := range n {
			q.Groups = append(q.Groups, placement.RequestGroup{
				Suffix: fmt.Sprintf("_%d", i+1), Resources: resources(amount("CUSTOM_"+strings.Repeat("X", i%9), 1)),
			})
		}
		e, err := candidates.Explain(context.Background(), w, q)
		if err != nil || e.Constraint() != candidates.NoCapacity {
			panic(fmt.Sprint(e, err))
		}
	})
}
