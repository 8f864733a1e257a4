package compute

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/watch"
)

// attachAction is the action of an attachment, as Nova calls it.
const attachAction = "attach_interface"

// attachStates are those in which a server may get and lose ports.
var attachStates = []string{Active, Paused, Stopped}

// Attach attaches a port to a server, or creates one in a network, and returns it when its host has
// plugged it in. When that fails, everything done for it is undone. Faults are Nova's:
// InstanceNotFound, PortNotFound, NetworkNotFound, InstanceIsLocked, InvalidState, PortInUse,
// FixedIpAlreadyInUse, InterfaceAttachResourceAllocationFailed, NetworksWithQoSPolicyNotSupported,
// AttachInterfaceWithQoSPolicyNotSupported, ExtendedResourceRequestOldCompute,
// InterfaceAttachFailed and others.
func (s *Service) Attach(ctx context.Context, by Caller, server ID, n NetworkSpec) (ServerPort, error) {
	if s.network == nil {
		return ServerPort{}, absent("network")
	}
	host, err := s.mayAttach(ctx, by, server) // faults of the server come before those of the port
	if err != nil {
		return ServerPort{}, err
	}
	p, err := s.attachable(ctx, by, &n)
	if err != nil {
		return ServerPort{}, err
	}
	if err := s.mayAsk(p, server, host); err != nil {
		return ServerPort{}, err
	}
	poll := s.store.Begin(string(server)) // what its operations and its host write
	defer poll.End()
	var began time.Duration
	j, err := s.awaitTurn(ctx, poll, func() (*job, error) {
		began = s.elapsed()
		return s.beginAttach(ctx, by, server, n, p)
	})
	if err != nil {
		return ServerPort{}, err
	}
	ctx = context.WithoutCancel(ctx) // a client that disconnects does not stop it half way
	if err := s.runner.Finish(ctx, began, j, s.patiently(poll)); err != nil {
		why := j.attachFault(err)
		if errors.As(why, new(*attachFailed)) { // its text does not have the cause
			s.rules.Log.WarnContext(ctx, "a port cannot be attached", "server", server, "port", j.b.Port, "error", err)
		}
		return ServerPort{}, why
	}
	attached, err := s.Interface(ctx, by, server, j.b.Port)
	if !isUnavailable(err) {
		return attached, err
	}
	one, err := s.Server(ctx, server) // the port is attached: it is shown as it was seen last
	for _, row := range one.Ports {
		if row.Port == j.b.Port {
			attached = row
		}
	}
	return attached, err
}

// patiently returns a function that waits until it is worth looking whether a host has answered. It returns an
// error when HostTime has passed since its first call.
func (s *Service) patiently(poll *watch.Poll) func(context.Context) error {
	end := sync.OnceValue(func() time.Time { return time.Now().Add(s.rules.Settings.HostTime) })
	return func(context.Context) error {
		patience := time.NewTimer(time.Until(end()))
		defer patience.Stop()
		others := time.NewTimer(watch.Interval)
		defer others.Stop()
		select {
		case <-poll.Changed:
		case <-others.C:
		case <-patience.C:
			return errors.New("the host did not answer")
		}
		return nil
	}
}

// attachable validates what a request attaches. It returns no port when one must be created.
func (s *Service) attachable(ctx context.Context, by Caller, n *NetworkSpec) (p Port, err error) {
	if n.Port != "" {
		p, err = s.port(ctx, by, n.Port)
		if err == nil && p.Server != "" {
			err = portInUse(p.ID)
		}
		return p, err
	}
	if n.Network == "" {
		all, err := s.network.Networks(ctx, by.Project)
		switch {
		case err != nil:
			return p, err
		case len(all) == 0:
			return p, invalid("InterfaceAttachFailedNoNetwork", "No specific network was requested and none are available for project '%s'.", by.Project)
		case len(all) > 1:
			return p, invalid("NetworkAmbiguous", "More than one possible network found. Specify network ID(s) to select which one(s) to connect to.")
		}
		n.Network = all[0].ID
	}
	if err := s.mayUse(ctx, by, n.Network); err != nil {
		return p, err
	}
	if err = s.addressesFree(ctx, by, []NetworkSpec{*n}); code(err) == "FixedIpAlreadyInUse" {
		err = conflict("FixedIpAlreadyInUse", "Fixed IP %s is already in use.", n.Address)
	}
	return p, err
}

