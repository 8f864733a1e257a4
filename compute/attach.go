package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	if err := s.checkResourceRequest(p, server, host); err != nil {
		return ServerPort{}, err
	}
	poll := s.store.Begin(string(server)) // what its operations and its host write
	defer poll.End()
	var began time.Duration
	attachment, err := s.waitForIdle(ctx, poll, server, func() (*portJob, error) {
		began = s.elapsed()
		return s.beginAttach(ctx, by, server, n, p)
	})
	if err != nil {
		return ServerPort{}, err
	}
	ctx = context.WithoutCancel(ctx) // a client that disconnects does not stop it half way
	if err := s.runner.Finish(ctx, began, attachment.job, s.withTimeout(poll)); err != nil {
		why := attachment.attachFault(err)
		if errors.As(why, new(*attachFailed)) { // its text does not have the cause
			s.rules.Log.WarnContext(ctx, "a port cannot be attached", "server", server, "port", attachment.Port, "error", err)
		}
		return ServerPort{}, why
	}
	attached, err := s.Interface(ctx, by, server, attachment.Port)
	if !isUnavailable(err) {
		return attached, err
	}
	current, err := s.Server(ctx, server) // the port is attached: it is shown as it was seen last
	for _, row := range current.Ports {
		if row.Port == attachment.Port {
			attached = row
		}
	}
	return attached, err
}

