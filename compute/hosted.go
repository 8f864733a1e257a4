package compute

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute/operation"
)

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

// usual is the wish for a server that nothing is done to.
func (s ServerRow) usual() string {
	if s.State == Stopped || s.Power == ShutDown {
		return WishStopped
	}
	return WishRunning
}

// HostIsUp reports whether a host has reported lately.
func (rules Rules) HostIsUp(r Reader, host string) (bool, error) {
	services, err := Rows[ServiceRow](r, Where(ByHost, host))
	return len(services) > 0 && rules.IsUp(services[0]), err
}

// hostIsDown is why a host did not do its part.
const hostIsDown = "its host is down"

// answer returns the event that the server's host was asked to end, and a *operation.Wait while it may still. A
// host that is down is not waited for, nor is one that takes too long: the event has failed then, and has
// no end.
func (j *job) answer(ctx context.Context) (EventRow, error) { return j.answerOf(ctx, "") }

// answerOf is answer for a host, "" for the server's.
func (j *job) answerOf(ctx context.Context, host string) (event EventRow, err error) {
	turned := false
	err = j.view(ctx, func(r Reader) error {
		server, err := One[ServerRow](r, Where(ByID, j.op.Server))
		if err != nil {
			return err
		}
		if turned = j.s.kinds.deletes(server, j.op); turned {
			return nil
		}
		if event, err = One[EventRow](r, Where(ByID, j.b.Asked)); err != nil || event.Result != "" {
			return err
		}
		up, err := j.s.rules.HostIsUp(r, cmp.Or(host, server.Host))
		if err != nil {
			return err
		}
		late := j.s.kinds.overdue(j.s.rules, server, j.op)
		switch {
		case late > 0:
			event.Result, event.Details = failed, fmt.Sprintf("it is not built after %.0f seconds", late.Seconds())
			event.Traceback = abortPrefix + event.Details
			return nil
		case !up:
			event.Result, event.Details = failed, hostIsDown
			return nil
		}
		return &operation.Wait{Event: string(event.ID)}
	})
	if turned {
		err = cmp.Or(j.save(ctx), operation.ErrTurned)
	}
	return event, err
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

// A parting is what is known of a server, or of a port of it, that a host is to let go of.
type parting struct {
	server ServerRow
	row    HostedRow
	is, up bool     // there is a row, and the host is up
	event  EventRow // of the operation, if it has one
	ports  []ServerPort
}

// parting reads it. The host is the server's if it is "".
func (j *job) parting(ctx context.Context, host string) (p parting, err error) {
	err = j.view(ctx, func(r Reader) error {
		if p.server, err = One[ServerRow](r, Where(ByID, j.op.Server)); err != nil {
			return err
		}
		host := cmp.Or(host, p.server.Host)
		if p.row, p.is, err = hosted(r, p.server.ID, host); err != nil || !p.is {
			return err
		}
		if p.up, err = j.s.rules.HostIsUp(r, host); err != nil {
			return err
		}
		if j.b.Event != "" {
			if p.event, err = One[EventRow](r, Where(ByID, j.b.Event)); err != nil {
				return err
			}
		}
		all, err := portsOf(r, []ServerRow{p.server})
		p.ports = all[p.server.ID]
		return err
	})
	return p, err
}

// slots are the PCI devices that the host has given to ports.
func (p parting) slots(ports ...ServerPort) (slots []string) {
	for _, one := range ports {
		if one.Shown.Host == p.row.Host && one.Shown.Slot != "" {
			slots = append(slots, one.Shown.Slot)
		}
	}
	return slots
}

// destroy has the server's host destroy it, or all hosts that have something of it when the server is deleted.
func (j *job) destroy(ctx context.Context) (next, error) {
	hosts := []string{""}
	if j.kind().final {
		var rows []HostedRow
		err := j.view(ctx, func(r Reader) (err error) {
			rows, err = Rows[HostedRow](r, Where(ByServer, j.op.Server))
			return err
		})
		if err != nil {
			return next{}, err
		}
		hosts = nil
		for _, row := range rows {
			hosts = append(hosts, row.Host)
		}
	}
	for _, host := range hosts {
		if n, err := j.destroyAt(ctx, host); err != nil || n.End {
			return n, err
		}
	}
	return next{}, nil
}

// destroyAt has a host destroy the server, "" for the server's host. Nothing is given back before it has; one
// that is down does so when it is back, and is not waited for.
func (j *job) destroyAt(ctx context.Context, host string) (next, error) {
	p, err := j.parting(ctx, host)
	if err != nil || !p.is {
		return next{}, err
	}
	// The refusal of the server's host may end the operation. Any other host tries again by itself.
	var ends ID
	if j.kind().refused != nil && p.row.Host == p.server.Host {
		ends = j.b.Event
	}
	if ends != "" && p.event.Result == failed {
		return next{End: true, Change: j.kind().refused(j, p.event)}, nil
	}
	if p.row.Wish != WishGone || ends != "" && p.row.Event != ends {
		p.row.Event = cmp.Or(ends, NewID())
		err := j.save(ctx, func(c *change, server *ServerRow) error {
			return c.wishAt(*server, p.row.Host, func(row *HostedRow) {
				row.Wish, row.Event, row.Boot = WishGone, p.row.Event, ""
				row.Slots = slices.Compact(slices.Sorted(slices.Values(append(row.Slots, p.slots(p.ports...)...))))
			})
		})
		if err != nil {
			return next{}, err
		}
	}
	if !p.up {
		return next{}, nil
	}
	return next{}, &operation.Wait{Event: string(p.row.Event)}
}

// plug has the host plug in the port that is attached.
func (j *job) plug(ctx context.Context) (next, error) {
	if j.b.Asked == "" {
		asked := j.b.Event
		err := j.save(ctx, func(c *change, server *ServerRow) error {
			j.b.Asked = asked
			if err := c.setUnplugged(server.ID, j.b.Port, false); err != nil {
				return err
			}
			return c.wish(*server, func(row *HostedRow) { row.Event = asked })
		})
		if err == nil {
			err = &operation.Wait{Event: string(asked)}
		}
		return next{}, err
	}
	event, err := j.answer(ctx)
	if err == nil && event.Result == failed {
		err = fmt.Errorf("the host could not plug it in: %s", event.Details)
	}
	return next{}, err
}

// askUnplug asks the host of a server to unplug the port of an operation.
func askUnplug(c *change, server ServerRow, b *body) error {
	b.Asked = cmp.Or(b.Event, NewID())
	if err := c.setUnplugged(server.ID, b.Port, true); err != nil {
		return err
	}
	return c.wish(server, func(row *HostedRow) { row.Event = b.Asked })
}

// unplug has the host unplug the port that is detached. Nothing is given back before it has, unless it is
// down.
func (j *job) unplug(ctx context.Context) (next, error) {
	p, err := j.parting(ctx, "")
	if err != nil {
		return next{}, err
	}
	i := slices.IndexFunc(p.ports, func(one ServerPort) bool { return one.Port == j.b.Port })
	never := !p.is || j.b.Port == "" || i >= 0 && p.ports[i].Unplugged
	switch {
	case p.event.Result == failed && j.kind().refused != nil:
		return next{End: true, Change: j.kind().refused(j, p.event)}, nil
	case j.b.Asked == "" && never, j.b.Asked != "" && (!p.is || p.row.Event != j.b.Asked && p.row.Refused != j.b.Asked):
		return next{}, nil
	}
	if j.b.Asked == "" || p.row.Refused == j.b.Asked {
		err := j.save(ctx, func(c *change, server *ServerRow) error { return askUnplug(c, *server, &j.b) })
		if err != nil {
			return next{}, err
		}
	}
	if p.up {
		return next{}, &operation.Wait{Event: string(j.b.Asked)}
	}
	return next{Change: func(c *change, server *ServerRow) error {
		if i < 0 {
			return nil
		}
		return c.wish(*server, func(row *HostedRow) { row.Slots = append(row.Slots, p.slots(p.ports[i])...) })
	}}, nil
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
// itself to destroy a server again, and is asked again for anything else.
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
	if builds := row.Wish == WishRunning || row.Wish == WishStopped; builds && r.Error == "" && r.Generation != row.Generation {
		r.Error, r.Everywhere = "the agent of the host is older than the compute service and cannot build a server anew", false
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
