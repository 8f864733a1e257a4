package lifecycle

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/compute"
)

// A dueList has the operations that were due when they were looked for last: those that are taken
// together in one element.
type dueList struct {
	mu  sync.Mutex
	all [][]compute.ID
	// whole says that the next look is at all operations: see lookForDue.
	whole atomic.Bool
	// leases and pending are the leases of operations, and the requests that may have taken place,
	// as this process has observed them: the times in rows are those of the clocks of machines.
	leases, pending observations
}

// runWholeLooks has all operations looked at every lookInterval, until ctx ends.
func (s *Service) runWholeLooks(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		s.dueNow.whole.Store(true)
		s.Wake()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// An observations has what this process reads repeatedly, by operation: what it is and since when
// it has not changed.
type observations map[compute.ID]observation

type observation struct {
	what  string
	since time.Duration
}

// age returns for how long something has been observed without a change, at a time: 0 at first.
func (o *observations) age(id compute.ID, what string, at time.Duration) time.Duration {
	if last, ok := (*o)[id]; ok && last.what == what {
		return at - last.since
	}
	if *o == nil {
		*o = observations{}
	}
	(*o)[id] = observation{what, at}
	return 0
}

// notDue reports whether a worker may have an operation, or it rests. A lease has expired when this
// process has observed for its time that it was not renewed, whatever the clocks of the machines
// say. A rest may be too short, and it ends by the clock: one that would end later than the longest
// from now was written before the clock was set back. Callers have locked mu.
func (s *Service) notDue(row compute.OperationRow) bool {
	if row.Worker == "" {
		rest := row.Lease.Sub(s.rules.Now().UTC().Truncate(time.Second))
		return 0 < rest && rest <= max(s.rules.Settings.LeaseTime, retryDelay)
	}
	return s.dueNow.leases.age(row.ID, row.Worker+" "+row.Lease.String(), s.elapsed()) < s.rules.Settings.LeaseTime
}

// take takes the lease of an operation that is due, with those that are carried out together with
// it; none when none is due. It looks by reading, and writes only to take one.
func (s *Service) take(ctx context.Context) ([]*job, error) {
	if s.placement == nil || s.network == nil {
		return nil, nil // operations wait for a service that has peer services
	}
	s.dueNow.mu.Lock()
	defer s.dueNow.mu.Unlock()
	for looked := false; ; {
		if len(s.dueNow.all) == 0 {
			if looked {
				return nil, nil
			}
			looked = true
			whole := s.dueNow.whole.Swap(false)
			err := s.store.View(ctx, func(r compute.Reader) (err error) {
				s.dueNow.all, err = s.lookForDue(r, whole)
				return err
			})
			if err != nil && whole {
				s.dueNow.whole.Store(true)
			}
			if err != nil || len(s.dueNow.all) == 0 {
				return nil, err
			}
		}
		ids := s.dueNow.all[0]
		s.dueNow.all = s.dueNow.all[1:]
		if jobs, err := s.takeAll(ctx, ids); err != nil || len(jobs) > 0 {
			return jobs, err
		}
	}
}

// Look reads the operations that are due, as Run does again and again, and carries none out.
func (s *Service) Look(ctx context.Context) error {
	s.dueNow.mu.Lock()
	defer s.dueNow.mu.Unlock()
	return s.store.View(ctx, func(r compute.Reader) error {
		_, err := s.lookForDue(r, true)
		return err
	})
}

// RunDue carries out operations that are due, one after the other, until none is: those that are
// ready, or of all. Run does so with several workers, again and again.
func (s *Service) RunDue(ctx context.Context, all bool) error {
	if all {
		s.dueNow.whole.Store(true)
	}
	return s.runner.RunDue(ctx)
}

// lookForDue returns the operations that can go on, the oldest first. It reads those that are
// ready, which are few among those that workers have and that wait for hosts. A look at the whole
// finds also what has become due without a change of its row: the lease has expired, or the host
// that is waited for is down or late.
func (s *Service) lookForDue(r compute.Reader, whole bool) (all [][]compute.ID, err error) {
	rows, err := s.mayBeDue(r, whole)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b compute.OperationSummary) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if whole {
		known := make(map[compute.ID]bool, len(rows))
		for _, row := range rows {
			known[row.ID] = true
		}
		unknown := func(id compute.ID, _ observation) bool { return !known[id] }
		maps.DeleteFunc(s.dueNow.leases, unknown)
		maps.DeleteFunc(s.dueNow.pending, unknown)
	}
	waits, err := s.waiting(r, rows)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}      // the element of a reservation
	leased := map[string]bool{} // reservations of which another worker has an operation
	for _, row := range rows {
		together := s.together(row)
		i, listed := at[row.Reservation]
		switch {
		case s.notDue(row.OperationRow):
			leased[row.Reservation] = leased[row.Reservation] || together
		case waits[row.ID]:
		case together && listed:
			all[i] = append(all[i], row.ID)
		default:
			if together {
				at[row.Reservation] = len(all)
			}
			all = append(all, []compute.ID{row.ID})
		}
	}
	for reservation, i := range at {
		if leased[reservation] {
			all[i] = nil
		}
	}
	return slices.DeleteFunc(all, func(ids []compute.ID) bool { return len(ids) == 0 }), nil
}

