package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
)

// An Action is something that was done to a server, with its steps.
type Action struct {
	compute.ActionRow
	Events []compute.EventRow // in their order
}

// Actions returns the actions of a server, newest first. Deleted servers keep theirs; a server that
// never existed has none.
func (s *Service) Actions(ctx context.Context, server compute.ID) (all []compute.ActionRow, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		all, err = compute.Rows[compute.ActionRow](r, compute.Where(compute.ByServer, server))
		return err
	})
	slices.SortFunc(all, func(a, b compute.ActionRow) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.ID, a.ID))
	})
	return all, err
}

// Action returns what a request did to a server. Fault: ActionNotFound.
func (s *Service) Action(ctx context.Context, server compute.ID, request string) (a Action, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		absent := compute.NotFound("ActionNotFound", "Action %s not found", request)
		if a.ActionRow, err = compute.OneOr[compute.ActionRow](r, absent, compute.Where(compute.ByServer, server),
			compute.Where(compute.ByRequest, request)); err != nil {
			return err
		}
		a.Events, err = eventsOf(r, a.ID)
		return err
	})
	return a, err
}

// eventsOf returns the events of an action. The result of one is shown only after its end.
func eventsOf(r compute.Reader, action compute.ID) ([]compute.EventRow, error) {
	events, err := compute.Rows[compute.EventRow](r, compute.Where(compute.ByAction, action))
	for i := range events {
		if events[i].FinishedAt.IsZero() {
			events[i].Result = ""
		}
	}
	slices.SortFunc(events, func(a, b compute.EventRow) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return events, err
}

// A MigrationFilter narrows a list of migrations. What is empty does not.
type MigrationFilter struct {
	Server        compute.ID
	Project, User string
	Status, Type  string
	Host          string // that is its source or its destination
	Source        string
	Since, Before time.Time // of the last change
}

// A Migration is a move of a server with what it is shown with.
type Migration struct {
	compute.MigrationRow
	// DestAddress is the address at which the server arrives, "" for live migrations, and for hosts
	// that do not exist any more.
	DestAddress string
	// OldNumber and NewNumber are the numbers of the flavors, 0 for one that does not exist any more.
	OldNumber, NewNumber int64
}

// Migrations returns a page of the migrations of servers that match a filter, newest first; all of
// them when its limit is 0. A marker that is none of the migrations is a fault, MarkerNotFound; its
// times need not match.
func (s *Service) Migrations(ctx context.Context, f MigrationFilter, p Page) (all []Migration, err error) {
	var where []compute.Match
	if f.Server != "" {
		where = append(where, compute.Where(compute.ByServer, f.Server))
	}
	if f.Status != "" {
		where = append(where, compute.Where(compute.ByStatus, f.Status))
	}
	err = s.store.View(ctx, func(r compute.Reader) error {
		rows, err := compute.Rows[compute.MigrationEntry](r, where...)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(m compute.MigrationEntry) bool { return !f.passes(m.MigrationRow) })
		slices.SortFunc(rows, func(a, b compute.MigrationEntry) int { return cmp.Compare(b.Number, a.Number) })
		if p.Marker != "" {
			at := slices.IndexFunc(rows, func(m compute.MigrationEntry) bool { return m.ID == p.Marker })
			if at < 0 {
				return compute.Invalid("MarkerNotFound", "Marker %s could not be found.", p.Marker)
			}
			rows = rows[at+1:]
		}
		rows = slices.DeleteFunc(rows, func(m compute.MigrationEntry) bool {
			return !f.Since.IsZero() && m.UpdatedAt.Before(f.Since) || !f.Before.IsZero() && m.UpdatedAt.After(f.Before)
		})
		if p.Limit > 0 {
			rows = rows[:min(len(rows), p.Limit)]
		}
		all, err = completeMigrations(r, rows)
		return err
	})
	return all, err
}

// completeMigrations returns migrations with what belongs to them, in two reads.
func completeMigrations(r compute.Reader, rows []compute.MigrationEntry) ([]Migration, error) {
	hosts, flavors := map[string]bool{}, map[compute.ID]bool{}
	for _, m := range rows {
		hosts[m.Dest] = true
		flavors[m.OldFlavor], flavors[m.NewFlavor] = true, true
	}
	nodes, err := compute.Rows[compute.NodeRow](r, compute.Where(compute.ByHost, slices.Collect(maps.Keys(hosts))...))
	if err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, n := range nodes {
		addresses[n.Host] = n.Address
	}
	known, err := compute.Rows[compute.FlavorRow](r, compute.Where(compute.ByID, slices.Collect(maps.Keys(flavors))...))
	if err != nil {
		return nil, err
	}
	numbers := map[compute.ID]int64{}
	for _, flavor := range known {
		numbers[flavor.ID] = flavor.Number
	}
	all := make([]Migration, len(rows))
	for i, m := range rows {
		all[i] = Migration{MigrationRow: m.MigrationRow, OldNumber: numbers[m.OldFlavor], NewNumber: numbers[m.NewFlavor]}
		if !m.Live() {
			all[i].DestAddress = addresses[m.Dest]
		}
	}
	return all, nil
}

func (f MigrationFilter) passes(m compute.MigrationRow) bool {
	matches := func(want, has string) bool { return want == "" || want == has }
	return matches(f.Project, m.Project) && matches(f.User, m.User) && matches(f.Status, m.Status) &&
		matches(f.Type, m.Type) &&
		matches(f.Source, m.Source) && (matches(f.Host, m.Source) || matches(f.Host, m.Dest))
}
