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
		e, err := candidates.Count(t.Context(), w, q)
		if err != nil {
			rt.Fatal(err)
		}
		c := e.Constraint()
		if c == candidates.UnknownConstraint || c == candidates.HiddenByMicroversion && !q.Flat {
			rt.Errorf("%+v is explained by %s: %+v", q, c, e)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err = candidates.Count(cancelled, w, q); err != nil || !e.Partial && w.Len() > 0 && len(e.Requests) > 1 {
			rt.Errorf("a cancelled explanation has %d requests: %v", len(e.Requests), err)
		}
	})
	cases.enough(t, 0.15) // most questions have candidates
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
		e, err := candidates.Count(context.Background(), w, q)
		if err != nil || e.Constraint() != candidates.NoCapacity {
			panic(fmt.Sprint(e, err))
		}
	})
}