// code returns the code of a fault, "" for none.
func code(err error) fault.Code {
	_, c := fault.Of(err)
	return c
}

// awaitTurn begins an attachment when the server's operation that is under way has ended, with the
// fault of that when it does not within HostTime.
func (s *Service) awaitTurn(ctx context.Context, poll *watch.Poll, begin func() (*job, error)) (*job, error) {
	patience := time.NewTimer(s.rules.Settings.HostTime)
	defer patience.Stop()
	others := time.NewTicker(watch.Interval)
	defer others.Stop()
	for {
		j, err := begin()
		if !errors.Is(err, ErrTaken) {
			return j, err
		}
		select {
		case <-poll.Changed:
		case <-others.C:
		case <-patience.C:
			return nil, busy(j.op.Server, attachAction, "task_state", "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beginAttach notes that a port is attached, which is this process's to do. It returns ErrTaken
// while another operation of the server is under way.
func (s *Service) beginAttach(ctx context.Context, by Caller, server ID, n NetworkSpec, p Port) (*job, error) {
	j := &job{s: s, id: NewID(), serverID: server, worker: s.newWorker(), op: OperationRow{Server: server}, b: body{Networks: []NetworkSpec{n}, Port: n.Port, Claim: &selection.Claim{}}}
	err := s.update(ctx, func(c *change) error {
		row, err := s.attachableTo(c, by, server, attachAction)
		if err != nil {
			return err
		}
		under, err := Rows[OperationRow](c, Where(ByServer, server))
		if err != nil {
			return err
		}
		if len(under) > 0 {
			return ErrTaken
		}
		have, err := Rows[PortRow](c, Where(ByServer, server))
		if err != nil {
			return err
		}
		place := 0
		for _, r := range have {
			place = max(place, r.Place+1)
		}
		j.b.Place = place
		if n.Port != "" {
			if err := c.addPort(PortRow{Server: server, Place: place, Tag: n.Tag, Unplugged: true}, p); err != nil {
				return err
			}
		}
		action, err := c.act(by, server, attachAction)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_attach_interface", row.Host)
		if err != nil {
			return err
		}
		j.b.Action, j.b.Event, j.b.By = action.ID, event.ID, c.by
		j.op = OperationRow{ID: j.id, Server: server, Kind: attach, Worker: j.worker, Lease: c.leaseEnd(), CreatedAt: c.At}
		j.op.moveTo(c.kinds[attach].first())
		if j.op.Body, err = json.Marshal(j.b); err != nil {
			return err
		}
		return c.Insert(&j.op)
	})
	return j, err
}

// attachableTo returns a server, and refuses to attach to it, or to detach from it, in another
// state.
func (s *Service) attachableTo(r Reader, by Caller, server ID, action string) (ServerRow, error) {
	row, err := OneOr[ServerRow](r, noServer(server), Where(ByID, server))
	if err != nil {
		return row, err
	}
	if err := row.unlocked(by); err != nil {
		return row, err
	}
	if err := row.in(action, attachStates...); err != nil {
		return row, err
	}
	if err := s.kinds.idle(r, row, action); err != nil {
		return row, err
	}
	return row, row.launched(action)
}

// mayAttach is attachableTo without the checks of the port. It returns the server's host.
func (s *Service) mayAttach(ctx context.Context, by Caller, server ID) (host HostService, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err := s.attachableTo(r, by, server, attachAction)
		if err != nil {
			return err
		}
		all, err := s.rules.servicesOf(r, []ServerRow{row})
		host = all[row.Host]
		return err
	})
	return host, err
}

// The first versions of hosts' services that know of ports with groups of requests (Nova's release Xena): when servers are
// created or moved, where all hosts must know of them, and when ports are attached.
const (
	createGroups = 58
	moveGroups   = 59
	attachGroups = 60
)

// mayMoveGroups refuses to move a server with ports that have groups of requests while the service of some host does not know of
// them.
func (s *Service) mayMoveGroups(ctx context.Context, server ID) error {
	all, err := s.allKnow(ctx, moveGroups)
	if err != nil || all {
		return err
	}
	if s.network == nil {
		return absent("network")
	}
	ports, err := s.network.ServerPorts(ctx, server)
	if err == nil && slices.ContainsFunc(ports, func(p Port) bool { return len(p.Asks.Groups) > 0 && !p.Asks.Old }) {
		err = oldCompute()
	}
	return err
}

func oldCompute() error {
	return invalid("ExtendedResourceRequestOldCompute", "The port-resource-request-groups neutron API extension is not supported by old "+
		"nova compute service. Upgrade your compute services to Xena (24.0.0) or later.")
}

// mayAsk refuses a port with a resource request where attaching it is not supported.
func (s *Service) mayAsk(p Port, server ID, host HostService) error {
	switch {
	case len(p.Asks.Groups) == 0:
		return nil
	case !s.rules.Settings.AttachMayAsk:
		return invalid("AttachInterfaceWithQoSPolicyNotSupported", "Attaching interfaces with QoS policy is not supported for instance %s.", server)
	case !p.Asks.Old && host.Version < attachGroups:
		return oldCompute()
	}
	return nil
}

// attachPort makes the port in a network.
func (j *job) attachPort(ctx context.Context) (next, error) {
	if j.b.Port != "" {
		return next{}, nil
	}
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	n := &j.b.Networks[0]
	p, err := j.makePort(ctx, server, *n)
	if err != nil {
		return next{}, err
	}
	tag := n.Tag
	j.b.Networks[0].Port, j.b.Port, j.b.Own = p.ID, p.ID, true
	if err := j.save(ctx, func(c *change, row *ServerRow) error {
		return c.addPort(PortRow{Server: row.ID, Place: j.b.Place, Tag: tag, Own: true, Unplugged: true}, p)
	}); err != nil {
		return next{}, err
	}
	if len(p.Asks.Groups) > 0 && !(j.s.rules.Settings.NetworksMayAsk && j.s.rules.Settings.AttachMayAsk) {
		return next{}, invalid("NetworksWithQoSPolicyNotSupported", "Using networks with QoS policy is not supported for instance %s. (Network ID is %s)",
			server.ID, p.Network)
	}
	return next{}, nil
}

// attachClaim adds the port's resource request to the server's allocation, by the first of the
// candidates that placement accepts.
func (j *job) attachClaim(ctx context.Context) (next, error) {
	none := invalid("InterfaceAttachResourceAllocationFailed", "Failed to allocate additional resources to %s during interface attach", j.op.Server)
	if j.b.Attempt != nil { // placement did not take it, or became unavailable before that was known
		err := j.adjust(ctx, 1)
		if err == nil || undecided(ctx, err) {
			return next{}, err
		}
	}
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	p, err := j.s.network.Port(ctx, j.b.Port)
	if err != nil {
		return next{}, err
	}
	node, err := j.s.nodeOf(ctx, server)
	if err != nil {
		return next{}, err
	}
	j.ports = []Port{p}
	r, err := request.Attach(p.Asks, placement.UUID(node), j.s.rules.Settings.Requests)
	if err != nil {
		return next{}, err
	}
	if len(r.Query.Groups) == 0 {
		return next{}, j.attachDevice(ctx)
	}
	r.Query.Limit = min(r.Query.Limit, j.s.rules.Settings.Selection.Candidates) // all are of one host
	answer, err := j.s.placement.Candidates(ctx, r.Query)
	switch {
	case undecided(ctx, err):
		return next{}, err
	case err != nil:
		return next{}, errors.Join(none, err)
	}
	for _, candidate := range answer.Candidates {
		j.b.Amounts, j.b.Claim = candidate.Amounts, &selection.Claim{Candidate: candidate}
		if err := j.attachDevice(ctx); code(err) == codeNoDevice {
			none = err
			continue
		} else if err != nil {
			return next{}, err
		}
		err := j.adjust(ctx, 1)
		switch {
		case err == nil, undecided(ctx, err):
			return next{}, err
		case !errors.Is(err, allocations.ErrCapacity) && !errors.Is(err, allocations.ErrGeneration):
			return next{}, errors.Join(none, err)
		}
	}
	return next{}, none
}

// codeNoDevice is the code of an attachment for which the host has no device.
const codeNoDevice = "InterfaceAttachPciClaimFailed"

// attachDevice chooses the PCI device of the port.
func (j *job) attachDevice(ctx context.Context) error {
	err := j.save(ctx, func(c *change, row *ServerRow) error { return c.chooseDevices(j, *row, row.Host, row.Node) })
	if errors.As(err, new(*hostRefused)) {
		err = invalid(codeNoDevice, "Failed to claim PCI device for %s during interface attach", j.op.Server)
	}
	return err
}

// nodeOf returns the hypervisor that a server is on.
func (s *Service) nodeOf(ctx context.Context, server ServerRow) (id ID, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err := One[NodeRow](r, Where(ByName, server.Node))
		id = row.ID
		return err
	})
	return id, err
}