// withTimeout returns a function that waits until it is worth looking whether a host has answered.
// It returns an error when HostTime has passed since its first call.
func (s *Service) withTimeout(poll *watch.Poll) func(context.Context) error {
	end := sync.OnceValue(func() time.Time { return time.Now().Add(s.rules.Settings.HostTime) })
	return func(context.Context) error {
		timeout := time.NewTimer(time.Until(end()))
		defer timeout.Stop()
		others := time.NewTimer(watch.Interval)
		defer others.Stop()
		select {
		case <-poll.Changed:
		case <-others.C:
		case <-timeout.C:
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

// waitForIdle begins an attachment when the server's operation that is under way has ended, with
// the fault of that when it does not within HostTime.
func (s *Service) waitForIdle(ctx context.Context, poll *watch.Poll, server ID, begin func() (*portJob, error)) (*portJob, error) {
	timeout := time.NewTimer(s.rules.Settings.HostTime)
	defer timeout.Stop()
	others := time.NewTicker(watch.Interval)
	defer others.Stop()
	for {
		attachment, err := begin()
		if !errors.Is(err, ErrTaken) {
			return attachment, err
		}
		select {
		case <-poll.Changed:
		case <-others.C:
		case <-timeout.C:
			return nil, busy(server, attachAction, "task_state", "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beginAttach begins the attachment of a port, which is this process's to carry out. It returns
// ErrTaken while another operation of the server is under way.
func (s *Service) beginAttach(ctx context.Context, by Caller, server ID, n NetworkSpec, p Port) (*portJob, error) {
	j := &job{s: s, id: NewID(), subject: server, worker: s.newWorker()}
	attachment := &portJob{hostCommands: hostCommands{j}, portData: portData{
		hostClaim: hostClaim{Claim: &selection.Claim{}}, Networks: []NetworkSpec{n}, Port: n.Port,
	}}
	j.family = attachment
	err := s.update(ctx, func(c *change) error {
		row, err := s.attachableTo(c, by, server, attachAction)
		if err != nil {
			return err
		}
		operations, err := Count[OperationRow](c, Where(ByServer, server))
		if err != nil {
			return err
		}
		if operations > 0 {
			return ErrTaken
		}
		ports, err := Rows[PortRow](c, Where(ByServer, server))
		if err != nil {
			return err
		}
		attachment.Index = 0
		for _, r := range ports {
			attachment.Index = max(attachment.Index, r.Place+1)
		}
		if n.Port != "" {
			if err := c.addPort(PortRow{Server: server, Place: attachment.Index, Tag: n.Tag, Unplugged: true}, p); err != nil {
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
		attachment.Action, attachment.Event, attachment.By = action.ID, event.ID, c.by
		j.op = OperationRow{ID: j.id, Server: server, Kind: kindAttach, Worker: j.worker, Lease: c.leaseEnd(), CreatedAt: c.At}
		j.op.moveTo(c.kinds[kindAttach].first())
		if j.op.Body, err = json.Marshal(&attachment.portData); err != nil {
			return err
		}
		return c.Insert(&j.op)
	})
	return attachment, err
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

// The first versions of hosts' services that know of ports with groups of requests (Nova's release
// Xena): when servers are created or moved, where all hosts must know of them, and when ports are
// attached.
const (
	createGroups = 58
	moveGroups   = 59
	attachGroups = 60
)

// mayMoveGroups refuses to move a server with ports that have groups of requests while the service
// of some host does not know of them.
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

// checkResourceRequest refuses a port with a resource request where attaching it is not supported.
func (s *Service) checkResourceRequest(p Port, server ID, host HostService) error {
	switch {
	case len(p.Asks.Groups) == 0:
		return nil
	case !s.rules.Settings.AllowAttachQoS:
		return invalid("AttachInterfaceWithQoSPolicyNotSupported", "Attaching interfaces with QoS policy is not supported for instance %s.", server)
	case !p.Asks.Old && host.Version < attachGroups:
		return oldCompute()
	}
	return nil
}

// A portJob attaches a port to a server, or detaches it.
type portJob struct {
	hostCommands
	portData
}

// portData is what such an operation stores.
type portData struct {
	common
	hostClaim
	// Networks has the interface that is attached.
	Networks []NetworkSpec `json:"networks,omitempty"`
	// Port is the one that is attached or detached, Own whether it goes with the
	// server.
	Port ID   `json:"port,omitempty"`
	Own  bool `json:"own,omitempty"`
	// Index is its position among the server's ports.
	Index int `json:"place,omitempty"`
	// Amounts are the difference that the port makes, Attempt its last write.
	Amounts allocations.Amounts  `json:"amounts,omitempty"`
	Attempt *allocations.Attempt `json:"attempt,omitempty"`
	Done    bool                 `json:"done,omitempty"` // the write took place
	// Settled says that it is known what was claimed for the port.
	Settled bool `json:"settled,omitempty"`
	// Creating says that a port is created to be attached. Preexisting are ports with the server's
	// id that existed before and are not its own.
	Creating    bool `json:"making,omitempty"`
	Preexisting []ID `json:"others,omitempty"`
	// Bound says that the port was bound, so that whoever deletes it releases its allocation.
	Bound bool `json:"bound,omitempty"`
	// Pending, unless nil, is a request to bind or to unbind the port that was not answered.
	Pending *pendingRequest `json:"unsure,omitempty"`
}

// A pendingRequest is a request to the network service that may have taken place: it is stored
// before it is sent.
type pendingRequest struct {
	At time.Time `json:"at"`
	// Revision is what the port has to have for it to take place, -1 for any.
	Revision int64 `json:"revision"`
	// Allocated is the part of the server's allocation that is on the port's providers.
	Allocated allocations.Amounts `json:"held,omitempty"`
}

func (p *portJob) data() operationData { return &p.portData }

func (p *portJob) clear() operationData {
	p.portData = portData{}
	return &p.portData
}

// createPort creates the port in a network.
func (p *portJob) createPort(ctx context.Context) (next, error) {
	if p.Port != "" {
		return next{}, nil
	}
	server, err := p.server(ctx)
	if err != nil {
		return next{}, err
	}
	ports, err := p.s.network.ServerPorts(ctx, server.ID)
	if err != nil {
		return next{}, err
	}
	known, err := p.knownOrPreexisting(ctx)
	if err != nil {
		return next{}, err
	}
	if !p.Creating { // a port that exists already is not its
		for _, other := range ports {
			if !known(other.ID) {
				p.Preexisting = append(p.Preexisting, other.ID)
			}
		}
		p.Creating = true
		if err := p.save(ctx); err != nil {
			return next{}, err
		}
	}
	n := p.Networks[0]
	created, err := p.s.bindings.create(ctx, ports, known, PortSpec{
		Project: server.Project, Server: server.ID, Owner: p.s.owner(server.Zone), Network: n.Network, Address: n.Address,
	})
	if err != nil {
		return next{}, err
	}
	p.Networks[0].Port, p.Port, p.Own = created.ID, created.ID, true
	if err := p.save(ctx, func(c *change, row *ServerRow) error {
		return c.addPort(PortRow{Server: row.ID, Place: p.Index, Tag: n.Tag, Own: true, Unplugged: true}, created)
	}); err != nil {
		return next{}, err
	}
	if len(created.Asks.Groups) > 0 && !(p.s.rules.Settings.AllowNetworkQoS && p.s.rules.Settings.AllowAttachQoS) {
		return next{}, invalid("NetworksWithQoSPolicyNotSupported", "Using networks with QoS policy is not supported for instance %s. (Network ID is %s)",
			server.ID, created.Network)
	}
	return next{}, nil
}

// knownOrPreexisting returns a function that reports whether a port is one of the server's, or was
// there before the operation.
func (p *portJob) knownOrPreexisting(ctx context.Context) (func(ID) bool, error) {
	known, err := p.known(ctx)
	return func(id ID) bool { return known(id) || slices.Contains(p.Preexisting, id) }, err
}

// claimPort adds the port's resource request to the server's allocation, by the first of the
// candidates that placement accepts.
func (p *portJob) claimPort(ctx context.Context) (next, error) {
	none := invalid("InterfaceAttachResourceAllocationFailed", "Failed to allocate additional resources to %s during interface attach", p.subject)
	if p.Attempt != nil { // placement did not take it, or became unavailable before that was known
		err := p.adjust(ctx, 1)
		if err == nil || outcomeUnknown(ctx, err) {
			return next{}, err
		}
	}
	server, err := p.server(ctx)
	if err != nil {
		return next{}, err
	}
	port, err := p.s.network.Port(ctx, p.Port)
	if err != nil {
		return next{}, err
	}
	node, err := p.s.nodeOf(ctx, server)
	if err != nil {
		return next{}, err
	}
	r, err := request.Attach(port.Asks, placement.UUID(node), p.s.rules.Settings.Requests)
	if err != nil {
		return next{}, err
	}
	if len(r.Query.Groups) == 0 {
		return next{}, p.chooseDevice(ctx, port)
	}
	r.Query.Limit = min(r.Query.Limit, p.s.rules.Settings.Selection.Candidates) // all are of one host
	answer, err := p.s.placement.Candidates(ctx, r.Query)
	switch {
	case outcomeUnknown(ctx, err):
		return next{}, err
	case err != nil:
		return next{}, errors.Join(none, err)
	}
	for _, candidate := range answer.Candidates {
		p.Amounts, p.Claim = candidate.Amounts, &selection.Claim{Candidate: candidate}
		if err := p.chooseDevice(ctx, port); code(err) == codeNoDevice {
			none = err
			continue
		} else if err != nil {
			return next{}, err
		}
		err := p.adjust(ctx, 1)
		switch {
		case err == nil, outcomeUnknown(ctx, err):
			return next{}, err
		case !errors.Is(err, allocations.ErrCapacity) && !errors.Is(err, allocations.ErrGeneration):
			return next{}, errors.Join(none, err)
		}
	}
	return next{}, none
}

// codeNoDevice is the code of an attachment for which the host has no device.
const codeNoDevice = "InterfaceAttachPciClaimFailed"

// chooseDevice chooses the PCI device of the port.
func (p *portJob) chooseDevice(ctx context.Context, port Port) error {
	err := p.save(ctx, func(c *change, row *ServerRow) (err error) {
		p.Devices, err = c.chooseDevices(row.ID, []Port{port}, p.Claim.Mappings, row.Host, row.Node)
		return err
	})
	if errors.As(err, new(*hostRefused)) {
		err = invalid(codeNoDevice, "Failed to claim PCI device for %s during interface attach", p.subject)
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

// bindPort binds the port.
func (p *portJob) bindPort(ctx context.Context) (next, error) {
	server, err := p.server(ctx)
	if err != nil {
		return next{}, err
	}
	zone, err := p.s.zoneOf(ctx, server.Host)
	if err != nil {
		return next{}, err
	}
	port, err := p.s.network.Port(ctx, p.Port)
	if err != nil {
		return next{}, err
	}
	target := bindingTarget{server: server.ID, owner: p.s.owner(zone), host: server.Host, mappings: p.Claim.Mappings, devices: p.Devices}
	if err := target.check([]Port{port}); err != nil {
		return next{}, err
	}
	if len(p.Amounts) > 0 {
		if err := p.recordPending(ctx, -1); err != nil {
			return next{}, err
		}
		if err := p.save(ctx); err != nil {
			return next{}, err
		}
	}
	binding, err := target.binding(port)
	if err == nil {
		port, err = p.s.bindings.bind(ctx, port, binding)
	}
	p.Bound = len(port.allocation()) > 0 && (err == nil || errors.As(err, new(*notBound)))
	if p.Bound || errors.Is(err, ErrPortChanged) || errors.Is(err, ErrRevision) || code(err) == "PortInUse" {
		p.Pending = nil // the answer says what became of it
	}
	return next{Change: func(c *change, row *ServerRow) error { return c.seePorts(row.ID, []Port{port}) }}, err
}

// attachFault is the fault of an attachment that failed.
func (p *portJob) attachFault(err error) error {
	kind, c := fault.Of(err)
	switch {
	case errors.Is(err, operation.ErrReplaced), errors.Is(err, operation.ErrLost):
		return busy(p.subject, attachAction, "task_state", Deleting)
	case errors.Is(err, ErrNoPort):
		return notFound("PortNotFound", "Port id %s could not be found.", p.Port)
	case kind == fault.Invalid, kind == fault.Denied, kind == fault.Unavailable:
		return err
	case kind == fault.Conflict && !errors.Is(err, ErrPortChanged):
		return conflict(c, "%s", forUser(err))
	}
	return &attachFailed{p.subject, err}
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
func (p *portJob) notAttached(err error) effect {
	failure := stepError{text: forUser(p.attachFault(err)), details: err.Error()}
	if errors.Is(err, operation.ErrInterrupted) {
		failure = stepError{text: (&attachFailed{server: p.subject}).Error(), details: err.Error() + ", at step " + p.op.Step}
	}
	return func(c *change, _ *ServerRow) error {
		event := p.Event
		p.Event, p.Awaited = "", ""
		return c.end(event, &failure)
	}
}

// removePort takes the port from the server, and deletes it when it was created for the server.
func (p *portJob) removePort(ctx context.Context) (next, error) {
	if p.Own {
		if err := p.s.bindings.unbind(ctx, PortRow{Server: p.subject, Port: p.Port, Own: true}); err != nil {
			return next{}, err
		}
	}
	if p.Creating && p.Port == "" {
		known, err := p.knownOrPreexisting(ctx)
		if err == nil {
			err = p.s.bindings.deleteUnknown(ctx, p.subject, known)
		}
		if err != nil {
			return next{}, err
		}
	}
	return next{Change: func(c *change, row *ServerRow) error {
		_, err := c.Remove(&PortRow{}, Where(ByPort, p.Port), Where(ByServer, row.ID))
		return err
	}}, nil
}

// release releases what the port had.
func (p *portJob) release(ctx context.Context) (next, error) {
	if err := p.settle(ctx); err != nil {
		return next{}, err
	}
	return next{}, p.adjust(ctx, -1)
}

// plug has the host plug in the port that is attached.
func (p *portJob) plug(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *change, server *ServerRow) error {
			p.Awaited = p.Event
			if err := c.setUnplugged(server.ID, p.Port, false); err != nil {
				return err
			}
			return c.wish(*server, func(row *HostedRow) { row.Event = p.Awaited })
		})
	}
	event, err := p.await(ctx, "")
	if err == nil && event.Result == failed {
		err = fmt.Errorf("the host could not plug it in: %s", event.Details)
	}
	return next{}, err
}
