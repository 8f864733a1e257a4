package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
)

// migration returns the migration of an operation, with what the server had before it.
func (j *job) migration(ctx context.Context) (m MigrationRow, f former, err error) {
	err = j.view(ctx, func(r Reader) error {
		m, err = One[MigrationRow](r, Where(ByID, j.b.Migration))
		return err
	})
	if err == nil {
		f, err = m.former()
	}
	return m, f, err
}

// moveTo chooses a host, and gives the server the allocations there and its migration those on the source.
func (j *job) moveTo(ctx context.Context) (next, error) {
	err := errNotTaken
	if j.b.Claim != nil { // chosen by an earlier run
		err = j.exchange(ctx)
	}
	if errors.Is(err, errNotTaken) {
		if err = j.noteFormer(ctx); err == nil {
			err = j.mayForce()
		}
		if err == nil {
			err = j.s.place(ctx, []*job{j}, j.ports)
		}
	}
	var f *Failure
	switch {
	case errors.As(err, &f):
		failure := f.of(j.op.Server)
		return next{Back: true, Change: j.stepFailed(f.Details, &failure)}, nil
	case errors.Is(err, allocations.ErrNotAllocated):
		return next{Back: true, Change: j.stepFailed(err.Error(), err)}, nil
	case err != nil:
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if err := c.endAll(j.b.Action, nil); err != nil {
			return err
		}
		var checks [][2]string
		switch j.op.Kind {
		case live:
			checks = [][2]string{{"compute_check_can_live_migrate_destination", j.b.Claim.Host}, {"compute_check_can_live_migrate_source", row.Host}}
		case move:
			checks = [][2]string{{"compute_prep_resize", j.b.Claim.Host}}
			row.Task = ResizeMigrating
		}
		for _, check := range checks {
			e, err := c.begin(j.b.Action, check[0], check[1])
			if err != nil {
				return err
			}
			if err := c.end(e.ID, nil); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// mayForce refuses to force a server with guaranteed ports to a host, as Nova does.
func (j *job) mayForce() error {
	if !j.b.Forced || !slices.ContainsFunc(j.ports, func(p Port) bool { return len(p.allocation()) > 0 }) {
		return nil
	}
	return &Failure{Code: 500, Message: fmt.Sprintf("No valid host was found. Unable to move instance %s to host %s. The instance has complex allocations "+
		"on the source host so move cannot be forced.", j.op.Server, j.b.Host)}
}

// noteFormer reads the server's ports, and stores what it has on the source.
func (j *job) noteFormer(ctx context.Context) error {
	m, was, err := j.migration(ctx)
	if err != nil {
		return err
	}
	held, err := j.readSettled(ctx)
	if err != nil {
		return err
	}
	was.Amounts = held.Amounts
	return j.save(ctx, func(c *change, _ *ServerRow) error {
		was.Ports = nil
		devices, err := c.devicesOf(m.SourceNode)
		if err != nil {
			return err
		}
		for _, p := range j.ports {
			if p.Host != m.Source {
				continue
			}
			one := formerPort{Port: p.ID, Allocation: p.Allocation, Amounts: p.allocation()}
			if i := slices.IndexFunc(devices, func(d Device) bool { return p.Slot != "" && d.Slot == p.Slot }); i >= 0 {
				one.Device = &devices[i]
			}
			was.Ports = append(was.Ports, one)
		}
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Former, err = json.Marshal(was) })
	})
}

// readOwnPorts reads the ports that the server has now, in their order.
func (j *job) readOwnPorts(ctx context.Context) error {
	var rows []ServerPort
	err := j.view(ctx, func(r Reader) error {
		all, err := portsOf(r, []ServerRow{{ID: j.op.Server}})
		rows = all[j.op.Server]
		return err
	})
	if err != nil {
		return err
	}
	j.b.Networks = nil
	for _, row := range rows {
		j.b.Networks = append(j.b.Networks, NetworkSpec{Port: row.Port, Network: row.Network, Tag: row.Tag})
	}
	there, err := j.s.portsByID(ctx, j.b.Networks)
	if err != nil {
		return err
	}
	j.b.Networks = slices.DeleteFunc(j.b.Networks, func(n NetworkSpec) bool { return there[n.Port].Server != string(j.op.Server) })
	j.ports = nil
	for _, n := range j.b.Networks {
		j.ports = append(j.ports, there[n.Port])
	}
	return nil
}

// readSettled returns what the server has, and reads its ports, as both are at one time: the network service has nothing to
// add or to release for them then.
func (j *job) readSettled(ctx context.Context) (held allocations.Consumer, err error) {
	same := func(a, b Port) bool { return a.ID == b.ID && a.allocation().Equal(b.allocation()) }
	for range tries {
		if err := j.readOwnPorts(ctx); err != nil {
			return held, err
		}
		before := j.ports
		if err := j.settleReleases(ctx); err != nil {
			return held, err
		}
		if held, err = j.s.placement.Allocations(ctx, string(j.op.Server)); err != nil {
			return held, err
		}
		if err := j.readOwnPorts(ctx); err != nil {
			return held, err
		}
		if slices.EqualFunc(before, j.ports, same) {
			return held, nil
		}
	}
	return held, fmt.Errorf("reading the ports of server %s: %w", j.op.Server, ErrRevision)
}

// goesTo stores that the server moves to a host.
func (c *change) goesTo(j *job, to selection.Claim) error {
	status := map[string]string{move: migrating, live: preparing, evacuate: preMigrating}[j.op.Kind]
	return c.setMigration(j.b.Migration, func(m *MigrationRow) { m.Dest, m.DestNode, m.Status = to.Host, to.Node, status })
}

// exchange gives the server the allocations that were chosen, and its migration those that it has. The error is
// errNotTaken when another candidate should be tried.
func (j *job) exchange(ctx context.Context) error {
	err := j.exchanging(false).Begin(ctx, j.b.Claim.Amounts)
	switch {
	case errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration):
		return errNotTaken
	case errors.Is(err, allocations.ErrUnsettled), errors.Is(err, allocations.ErrEnded), errors.Is(err, allocations.ErrNotAllocated):
		return err
	case errors.As(err, new(*operation.Unanswered)):
		return errors.New(err.Error()) // it was found not to have taken place
	}
	return err
}

