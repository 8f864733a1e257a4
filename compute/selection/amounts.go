package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/network/guarantee"
)

// Arithmetic of a server's allocation during a move, and when a port is attached or detached. No
// argument is modified.

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