// attachBind binds the port.
func (j *job) attachBind(ctx context.Context) (next, error) {
	server, err := j.server(ctx)
	if err != nil {
		return next{}, err
	}
	zone, err := j.s.zoneOf(ctx, server.Host)
	if err != nil {
		return next{}, err
	}
	p, err := j.s.network.Port(ctx, j.b.Port)
	if err != nil {
		return next{}, err
	}
	if err := j.checkGroups([]Port{p}); err != nil {
		return next{}, err
	}
	if len(j.b.Amounts) > 0 {
		if err := j.noteUnsure(ctx, -1); err != nil {
			return next{}, err
		}
		if err := j.save(ctx); err != nil {
			return next{}, err
		}
	}
	p, err = j.bindOne(ctx, server, p, zone)
	j.b.Bound = len(p.allocation()) > 0 && (err == nil || errors.As(err, new(*notBound)))
	if j.b.Bound || errors.Is(err, ErrPortChanged) || errors.Is(err, ErrRevision) || code(err) == "PortInUse" {
		j.b.Unsure = nil // the answer says what became of it
	}
	return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, []Port{p}) }}, err
}

// attachFault is the fault of an attachment that failed.
func (j *job) attachFault(err error) error {
	kind, c := fault.Of(err)
	switch {
	case errors.Is(err, operation.ErrTurned), errors.Is(err, operation.ErrLost):
		return busy(j.op.Server, attachAction, "task_state", Deleting)
	case errors.Is(err, ErrNoPort):
		return notFound("PortNotFound", "Port id %s could not be found.", j.b.Port)
	case kind == fault.Invalid, kind == fault.Denied, kind == fault.Unavailable:
		return err
	case kind == fault.Conflict && !errors.Is(err, ErrPortChanged):
		return conflict(c, "%s", forUser(err))
	}
	return &attachFailed{j.op.Server, err}
}

