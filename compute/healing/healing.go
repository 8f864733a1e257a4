// Package healing has the rule of healing allocations: what is missing in placement of a server that runs, and why
// it cannot be added. It is pure: no clock, no store, no request.
//
// Of a server without any allocation the amounts of its flavor, and of its ports that name a provider, are missing. Of
// a port that is bound on the server's host and guarantees something, but names no provider, the amounts are
// missing and the name. Of a port that names a provider, what the server does not hold there is missing: its data was lost.
//
// A server is healed in this order: its own allocation, then one port after the other. A port's amounts are added
// before the port names the provider, so that nothing is guaranteed that is not allocated.
package healing

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// A Code is the result of healing, as the command returns it: Nova's of heal_allocations.
type Code int

// The codes.
const (
	Healed       Code = 0 // something was healed
	MaxReached   Code = 1 // there may be more to heal
	NoNode       Code = 2 // the compute node of a server is not known
	NotAllocated Code = 3 // an allocation is missing still
	Nothing      Code = 4 // there was nothing to heal, or nothing was to be written
	NoPorts      Code = 5 // the ports of a server cannot be read
	NotNamed     Code = 6 // a port could not name its provider; what was allocated for it was released
	NotUndone    Code = 7 // and it is not known yet whether it was: an operation has it
	Refused      Code = 8 // servers of this kind are not healed
)

// A Problem is why something is not healed.
type Problem struct {
	Code Code
	Err  error
}

// Error says why.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Problemf returns a problem.
func Problemf(c Code, format string, args ...any) *Problem {
	return &Problem{c, fmt.Errorf(format, args...)}
}

// A Server is what is known of a server.
type Server struct {
	ID, Host      string
	Project, User string
	Root          placement.UUID // the provider of its host, "" when there is no compute node
	// Busy is what is under way with it, "" for nothing. It is left alone then.
	Busy string
	// Flavor is what it asks for without its ports. NoFlavor is why that is not known, nil when it is.
	Flavor   placement.Query
	NoFlavor error
	Held     allocations.Consumer
	Ports    []Port
}

// A Port is a port of a server.
type Port struct {
	Asks       request.Port
	Host       string // to which it is bound, "" for none
	Allocation guarantee.ProfileAllocation
	// Device is the provider of the interface of which its device is a function, "" for none.
	Device placement.UUID
}

// A Choice is what an operator wants to be healed.
type Choice struct {
	SkipPorts bool // without an allocation
	Force     bool // an existing allocation is replaced by what the flavor and the ports ask for
}

// A Plan is what is missing of a server.
type Plan struct {
	// Problem is why the server is left alone, nil when it is not.
	Problem *Problem
	// Busy says that it is left alone because something is under way.
	Busy string
	// Whole replaces the allocation, nil for no change. It differs from Held, or the owner does.
	Whole allocations.Amounts
	Held  allocations.Consumer // that the plan was made from
	Ports []Missing            // in the order of the ports
}

// Empty reports whether nothing is missing.
func (p Plan) Empty() bool { return p.Problem == nil && p.Whole == nil && len(p.Ports) == 0 }

// A Missing is what is missing of a port.
type Missing struct {
	Port Port
	// Problem is why it is not healed, nil when it is.
	Problem *Problem
	// Amounts are to be added, and Allocation is what the port is to name. Both are empty until Choose when the port names nothing.
	Amounts    allocations.Amounts
	Allocation guarantee.ProfileAllocation
}

// Lost reports whether the port names its providers, so that only the amounts are missing.
func (m Missing) Lost() bool { return !m.Port.Allocation.Empty() }

// New returns the plan for a server.
func New(s Server, c Choice) (p Plan) {
	if s.Busy != "" {
		return Plan{Busy: s.Busy}
	}
	if s.Root == "" {
		return Plan{Problem: Problemf(NoNode, "server %s is on host %s, of which no compute node is known", s.ID, s.Host)}
	}
	p.Held = s.Held
	named := allocations.Amounts{} // what ports with a provider need
	var open []Port                // those without
	for _, port := range s.Ports {
		switch {
		case port.Host != s.Host:
		case !port.Allocation.Empty():
			named = named.Plus(port.amounts())
		case port.asks():
			open = append(open, port)
		}
	}
	held := s.Held.Amounts
	replaced := len(held) == 0 || c.Force
	if replaced {
		own, err := s.own()
		if err != nil {
			return Plan{Problem: err}
		}
		held = own.Plus(named)
	}
	if !held.Equal(s.Held.Amounts) || s.Held.Project != s.Project || s.Held.User != s.User {
		p.Whole = held
	}
	p.Ports = s.lost(held, named)
	if c.SkipPorts || len(open) == 0 {
		return p
	}
	excess := s.excess(held, named, open)
	for _, port := range open {
		m := Missing{Port: port, Problem: excess}
		p.Ports = append(p.Ports, m)
	}
	return p
}