// exchanging is the exchange of allocations between the server and its migration, or its way back.
func (j *job) exchanging(back bool) *allocations.Exchange {
	r := &exchangeRecord{operationRecord{j, 1}, &j.b.Exchange}
	if back {
		r.attempt = &j.b.Return
	}
	return &allocations.Exchange{Placement: j.s.placement, Server: string(j.op.Server), Migration: string(j.b.Migration), Record: r, Now: j.s.rules.Now}
}

// An exchangeRecord stores the attempts at an exchange, or at its way back, in the body of its operation.
type exchangeRecord struct {
	operationRecord
	attempt **allocations.Attempt
}

// Load returns what the operation has.
func (r *exchangeRecord) Load(context.Context) (allocations.State, error) {
	return allocations.State{Consumer: string(r.j.op.Server), Attempt: *r.attempt}, nil
}

// Note stores an attempt.
func (r *exchangeRecord) Note(ctx context.Context, a allocations.Attempt) error {
	*r.attempt = &a
	return r.commit(ctx)
}

// Result stores that an attempt has been settled. Whether it took place is read from placement, where the migration has
// allocations then.
func (r *exchangeRecord) Result(ctx context.Context, _ allocations.Outcome) error {
	*r.attempt = nil
	return r.commit(ctx)
}

// stepFailed is the effect of a failure of an operation that is undone: the events of its action that have not ended end with it.
func (j *job) stepFailed(details string, cause error) effect {
	return func(c *change, _ *ServerRow) error {
		j.b.Asked = ""
		return c.endAll(j.b.Action, &stepError{text: forUser(cause), details: details})
	}
}

