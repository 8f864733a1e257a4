package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/guarantee"
)

// A moveJob moves a server to another host, or ends such a move.
type moveJob struct {
	hostCommands
	MoveData
	// ports are the server's as they were read last.
	ports []compute.Port
	// shared is what it has of sharing providers, while a destination is chosen.
	shared []request.Shared
}

// MoveData is what such an operation stores.
type MoveData struct {
	Common
	scheduler.HostChoice
	// Migration is the move that is under way, Flavor what the server gets with it, as in
	// ServerRow.
	Migration compute.ID      `json:"migration,omitempty"`
	Flavor    json.RawMessage `json:"flavor,omitempty"`
	FlavorID  compute.ID      `json:"flavor_id,omitempty"`
	Host      string          `json:"host,omitempty"` // the destination that was requested
	// Exchange and Return are the last writes that gave its allocations to the migration, and back.
	Exchange *allocations.Attempt `json:"exchange,omitempty"`
	Return   *allocations.Attempt `json:"return,omitempty"`
	// DestinationPorts are the server's ports as they are bound to the destination while it is on
	// the source.
	DestinationPorts map[compute.ID]compute.Port `json:"there,omitempty"`
	// Stop says that an evacuated server that ran is stopped at the destination.
	Stop bool `json:"stop,omitempty"`
	// Refused are the destinations that have refused it, each with why. They are not chosen again.
	Refused map[string]string `json:"refused,omitempty"`
	// FinalError is why the server is in error once the operation has ended, nil if it is not.
	FinalError *compute.Failure `json:"trouble,omitempty"`
}

func (m *moveJob) data() operationData { return &m.MoveData }

func (m *moveJob) clear() operationData {
	m.MoveData = MoveData{}
	return &m.MoveData
}

func (m *moveJob) Choice() *scheduler.HostChoice { return &m.HostChoice }

func (m *moveJob) Target() *scheduler.MoveTarget {
	return &scheduler.MoveTarget{Flavor: m.Flavor, FlavorID: m.FlavorID, Shared: m.shared, Refused: m.Refused}
}

// migration returns the migration of an operation, with what the server had before it.
func (m *moveJob) migration(ctx context.Context) (row compute.MigrationRow, source SourceState, err error) {
	err = m.view(ctx, func(r compute.Reader) error {
		row, err = compute.One[compute.MigrationRow](r, compute.Where(compute.ByID, m.Migration))
		return err
	})
	if err == nil {
		source, err = sourceOf(row)
	}
	return row, source, err
}

// chooseDestination chooses a host, and gives the server the allocations there and its migration
// those on the source.
func (m *moveJob) chooseDestination(ctx context.Context) (next, error) {
	if len(m.Refused) > 0 {
		if n, aborted, err := m.aborted(ctx); err != nil || aborted {
			return n, err
		}
	}
	err := scheduler.ErrNotTaken
	if m.Claim != nil { // chosen by an earlier run
		err = m.exchange(ctx)
	}
	if errors.Is(err, scheduler.ErrNotTaken) {
		if err = m.recordSource(ctx); err == nil {
			err = m.mayForce()
		}
		if err == nil && m.op.Kind == KindLive {
			err = m.mayMoveLive(ctx)
		}
		if err == nil {
			err = m.s.scheduler.Place(ctx, []scheduler.Claimant{m}, m.ports)
		}
	}
	var f *compute.Failure
	switch {
	case errors.As(err, &f):
		failure := f.For(m.subject)
		return next{Back: true, Change: m.stepFailed(f.Details, &failure)}, nil
	case errors.Is(err, allocations.ErrNotAllocated):
		return next{Back: true, Change: m.stepFailed(err.Error(), err)}, nil
	case err != nil:
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if err := c.EndEvents(m.Action, nil); err != nil {
			return err
		}
		k := m.kind().move
		for _, check := range []struct{ event, host string }{{k.destCheck, m.Claim.Host}, {k.sourceCheck, row.Host}} {
			if check.event == "" {
				continue
			}
			e, err := c.StartEvent(m.Action, check.event, check.host)
			if err != nil {
				return err
			}
			if err := c.EndEvent(e.ID, nil); err != nil {
				return err
			}
		}
		if k.chosenTask != "" {
			row.Task = k.chosenTask
		}
		return nil
	}}, nil
}

