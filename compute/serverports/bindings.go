// Package serverports creates, binds and unbinds the ports of servers in the network service, and
// keeps what servers have of them as the network service shows it.
//
// reconcile.go compares the ports of servers with those of the network service (decision 38).
package serverports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// Bindings create, bind and unbind the ports of servers. They keep nothing of an operation.
type Bindings struct {
	network compute.Network
	log     *slog.Logger
}

// NewBindings returns the ports of a network service, which may be nil where there are no servers.
func NewBindings(n compute.Network, log *slog.Logger) Bindings { return Bindings{network: n, log: log} }

// Tries is the number of attempts at a change of a port that others change concurrently.
const Tries = 10

// A BindingTarget is where ports of a server are bound, and what serves them there.
type BindingTarget struct {
	Server      compute.ID
	Owner, Host string // device_owner, "" where it stays as it is
	Mappings    request.Mappings
	Devices     map[compute.ID]compute.Device
}

// Binding is the binding of one port. It is ErrPortChanged if the port does not request what the
// mappings are for.
func (t BindingTarget) Binding(p compute.Port) (b compute.Binding, err error) {
	b = compute.Binding{Server: t.Server, Owner: t.Owner, Host: t.Host}
	if b.Allocation, err = p.ResourceRequest.Binding(t.Mappings); err != nil {
		return b, fmt.Errorf("%w: %w", compute.ErrPortChanged, err)
	}
	if d, ok := t.Devices[p.ID]; ok {
		b.Device = &d
	}
	return b, nil
}

// Check checks that each group that was claimed for ports is still in the request of one of
// them. A port whose policy was removed would leave its server with an allocation that no port
// accounts for.
func (t BindingTarget) Check(ports []compute.Port) error {
	requested := map[string]bool{}
	for _, p := range ports {
		for _, g := range p.ResourceRequest.Groups {
			requested[g.ID] = true
		}
	}
	for suffix := range t.Mappings {
		if _, err := guarantee.ParseUUID(suffix); err == nil && !requested[suffix] { // others are the flavor's
			return fmt.Errorf("%w: no port requests group %s any more", compute.ErrPortChanged, suffix)
		}
	}
	return nil
}

// A NotBound says that a port could not be bound to a host.
type NotBound struct {
	port      compute.ID
	host, why string
}

// Error says why, for administrators.
func (n *NotBound) Error() string {
	return fmt.Sprintf("port %s cannot be bound to host %s: %s", n.port, n.host,
		cmp.Or(n.why, "the log of the network service says why"))
}

// Create returns the port in a network that was created for a server and not stored, among the
// ports with its id, or creates one. Those that skip reports are not it.
func (b Bindings) Create(
	ctx context.Context, ports []compute.Port, skip func(compute.ID) bool, spec compute.PortSpec,
) (compute.Port, error) {
	for _, p := range ports {
		if !skip(p.ID) && p.Network == spec.Network && (spec.Address == "" || hasAddress(p, spec.Address)) {
			return p, nil
		}
	}
	return b.network.CreatePort(ctx, spec)
}

func hasAddress(p compute.Port, address string) bool {
	return slices.ContainsFunc(p.Addresses, func(a compute.Address) bool { return a.IP == address })
}

