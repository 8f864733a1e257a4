package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/healing"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// A Healing says which allocations are healed, and how.
type Healing struct {
	Server ID   // the only one, "" for all
	Max    int  // the number of servers after which it ends, 0 for no end
	DryRun bool // nothing is written
	healing.Choice
}

// A HealedServer is what was missing of a server, and what became of it.
type HealedServer struct {
	Server ID
	Name   string
	Plan   healing.Plan
	// Healed says that something was written, or would be.
	Healed bool
	// Problems are why something is missing still.
	Problems []*healing.Problem
}

// Heal adds the allocations that servers lack in placement, and names the providers of their bound ports (package healing
// has the rule). Servers are healed in order of creation, each after the other; those on no host and those with an
// operation or a move under way are left alone. A second run does nothing. The function is called for
// each server of which something is missing, and for those that are busy.
//
// A server that cannot be healed does not end it, a neighbour that cannot be reached does. The result is that of the first
// problem. The error is a fault when the request is wrong (HTTPBadRequest, InstanceNotFound), and else that of the
// database.
func (s *Service) Heal(ctx context.Context, h Healing, report func(HealedServer)) (healing.Code, error) {
	if h.Force && h.Server == "" {
		return 0, invalid("HTTPBadRequest", "Only the allocation of a given server can be replaced.")
	}
	if h.Max < 0 {
		return 0, invalid("HTTPBadRequest", "The number of servers must be positive.")
	}
	if err := s.canWork(); err != nil {
		return 0, err
	}
	all, err := s.healable(ctx, h.Server)
	if err != nil {
		return 0, err
	}
	healed, result := 0, healing.Healed
	for _, row := range all {
		if h.Max > 0 && healed == h.Max {
			return cmp.Or(result, healing.MaxReached), nil
		}
		one, err := s.healServer(ctx, row, h)
		var unreadable *healing.Problem
		switch {
		case errors.As(err, &unreadable):
			one.Problems = append(one.Problems, unreadable)
		case err != nil:
			return 0, err
		}
		if one.Healed {
			healed++
		}
		if len(one.Problems) > 0 {
			result = cmp.Or(result, one.Problems[0].Code)
		}
		if one.Plan.Busy != "" || !one.Plan.Empty() || unreadable != nil {
			report(one)
		}
		if unreadable != nil {
			return result, nil
		}
	}
	if result == healing.Healed && (healed == 0 || h.DryRun) {
		result = healing.Nothing
	}
	return result, nil
}