// mayForce refuses to force a server with guaranteed ports to a host, as Nova does.
func (m *moveJob) mayForce() error {
	if !m.Forced || !slices.ContainsFunc(m.ports, func(p compute.Port) bool { return len(p.Allocated()) > 0 }) {
		return nil
	}
	return &compute.Failure{Code: 500, Message: fmt.Sprintf(
		"No valid host was found. Unable to move instance %s to host %s. The instance has complex allocations "+
			"on the source host so move cannot be forced.", m.subject, m.Host)}
}

// recordSource reads the server's ports, and stores what it has on the source.
func (m *moveJob) recordSource(ctx context.Context) error {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return err
	}
	allocated, err := m.readSettled(ctx)
	if err != nil {
		return err
	}
	source.Amounts = allocated.Amounts
	if m.shared, err = m.sharedOf(ctx, migration, allocated.Amounts); err != nil {
		return err
	}
	return m.save(ctx, func(c *Change, _ *compute.ServerRow) error {
		source.Ports = nil
		devices, err := scheduler.DevicesOf(c.Tx, migration.SourceNode)
		if err != nil {
			return err
		}
		for _, p := range m.ports {
			if p.Host != migration.Source {
				continue
			}
			binding := sourceBinding{Port: p.ID, Allocation: p.Allocation, Amounts: p.Allocated()}
			if i := slices.IndexFunc(devices, func(d compute.Device) bool { return p.Slot != "" && d.Slot == p.Slot }); i >= 0 {
				binding.Device = &devices[i]
			}
			source.Ports = append(source.Ports, binding)
		}
		text, err := json.Marshal(source)
		if err != nil {
			return err
		}
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Former = text })
	})
}

// sharedOf returns what allocations of the server are of providers that share with its source.
func (m *moveJob) sharedOf(
	ctx context.Context, migration compute.MigrationRow, allocated allocations.Amounts,
) ([]request.Shared, error) {
	var node compute.NodeRow
	err := m.view(ctx, func(r compute.Reader) (err error) {
		node, err = compute.One[compute.NodeRow](r, compute.Where(compute.ByName, migration.SourceNode))
		return err
	})
	switch {
	case errors.Is(err, compute.ErrNoRow): // it was renamed, or its service was deleted
		return nil, nil
	case err != nil:
		return nil, err
	}
	return m.s.placement.Sharing(ctx, node.ID, allocated)
}

// currentPorts reads the ports that the server has now, in their order.
func (j *job) currentPorts(ctx context.Context) ([]compute.Port, error) {
	var rows []compute.ServerPort
	err := j.view(ctx, func(r compute.Reader) error {
		all, err := compute.PortsOf(r, []compute.ServerRow{{ID: j.subject}})
		rows = all[j.subject]
		return err
	})
	if err != nil {
		return nil, err
	}
	networks := make([]compute.NetworkSpec, len(rows))
	for i, row := range rows {
		networks[i].Port = row.Port
	}
	byID, err := j.s.bindings.PortsByID(ctx, networks)
	if err != nil {
		return nil, err
	}
	var ports []compute.Port
	for _, row := range rows {
		if p := byID[row.Port]; p.Server == string(j.subject) {
			ports = append(ports, p)
		}
	}
	return ports, nil
}

// readOwnPorts reads the ports that the server has now.
func (m *moveJob) readOwnPorts(ctx context.Context) (err error) {
	m.ports, err = m.currentPorts(ctx)
	return err
}

// readSettled returns what the server has, and reads its ports, as both are at one time: the
// network service has nothing to add or to release for them then.
func (m *moveJob) readSettled(ctx context.Context) (allocated allocations.Consumer, err error) {
	same := func(a, b compute.Port) bool { return a.ID == b.ID && a.Allocated().Equal(b.Allocated()) }
	for range serverports.Tries {
		if err := m.readOwnPorts(ctx); err != nil {
			return allocated, err
		}
		before := m.ports
		if err := m.s.claims.settle(ctx, m.subject); err != nil {
			return allocated, err
		}
		if allocated, err = m.s.placement.Allocations(ctx, string(m.subject)); err != nil {
			return allocated, err
		}
		if err := m.readOwnPorts(ctx); err != nil {
			return allocated, err
		}
		if slices.EqualFunc(before, m.ports, same) {
			return allocated, nil
		}
	}
	return allocated, fmt.Errorf("reading the ports of server %s: %w", m.subject, compute.ErrRevision)
}