// An attachFailed says that a port could not be attached for a reason that is not the
// caller's; the log sees it.
type attachFailed struct {
	server ID
	cause  error
}

// Error is Nova's text.
func (a *attachFailed) Error() string {
	return "Failed to attach network adapter device to " + string(a.server)
}

// Unwrap returns the cause.
func (a *attachFailed) Unwrap() error { return a.cause }

// Fault says that the caller may know as much.
func (a *attachFailed) Fault() (fault.Kind, fault.Code) {
	return fault.Failed, "InterfaceAttachFailed"
}

// notAttached is the effect of an attachment that failed, or whose process has ended.
func (j *job) notAttached(err error) effect {
	t := stepError{text: forUser(j.attachFault(err)), details: err.Error()}
	if errors.Is(err, operation.ErrInterrupted) {
		t = stepError{text: (&attachFailed{server: j.op.Server}).Error(), details: err.Error() + ", at step " + j.op.Step}
	}
	return func(c *change, _ *ServerRow) error {
		event := j.b.Event
		j.b.Event, j.b.Asked = "", ""
		return c.end(event, &t)
	}
}

// removePort takes the port from the server, and deletes it when it was created for the server.
func (j *job) removePort(ctx context.Context) (next, error) {
	if j.b.Own {
		if err := j.s.freePort(ctx, PortRow{Server: j.op.Server, Port: j.b.Port, Own: true}); err != nil {
			return next{}, err
		}
	}
	if j.b.Making && j.b.Port == "" {
		if err := j.removeStray(ctx); err != nil {
			return next{}, err
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		_, err := c.Remove(&PortRow{}, Where(ByPort, j.b.Port), Where(ByServer, row.ID))
		return err
	}}, nil
}

// release releases what the port had.
func (j *job) release(ctx context.Context) (next, error) {
	if err := j.settle(ctx); err != nil {
		return next{}, err
	}
	return next{}, j.adjust(ctx, -1)
}
