package compute

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// An Action is something that was done to a server, with its steps.
type Action struct {
	ActionRow
	Events []EventRow // in their order
}

// Actions returns the actions of a server, newest first. Deleted servers keep theirs; a server that
// never existed has none.
func (s *Service) Actions(ctx context.Context, server ID) (all []ActionRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = Rows[ActionRow](r, Where(ByServer, server))
		return err
	})
	slices.SortFunc(all, func(a, b ActionRow) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.Place, a.Place), cmp.Compare(b.ID, a.ID))
	})
	return all, err
}

// Action returns what a request did to a server. Fault: ActionNotFound.
func (s *Service) Action(ctx context.Context, server ID, request string) (a Action, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		absent := notFound("ActionNotFound", "Action %s not found", request)
		if a.ActionRow, err = OneOr[ActionRow](r, absent, Where(ByServer, server), Where(ByRequest, request)); err != nil {
			return err
		}
		a.Events, err = eventsOf(r, a.ID)
		return err
	})
	return a, err
}

// eventsOf returns the events of an action. The result of one is shown only after its end.
func eventsOf(r Reader, action ID) ([]EventRow, error) {
	events, err := Rows[EventRow](r, Where(ByAction, action))
	for i := range events {
		if events[i].FinishedAt.IsZero() {
			events[i].Result = ""
		}
	}
	slices.SortFunc(events, func(a, b EventRow) int { return cmp.Compare(a.Place, b.Place) })
	return events, err
}

// act notes that something is done to a server, and returns the action.
func (c *change) act(by Caller, server ID, action string) (ActionRow, error) {
	have, err := Rows[ActionRow](c, Where(ByServer, server))
	if err != nil {
		return ActionRow{}, err
	}
	place := 0
	for _, a := range have { // those before them may have been removed
		place = max(place, a.Place+1)
	}
	row := ActionRow{
		ID: NewID(), Server: server, Place: place, Action: action, Request: cmp.Or(by.Request, "req-"+string(NewID())),
		Project: by.Project, User: by.User, StartedAt: c.At, UpdatedAt: c.At,
	}
	c.by = Caller{Project: by.Project, User: by.User, Request: row.Request, Global: by.Global}
	return row, c.Insert(&row)
}

// begin notes that a step of an action begins.
func (c *change) begin(action ID, event, host string) (EventRow, error) {
	have, err := Rows[EventRow](c, Where(ByAction, action))
	row := EventRow{ID: NewID(), Action: action, Place: len(have), Event: event, Host: host, StartedAt: c.At}
	if err != nil {
		return row, err
	}
	return row, c.Insert(&row)
}

// The results of events, and the message of actions that failed.
const (
	succeeded = "Success"
	failed    = "Error"
)

// A stepError is the error of a failed event.
type stepError struct {
	text    string // for everybody
	details string // for administrators
}

// answered stores that a host has done its part of an event. The event ends with what follows:
// ports are unbound, and placement is changed.
func (c *change) answered(event ID) error {
	row, err := One[EventRow](c, Where(ByID, event))
	if err != nil || row.Result != "" {
		return err
	}
	row.Result = succeeded
	return c.Replace(&row)
}

// end stores the result of an event; nil says that it succeeded. An event that has ended is
// unchanged.
func (c *change) end(event ID, t *stepError) error {
	row, err := One[EventRow](c, Where(ByID, event))
	if err != nil || !row.FinishedAt.IsZero() {
		return err
	}
	row.FinishedAt, row.Result = c.At, succeeded
	if t != nil {
		row.Result, row.Details, row.Traceback = failed, t.text, t.details
	}
	if err := c.Replace(&row); err != nil {
		return err
	}
	action, err := One[ActionRow](c, Where(ByID, row.Action))
	if err != nil {
		return err
	}
	action.UpdatedAt = c.At
	if t != nil {
		action.Message = failed
	}
	return c.Replace(&action)
}

// A MigrationFilter narrows a list of migrations. What is empty does not.
type MigrationFilter struct {
	Server        ID
	Project, User string
	Status, Type  string
	Host          string // that is its source or its destination
	Source        string
	Since, Before time.Time // of the last change
}

// A Migration is a move of a server with what it is shown with.
type Migration struct {
	MigrationRow
	// DestAddress is the address at which the server arrives, "" for live migrations, and for hosts that do not
	// exist any more.
	DestAddress string
	// OldNumber and NewNumber are the numbers of the flavors, 0 for one that does not exist any more.
	OldNumber, NewNumber int64
}

// liveMigration is the type of migrations of servers that run.
const liveMigration = "live-migration"

// Live reports whether the server runs while it moves.
func (m MigrationRow) Live() bool { return m.Type == liveMigration }

// MovesLive reports whether the row is a live migration that is in progress.
func (m MigrationRow) MovesLive() bool {
	return m.Live() && slices.Contains([]string{"queued", "preparing", "running", "post-migrating"}, m.Status)
}

// Migrations returns a page of the migrations of servers that match a filter, newest first; all of them when its limit is 0. A marker
// that is none of the migrations is a fault, MarkerNotFound; its times need not match.
func (s *Service) Migrations(ctx context.Context, f MigrationFilter, p Page) (all []Migration, err error) {
	var where []Match
	if f.Server != "" {
		where = append(where, Where(ByServer, f.Server))
	}
	if f.Status != "" {
		where = append(where, Where(ByStatus, f.Status))
	}
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[MigrationEntry](r, where...)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(m MigrationEntry) bool { return !f.passes(m.MigrationRow) })
		slices.SortFunc(rows, func(a, b MigrationEntry) int { return cmp.Compare(b.Number, a.Number) })
		if p.Marker != "" {
			at := slices.IndexFunc(rows, func(m MigrationEntry) bool { return m.ID == p.Marker })
			if at < 0 {
				return invalid("MarkerNotFound", "Marker %s could not be found.", p.Marker)
			}
			rows = rows[at+1:]
		}
		rows = slices.DeleteFunc(rows, func(m MigrationEntry) bool {
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
func completeMigrations(r Reader, rows []MigrationEntry) ([]Migration, error) {
	hosts, flavors := map[string]bool{}, map[ID]bool{}
	for _, m := range rows {
		hosts[m.Dest] = true
		flavors[m.OldFlavor], flavors[m.NewFlavor] = true, true
	}
	nodes, err := Rows[NodeRow](r, Where(ByHost, slices.Collect(maps.Keys(hosts))...))
	if err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, n := range nodes {
		addresses[n.Host] = n.Address
	}
	known, err := Rows[FlavorRow](r, Where(ByID, slices.Collect(maps.Keys(flavors))...))
	if err != nil {
		return nil, err
	}
	numbers := map[ID]int64{}
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

func (f MigrationFilter) passes(m MigrationRow) bool {
	is := func(want, has string) bool { return want == "" || want == has }
	return is(f.Project, m.Project) && is(f.User, m.User) && is(f.Status, m.Status) && is(f.Type, m.Type) &&
		is(f.Source, m.Source) && (is(f.Host, m.Source) || is(f.Host, m.Dest))
}
