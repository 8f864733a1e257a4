package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/compute/serverports"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/watch"
)

// AttachAction is the action of an attachment, as Nova calls it.
const AttachAction = "attach_interface"

// An Attachment is a request to attach a port to a server: one that exists, or one that is created
// in a network.
type Attachment struct {
	By      compute.Caller
	Server  compute.ID
	Network compute.NetworkSpec
	Port    compute.Port // empty when one is created
	// May returns the server, and refuses to attach a port to it in another state.
	May func(*Change) (compute.ServerRow, error)
}

// AttachPort attaches a port, and returns its id when the server's host has plugged it in. When
// that fails, everything done for it is undone. The operation is carried out here, since the caller
// waits for it.
func (s *Service) AttachPort(ctx context.Context, a Attachment) (compute.ID, error) {
	poll := s.store.Begin(string(a.Server)) // what its operations and its host write
	defer poll.End()
	var began time.Duration
	job, err := s.waitForIdle(ctx, poll, a.Server, func() (*portJob, error) {
		began = s.elapsed()
		return s.beginAttach(ctx, a)
	})
	if err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx) // a client that disconnects does not stop it half way
	if err := s.runner.Finish(ctx, began, job.job, s.withTimeout(poll)); err != nil {
		why := job.attachFault(err)
		if errors.As(why, new(*attachFailed)) { // its text does not have the cause
			s.rules.Log.WarnContext(ctx, "a port cannot be attached", "server", a.Server, "port", job.Port, "error", err)
		}
		return "", why
	}
	return job.Port, nil
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