// bindEvents are the events, on the destination, in which Nova binds the ports of servers that move and makes the bindings active:
// no host is asked for that here.
var bindEvents = map[[2]string]string{
	{move, stepBind}:         "compute_finish_resize",
	{live, stepBind}:         "compute_pre_live_migration",
	{live, stepActivate}:     "compute_post_live_migration_at_destination",
	{evacuate, stepBind}:     "compute_rebuild_instance",
	{evacuate, stepActivate}: "compute_rebuild_instance",
}

// notBoundThere is stepFailed for ports that could not be bound. A move has an event for it.
func (j *job) notBoundThere(cause error) effect {
	return func(c *change, row *ServerRow) error {
		if event, ok := bindEvents[[2]string{j.op.Kind, j.op.Step}]; ok {
			m, err := One[MigrationRow](c, Where(ByID, j.b.Migration))
			if err != nil {
				return err
			}
			if _, err := c.begin(j.b.Action, event, m.Dest); err != nil {
				return err
			}
		}
		return j.stepFailed(cause.Error(), cause)(c, row)
	}
}

// leaveSource has the source stop the server and keep it.
func (j *job) leaveSource(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.b.Asked == "" {
		p, err := j.parting(ctx, m.Source)
		if err != nil {
			return next{}, err
		}
		return next{}, j.ask(ctx, m.Source, "compute_resize_instance", func(_ *ServerRow, row *HostedRow) {
			row.Wish, row.Boot = WishKept, ""
			row.Slots = append(row.Slots, p.slots(p.ports...)...)
		})
	}
	return j.asked(ctx, m.Source, func(c *change, row *ServerRow) error {
		row.Host, row.Node, row.Task, row.Progress = m.Dest, m.DestNode, ResizeMigrated, 0
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = postMigrating })
	})
}

// ask has a host do something to the server, as an event of the operation's action, and waits for it.
func (j *job) ask(ctx context.Context, host, event string, wish func(*ServerRow, *HostedRow)) error {
	err := j.save(ctx, func(c *change, row *ServerRow) error {
		begun, err := c.begin(j.b.Action, event, host)
		if err != nil {
			return err
		}
		j.b.Asked = begun.ID
		return c.wishAt(*row, host, func(is *HostedRow) {
			wish(row, is)
			is.Event = begun.ID
		})
	})
	if err == nil {
		err = &operation.Wait{Event: string(j.b.Asked)}
	}
	return err
}

// endAsked ends the event that a host was asked to end.
func (j *job) endAsked(c *change) error {
	err := c.end(j.b.Asked, nil)
	j.b.Asked = ""
	return err
}

// bindToHost binds the ports that the server has now to its new host.
func (j *job) bindToHost(ctx context.Context) (next, error) {
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	if err := j.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	ports, err := j.bindAll(ctx, server)
	switch {
	case err == nil:
		return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, ports) }}, nil
	case undecided(ctx, err):
		return next{}, err
	}
	return next{Back: true, Change: j.notBoundThere(err)}, nil
}

// buildAtDestination has the new host build the server, with the new flavor.
func (j *job) buildAtDestination(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.b.Asked == "" {
		return next{}, j.ask(ctx, m.Dest, "compute_finish_resize", func(server *ServerRow, row *HostedRow) {
			server.Flavor, server.FlavorID, server.Task = j.b.Flavor, j.b.FlavorID, ResizeFinish
			row.Wish, row.Boot = was.wish(), ""
			row.Generation++
		})
	}
	return j.asked(ctx, m.Dest, func(c *change, row *ServerRow) error {
		row.State, row.Task, row.LaunchedAt = Resized, "", c.At
		return c.setMigration(m.ID, func(m *MigrationRow) { m.Status = finished })
	})
}

// wish is what a host was to make of the server.
func (f former) wish() string { return ServerRow{State: f.State, Power: f.Power}.usual() }

// leaveDestination has the destination destroy the server, unless that is the source as well.
func (j *job) leaveDestination(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Dest != m.Source {
		if n, err := j.destroyAt(ctx, m.Dest); err != nil {
			return n, err
		}
	}
	return next{Change: func(c *change, _ *ServerRow) error {
		if j.b.Event == "" {
			return nil
		}
		err := c.end(j.b.Event, nil)
		j.b.Event = ""
		return err
	}}, nil
}

