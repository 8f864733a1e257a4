package guarantee

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/berthcloud/berth/allocations"
)

// A PolicyChange is the change of the effective policy of a port that is bound for compute.
type PolicyChange struct {
	Port       UUID
	Old, New   []Rule
	Allocation ProfileAllocation
}

// A Plan is what follows from a change of policy.
type Plan struct {
	// Differences are added to the server's allocations: new less old, without zeros. When there
	// are none, no request is sent to placement.
	Differences allocations.Amounts
	// Allocation is the allocation in the new profile, and Rewrite says whether to write it.
	// Nothing else in the profile changes.
	Allocation ProfileAllocation
	Rewrite    bool
	// Warnings are for the operator, one line each: guarantees that are enforced but not in
	// placement.
	Warnings []string
}

// ErrDirection says that a bound port cannot go from packet rates of each direction
// to one of both together, or back: providers have the classes of one kind or of the
// other. Neutron answers 501.
var ErrDirection = errors.New(
	"the minimum packet rate of a bound port cannot change between one of both directions together " +
		"and one of each; detach the port first")

// An UnknownGroup says that rules of the former policy have no group in the allocation while it has
// groups of something else: a change would leave amounts in placement that no port accounts for.
type UnknownGroup struct {
	Port      UUID
	Types     []RuleType // whose group is not there
	Providers []UUID     // that serve groups which the former policy does not make, sorted
}

func (e *UnknownGroup) Error() string {
	return fmt.Sprintf("the binding profile of port %s does not say which provider serves %v, "+
		"and has others (%s) that its policy does not account for; "+
		"heal the server's allocations, move it, or detach and attach the port", e.Port, e.Types, join(e.Providers))
}

// Plan returns what follows from the change, ErrDirection or *UnknownGroup.
//
// Only what is allocated can follow: a type of rules that the old policy did not
// have was never scheduled, and gets no allocation now. A type that the new policy
// has no more, or with minimums of 0, frees what it had and loses its group. If
// rules of a type stay, the provider stays and the group gets its new id. Groups
// that the old policy does not explain stay as they are.
func (c PolicyChange) Plan() (Plan, error) {
	p := planner{change: c, plan: Plan{Allocation: c.Allocation}}
	if len(amounts(c.Old)) == 0 || c.Allocation.Empty() {
		for _, t := range tracked {
			p.warn(t)
		}
		return p.plan, nil
	}
	p.left = maps.Clone(c.Allocation.byGroup())
	p.plan.Allocation, p.plan.Rewrite = ProfileAllocation{Groups: map[UUID]UUID{}}, true
	for _, t := range tracked {
		if err := p.follow(t); err != nil {
			return Plan{}, err
		}
	}
	if len(p.missing) > 0 && len(p.left) > 0 {
		return Plan{}, &UnknownGroup{Port: c.Port, Types: p.missing, Providers: sortedUUIDs(maps.Values(p.left))}
	}
	maps.Copy(p.plan.Allocation.Groups, p.left)
	return p.plan, nil
}

type planner struct {
	change  PolicyChange
	left    map[UUID]UUID // of the allocation: provider by group that is not explained yet
	missing []RuleType    // whose old rules have no group
	plan    Plan
}

// follow plans for the rules of one type.
func (p *planner) follow(t RuleType) error {
	c := p.change
	prev, cur := amounts(ofType(c.Old, t)), amounts(ofType(c.New, t))
	group, ok := c.Allocation.find(c.Port, t, c.Old)
	if !ok {
		if len(prev) > 0 {
			p.missing = append(p.missing, t)
		}
		p.warn(t)
		return nil
	}
	if has(prev, PacketRate) && directedPackets(cur) || has(cur, PacketRate) && directedPackets(prev) {
		return ErrDirection
	}
	provider := p.left[group]
	delete(p.left, group)
	p.differ(provider, prev, cur)
	if len(cur) > 0 {
		p.keep(t, provider)
	}
	return nil
}

// differ notes what changes at a provider.
func (p *planner) differ(provider UUID, prev, cur map[string]int64) {
	diff := maps.Clone(cur)
	for class, n := range prev {
		diff[class] -= n
	}
	maps.DeleteFunc(diff, func(_ string, n int64) bool { return n == 0 })
	if len(diff) == 0 {
		return
	}
	if p.plan.Differences == nil {
		p.plan.Differences = allocations.Amounts{}
	}
	key := provider.String()
	if p.plan.Differences[key] == nil {
		p.plan.Differences[key] = map[string]int64{}
	}
	maps.Copy(p.plan.Differences[key], diff) // types share no class
}

// keep makes the provider serve the new rules of a type.
func (p *planner) keep(t RuleType, provider UUID) {
	if old := p.change.Allocation.Old; old != (UUID{}) {
		p.plan.Allocation = ProfileAllocation{Old: old}
		return
	}
	p.plan.Allocation.Groups[GroupID(p.change.Port, t, p.change.New)] = provider
}

// warn notes that the new rules of a type, if there are any, are kept on the wire only.
func (p *planner) warn(t RuleType) {
	if len(amounts(ofType(p.change.New, t))) > 0 {
		p.plan.Warnings = append(p.plan.Warnings,
			fmt.Sprintf("the %s of port %s is enforced only, and not in placement: it was not allocated when its server "+
				"was scheduled",
				t, p.change.Port))
	}
}

func has(amounts map[string]int64, class string) bool { return amounts[class] > 0 }

func directedPackets(amounts map[string]int64) bool {
	return has(amounts, EgressPacketRate) || has(amounts, IngressPacketRate)
}

func join(ids []UUID) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	return strings.Join(words, ", ")
}