// mayBeDue are the operations that lookForDue looks at, and others of their reservations if they
// are carried out together.
func (s *Service) mayBeDue(r compute.Reader, whole bool) ([]compute.OperationSummary, error) {
	if whole {
		return compute.Rows[compute.OperationSummary](r)
	}
	rows, err := compute.Rows[compute.OperationSummary](r, compute.Where(compute.ByReady, compute.IsReady))
	if err != nil {
		return nil, err
	}
	var reservations []string
	for _, row := range rows {
		if s.together(row) {
			reservations = append(reservations, row.Reservation)
		}
	}
	if len(reservations) == 0 {
		return rows, nil
	}
	others, err := compute.Rows[compute.OperationSummary](r, compute.Where(compute.ByReservation, reservations...))
	return append(rows, slices.DeleteFunc(others, func(row compute.OperationSummary) bool {
		return row.Ready == compute.IsReady
	})...), err
}

// together reports whether an operation is at a step that those of its reservation carry out
// together.
func (s *Service) together(row compute.OperationSummary) bool {
	return row.Reservation != "" && s.kinds[row.Kind].batched(cursorOf(row.OperationRow))
}

// waiting are the operations that wait for the answer of a host. A host that is down is not waited
// for, nor one that builds a server for too long.
func (s *Service) waiting(r compute.Reader, rows []compute.OperationSummary) (map[compute.ID]bool, error) {
	var ids []compute.ID
	for _, row := range rows {
		if row.Awaits != "" {
			ids = append(ids, row.Server)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByID, ids...))
	if err != nil {
		return nil, err
	}
	servers := make(map[compute.ID]compute.ServerRow, len(all))
	for _, row := range all {
		servers[row.ID] = row.ServerRow
	}
	hosted, err := compute.Rows[compute.HostedRow](r, compute.Where(compute.ByServer, ids...))
	if err != nil {
		return nil, err
	}
	hostOf := make(map[compute.ID]string, len(hosted)) // the host, by event
	for _, row := range hosted {
		if row.Event != "" {
			hostOf[row.Event] = row.Host
		}
	}
	services, err := compute.Rows[compute.ServiceRow](r)
	if err != nil {
		return nil, err
	}
	up := make(map[string]bool, len(services))
	for _, row := range services {
		up[row.Host] = s.rules.IsUp(row)
	}
	waits := map[compute.ID]bool{}
	for _, row := range rows {
		host, unanswered := hostOf[row.Awaits]
		server := servers[row.Server]
		waits[row.ID] = row.Awaits != "" && unanswered && up[host] && !s.kinds.deletes(server, row.OperationRow) &&
			s.kinds.overdue(s.rules, server, row.OperationRow) == 0
	}
	return waits, nil
}

// overdue is the time within which the host of a server should have done its part and has not; 0
// when it may still.
func (k kinds) overdue(rules compute.Rules, server compute.ServerRow, row compute.OperationRow) time.Duration {
	limit := k[row.Kind].limit
	if limit == nil || row.Back {
		return 0
	}
	most := limit(rules.Settings)
	if most > 0 && rules.Now().UTC().Truncate(time.Second).Sub(server.CreatedAt) > most {
		return most
	}
	return 0
}

// takeAll takes operations, unless one of them is not due any more.
func (s *Service) takeAll(ctx context.Context, ids []compute.ID) (jobs []*job, err error) {
	err = s.Update(ctx, func(c *Change) error {
		jobs = nil
		rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByID, ids...))
		if err != nil || len(rows) < len(ids) || slices.ContainsFunc(rows, s.notDue) {
			return err
		}
		slices.SortFunc(rows, func(a, b compute.OperationRow) int {
			return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID))
		})
		var taken []*job
		for _, row := range rows {
			server, err := compute.One[compute.ServerRow](c, compute.Where(compute.ByID, row.Server))
			if err != nil {
				return err
			}
			row.Worker, row.Lease, row.Awaits = s.newWorker(), c.leaseEnd(), ""
			if c.kinds.deletes(server, row) {
				err = c.becomeDelete(&row, server)
			} else {
				err = c.Replace(&row)
			}
			if err != nil {
				return err
			}
			j := &job{s: s, id: row.ID, subject: row.Server, worker: row.Worker}
			if err := j.load(row); err != nil {
				return err
			}
			taken = append(taken, j)
		}
		jobs = taken
		return nil
	})
	return jobs, err
}
