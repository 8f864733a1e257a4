package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/metrics"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Headroom is how many more of a request fit.
type Headroom struct {
	Subject
	*capacity.Count
	Exact bool `json:"exact"`
	// Refused are hosts that Nova does not take, which are not counted.
	Refused []RefusedHost `json:"not_taken"`
}

// headroom answers how many more claims of a request fit, on which hosts, and what runs out.
func (c *Console) headroom(r *http.Request, s *state) (any, error) {
	requested, err := c.subject(r, s)
	if err != nil {
		return nil, err
	}
	w := s.reading.Snapshot
	h := Headroom{Subject: requested.describe(), Refused: []RefusedHost{}}
	if requested.server.Flavor.Name != "" { // a query counts what placement would grant
		refused := requested.server.Refusals(s.reading.Cloud)
		var excluded []int64
		for tree := range w.Trees() {
			if why := refused(tree.Root().Name); why != "" {
				h.Refused = append(h.Refused, RefusedHost{tree.Root().Name, why})
				excluded = append(excluded, tree.Root().ID)
			}
		}
		w = w.WithTrees(excluded, placement.TreeRows{}, w.Built())
	}
	err = c.compute(r.Context(), func(ctx context.Context) (err error) {
		h.Count, err = capacity.Headroom(ctx, w, requested.query)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.Exact = h.Count.Exact()
	return h, nil
}

// A FlavorSlots is how many more servers of each flavor fit.
type FlavorSlots struct {
	Flavors []metrics.Slots `json:"flavors"`
}

// slots answers how many more servers of each flavor fit, those of which least fit first.
func (c *Console) slots(r *http.Request, s *state) (any, error) {
	if c.source.Flavors == nil {
		return FlavorSlots{Flavors: []metrics.Slots{}}, nil
	}
	flavors, err := c.source.Flavors(r.Context())
	if err != nil {
		return nil, fault.New(fault.Unavailable, "", "the flavors cannot be read: %v", err)
	}
	nova := c.source.Nova
	queries := metrics.FlavorQueries(s.reading.Cloud, flavors, nova.Request, nova.ScheduleZone, nova.DefaultZone)
	var list []metrics.Slots
	err = c.compute(r.Context(), func(ctx context.Context) (err error) {
		list, err = metrics.CountSlots(ctx, s.reading.Snapshot, s.reading.Cloud, queries)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b metrics.Slots) int {
		return cmp.Or(cmp.Compare(a.Least, b.Least), cmp.Compare(a.Name, b.Name))
	})
	return FlavorSlots{Flavors: list}, nil
}

// drain answers with a plan to empty a host.
func (c *Console) drain(r *http.Request, s *state) (any, error) {
	tree := treeNamed(s.reading.Snapshot, r.PathValue("host"))
	if tree == nil {
		return nil, fault.New(fault.NotFound, "", "no provider has the name or UUID %q", r.PathValue("host"))
	}
	records := s.reading.Cloud
	if c.source.Consumers != nil {
		consumers, err := c.source.Consumers(r.Context(), tree)
		if err != nil {
			return nil, err
		}
		part := *records
		part.Placement = &cloud.Placement{
			Providers: cloud.TreeProviders(s.reading.Snapshot, tree), Consumers: append([]cloud.Consumer{}, consumers...),
		}
		records = &part
	}
	like := novaquery.Settings(records, c.source.Nova.Request)
	holders, waiting, err := capacity.Consumers(records, s.reading.Snapshot, tree,
		func(server *cloud.Server) (placement.Query, error) {
			return novaquery.Like(records, like, server.UUID, true)
		})
	if err != nil {
		return nil, err
	}
	refused := novaquery.Server{}.Refusals(records)
	var plan *capacity.Plan
	err = c.compute(r.Context(), func(ctx context.Context) (err error) {
		plan, err = capacity.Drain(ctx, s.reading.Snapshot, tree, holders,
			func(t *snapshot.Tree) bool { return refused(t.Root().Name) != "" })
		return err
	})
	if err != nil {
		return nil, err
	}
	plan.Waiting = waiting
	return plan, nil
}