// BindAll binds ports that were read before, in their order. One that was changed since is read
// again, and bound if the claim is still for what the ports request.
func (b Bindings) BindAll(ctx context.Context, ports []compute.Port, t BindingTarget) ([]compute.Port, error) {
	ports, bound := slices.Clone(ports), make([]compute.Port, len(ports))
	for i, p := range ports {
		var err error
		bound[i], err = b.bind(ctx, p, t.Host, func(current compute.Port) (compute.Binding, error) {
			ports[i] = current
			if err := t.Check(ports); err != nil {
				return compute.Binding{}, err
			}
			return t.Binding(current)
		})
		if err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// Bind binds a port. It is read again when it was changed since. The error is a *NotBound when the
// network service could not bind it.
func (b Bindings) Bind(ctx context.Context, p compute.Port, to compute.Binding) (compute.Port, error) {
	return b.bind(ctx, p, to.Host, func(compute.Port) (compute.Binding, error) { return to, nil })
}

// bind is Bind with the binding for each state of the port that it reads.
func (b Bindings) bind(
	ctx context.Context, p compute.Port, host string, to func(compute.Port) (compute.Binding, error),
) (bound compute.Port, err error) {
	for range Tries {
		binding, err := to(p)
		if err != nil {
			return bound, err
		}
		bound, err = b.network.BindPort(ctx, p, binding)
		switch {
		case err == nil && bound.Failed():
			return bound, &NotBound{port: p.ID, host: host, why: bound.Reason}
		case !errors.Is(err, compute.ErrRevision):
			return bound, err
		}
		current, read := b.network.Port(ctx, p.ID)
		switch {
		case errors.Is(read, compute.ErrNoPort):
			return bound, read
		case read != nil:
			return bound, &compute.Retryable{Err: read}
		}
		p = current
	}
	return bound, fmt.Errorf("binding port %s: %w", p.ID, compute.ErrRevision)
}

// BindSecond binds ports to a second host, and returns them as they are there.
func (b Bindings) BindSecond(
	ctx context.Context, ports []compute.Port, t BindingTarget,
) (map[compute.ID]compute.Port, error) {
	if err := t.Check(ports); err != nil {
		return nil, err
	}
	bound := map[compute.ID]compute.Port{}
	for _, p := range ports {
		binding, err := t.Binding(p)
		if err != nil {
			return nil, err
		}
		second, err := b.network.CreateBinding(ctx, p.ID, binding)
		switch {
		case err != nil:
			return nil, err
		case second.Failed():
			return nil, &NotBound{port: p.ID, host: t.Host, why: second.Reason}
		}
		p.Host, p.VNIC, p.VIF, p.Allocation, p.Slot = t.Host, second.VNIC, second.VIF, second.Allocation, second.Slot
		bound[p.ID] = p
	}
	return bound, nil
}

// Activate makes the bindings of ports to a host the active ones, and returns the ports as they are
// then. One that does not exist any more is as it was.
func (b Bindings) Activate(ctx context.Context, ports []compute.Port, host string) ([]compute.Port, error) {
	active := slices.Clone(ports)
	for i, p := range ports {
		current, err := b.network.ActivateBinding(ctx, p.ID, host)
		switch {
		case errors.Is(err, compute.ErrNoPort):
		case err != nil:
			return nil, err
		default:
			active[i] = current
		}
	}
	return active, nil
}

// BindAndActivate binds a port to a second host, and makes that binding the active one.
func (b Bindings) BindAndActivate(ctx context.Context, p compute.Port, to compute.Binding) (compute.Port, error) {
	second, err := b.network.CreateBinding(ctx, p.ID, to)
	if err == nil && second.Failed() {
		err = &NotBound{port: p.ID, host: to.Host, why: second.Reason}
	}
	if err != nil {
		return p, err
	}
	return b.network.ActivateBinding(ctx, p.ID, to.Host)
}

// SetDestination stores in ports where their server is being moved to, or with "" that it is not
// any more. A port whose change the network service refuses, such as that of a whole device with a
// guarantee, stays as it is: no agent plugs it in.
func (b Bindings) SetDestination(ctx context.Context, ports []compute.Port, host string) error {
	for _, p := range ports {
		var err error
		for range Tries {
			if err = b.network.NameDestination(ctx, p.ID, host); !errors.Is(err, compute.ErrRevision) {
				break
			}
		}
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && !errors.Is(err, compute.ErrNoPort) {
			return err
		}
	}
	return nil
}

// DeleteSecond removes the bindings of ports to a host that their server is not on.
func (b Bindings) DeleteSecond(ctx context.Context, ports []compute.Port, host string) error {
	for _, p := range ports {
		if err := b.network.DeleteBinding(ctx, p.ID, host); err != nil {
			return err
		}
	}
	return nil
}

// BindToNoHost binds ports to no host, and returns them as they are then. They stay the server's,
// without the providers that served them: the deletion of one must not release what is not
// allocated any more.
func (b Bindings) BindToNoHost(
	ctx context.Context, ports []compute.Port, server compute.ID, owner string,
) ([]compute.Port, error) {
	unbound := slices.Clone(ports)
	for i, p := range ports {
		if p.Host == "" {
			continue
		}
		current, err := b.Bind(ctx, p, compute.Binding{Server: server, Owner: owner})
		switch {
		case errors.Is(err, compute.ErrNoPort), compute.Code(err) == "PortInUse":
		case err != nil:
			return nil, err
		default:
			unbound[i] = current
		}
	}
	return unbound, nil
}

// Unbind unbinds a port from its server, and deletes it when it was created for the server. It is
// unbound first: the network service releases the allocation of a port that is deleted while it is
// bound, and here it is released with the server's. A port of another server is unchanged, and one
// that a trunk uses is not deleted.
func (b Bindings) Unbind(ctx context.Context, p compute.PortRow) (err error) {
	for range Tries {
		if _, err = b.network.UnbindPort(ctx, p.Server, p.Port, 0); !errors.Is(err, compute.ErrRevision) {
			break
		}
	}
	switch {
	case errors.Is(err, compute.ErrNoPort), compute.Code(err) == "PortInUse":
		return nil
	case err != nil || !p.Own:
		return err
	}
	err = b.network.DeletePort(ctx, p.Port)
	if usedByTrunk(err) {
		b.log.WarnContext(ctx, "a port that was created for a server is not deleted with it", "port", p.Port,
			"server", p.Server, "error", err)
		return nil
	}
	return err
}

// DeleteUnknown deletes the ports that were created for a server and not stored, but not those that
// known reports. None of them was bound.
func (b Bindings) DeleteUnknown(ctx context.Context, server compute.ID, known func(compute.ID) bool) error {
	ports, err := b.network.ServerPorts(ctx, server)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if known(p.ID) {
			continue
		}
		// It is not unbound first: without the server's id it would not be found again if the
		// process ended then.
		err := b.network.DeletePort(ctx, p.ID)
		if usedByTrunk(err) {
			err = b.Unbind(ctx, compute.PortRow{Server: server, Port: p.ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// usedByTrunk reports whether a port is not deleted because a trunk uses it, which only its owner
// can end.
func usedByTrunk(err error) bool {
	c := compute.Code(err)
	return c == "PortInUseAsTrunkParent" || c == "PortInUseAsSubPort"
}

// PortsByID reads the ports that networks name, those that exist.
func (b Bindings) PortsByID(ctx context.Context, networks []compute.NetworkSpec) (map[compute.ID]compute.Port, error) {
	var ids []compute.ID
	for _, n := range networks {
		if n.Port != "" && !slices.Contains(ids, n.Port) {
			ids = append(ids, n.Port)
		}
	}
	all, err := b.network.Ports(ctx, ids...)
	byID := make(map[compute.ID]compute.Port, len(all))
	for _, p := range all {
		byID[p.ID] = p
	}
	return byID, err
}

// ForUser is the message of a cause for users: Nova's text of a port that cannot be bound, which
// does not name the host, and the text of a fault without what is around it, which has addresses
// and requests.
func ForUser(cause error) string {
	if n := (*NotBound)(nil); errors.As(cause, &n) {
		return fmt.Sprintf("Binding failed for port %s, please check neutron logs for more information.", n.port)
	}
	if f, ok := fault.Find(cause); ok {
		return f.Error()
	}
	return cause.Error()
}

// Owner is what ports of the server call their owner.
func Owner(rules compute.Rules, zone string) string {
	if zone == "" {
		zone = rules.Settings.DefaultZone
	}
	return "compute:" + zone
}