// TakeClaim is claimant's.
func (m *moveJob) TakeClaim(ctx context.Context, claim selection.Claim) error {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return err
	}
	claim.Amounts = source.keep(m.shared, claim.Amounts, m.FlavorID != source.FlavorID)
	m.Claim = &claim
	err = m.save(ctx, func(c *Change, row *compute.ServerRow) (err error) {
		if err := scheduler.CheckHost(c.Tx, *row, claim.Host, m.Forced); err != nil {
			return err
		}
		moved := *row
		moved.Flavor = m.Flavor
		chosen, err := scheduler.Assign(c.Tx, moved, &m.HostChoice, m.ports)
		if err != nil {
			return err
		}
		m.Devices, m.Assignment = chosen.Devices, chosen.Assignment
		hosted, _, err := compute.Hosted(c, row.ID, migration.Source)
		if err != nil {
			return err
		}
		if m.op.Kind == KindLive {
			if err := checkMdevTypes(hosted.Assignment, m.Assignment); err != nil {
				return err
			}
		}
		source.Assignment, source.Resized = hosted.Assignment, nil
		if claim.Host == migration.Source {
			source.Resized = m.Assignment
		}
		former, err := json.Marshal(source)
		if err != nil {
			return err
		}
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) {
			row.Dest, row.DestNode, row.Status = claim.Host, claim.Node, m.kind().move.chosenStatus
			row.Former = former
		})
	})
	if err != nil {
		return err
	}
	if err := m.exchange(ctx); err != nil {
		return err
	}
	return m.s.claims.reserveOnce(ctx, m.Claim, m.Assignment)
}

// exchange gives the server the allocations that were chosen, and its migration those that it has.
// The error is errNotTaken when another candidate should be tried.
func (m *moveJob) exchange(ctx context.Context) error {
	_, source, err := m.migration(ctx)
	if err != nil {
		return err
	}
	err = m.exchanging(&m.Exchange, source).Begin(ctx, m.Claim.Amounts)
	switch {
	case errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration):
		return scheduler.ErrNotTaken
	case errors.Is(err, allocations.ErrEnded), errors.Is(err, allocations.ErrNotAllocated):
		return err
	}
	return notWritten(err)
}

// exchanging is the exchange of allocations between the server and its migration, or its way back,
// whose attempts are stored in a member of the data.
func (m *moveJob) exchanging(attempt **allocations.Attempt, source SourceState) *allocations.Exchange {
	e := m.s.claims.exchange(&exchangeRecord{m, attempt}, m.subject, m.Migration)
	e.Kept = source.Kept
	return e
}

// An exchangeRecord stores the attempts at an exchange, or at its way back, in the data of its
// operation.
type exchangeRecord struct {
	m       *moveJob
	attempt **allocations.Attempt
}

// Load returns what the operation has.
func (r *exchangeRecord) Load(context.Context) (allocations.State, error) {
	return allocations.State{Consumer: string(r.m.subject), Attempt: *r.attempt}, nil
}

// Note stores an attempt.
func (r *exchangeRecord) Note(ctx context.Context, a allocations.Attempt) error {
	*r.attempt = &a
	return r.m.saveAttempt(ctx)
}

// Result stores that an attempt has been settled. Whether it took place is read from placement,
// where the migration has allocations then.
func (r *exchangeRecord) Result(ctx context.Context, _ allocations.Outcome) error {
	*r.attempt = nil
	return r.m.saveAttempt(ctx)
}

// stepFailed is the effect of a failure of an operation that is undone: the events of its action
// that have not ended end with it.
func (j *job) stepFailed(details string, cause error) effect {
	return func(c *Change, _ *compute.ServerRow) error {
		j.shared().Awaited = ""
		return c.EndEvents(j.shared().Action, &compute.StepError{Text: serverports.ForUser(cause), Details: details})
	}
}

