package guarantee

import (
	"errors"
	"slices"
)

// A Port is the input of a resource request.
type Port struct {
	ID       UUID
	VNICType string
	Rules    []Rule // of its effective policy: its own, else its network's
	Segments []Segment
}

// A Segment is one of the network's, in the order in which they were given.
type Segment struct {
	Type            string // "flat", "vlan", "vxlan", "gre", "geneve", "local"
	PhysicalNetwork string // "" for tunnels and local ones
}

// Extensions are what an operator may have.
type Extensions struct {
	// Tunnels says that agents offer bandwidth for tunnelled networks: that a
	// State has the TunnelTrait.
	Tunnels bool
	// Alternatives allows ports of a network with several physical networks to use any of them.
	// Without it they use the first. It needs placement 1.39 and a compute service that knows
	// Needs.AnyOf.
	Alternatives bool
}

// A Request is the resource request of a port. It is empty when it has no Groups.
type Request struct {
	Groups []Group // bandwidth, then packet rate
}

// A Group is what one provider must give.
type Group struct {
	ID   UUID
	Type RuleType // of the rule
	Needs
}

// Needs are resources and the traits of the provider that gives them.
type Needs struct {
	Required  []string // traits, all of them: network, then VNIC type
	AnyOf     []string // traits, one of them at least; nil or two and more
	Resources map[string]int64
}

// ErrUntracked says that a minimum bandwidth cannot be guaranteed on a network. The change that
// would need it is a conflict (409).
var ErrUntracked = errors.New("bandwidth can be guaranteed only on networks with a physical network; " +
	"those with tunnels need an agent that offers bandwidth for tunnels")

// CheckNetwork returns ErrUntracked when the rules have a minimum bandwidth, of any amount, that no
// provider could serve on a network of these segments. It must be called when a port or a network
// gets a policy, and when a policy or a network in use changes.
func CheckNetwork(rules []Rule, segments []Segment, x Extensions) error {
	if len(ofType(rules, MinimumBandwidth)) > 0 && len(networkTraits(segments, x)) == 0 {
		return ErrUntracked
	}
	return nil
}

// Request returns the resource request of the port. It omits bandwidth that cannot be
// guaranteed on its network (see CheckNetwork).
func (p Port) Request(x Extensions) Request {
	var r Request
	if nets := networkTraits(p.Segments, x); len(nets) > 0 {
		r.add(p, MinimumBandwidth, nets)
	}
	r.add(p, MinimumPacketRate, nil)
	return r
}

func (r *Request) add(p Port, t RuleType, networks []string) {
	g := Group{ID: GroupID(p.ID, t, p.Rules), Type: t}
	if g.Resources = amounts(ofType(p.Rules, t)); len(g.Resources) == 0 {
		return
	}
	if len(networks) > 1 {
		g.AnyOf = networks
	} else {
		g.Required = slices.Clone(networks)
	}
	g.Required = append(g.Required, VNICTypeTrait(p.VNICType))
	r.Groups = append(r.Groups, g)
}

// SameSubtree returns the ids of all groups: their providers are in one subtree.
func (r Request) SameSubtree() []UUID {
	ids := make([]UUID, len(r.Groups))
	for i, g := range r.Groups {
		ids[i] = g.ID
	}
	return ids
}

// Old returns the request in the format that was before the extension
// port-resource-request-groups, and whether there is one. It knows bandwidth only.
func (r Request) Old() (Needs, bool) {
	for _, g := range r.Groups {
		if g.Type == MinimumBandwidth {
			return g.Needs, true
		}
	}
	return Needs{}, false
}

// networkTraits returns the traits of providers that can serve a network, each once: one of them is
// enough. There are several only with Alternatives, and none when no provider tracks the network's
// segments.
//
// A physical network counts wherever it is among the segments; Neutron reads the first segment
// only, and so refuses some networks that it documents as supported.
func networkTraits(segments []Segment, x Extensions) []string {
	var traits []string
	tunnelled := false
	for _, s := range segments {
		tunnelled = tunnelled || s.tunnel()
		if s.PhysicalNetwork == "" {
			continue
		}
		if t := PhysicalNetworkTrait(s.PhysicalNetwork); !slices.Contains(traits, t) {
			traits = append(traits, t)
		}
	}
	switch {
	case len(traits) == 0 && tunnelled && x.Tunnels:
		return []string{TunnelTrait}
	case len(traits) > 1 && !x.Alternatives:
		return traits[:1]
	}
	return traits
}

func (s Segment) tunnel() bool {
	return slices.Contains([]string{"vxlan", "gre", "geneve"}, s.Type)
}