// waitForIdle begins an attachment when the server's operation that is under way has ended, with
// the fault of that when it does not within HostTime.
func (s *Service) waitForIdle(
	ctx context.Context, poll *watch.Poll, server compute.ID, begin func() (*portJob, error),
) (*portJob, error) {
	timeout := time.NewTimer(s.rules.Settings.HostTime)
	defer timeout.Stop()
	others := time.NewTicker(watch.Interval)
	defer others.Stop()
	for {
		attachment, err := begin()
		if !errors.Is(err, compute.ErrTaken) {
			return attachment, err
		}
		select {
		case <-poll.Changed:
		case <-others.C:
		case <-timeout.C:
			return nil, compute.Busy(server, AttachAction, "task_state", "")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beginAttach begins the attachment of a port, which is this process's to carry out. It returns
// ErrTaken while another operation of the server is under way.
func (s *Service) beginAttach(ctx context.Context, a Attachment) (*portJob, error) {
	server, n := a.Server, a.Network
	j := &job{s: s, id: compute.NewID(), subject: server, worker: s.newWorker()}
	attachment := &portJob{hostCommands: hostCommands{j}, PortData: PortData{
		HostClaim: compute.HostClaim{Claim: &selection.Claim{}}, Networks: []compute.NetworkSpec{n}, Port: n.Port,
	}}
	j.family = attachment
	err := s.Update(ctx, func(c *Change) error {
		row, err := a.May(c)
		if err != nil {
			return err
		}
		operations, err := compute.Count[compute.OperationRow](c, compute.Where(compute.ByServer, server))
		if err != nil {
			return err
		}
		if operations > 0 {
			return compute.ErrTaken
		}
		ports, err := compute.Rows[compute.PortRow](c, compute.Where(compute.ByServer, server))
		if err != nil {
			return err
		}
		attachment.Index = 0
		for _, r := range ports {
			attachment.Index = max(attachment.Index, r.Index+1)
		}
		if n.Port != "" {
			if err := serverports.AddPort(c.Tx,
				compute.PortRow{Server: server, Index: attachment.Index, Tag: n.Tag, Unplugged: true}, a.Port); err != nil {
				return err
			}
		}
		action, err := c.RecordAction(a.By, server, AttachAction)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_attach_interface", row.Host)
		if err != nil {
			return err
		}
		attachment.Action, attachment.Event, attachment.By = action.ID, event.ID, c.By
		j.op = compute.OperationRow{
			ID: j.id, Server: server, Kind: kindAttach, Worker: j.worker, Lease: c.leaseEnd(), CreatedAt: c.At,
		}
		moveTo(&j.op, c.kinds[kindAttach].first())
		if j.op.Body, err = json.Marshal(&attachment.PortData); err != nil {
			return err
		}
		return c.Insert(&j.op)
	})
	return attachment, err
}

// A portJob attaches a port to a server, or detaches it.
type portJob struct {
	hostCommands
	PortData
}

// PortData is what such an operation stores.
type PortData struct {
	Common
	compute.HostClaim
	// Networks has the interface that is attached.
	Networks []compute.NetworkSpec `json:"networks,omitempty"`
	// Port is the one that is attached or detached, Own whether it goes with the
	// server.
	Port compute.ID `json:"port,omitempty"`
	Own  bool       `json:"own,omitempty"`
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
	Creating    bool         `json:"making,omitempty"`
	Preexisting []compute.ID `json:"others,omitempty"`
	// Bound says that the port was bound, so that its deletion releases its allocation.
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

func (p *portJob) data() operationData { return &p.PortData }

func (p *portJob) clear() operationData {
	p.PortData = PortData{}
	return &p.PortData
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
	created, err := p.s.bindings.Create(ctx, ports, known, compute.PortSpec{
		Project: server.Project, Server: server.ID, Owner: serverports.Owner(p.s.rules, server.Zone), Network: n.Network,
		Address: n.Address,
	})
	if err != nil {
		return next{}, err
	}
	p.Networks[0].Port, p.Port, p.Own = created.ID, created.ID, true
	if err := p.save(ctx, func(c *Change, row *compute.ServerRow) error {
		return serverports.AddPort(c.Tx,
			compute.PortRow{Server: row.ID, Index: p.Index, Tag: n.Tag, Own: true, Unplugged: true}, created)
	}); err != nil {
		return next{}, err
	}
	if len(created.ResourceRequest.Groups) > 0 &&
		!(p.s.rules.Settings.AllowNetworkQoS && p.s.rules.Settings.AllowAttachGuaranteed()) {
		return next{}, compute.Invalid("NetworksWithQoSPolicyNotSupported",
			"Using networks with QoS policy is not supported for instance %s. (Network ID is %s)",
			server.ID, created.Network)
	}
	return next{}, nil
}

// knownOrPreexisting returns a function that reports whether a port is one of the server's, or was
// there before the operation.
func (p *portJob) knownOrPreexisting(ctx context.Context) (func(compute.ID) bool, error) {
	known, err := p.known(ctx)
	return func(id compute.ID) bool { return known(id) || slices.Contains(p.Preexisting, id) }, err
}

// claimPort adds the port's resource request to the server's allocation, by the first of the
// candidates that placement accepts.
func (p *portJob) claimPort(ctx context.Context) (next, error) {
	none := compute.Invalid("InterfaceAttachResourceAllocationFailed",
		"Failed to allocate additional resources to %s during interface attach", p.subject)
	if p.Attempt != nil { // placement did not take it, or became unavailable before that was known
		err := p.adjust(ctx, 1)
		if err == nil || compute.OutcomeUnknown(ctx, err) {
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
	r, err := request.Attach(port.ResourceRequest, placement.UUID(node), p.s.rules.Settings.Requests)
	if err != nil {
		return next{}, err
	}
	if len(r.Query.Groups) == 0 {
		return next{}, p.chooseDevice(ctx, port)
	}
	r.Query.Limit = min(r.Query.Limit, p.s.rules.Settings.Selection.Candidates) // all are of one host
	answer, err := p.s.placement.Candidates(ctx, r.Query)
	switch {
	case compute.OutcomeUnknown(ctx, err):
		return next{}, err
	case err != nil:
		return next{}, errors.Join(none, err)
	}
	for _, candidate := range answer.Candidates {
		p.Amounts, p.Claim = candidate.Amounts, &selection.Claim{Candidate: candidate}
		if err := p.chooseDevice(ctx, port); compute.Code(err) == codeNoDevice {
			none = err
			continue
		} else if err != nil {
			return next{}, err
		}
		err := p.adjust(ctx, 1)
		switch {
		case err == nil, compute.OutcomeUnknown(ctx, err):
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
func (p *portJob) chooseDevice(ctx context.Context, port compute.Port) error {
	err := p.save(ctx, func(c *Change, row *compute.ServerRow) (err error) {
		p.Devices, err = scheduler.ChooseDevice(c.Tx, *row, port, p.Claim.Mappings)
		return err
	})
	if errors.As(err, new(*scheduler.HostRefused)) {
		err = compute.Invalid(codeNoDevice, "Failed to claim PCI device for %s during interface attach", p.subject)
	}
	return err
}

// nodeOf returns the hypervisor that a server is on.
func (s *Service) nodeOf(ctx context.Context, server compute.ServerRow) (id compute.ID, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, err := compute.One[compute.NodeRow](r, compute.Where(compute.ByName, server.Node))
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
	target := serverports.BindingTarget{
		Server: server.ID, Owner: serverports.Owner(p.s.rules, zone), Host: server.Host, Mappings: p.Claim.Mappings,
		Devices: p.Devices,
	}
	if err := target.Check([]compute.Port{port}); err != nil {
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
	binding, err := target.Binding(port)
	if err == nil {
		port, err = p.s.bindings.Bind(ctx, port, binding)
	}
	p.Bound = len(port.Allocated()) > 0 && (err == nil || errors.As(err, new(*serverports.NotBound)))
	if p.Bound || errors.Is(err, compute.ErrPortChanged) || errors.Is(err, compute.ErrRevision) ||
		compute.Code(err) == "PortInUse" {
		p.Pending = nil // the answer says what became of it
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		return serverports.RecordPorts(c.Tx, row.ID, []compute.Port{port})
	}}, err
}

// attachFault is the fault of an attachment that failed.
func (p *portJob) attachFault(err error) error {
	kind, c := fault.Of(err)
	switch {
	case errors.Is(err, operation.ErrReplaced), errors.Is(err, operation.ErrLost):
		return compute.Busy(p.subject, AttachAction, "task_state", compute.Deleting)
	case errors.Is(err, compute.ErrNoPort):
		return compute.NotFound("PortNotFound", "Port id %s could not be found.", p.Port)
	case kind == fault.Invalid, kind == fault.Denied, kind == fault.Unavailable:
		return err
	case kind == fault.Conflict && !errors.Is(err, compute.ErrPortChanged):
		return compute.Conflict(c, "%s", serverports.ForUser(err))
	}
	return &attachFailed{p.subject, err}
}

// An attachFailed says that a port could not be attached for a reason that is not the
// caller's; the log sees it.
type attachFailed struct {
	server compute.ID
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
	failure := compute.StepError{Text: serverports.ForUser(p.attachFault(err)), Details: err.Error()}
	if errors.Is(err, operation.ErrInterrupted) {
		failure = compute.StepError{
			Text: (&attachFailed{server: p.subject}).Error(), Details: err.Error() + ", at step " + p.op.Step,
		}
	}
	return func(c *Change, _ *compute.ServerRow) error {
		event := p.Event
		p.Event, p.Awaited = "", ""
		return c.EndEvent(event, &failure)
	}
}

// removePort takes the port from the server, and deletes it when it was created for the server.
func (p *portJob) removePort(ctx context.Context) (next, error) {
	if p.Own {
		if err := p.s.bindings.Unbind(ctx, compute.PortRow{Server: p.subject, Port: p.Port, Own: true}); err != nil {
			return next{}, err
		}
	}
	if p.Creating && p.Port == "" {
		known, err := p.knownOrPreexisting(ctx)
		if err == nil {
			err = p.s.bindings.DeleteUnknown(ctx, p.subject, known)
		}
		if err != nil {
			return next{}, err
		}
	}
	return next{Change: func(c *Change, row *compute.ServerRow) error {
		_, err := c.Remove(&compute.PortRow{}, compute.Where(compute.ByPort, p.Port), compute.Where(compute.ByServer, row.ID))
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
		return next{}, p.waitAfter(ctx, func(c *Change, server *compute.ServerRow) error {
			p.Awaited = p.Event
			if err := c.setUnplugged(server.ID, p.Port, false); err != nil {
				return err
			}
			return c.setDesired(*server, func(row *compute.HostedRow) { row.Event = p.Awaited })
		})
	}
	event, err := p.await(ctx, "")
	if err == nil && event.Result == compute.EventFailed {
		err = fmt.Errorf("the host could not plug it in: %s", event.Details)
	}
	return next{}, err
}