// notBoundThere is stepFailed for ports that could not be bound. A move has an event for it.
func (m *moveJob) notBoundThere(cause error) effect {
	return func(c *Change, row *compute.ServerRow) error {
		if event := m.kind().move.bindEvents[m.op.Step]; event != "" {
			migration, err := compute.One[compute.MigrationRow](c, compute.Where(compute.ByID, m.Migration))
			if err != nil {
				return err
			}
			if _, err := c.StartEvent(m.Action, event, migration.Dest); err != nil {
				return err
			}
		}
		return m.stepFailed(cause.Error(), cause)(c, row)
	}
}

// doneOrUndo returns what follows the result of a command: the step is done, with an effect, or the
// move is undone.
func (m *moveJob) doneOrUndo(ctx context.Context, host string, done effect) (next, error) {
	event, err := m.await(ctx, host)
	if err != nil {
		return next{}, err
	}
	if event.Result == compute.EventFailed {
		return next{Back: true, Change: m.commandFailed(event)}, nil
	}
	return next{Change: m.commandDone(done)}, nil
}

// commandFailed is the effect of a command that a host has refused, or could not carry out.
func (m *moveJob) commandFailed(event compute.EventRow) effect {
	return m.stepFailed(event.Traceback, errors.New(event.Details))
}

// commandDone is the effect of a command that a host has carried out, with another one or nil.
func (m *moveJob) commandDone(done effect) effect {
	return func(c *Change, row *compute.ServerRow) error {
		if done != nil {
			if err := done(c, row); err != nil {
				return err
			}
		}
		return m.endAwaited(c)
	}
}

// leaveSource has the source stop the server and keep it.
func (m *moveJob) leaveSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Awaited == "" {
		state, err := m.hostedState(ctx, migration.Source)
		if err != nil {
			return next{}, err
		}
		return next{}, m.send(ctx, migration.Source, "compute_resize_instance",
			func(_ *compute.ServerRow, row *compute.HostedRow) {
				row.DesiredState, row.Boot = compute.DesiredRetained, ""
				row.Slots = state.allSlots(row.Slots)
			})
	}
	return m.doneOrUndo(ctx, migration.Source, func(c *Change, row *compute.ServerRow) error {
		row.Host, row.Node, row.Task, row.Progress = migration.Dest, migration.DestNode, compute.ResizeMigrated, 0
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Status = compute.StatusPostMigrating })
	})
}

// bindToHost binds the ports that the server has now to its new host.
func (m *moveJob) bindToHost(ctx context.Context) (next, error) {
	server, err := m.server(ctx)
	if err != nil {
		return next{}, err
	}
	if err = m.readOwnPorts(ctx); err == nil {
		m.ports, err = m.bindAll(ctx, server, m.ports, m.HostClaim)
	}
	switch {
	case err == nil:
		return next{Change: func(c *Change, row *compute.ServerRow) error {
			return serverports.RecordPorts(c.Tx, row.ID, m.ports)
		}}, nil
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	}
	return next{Back: true, Change: m.notBoundThere(err)}, nil
}

// buildAtDestination has the new host build the server, with the new flavor.
func (m *moveJob) buildAtDestination(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Awaited == "" {
		assignment, err := m.StoredAssignment()
		if err != nil {
			return next{}, err
		}
		return next{}, m.send(ctx, migration.Dest, "compute_finish_resize",
			func(server *compute.ServerRow, row *compute.HostedRow) {
				row.Assignment = assignment
				server.Flavor, server.FlavorID, server.Task = m.Flavor, m.FlavorID, compute.ResizeFinish
				row.DesiredState, row.Boot = source.desiredState(), ""
				row.Generation++
			})
	}
	return m.doneOrUndo(ctx, migration.Dest, func(c *Change, row *compute.ServerRow) error {
		row.State, row.Task, row.LaunchedAt = compute.Resized, "", c.At
		return c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Status = compute.StatusFinished })
	})
}

// leaveDestination has the destination destroy the server, unless that is the source as well.
func (m *moveJob) leaveDestination(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if migration.Dest != migration.Source {
		if n, err := m.destroyAt(ctx, migration.Dest); err != nil {
			return n, err
		}
	}
	return next{Change: func(c *Change, _ *compute.ServerRow) error {
		if m.Event == "" {
			return nil
		}
		err := c.EndEvent(m.Event, nil)
		m.Event = ""
		return err
	}}, nil
}