// healable returns the servers that are on a host, in order of creation.
func (s *Service) healable(ctx context.Context, only ID) (all []ServerRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		var where []Match
		if only != "" {
			if _, err := found[ServerRow](r, noServer(only), Where(ByID, only)); err != nil {
				return err
			}
			where = append(where, Where(ByID, only))
		}
		all, err = Rows[ServerRow](r, where...)
		return err
	})
	all = slices.DeleteFunc(all, func(row ServerRow) bool { return row.Host == "" || row.State == Deleted })
	slices.SortFunc(all, func(a, b ServerRow) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// healServer heals one server. The error is a *healing.Problem when a neighbour cannot be asked.
func (s *Service) healServer(ctx context.Context, row ServerRow, h Healing) (one HealedServer, err error) {
	one = HealedServer{Server: row.ID, Name: row.Name}
	if one.Plan, err = s.healingPlan(ctx, row.ID, "", h.Choice); err != nil {
		return one, err
	}
	if p := one.Plan.Problem; p != nil {
		one.Problems = append(one.Problems, p)
	}
	var steps []body
	if one.Plan.Whole != nil {
		steps = append(steps, body{Replace: h.Force})
	}
	for _, m := range one.Plan.Ports {
		if m.Problem != nil {
			one.Problems = append(one.Problems, m.Problem)
			continue
		}
		steps = append(steps, body{Port: ID(m.Port.Asks.ID)})
	}
	if h.DryRun {
		one.Healed = len(steps) > 0
		return one, nil
	}
	for _, b := range steps {
		err := s.healOne(ctx, row.ID, b)
		var p *healing.Problem
		switch {
		case err == nil:
			one.Healed = true
			continue
		case errors.Is(err, ErrTaken), errors.Is(err, operation.ErrTurned):
			one.Plan.Busy = "another operation has begun"
			return one, nil
		case !errors.As(err, &p):
			return one, err
		}
		one.Problems = append(one.Problems, p)
		if b.Port == "" || p.Code == healing.NotUndone {
			return one, nil // what follows depends on it
		}
	}
	return one, nil
}

// healingPlan returns what is missing of a server, with the providers of its ports. An operation of its own does not
// count as under way. The error is a *healing.Problem when a neighbour cannot be asked.
func (s *Service) healingPlan(ctx context.Context, id, own ID, c healing.Choice) (p healing.Plan, err error) {
	is, err := s.healingState(ctx, id, own)
	if err != nil {
		return p, err
	}
	p = healing.New(is, c)
	for i, m := range p.Ports {
		if m.Problem != nil || m.Lost() {
			continue
		}
		var answer selection.Answer
		r, err := request.Attach(m.Port.Asks, is.Root, s.settings.Requests)
		if err == nil {
			answer, err = s.placement.Candidates(ctx, r.Query)
		}
		kind, _ := fault.Of(err)
		switch why := (&healing.Problem{Code: healing.NotAllocated, Err: err}); {
		case err == nil:
			p.Ports[i] = m.Choose(answer.Candidates)
		case kind == fault.Invalid: // this port cannot be asked for
			p.Ports[i].Problem = why
		default:
			return p, why
		}
	}
	return p, nil
}

// healingState reads what the plan of a server depends on.
func (s *Service) healingState(ctx context.Context, id, own ID) (is healing.Server, err error) {
	var row ServerRow
	var node NodeRow
	err = s.store.View(ctx, func(r Reader) error {
		if row, err = One[ServerRow](r, Where(ByID, id)); err != nil {
			return err
		}
		if is.Busy, err = underWay(r, row, own); err != nil {
			return err
		}
		node, err = One[NodeRow](r, Where(ByName, row.Node))
		if errors.Is(err, ErrNoRow) {
			err = nil
		}
		return err
	})
	is.ID, is.Host, is.Project, is.User, is.Root = string(id), row.Host, row.Project, row.User, placement.UUID(node.ID)
	if err != nil || is.Busy != "" || is.Root == "" {
		return is, err
	}
	is.Flavor, is.NoFlavor = row.asks(s.settings.Requests)
	if is.Held, err = s.placement.Allocations(ctx, is.ID); err != nil {
		return is, &healing.Problem{Code: healing.NotAllocated, Err: err}
	}
	ports, err := s.network.ServerPorts(ctx, id)
	if err != nil {
		return is, &healing.Problem{Code: healing.NoPorts, Err: err}
	}
	for _, p := range ports {
		one := healing.Port{Asks: p.Asks, Allocation: p.Allocation}
		if !p.Failed() {
			one.Host = p.Host
		}
		if one.Device, err = node.interfaceOf(p); err != nil {
			return is, err
		}
		is.Ports = append(is.Ports, one)
	}
	slices.SortFunc(is.Ports, func(a, b healing.Port) int { return cmp.Compare(a.Asks.ID, b.Asks.ID) })
	return is, nil
}

// underWay says what is under way with a server besides an operation, "" for nothing.
func underWay(r Reader, row ServerRow, own ID) (string, error) {
	if row.Task != "" {
		return "it is " + row.Task, nil
	}
	operations, err := Rows[OperationRow](r, Where(ByServer, row.ID))
	if err != nil {
		return "", err
	}
	for _, op := range operations {
		if op.ID != own {
			return "an operation is under way: " + op.Kind, nil
		}
	}
	moves, err := Rows[MigrationRow](r, Where(ByServer, row.ID))
	for _, m := range moves {
		if !m.over() {
			return "a move is under way: " + m.Type, err
		}
	}
	return "", err
}

// asks is the query for the flavor of a server, without its ports.
func (s ServerRow) asks(settings request.Settings) (placement.Query, error) {
	flavor, err := s.flavor()
	if err != nil {
		return placement.Query{}, err
	}
	var image extraspecs.Image
	if len(s.ImageMeta) > 0 {
		if err := json.Unmarshal(s.ImageMeta, &image); err != nil {
			return placement.Query{}, err
		}
	}
	r, err := request.New(request.Spec{Flavor: flavor, Image: image, Project: s.Project}, settings, nil)
	return r.Query, err
}

// interfaceOf returns the provider of the interface of which a port's device is a function, "" when that is not
// known.
func (n NodeRow) interfaceOf(p Port) (placement.UUID, error) {
	if _, is := deviceVNICs[p.VNIC]; !is || p.Slot == "" || len(n.Devices) == 0 {
		return "", nil
	}
	var all []Device
	if err := json.Unmarshal(n.Devices, &all); err != nil {
		return "", err
	}
	for _, d := range all {
		if d.Slot == p.Slot && d.Parent != "" {
			name := guarantee.Name{Driver: guarantee.SRIOV, Hypervisor: n.Name, Device: d.Parent}
			return placement.UUID(name.UUID().String()), nil
		}
	}
	return "", nil
}
