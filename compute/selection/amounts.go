package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/network/guarantee"
	"github.com/berthcloud/berth/placement"
)

// Arithmetic of a server's allocation during a move, and when a port is attached or detached. No
// argument is modified.

// Doubled returns a server's allocation on two hosts during a move: what it had, and the
// candidate's amounts on providers where it had nothing.
func Doubled(held guarantee.Amounts, c Candidate) guarantee.Amounts {
	both := clone(held)
	for provider, classes := range c.Amounts {
		if _, ok := held[provider]; !ok {
			both[provider] = maps.Clone(classes)
		}
	}
	return both
}

// Plus returns the sum of a server's allocation and more, on providers where it may have had
// nothing.
func Plus(held, more guarantee.Amounts) guarantee.Amounts {
	sum := clone(held)
	for provider, classes := range more {
		if sum[provider] == nil {
			sum[provider] = map[string]int64{}
		}
		for class, n := range classes {
			sum[provider][class] += n
		}
	}
	return sum
}

// A Leak says that a server should release more than it has allocated. It is unknown then where the
// rest is.
type Leak struct {
	Provider, Class string
	Held, Less      int64
}

// Error says of what.
func (e *Leak) Error() string {
	return fmt.Sprintf("%s on provider %s: %d should be released, and %d are allocated", e.Class, e.Provider, e.Less, e.Held)
}

// Minus returns a server's allocation after a part was released. It is a *Leak when it has less,
// the first one found.
func Minus(held, less guarantee.Amounts) (guarantee.Amounts, error) {
	left := clone(held)
	for _, provider := range sortedKeys(less) {
		for _, class := range sortedKeys(less[provider]) {
			n := less[provider][class]
			if had := held[provider][class]; n > had {
				return nil, &Leak{Provider: provider, Class: class, Held: had, Less: n}
			}
			if left[provider][class] -= n; left[provider][class] == 0 {
				delete(left[provider], class)
			}
		}
		if len(left[provider]) == 0 {
			delete(left, provider)
		}
	}
	return left, nil
}

func clone(a guarantee.Amounts) guarantee.Amounts {
	c := make(guarantee.Amounts, len(a))
	for provider, classes := range a {
		c[provider] = maps.Clone(classes)
	}
	return c
}

// Match finds which provider serves which group of ports, from their server's allocation and the
// traits of the providers: for allocations whose mapping is lost. It returns false when no
// assignment explains them. Equal groups may be exchanged; any of the assignments is correct.
func Match(groups []request.Group, held guarantee.Amounts, traits map[string][]string) (request.Mappings, bool) {
	m := matching{groups: groups, left: clone(held), traits: traits, providers: sortedKeys(held), mappings: request.Mappings{}}
	return m.mappings, m.even() && m.assign(0)
}

// maxSteps bounds the search. Servers have a few ports, and hosts a few devices.
const maxSteps = 100_000

type matching struct {
	groups    []request.Group
	left      guarantee.Amounts
	traits    map[string][]string
	providers []string
	mappings  request.Mappings
	steps     int
}

// even reports whether the allocation is exactly what the groups request, in each of their classes.
func (m *matching) even() bool {
	asked := map[string]int64{}
	for _, g := range m.groups {
		for class, n := range g.Resources {
			asked[class] += n
		}
	}
	for class, n := range asked {
		for _, provider := range m.providers {
			n -= m.left[provider][class]
		}
		if n != 0 {
			return false
		}
	}
	return true
}

// assign finds providers for the groups from one on. Nothing is left over then, because the amounts
// are even.
func (m *matching) assign(from int) bool {
	if m.steps++; from == len(m.groups) || m.steps > maxSteps {
		return from == len(m.groups)
	}
	g := m.groups[from]
	for _, provider := range m.providers {
		if !m.serves(provider, g) {
			continue
		}
		m.take(provider, g, 1)
		m.mappings[g.ID] = []placement.UUID{placement.UUID(provider)}
		if m.assign(from + 1) {
			return true
		}
		m.take(provider, g, -1)
		delete(m.mappings, g.ID)
	}
	return false
}

func (m *matching) take(provider string, g request.Group, sign int64) {
	for class, n := range g.Resources {
		m.left[provider][class] -= sign * n
	}
}

// serves reports whether the rest of a provider's amounts can be a group's.
func (m *matching) serves(provider string, g request.Group) bool {
	for class, n := range g.Resources {
		if m.left[provider][class] < n {
			return false
		}
	}
	has := func(t string) bool { return slices.Contains(m.traits[provider], t) }
	lacks := func(t string) bool { return !has(t) }
	return !slices.ContainsFunc(g.Required, lacks) && (len(g.AnyOf) == 0 || slices.ContainsFunc(g.AnyOf, has))
}

// String is a candidate in one line, its providers sorted: what is taken of each, and
// for which groups.
func (c Candidate) String() string {
	serves := map[string][]string{}
	for suffix, providers := range c.Mappings {
		for _, p := range providers {
			if suffix != "" {
				serves[string(p)] = append(serves[string(p)], suffix)
			}
		}
	}
	var pieces []string
	for _, provider := range sortedKeys(c.Amounts) {
		piece := provider
		for _, class := range sortedKeys(c.Amounts[provider]) {
			piece += fmt.Sprintf(" %s:%d", class, c.Amounts[provider][class])
		}
		if groups := serves[provider]; len(groups) > 0 {
			slices.Sort(groups)
			piece += " (" + strings.Join(groups, " ") + ")"
		}
		pieces = append(pieces, piece)
	}
	return strings.Join(pieces, " | ")
}