// bindToSource binds the server's ports to its former host again, as they were. A port that cannot be is a
// failure of the server, which comes back without it.
func (j *job) bindToSource(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	zone, err := j.s.zoneOf(ctx, m.Source)
	if err != nil {
		return next{}, own(err)
	}
	if err := j.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	var trouble error
	for i, p := range j.ports {
		f, ok := was.port(p.ID)
		if !ok || p.Host == m.Source && m.Source != m.Dest && !p.Failed() {
			continue // it is not the server's former one, or was not bound to the destination
		}
		b := Binding{Server: j.op.Server, Owner: j.s.owner(zone), Host: m.Source, Device: f.Device}
		bound := p
		if b.Allocation, err = f.serving(p.Asks); err == nil {
			bound, err = j.bindPort(ctx, p, b)
		}
		switch {
		case undecided(ctx, err), errors.Is(err, ErrRevision), errors.Is(err, ErrPortChanged): // since it was read
			return next{}, err
		case errors.Is(err, ErrNoPort), code(err) == "PortInUse":
		case err != nil:
			trouble = err
		default:
			j.ports[i] = bound
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if trouble != nil {
			j.b.Trouble = &Failure{Code: 500, Message: forUser(trouble), Details: trouble.Error()}
		}
		return c.seePorts(row.ID, j.ports)
	}}, nil
}

// returnToSource has the source run the server again.
func (j *job) returnToSource(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if j.b.Asked == "" {
		event := "compute_finish_revert_resize"
		if j.op.Kind == live {
			event = "compute_rollback_live_migration"
		}
		return next{}, j.ask(ctx, m.Source, event, func(server *ServerRow, row *HostedRow) {
			server.Host, server.Node, server.Flavor, server.FlavorID = m.Source, m.SourceNode, was.Flavor, was.FlavorID
			if row.Wish != WishKept && m.Source == m.Dest { // it was built with the new flavor
				row.Generation++
			}
			row.Wish, row.Boot = was.wish(), ""
		})
	}
	event, err := j.answerOf(ctx, m.Source)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if event.Result == failed && event.Details != hostIsDown { // which runs it when it is back
			j.b.Trouble = &Failure{Code: 500, Message: event.Details, Details: event.Traceback}
		}
		if err := c.wishAt(*row, m.Source, func(row *HostedRow) { row.Event, row.Slots = "", nil }); err != nil {
			return err
		}
		return j.endAsked(c)
	}}, nil
}

// takeBackSource gives the server the allocations that its migration has, as its ports ask for them now. A port that was given
// more while it was on the destination, where the source has not as much, is a failure of the server: the port is bound without
// any provider, and nothing is allocated for it until it is healed.
func (j *job) takeBackSource(ctx context.Context) (next, error) {
	m, was, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	err = j.exchanging(true).Revert(ctx)
	if errors.As(err, new(*operation.Unanswered)) && !errors.Is(err, allocations.ErrUnsettled) {
		err = errors.New(err.Error()) // it was found not to have taken place
	}
	if err != nil {
		return next{}, err
	}
	err = allocations.Retry(ctx, allocations.Pause, func() error {
		err := j.followPorts(ctx, m.Source, was)
		if errors.Is(err, allocations.ErrCapacity) {
			if err = j.forgetGrown(ctx, m.Source, was); err == nil {
				err = j.followPorts(ctx, m.Source, was)
			}
		}
		return err
	})
	return next{Change: func(c *change, row *ServerRow) error {
		for _, p := range j.ports {
			f, ok := was.port(p.ID)
			if ok && p.Host == m.Source && len(f.Amounts) > 0 && len(p.Asks.Groups) > 0 && p.Allocation.Empty() {
				j.b.Trouble = &Failure{
					Code: 500, Message: "The former host does not have what the ports of the server are guaranteed.",
					Details: fmt.Sprintf("host %s does not have what port %s asks for, which is bound without a guarantee", m.Source, p.ID),
				}
			}
		}
		return c.seePorts(row.ID, j.ports)
	}}, err
}