// own returns the amounts of the flavor on the host.
func (s Server) own() (allocations.Amounts, *Problem) {
	if s.NoFlavor != nil {
		return nil, Problemf(Refused, "what the flavor of server %s asks for is not known: %w", s.ID, s.NoFlavor)
	}
	own := map[string]int64{}
	for _, g := range s.Flavor.Groups {
		for _, r := range g.Resources {
			if g.Suffix != "" || r.Class == "VGPU" {
				return nil, Problemf(Refused, "server %s has a flavor of which resources are not those of its host alone: move it instead", s.ID)
			}
			own[r.Class] += r.Amount
		}
	}
	return allocations.Amounts{string(s.Root): own}, nil
}

// lost are the ports whose providers the server does not hold enough of. The ports of a provider that has too
// little share what it has in their order.
func (s Server) lost(held, named allocations.Amounts) (all []Missing) {
	left := held.Concerned(named)
	for _, port := range s.Ports {
		if port.Host != s.Host || port.Allocation.Empty() {
			continue
		}
		missing := allocations.Amounts{}
		for provider, classes := range port.amounts() {
			for class, n := range classes {
				has := min(n, left[provider][class])
				left[provider][class] -= has
				if has < n {
					missing = missing.Plus(allocations.Amounts{provider: {class: n - has}})
				}
			}
		}
		if len(missing) > 0 {
			all = append(all, Missing{Port: port, Amounts: missing, Allocation: port.Allocation})
		}
	}
	return all
}

// excess is a problem when the server holds more of what its ports without a provider ask for than the others
// account for: it may be for one of them, and must not be added twice.
func (s Server) excess(held, named allocations.Amounts, open []Port) *Problem {
	for _, port := range open {
		for _, g := range port.Asks.Groups {
			for class, n := range g.Resources {
				for _, provider := range slices.Sorted(maps.Keys(held)) {
					more := held[provider][class] - named[provider][class]
					if n > 0 && more > 0 && provider != string(s.Root) {
						return Problemf(NotAllocated, "server %s has %d of %s on provider %s that none of its ports names: "+
							"heal it with force, which releases that first", s.ID, more, class, provider)
					}
				}
			}
		}
	}
	return nil
}

// asks reports whether a port asks for anything.
func (p Port) asks() bool {
	for _, g := range p.Asks.Groups {
		for _, n := range g.Resources {
			if n > 0 {
				return true
			}
		}
	}
	return false
}

// amounts are what a port asks for, on the providers that it names.
func (p Port) amounts() allocations.Amounts {
	held := allocations.Amounts{}
	for _, g := range p.Asks.Groups {
		provider := p.Allocation.Old
		if id, err := guarantee.ParseUUID(g.ID); err == nil && p.Allocation.Groups != nil {
			provider = p.Allocation.Groups[id]
		}
		if provider != (guarantee.UUID{}) {
			held = held.Plus(allocations.Amounts{provider.String(): g.Resources})
		}
	}
	return held
}

// Choose returns what is missing of a port with the provider that can serve it: the only one of the candidates or,
// for a port that is a device, the one of its interface.
func (m Missing) Choose(candidates []selection.Candidate) Missing {
	if m.Problem != nil || m.Lost() {
		return m
	}
	id := m.Port.Asks.ID
	if len(candidates) == 0 {
		m.Problem = Problemf(NotAllocated, "no provider of the host has the capacity for port %s, or none can serve it", id)
		return m
	}
	if m.Port.Device != "" {
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c selection.Candidate) bool {
			provider, asks := m.Port.Asks.Device(c.Mappings)
			return asks && provider != m.Port.Device
		})
	}
	switch len(candidates) {
	case 0:
		m.Problem = Problemf(NotAllocated, "the interface that port %s is a function of, provider %s, has not the capacity for it", id, m.Port.Device)
		return m
	case 1:
	default:
		m.Problem = Problemf(NotAllocated, "%d providers of the host can serve port %s, and it is not known which one does: move its server, or detach and attach the port",
			len(candidates), id)
		return m
	}
	a, err := m.Port.Asks.Binding(candidates[0].Mappings)
	if err != nil {
		m.Problem = Problemf(NotAllocated, "%v", err)
		return m
	}
	m.Amounts, m.Allocation = candidates[0].Amounts, a
	return m
}
