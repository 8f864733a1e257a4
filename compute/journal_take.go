package compute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// take takes the lease of an operation that is due, with those that are carried out together with
// it; none when none is due.
func (s *Service) take(ctx context.Context) (jobs []*job, err error) {
	if s.placement == nil || s.network == nil {
		return nil, nil // operations wait for a service that has neighbours
	}
	err = s.update(ctx, func(c *change) error {
		jobs = nil
		rows, err := Rows[OperationRow](c)
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b OperationRow) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
		for _, row := range rows {
			if row.Lease.After(c.at) {
				continue
			}
			due, err := c.isDue(row)
			if err != nil {
				return err
			}
			if !due {
				continue
			}
			if jobs, err = c.together(row, rows); err != nil || len(jobs) > 0 {
				return err
			}
		}
		return nil
	})
	return jobs, err
}

// isDue reports whether an operation can go on.
func (c *change) isDue(row OperationRow) (bool, error) {
	if row.Step != stepHost || row.Kind == attach { // the request that attaches waits, and has it
		return true, nil
	}
	server, err := One[ServerRow](c, Where(ByID, row.Server))
	if err != nil || server.Task == Deleting && row.Kind != remove {
		return err == nil, err
	}
	b, err := row.body()
	if err != nil || b.Event == "" {
		return err == nil, err
	}
	_, waiting, err := c.answer(b.Event, server, row.Kind)
	return !waiting, err
}

// answer returns the event that a host must end, and whether to wait for it. A host that is down is
// not waited for when the step can do without it, nor is a build that takes too long: the event is
// then a failed one without an end.
func (c *change) answer(event ID, server ServerRow, kind string) (EventRow, bool, error) {
	row, err := One[EventRow](c, Where(ByID, event))
	if err != nil || row.Result != "" {
		return row, false, err
	}
	if kind != boot && kind != remove {
		return row, true, nil
	}
	if most := c.settings.BuildTime; kind == boot && most > 0 && c.at.Sub(server.CreatedAt) > most {
		row.Result, row.Details = failed, fmt.Sprintf("it is not built after %.0f seconds", most.Seconds())
		row.Traceback = abortPrefix + row.Details
		return row, false, nil
	}
	up, err := c.isUp(server.Host)
	if !up {
		row.Result, row.Details = failed, "its host is down"
	}
	return row, up, err
}

// isUp reports whether a host has reported lately.
func (c *change) isUp(host string) (bool, error) {
	services, err := Rows[ServiceRow](c, Where(ByHost, host))
	return len(services) > 0 && c.up(services[0]), err
}

// together takes an operation. Servers that are created together are scheduled
// together.
func (c *change) together(first OperationRow, all []OperationRow) ([]*job, error) {
	rows := []OperationRow{first}
	if scheduled(first) {
		b, err := first.body()
		if err != nil {
			return nil, err
		}
		rows = nil
		for _, row := range all {
			other, err := row.body()
			if err != nil {
				return nil, err
			}
			if !scheduled(row) || other.Reservation != b.Reservation {
				continue
			}
			if row.Lease.After(c.at) {
				return nil, nil // another worker has one of them
			}
			rows = append(rows, row)
		}
	}
	jobs, worker := make([]*job, len(rows)), c.newWorker()
	for i, row := range rows {
		b, err := row.body()
		if err != nil {
			return nil, err
		}
		row.Worker, row.Lease = worker, c.at.Add(c.settings.LeaseTime)
		if err := c.Replace(&row); err != nil {
			return nil, err
		}
		jobs[i] = &job{s: c.Service, op: row, b: b}
	}
	return jobs, nil
}

// scheduled reports whether an operation has to choose a host for a new server.
func scheduled(row OperationRow) bool {
	return row.Kind == boot && (row.Step == stepPorts || row.Step == stepClaim)
}
