package reallocation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/network"
)

// The states of changes of allocations that are under way.
const (
	ChangeRequested = "requested" // a request to Placement is under way
	ChangeUnknown   = "unknown"   // the last request was not answered: whether it took place is found out first
	ChangeMade      = "made"      // Placement has it; the port's change is not stored yet
	ChangeWaiting   = "waiting"   // for the next attempt
)

// A ChangeView is a change of a server's allocations that is under way for a port, as operators see
// it.
type ChangeView struct {
	ID        network.ID
	Kind      string // "policy": the port gets another policy; "release": what it had is released
	Port      network.ID
	Server    string // whose allocations are changed
	CreatedAt time.Time
	State     string
	// Instance is that of the process that began it, as in Settings. Abandoned says that it does
	// not work on it any more, so that another one completes it.
	Instance  string
	Abandoned bool
	// AttemptAt is when the last request was sent; zero for none.
	AttemptAt time.Time
	// Differences are what is added to the allocations, by provider and resource class.
	Differences allocations.Amounts
}

// A ChangeFilter selects changes that are under way.
type ChangeFilter struct {
	Port   network.ID // "" for any
	Server string     // "" for any
	Before time.Time  // created before; zero for any
	Limit  int        // the most in the answer, of which the oldest are first
}

// ChangeViews returns the changes under way that match a filter, the oldest first, and whether
// there are more than its limit.
func (s *Service) ChangeViews(ctx context.Context, f ChangeFilter) (all []ChangeView, more bool, err error) {
	var where []network.Match
	if f.Port != "" {
		where = append(where, network.Where(network.ByIntentsAbout, f.Port))
	}
	var recorded []network.IntentRow
	err = s.db.View(ctx, func(r network.Reader) (err error) {
		recorded, err = network.Rows[network.IntentRow](r, where...)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, row := range recorded {
		status, err := s.intents.Status(row)
		if err != nil {
			return nil, false, err
		}
		if f.Server != "" && status.Server != f.Server || !f.Before.IsZero() && !row.CreatedAt.Before(f.Before) {
			continue
		}
		v := ChangeView{
			ID: network.ID(row.ID), Kind: row.Kind, Port: network.ID(row.About), Server: status.Server, CreatedAt: row.CreatedAt,
			State:    ChangeWaiting,
			Instance: status.Instance, Abandoned: status.Abandoned, Differences: status.Differences,
		}
		switch {
		case status.Done:
			v.State = ChangeMade
		case status.Attempt == nil:
		case status.Unanswered:
			v.State = ChangeUnknown
		default:
			v.State = ChangeRequested
		}
		if status.Attempt != nil {
			v.AttemptAt = status.Attempt.At
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b ChangeView) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if more = len(all) > f.Limit; more {
		all = all[:f.Limit]
	}
	return all, more, nil
}
