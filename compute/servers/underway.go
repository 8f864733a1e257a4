package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// The states of operations that are under way.
const (
	OperationRunning = "running" // a worker carries it out
	OperationWaiting = "waiting" // for the answer of a host
	OperationDelayed = "delayed" // until the next attempt
	OperationReady   = "ready"   // for a worker
)

// An OperationView is an operation that is under way, as operators see it.
type OperationView struct {
	ID        compute.ID
	Server    compute.ServerSummary
	Kind      string
	Step      string
	Undoing   bool
	CreatedAt time.Time
	State     string
	// Worker has the operation until its lease ends, at Until; a delayed operation is tried again at
	// Until.
	Worker string
	Until  time.Time
	// Event is the step of the server's action that a waiting operation waits for, Host the host that
	// reports its end, and HostUp whether that host has reported lately.
	Event, Host string
	HostUp      bool
	// Cause is why the last attempt failed when another service was unavailable; "" otherwise.
	Cause string
}

// An OperationFilter selects operations.
type OperationFilter struct {
	Server compute.ID // "" for any
	Before time.Time  // created before; zero for any
	Limit  int        // the most in the answer, of which the oldest are first
}

// OperationViews returns the operations under way that match a filter, the oldest first, and
// whether there are more than its limit.
func (s *Service) OperationViews(ctx context.Context, f OperationFilter) (all []OperationView, more bool, err error) {
	var where []compute.Match
	if f.Server != "" {
		where = append(where, compute.Where(compute.ByServer, f.Server))
	}
	err = s.store.View(ctx, func(r compute.Reader) error {
		rows, err := compute.Rows[compute.OperationSummary](r, where...)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(o compute.OperationSummary) bool {
			return !f.Before.IsZero() && !o.CreatedAt.Before(f.Before)
		})
		slices.SortFunc(rows, func(a, b compute.OperationSummary) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		if more = len(rows) > f.Limit; more {
			rows = rows[:f.Limit]
		}
		all, err = s.operationViews(r, rows)
		return err
	})
	return all, more, err
}

// operationViews reads what belongs to operations, in five reads however many they are.
func (s *Service) operationViews(r compute.Reader, rows []compute.OperationSummary) ([]OperationView, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var ids, ofServers, awaited []compute.ID
	for _, row := range rows {
		ids, ofServers = append(ids, row.ID), append(ofServers, row.Server)
		if row.Awaits != "" {
			awaited = append(awaited, row.Awaits)
		}
	}
	causes := map[compute.ID]string{}
	bodies, err := compute.Rows[compute.OperationRow](r, compute.Where(compute.ByID, ids...))
	if err != nil {
		return nil, err
	}
	for _, row := range bodies {
		var body struct {
			Unavailable *lifecycle.WaitCause `json:"unavailable"`
		}
		if json.Unmarshal(row.Body, &body) == nil && body.Unavailable != nil { // the log has what is unreadable
			causes[row.ID] = body.Unavailable.Details
		}
	}
	summaries, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByID, ofServers...))
	if err != nil {
		return nil, err
	}
	servers := make(map[compute.ID]compute.ServerSummary, len(summaries))
	for _, row := range summaries {
		servers[row.ID] = row
	}
	events, hosts, up := map[compute.ID]string{}, map[compute.ID]string{}, map[string]bool{}
	if len(awaited) > 0 {
		rows, err := compute.Rows[compute.EventRow](r, compute.Where(compute.ByID, awaited...))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			events[row.ID] = row.Event
		}
		hosted, err := compute.Rows[compute.HostedRow](r, compute.Where(compute.ByServer, ofServers...))
		if err != nil {
			return nil, err
		}
		var names []string
		for _, row := range hosted {
			if row.Event != "" {
				hosts[row.Event] = row.Host
				names = append(names, row.Host)
			}
		}
		services, err := compute.Rows[compute.ServiceRow](r, compute.Where(compute.ByHost, names...))
		if err != nil {
			return nil, err
		}
		for _, row := range services {
			up[row.Host] = s.rules.IsUp(row)
		}
	}
	all := make([]OperationView, len(rows))
	for i, row := range rows {
		v := OperationView{
			ID: row.ID, Server: servers[row.Server], Kind: row.Kind, Step: row.Step, Undoing: row.Back, CreatedAt: row.CreatedAt,
			State: OperationReady, Cause: causes[row.ID],
		}
		v.Server.ID = row.Server
		host, outstanding := hosts[row.Awaits]
		switch {
		case row.Worker == lifecycle.Unanswered: // no worker takes it until the request can take no effect any more
			v.State, v.Until = OperationDelayed, row.Lease
		case row.Worker != "":
			v.State, v.Worker, v.Until = OperationRunning, row.Worker, row.Lease
		case row.Awaits != "" && outstanding:
			v.State, v.Event, v.Host, v.HostUp = OperationWaiting, events[row.Awaits], host, up[host]
		case row.Lease.After(s.rules.Now()):
			v.State, v.Until = OperationDelayed, row.Lease
		}
		all[i] = v
	}
	return all, nil
}