// bindToSource binds the server's ports to its former host again, as they were. A port that cannot
// be is a failure of the server, which comes back without it.
func (m *moveJob) bindToSource(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	zone, err := m.s.zoneOf(ctx, migration.Source)
	if err != nil {
		return next{}, asRetryable(err)
	}
	if err := m.readOwnPorts(ctx); err != nil {
		return next{}, err
	}
	var finalErr error
	for i, p := range m.ports {
		f, ok := source.port(p.ID)
		if !ok || p.Host == migration.Source && migration.Source != migration.Dest && !p.Failed() {
			continue // it is not the server's former one, or was not bound to the destination
		}
		b := compute.Binding{
			Server: m.subject, Owner: serverports.Owner(m.s.rules, zone), Host: migration.Source, Device: f.Device,
		}
		bound := p
		if b.Allocation, err = f.serving(p.ResourceRequest); err == nil {
			bound, err = m.s.bindings.Bind(ctx, p, b)
		}
		switch {
		case compute.OutcomeUnknown(ctx, err), errors.Is(err, compute.ErrRevision), errors.Is(err, compute.ErrPortChanged):
			// It has changed since it was read.
			return next{}, err
		case errors.Is(err, compute.ErrNoPort), compute.Code(err) == "PortInUse":
		case err != nil:
			finalErr = err
		default:
			m.ports[i] = bound
		}
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if finalErr != nil {
			m.FinalError = &compute.Failure{Code: 500, Message: serverports.ForUser(finalErr), Details: finalErr.Error()}
		}
		return serverports.RecordPorts(c.Tx, row.ID, m.ports)
	}}, nil
}

// returnToSource has the source run the server again.
func (m *moveJob) returnToSource(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if m.Awaited == "" {
		return next{}, m.send(ctx, migration.Source, m.kind().move.returnEvent,
			func(server *compute.ServerRow, row *compute.HostedRow) {
				server.Host, server.Node = migration.Source, migration.SourceNode
				server.Flavor, server.FlavorID = source.Flavor, source.FlavorID
				// The guest was built with the new flavor.
				if row.DesiredState != compute.DesiredRetained && migration.Source == migration.Dest {
					row.Generation++
				}
				row.DesiredState, row.Boot, row.Assignment = source.desiredState(), "", source.Assignment
			})
	}
	event, err := m.await(ctx, migration.Source)
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		if event.Result == compute.EventFailed && event.Details != hostIsDown { // which runs it when it is back
			m.FinalError = &compute.Failure{Code: 500, Message: event.Details, Details: event.Traceback}
		}
		if err := c.setDesiredAt(*row, migration.Source, func(row *compute.HostedRow) {
			row.Event, row.Slots = "", nil
		}); err != nil {
			return err
		}
		return m.endAwaited(c)
	}}, nil
}

// returnAllocations gives the server the allocations that its migration has, as its ports request
// them now. A port that was given more while it was on the destination, where the source has not as
// much, is a failure of the server: the port is bound without any provider, and nothing is
// allocated for it until it is healed.
func (m *moveJob) returnAllocations(ctx context.Context) (next, error) {
	migration, source, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if err := notWritten(m.exchanging(&m.Return, source).Revert(ctx)); err != nil {
		return next{}, err
	}
	err = allocations.Retry(ctx, allocations.Pause, func() error {
		err := m.followPorts(ctx, migration.Source, source)
		if errors.Is(err, allocations.ErrCapacity) {
			if err = m.unnameGrown(ctx, migration.Source, source); err == nil {
				err = m.followPorts(ctx, migration.Source, source)
			}
		}
		return err
	})
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		m.HostClaim = compute.HostClaim{}
		for _, p := range m.ports {
			f, ok := source.port(p.ID)
			if ok && p.Host == migration.Source && len(f.Amounts) > 0 && len(p.ResourceRequest.Groups) > 0 &&
				p.Allocation.Empty() {
				m.FinalError = &compute.Failure{
					Code: 500, Message: "The former host does not have what the ports of the server are guaranteed.",
					Details: fmt.Sprintf("host %s does not have what port %s requests, which is bound without a guarantee",
						migration.Source, p.ID),
				}
			}
		}
		return serverports.RecordPorts(c.Tx, row.ID, m.ports)
	}}, err
}

