package lifecycle

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
)

// olderAgent is how the errors begin of agents that do not know all of their lists.
const olderAgent = "the agent of the host is older than the compute service"

// setDesired changes what a server's host is to make of it.
func (c *Change) setDesired(server compute.ServerRow, fn func(*compute.HostedRow)) error {
	return c.setDesiredAt(server, server.Host, fn)
}

// setDesiredAt changes what a host is to make of a server.
func (c *Change) setDesiredAt(server compute.ServerRow, host string, fn func(*compute.HostedRow)) error {
	row, exists, err := compute.Hosted(c, server.ID, host)
	if err != nil {
		return err
	}
	if !exists {
		row.DesiredState, row.CreatedAt = server.DesiredState(), c.At
	}
	if fn(&row); exists {
		return c.Replace(&row)
	}
	return c.Insert(&row)
}

// unanswered reports whether a host has yet to report the result of an event.
func (c *Change) unanswered(server, event compute.ID) (bool, error) {
	rows, err := compute.Rows[compute.HostedRow](c, compute.Where(compute.ByServer, server))
	return slices.ContainsFunc(rows, func(row compute.HostedRow) bool { return row.Event == event }), err
}

// StopWaiting makes the operation of a server ready that waits for an event, any if it is "".
func (c *Change) StopWaiting(server, event compute.ID) error {
	rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByServer, server))
	if err != nil || len(rows) == 0 || rows[0].Awaits == "" || event != "" && rows[0].Awaits != event {
		return err
	}
	rows[0].Awaits = ""
	return c.Replace(&rows[0])
}

// setUnplugged says whether the host is to have a port of a server.
func (c *Change) setUnplugged(server, port compute.ID, unplugged bool) error {
	rows, err := compute.Rows[compute.PortRow](c, compute.Where(compute.ByPort, port),
		compute.Where(compute.ByServer, server))
	if err != nil || len(rows) == 0 {
		return err
	}
	rows[0].Unplugged = unplugged
	return c.Replace(&rows[0])
}

// hostDid stores what a host has done. A failure ends the event of an action. Without one, the host
// tries by itself to destroy a server again, and gets any other command again.
func (c *Change) hostDid(host string, r hostlist.Result) error {
	row, listed, err := compute.Hosted(c, compute.ID(r.Server), host)
	if err != nil || !listed || r.Event == "" || row.Event != compute.ID(r.Event) {
		return err
	}
	events, err := compute.Rows[compute.EventRow](c, compute.Where(compute.ByID, row.Event))
	if err != nil {
		return err
	}
	awaited := len(events) > 0 && events[0].Result == ""
	switch {
	case r.Error != "" || !row.Usable():
	case r.Generation != row.Generation:
		r.Error, r.Everywhere = olderAgent+" and cannot build a server again", false
	case r.Power != row.DesiredPower():
		r.Error, r.Everywhere = olderAgent+" and cannot pause or suspend servers", false
	}
	switch {
	case r.Error != "" && !awaited && row.DesiredState == compute.DesiredAbsent:
		return nil
	case r.Error != "" && !awaited:
		row.Refused = row.Event
	case r.Error != "":
		t := compute.StepError{Text: r.Error, Details: r.Error}
		if r.Everywhere {
			t.Details = abortPrefix + t.Details
		}
		err = c.EndEvent(row.Event, &t)
	case awaited:
		// the event ends with what follows: ports are unbound, and placement is changed
		events[0].Result = compute.EventSucceeded
		err = c.Replace(&events[0])
	}
	if err == nil {
		err = c.StopWaiting(row.Server, row.Event)
	}
	if err != nil {
		return err
	}
	if row.DesiredState == compute.DesiredAbsent && r.Error == "" {
		if _, err := c.Remove(&compute.HostedRow{}, compute.Where(compute.ByServer, row.Server),
			compute.Where(compute.ByHost, host)); err != nil {
			return err
		}
		return c.sourceIsClean(row.Server, host)
	}
	if row.Event = ""; r.Error == "" && row.DesiredState != compute.DesiredRetained && len(row.Slots) > 0 {
		moves, err := compute.Rows[compute.MigrationRow](c, compute.Where(compute.ByServer, row.Server))
		if err != nil {
			return err
		}
		// it may come back
		if !slices.ContainsFunc(moves, func(m compute.MigrationRow) bool { return m.Source == host && !m.Over() }) {
			row.Slots = nil // it has what its ports have
		}
	}
	return c.Replace(&row)
}

// Done stores results of a host. It ignores the result of an event that has ended or is not the
// host's any more.
func (s *Service) Done(ctx context.Context, host string, results []hostlist.Result) error {
	if len(results) == 0 {
		return nil
	}
	err := s.Update(ctx, func(c *Change) error {
		if err := compute.Reported(c, host); err != nil {
			return err
		}
		for _, r := range results {
			if err := c.hostDid(host, r); err != nil {
				return err
			}
		}
		return nil
	})
	s.Wake()
	return err
}
