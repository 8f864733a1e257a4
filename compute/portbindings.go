package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// portBindings create, bind and unbind the ports of servers. They keep nothing of an operation.
type portBindings struct {
	network Network
	log     *slog.Logger
}

// tries is the number of attempts at a change of a port that others change concurrently.
const tries = 10

// A bindingTarget is where ports of a server are bound, and what serves them there.
type bindingTarget struct {
	server      ID
	owner, host string // device_owner, "" where it stays as it is
	mappings    request.Mappings
	devices     map[ID]Device
}

// binding is the binding of one port. It is ErrPortChanged if the port does not request what the
// mappings are for.
func (t bindingTarget) binding(p Port) (b Binding, err error) {
	b = Binding{Server: t.server, Owner: t.owner, Host: t.host}
	if b.Allocation, err = p.Asks.Binding(t.mappings); err != nil {
		return b, fmt.Errorf("%w: %w", ErrPortChanged, err)
	}
	if d, ok := t.devices[p.ID]; ok {
		b.Device = &d
	}
	return b, nil
}

// check checks that each group that was claimed for ports is still in the request of one of
// them. A port whose policy was removed would leave its server with an allocation that no port
// accounts for.
func (t bindingTarget) check(ports []Port) error {
	requested := map[string]bool{}
	for _, p := range ports {
		for _, g := range p.Asks.Groups {
			requested[g.ID] = true
		}
	}
	for suffix := range t.mappings {
		if _, err := guarantee.ParseUUID(suffix); err == nil && !requested[suffix] { // others are the flavor's
			return fmt.Errorf("%w: no port requests group %s any more", ErrPortChanged, suffix)
		}
	}
	return nil
}

// A notBound says that a port could not be bound to a host.
type notBound struct {
	port      ID
	host, why string
}

// Error says why, for administrators.
func (n *notBound) Error() string {
	return fmt.Sprintf("port %s cannot be bound to host %s: %s", n.port, n.host, cmp.Or(n.why, "the log of the network service says why"))
}

// create returns the port in a network that was created for a server and not stored, among the
// ports with its id, or creates one. Those that skip reports are not it.
func (b portBindings) create(ctx context.Context, ports []Port, skip func(ID) bool, spec PortSpec) (Port, error) {
	for _, p := range ports {
		if !skip(p.ID) && p.Network == spec.Network && (spec.Address == "" || p.has(spec.Address)) {
			return p, nil
		}
	}
	return b.network.CreatePort(ctx, spec)
}

func (p Port) has(address string) bool {
	return slices.ContainsFunc(p.Addresses, func(a Address) bool { return a.IP == address })
}

