package compute

import (
	"slices"

	"github.com/berthcloud/berth/compute/hostlist"
)

// olderAgent is how the errors begin of agents that do not know all of their lists.
const olderAgent = "the agent of the host is older than the compute service"

// hosted returns the row of a server on a host, and whether there is one.
func hosted(r Reader, server ID, host string) (HostedRow, bool, error) {
	rows, err := Rows[HostedRow](r, Where(ByServer, server), Where(ByHost, host))
	if err != nil || len(rows) == 0 {
		return HostedRow{Server: server, Host: host}, false, err
	}
	return rows[0], true, nil
}

// wish changes what a server's host is to make of it.
func (c *change) wish(server ServerRow, fn func(*HostedRow)) error {
	return c.wishAt(server, server.Host, fn)
}

// wishAt changes what a host is to make of a server.
func (c *change) wishAt(server ServerRow, host string, fn func(*HostedRow)) error {
	row, is, err := hosted(c, server.ID, host)
	if err != nil {
		return err
	}
	if !is {
		row.Wish, row.CreatedAt = server.usual(), c.At
	}
	if fn(&row); is {
		return c.Replace(&row)
	}
	return c.Insert(&row)
}

// usual is the wish for a server that nothing is done to. Its state may have been set by an
// administrator since its host reported its power.
func (s ServerRow) usual() string {
	switch {
	case s.State == Suspended:
		return WishSuspended
	case s.State == Stopped || s.Power == ShutDown:
		return WishStopped
	case s.State == Paused || s.Power == PowerPaused:
		return WishPaused
	}
	return WishRunning
}

// usable reports whether the host is to have the whole server: it neither only keeps what the
// server may come back to, nor destroys it.
func (h *HostedRow) usable() bool { return h.Wish != WishKept && h.Wish != WishGone }

// listedPower is the wish as hostlist.Server.Power has it.
func (h *HostedRow) listedPower() string {
	switch h.Wish {
	case WishPaused:
		return hostlist.Paused
	case WishSuspended:
		return hostlist.Suspended
	}
	return ""
}

// unanswered reports whether a host has yet to report the result of an event.
func (c *change) unanswered(server, event ID) (bool, error) {
	rows, err := Rows[HostedRow](c, Where(ByServer, server))
	return slices.ContainsFunc(rows, func(row HostedRow) bool { return row.Event == event }), err
}

// stopWaiting makes the operation of a server ready that waits for an event, any if it is "".
func (c *change) stopWaiting(server, event ID) error {
	rows, err := Rows[OperationRow](c, Where(ByServer, server))
	if err != nil || len(rows) == 0 || rows[0].Awaits == "" || event != "" && rows[0].Awaits != event {
		return err
	}
	rows[0].Awaits = ""
	return c.Replace(&rows[0])
}

// setUnplugged says whether the host is to have a port of a server.
func (c *change) setUnplugged(server, port ID, is bool) error {
	rows, err := Rows[PortRow](c, Where(ByPort, port), Where(ByServer, server))
	if err != nil || len(rows) == 0 {
		return err
	}
	rows[0].Unplugged = is
	return c.Replace(&rows[0])
}

// hostDid stores what a host has done. A failure ends the event of an action. Without one, the host tries by
// itself to destroy a server again, and gets any other command again.
func (c *change) hostDid(host string, r Result) error {
	row, is, err := hosted(c, ID(r.Server), host)
	if err != nil || !is || r.Event == "" || row.Event != ID(r.Event) {
		return err
	}
	events, err := Rows[EventRow](c, Where(ByID, row.Event))
	if err != nil {
		return err
	}
	awaited := len(events) > 0 && events[0].Result == ""
	switch {
	case r.Error != "" || !row.usable():
	case r.Generation != row.Generation:
		r.Error, r.Everywhere = olderAgent+" and cannot build a server again", false
	case r.Power != row.listedPower():
		r.Error, r.Everywhere = olderAgent+" and cannot pause or suspend servers", false
	}
	switch {
	case r.Error != "" && !awaited && row.Wish == WishGone:
		return nil
	case r.Error != "" && !awaited:
		row.Refused = row.Event
	case r.Error != "":
		t := stepError{text: r.Error, details: r.Error}
		if r.Everywhere {
			t.details = abortPrefix + t.details
		}
		err = c.end(row.Event, &t)
	case awaited:
		err = c.answered(row.Event)
	}
	if err == nil {
		err = c.stopWaiting(row.Server, row.Event)
	}
	if err != nil {
		return err
	}
	if row.Wish == WishGone && r.Error == "" {
		if _, err := c.Remove(&HostedRow{}, Where(ByServer, row.Server), Where(ByHost, host)); err != nil {
			return err
		}
		return c.sourceIsClean(row.Server, host)
	}
	if row.Event = ""; r.Error == "" && row.Wish != WishKept && len(row.Slots) > 0 {
		moves, err := Rows[MigrationRow](c, Where(ByServer, row.Server))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(moves, func(m MigrationRow) bool { return m.Source == host && !m.over() }) { // it may come back
			row.Slots = nil // it has what its ports have
		}
	}
	return c.Replace(&row)
}