// unnameGrown has the ports that are bound to the source, and request more than they had there,
// name no provider.
func (m *moveJob) unnameGrown(ctx context.Context, host string, source SourceState) error {
	for _, p := range m.ports {
		f, ok := source.port(p.ID)
		if !ok || p.Host != host {
			continue
		}
		grown := false
		for provider, requested := range p.Allocated() {
			for class, n := range requested {
				grown = grown || n > f.Amounts[provider][class]
			}
		}
		if !grown {
			continue
		}
		if _, err := m.s.network.NameProviders(ctx, p.ID, p.Revision, guarantee.ProfileAllocation{}); err != nil &&
			!errors.Is(err, compute.ErrNoPort) {
			return err
		}
	}
	return nil
}

// followPorts makes what a server that is back on its former host has for its ports what they
// request now. Ports may have been removed, or have got another policy: what they had there was the
// migration's then, which the network service does not change.
func (m *moveJob) followPorts(ctx context.Context, host string, source SourceState) error {
	allocated, err := m.readSettled(ctx)
	if err != nil {
		return err
	}
	differences := allocations.Amounts{}
	for _, f := range source.Ports {
		i := slices.IndexFunc(m.ports, func(p compute.Port) bool { return p.ID == f.Port })
		switch {
		case i < 0:
			differences = differences.Plus(f.Amounts.Negated())
		case m.ports[i].Host == host: // another one could not be bound there, and the server is in error
			differences = differences.Plus(f.Amounts.Negated()).Plus(m.ports[i].Allocated())
		}
	}
	want := allocated.Amounts.With(source.Amounts.Plus(differences).Concerned(differences))
	if want.Equal(allocated.Amounts) {
		return nil
	}
	allocated.Amounts = want
	return m.s.placement.SetAllocations(ctx, string(m.subject), allocated)
}

// movedBack is the effect of a move that was undone, or that was reverted.
func (m *moveJob) movedBack() effect {
	return func(c *Change, row *compute.ServerRow) error {
		migration, err := compute.One[compute.MigrationRow](c, compute.Where(compute.ByID, m.Migration))
		if err != nil {
			return err
		}
		source, err := sourceOf(migration)
		if err != nil {
			return err
		}
		row.State, row.Task, row.Power = source.State, "", source.Power
		status := compute.StatusError
		switch {
		case migration.Status == compute.StatusReverting:
			status = compute.StatusReverted
		case m.op.Aborted:
			status = compute.StatusCancelled
		}
		if err := c.SetMigration(migration.ID, func(row *compute.MigrationRow) { row.Status = status }); err != nil {
			return err
		}
		if m.FinalError == nil {
			return c.EndEvents(m.Action, nil)
		}
		if err := c.EndEvents(m.Action, &compute.StepError{
			Text: m.FinalError.Message, Details: m.FinalError.Details,
		}); err != nil {
			return err
		}
		return c.inError(row, *m.FinalError)
	}
}

// destroyAtSource has the source destroy what it kept of a server whose move is confirmed.
func (m *moveJob) destroyAtSource(ctx context.Context) (next, error) {
	migration, _, err := m.migration(ctx)
	if err != nil {
		return next{}, err
	}
	if migration.Source == migration.Dest {
		return next{Change: func(c *Change, row *compute.ServerRow) error {
			return c.setDesired(*row, func(hosted *compute.HostedRow) { hosted.Slots = nil })
		}}, nil
	}
	return m.destroyAt(ctx, migration.Source)
}

// releaseSource deletes the allocations of the migration.
func (m *moveJob) releaseSource(ctx context.Context) (next, error) {
	return next{}, m.exchanging(&m.Return, SourceState{}).Confirm(ctx)
}

// moveConfirmed is the effect of a confirmation.
func (m *moveJob) moveConfirmed() effect {
	return func(c *Change, row *compute.ServerRow) error {
		row.State, row.Task = compute.Active, ""
		if row.Power == compute.ShutDown {
			row.State = compute.Stopped
		}
		if err := c.SetMigration(m.Migration, func(row *compute.MigrationRow) {
			row.Status = compute.StatusConfirmed
		}); err != nil {
			return err
		}
		return c.EndEvents(m.Action, nil)
	}
}