// bindAll binds ports that were just read, in their order.
func (b portBindings) bindAll(ctx context.Context, ports []Port, t bindingTarget) ([]Port, error) {
	if err := t.check(ports); err != nil {
		return nil, err
	}
	bound := make([]Port, len(ports))
	for i, p := range ports {
		binding, err := t.binding(p)
		if err != nil {
			return nil, err
		}
		if bound[i], err = b.bind(ctx, p, binding); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// bind binds a port. It is read again when it was changed since. The error is a *notBound when the
// network service could not bind it.
func (b portBindings) bind(ctx context.Context, p Port, to Binding) (bound Port, err error) {
	for range tries {
		if bound, err = b.network.BindPort(ctx, p, to); !errors.Is(err, ErrRevision) {
			break
		}
		current, read := b.network.Port(ctx, p.ID)
		switch {
		case errors.Is(read, ErrNoPort):
			return bound, read
		case read != nil:
			return bound, &retryable{read}
		}
		p = current
	}
	if err == nil && bound.Failed() {
		err = &notBound{port: p.ID, host: to.Host, why: bound.Reason}
	}
	return bound, err
}

// bindSecond binds ports to a second host, and returns them as they are there.
func (b portBindings) bindSecond(ctx context.Context, ports []Port, t bindingTarget) (map[ID]Port, error) {
	if err := t.check(ports); err != nil {
		return nil, err
	}
	bound := map[ID]Port{}
	for _, p := range ports {
		binding, err := t.binding(p)
		if err != nil {
			return nil, err
		}
		second, err := b.network.CreateBinding(ctx, p.ID, binding)
		switch {
		case err != nil:
			return nil, err
		case second.Failed():
			return nil, &notBound{port: p.ID, host: t.host, why: second.Reason}
		}
		p.Host, p.VNIC, p.VIF, p.Allocation, p.Slot = t.host, second.VNIC, second.VIF, second.Allocation, second.Slot
		bound[p.ID] = p
	}
	return bound, nil
}

// activate makes the bindings of ports to a host the active ones, and returns the ports as they are
// then. One that does not exist any more is as it was.
func (b portBindings) activate(ctx context.Context, ports []Port, host string) ([]Port, error) {
	active := slices.Clone(ports)
	for i, p := range ports {
		current, err := b.network.ActivateBinding(ctx, p.ID, host)
		switch {
		case errors.Is(err, ErrNoPort):
		case err != nil:
			return nil, err
		default:
			active[i] = current
		}
	}
	return active, nil
}

// bindAndActivate binds a port to a second host, and makes that binding the active one.
func (b portBindings) bindAndActivate(ctx context.Context, p Port, to Binding) (Port, error) {
	second, err := b.network.CreateBinding(ctx, p.ID, to)
	if err == nil && second.Failed() {
		err = &notBound{port: p.ID, host: to.Host, why: second.Reason}
	}
	if err != nil {
		return p, err
	}
	return b.network.ActivateBinding(ctx, p.ID, to.Host)
}

// setDestination stores in ports where their server is being moved to, or with "" that it is not
// any more. A port whose change the network service refuses, such as that of a whole device with a
// guarantee, stays as it is: no agent plugs it in.
func (b portBindings) setDestination(ctx context.Context, ports []Port, host string) error {
	for _, p := range ports {
		var err error
		for range tries {
			if err = b.network.NameDestination(ctx, p.ID, host); !errors.Is(err, ErrRevision) {
				break
			}
		}
		if kind, _ := fault.Of(err); err != nil && kind != fault.Conflict && !errors.Is(err, ErrNoPort) {
			return err
		}
	}
	return nil
}

// deleteSecond removes the bindings of ports to a host that their server is not on.
func (b portBindings) deleteSecond(ctx context.Context, ports []Port, host string) error {
	for _, p := range ports {
		if err := b.network.DeleteBinding(ctx, p.ID, host); err != nil {
			return err
		}
	}
	return nil
}

// bindToNoHost binds ports to no host, and returns them as they are then. They stay the server's,
// without the providers that served them: the deletion of one must not release what is not
// allocated any more.
func (b portBindings) bindToNoHost(ctx context.Context, ports []Port, server ID, owner string) ([]Port, error) {
	unbound := slices.Clone(ports)
	for i, p := range ports {
		if p.Host == "" {
			continue
		}
		current, err := b.bind(ctx, p, Binding{Server: server, Owner: owner})
		switch {
		case errors.Is(err, ErrNoPort), code(err) == "PortInUse":
		case err != nil:
			return nil, err
		default:
			unbound[i] = current
		}
	}
	return unbound, nil
}

// unbind unbinds a port from its server, and deletes it when it was created for the server. It is
// unbound first: the network service releases the allocation of a port that is deleted while it is
// bound, and here it is released with the server's. A port of another server is unchanged, and one
// that a trunk uses is not deleted.
func (b portBindings) unbind(ctx context.Context, p PortRow) (err error) {
	for range tries {
		if _, err = b.network.UnbindPort(ctx, p.Server, p.Port, 0); !errors.Is(err, ErrRevision) {
			break
		}
	}
	switch {
	case errors.Is(err, ErrNoPort), code(err) == "PortInUse":
		return nil
	case err != nil || !p.Own:
		return err
	}
	err = b.network.DeletePort(ctx, p.Port)
	if usedByTrunk(err) {
		b.log.WarnContext(ctx, "a port that was created for a server is not deleted with it", "port", p.Port, "server", p.Server, "error", err)
		return nil
	}
	return err
}

// deleteUnknown deletes the ports that were created for a server and not stored, but not those that
// known reports. None of them was bound.
func (b portBindings) deleteUnknown(ctx context.Context, server ID, known func(ID) bool) error {
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
			err = b.unbind(ctx, PortRow{Server: server, Port: p.ID})
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
	c := code(err)
	return c == "PortInUseAsTrunkParent" || c == "PortInUseAsSubPort"
}