// forgetGrown has the ports that are bound to the source, and ask for more than they had there, name no provider.
func (j *job) forgetGrown(ctx context.Context, source string, was former) error {
	for _, p := range j.ports {
		f, ok := was.port(p.ID)
		if !ok || p.Host != source {
			continue
		}
		grown := false
		for provider, asked := range p.allocation() {
			for class, n := range asked {
				grown = grown || n > f.Amounts[provider][class]
			}
		}
		if !grown {
			continue
		}
		if _, err := j.s.network.NameProviders(ctx, p.ID, p.Revision, guarantee.ProfileAllocation{}); err != nil && !errors.Is(err, ErrNoPort) {
			return err
		}
	}
	return nil
}

// followPorts makes what a server that is back on its former host has for its ports what they ask for now. Ports may have been
// removed, or have got another policy: what they had there was the migration's then, which the network service does not
// change.
func (j *job) followPorts(ctx context.Context, source string, was former) error {
	held, err := j.readSettled(ctx)
	if err != nil {
		return err
	}
	differences := allocations.Amounts{}
	for _, f := range was.Ports {
		i := slices.IndexFunc(j.ports, func(p Port) bool { return p.ID == f.Port })
		switch {
		case i < 0:
			differences = differences.Plus(f.Amounts.Negated())
		case j.ports[i].Host == source: // another one could not be bound there, and the server is in error
			differences = differences.Plus(f.Amounts.Negated()).Plus(j.ports[i].allocation())
		}
	}
	want := held.Amounts.With(was.Amounts.Plus(differences).Concerned(differences))
	if want.Equal(held.Amounts) {
		return nil
	}
	held.Amounts = want
	return j.s.placement.SetAllocations(ctx, string(j.op.Server), held)
}

// movedBack is the effect of a move that was undone, or that was reverted.
func (j *job) movedBack() effect {
	return func(c *change, row *ServerRow) error {
		m, err := One[MigrationRow](c, Where(ByID, j.b.Migration))
		if err != nil {
			return err
		}
		was, err := m.former()
		if err != nil {
			return err
		}
		row.State, row.Task, row.Power = was.State, "", was.Power
		status := migrationFail
		switch {
		case m.Status == reverting:
			status = reverted
		case j.b.Abort:
			status = cancelled
		}
		if err := c.setMigration(m.ID, func(m *MigrationRow) { m.Status = status }); err != nil {
			return err
		}
		if j.b.Trouble == nil {
			return c.endAll(j.b.Action, nil)
		}
		if err := c.endAll(j.b.Action, &stepError{text: j.b.Trouble.Message, details: j.b.Trouble.Details}); err != nil {
			return err
		}
		return c.inError(row, *j.b.Trouble)
	}
}

// destroyAtSource has the source destroy what it kept of a server whose move is confirmed.
func (j *job) destroyAtSource(ctx context.Context) (next, error) {
	m, _, err := j.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Source == m.Dest {
		return next{Change: func(c *change, row *ServerRow) error {
			return c.wish(*row, func(is *HostedRow) { is.Slots = nil })
		}}, nil
	}
	return j.destroyAt(ctx, m.Source)
}

// releaseSource deletes the allocations of the migration.
func (j *job) releaseSource(ctx context.Context) (next, error) {
	return next{}, j.exchanging(true).Confirm(ctx)
}

// moveConfirmed is the effect of a confirmation.
func (j *job) moveConfirmed() effect {
	return func(c *change, row *ServerRow) error {
		row.State, row.Task = Active, ""
		if row.Power == ShutDown {
			row.State = Stopped
		}
		if err := c.setMigration(j.b.Migration, func(m *MigrationRow) { m.Status = confirmed }); err != nil {
			return err
		}
		return c.endAll(j.b.Action, nil)
	}
}

// endAll ends the events of an action that have not ended.
func (c *change) endAll(action ID, t *stepError) error {
	events, err := Rows[EventRow](c, Where(ByAction, action))
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := c.end(e.ID, t); err != nil { // one that has ended stays as it is
			return err
		}
	}
	return nil
}
