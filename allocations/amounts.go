package allocations

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Amounts are the allocations of a consumer, or a difference of them: by the UUID of the provider,
// in lower case with hyphens, and by class. An absent class equals zero. No method modifies its
// receiver or its argument.
type Amounts map[string]map[string]int64

// Plus returns the sum.
func (a Amounts) Plus(more Amounts) Amounts {
	sum := a.clone()
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

// A Shortage says that more should be released than is allocated. It is unknown then where the rest
// is.
type Shortage struct {
	Provider, Class string
	Held, Less      int64
}

// Error says of what.
func (e *Shortage) Error() string {
	return fmt.Sprintf("%s on provider %s: %d should be released, and %d are allocated", e.Class, e.Provider,
		e.Less, e.Held)
}

// Minus returns what remains after a part was released, without classes of which nothing remains
// and providers without classes. The error is a *Shortage, the first one found.
func (a Amounts) Minus(less Amounts) (Amounts, error) {
	remaining := a.clone()
	for _, provider := range slices.Sorted(maps.Keys(less)) {
		for _, class := range slices.Sorted(maps.Keys(less[provider])) {
			n := less[provider][class]
			if had := a[provider][class]; n > had {
				return nil, &Shortage{Provider: provider, Class: class, Held: had, Less: n}
			}
			remaining.put(provider, class, -n)
		}
	}
	return remaining.withoutZeros(), nil
}

// ErrNotAllocated says that a consumer has no allocations at all. Neutron answers
// PlacementAllocationRemoved (400).
var ErrNotAllocated = errors.New("the server has no allocations; move it, or detach and attach the port")

// A ProviderMissing says that a consumer has no allocation on a provider whose amounts change.
// Neutron answers PlacementAllocationRpNotExists (400).
type ProviderMissing struct{ Provider string }

// Error names the provider.
func (e *ProviderMissing) Error() string {
	return fmt.Sprintf("the server has no allocation on the provider %s; move it, or detach and "+
		"attach the port", e.Provider)
}

// Add returns the amounts with differences added, for a consumer that has allocations on all
// providers of the differences. A class of which less than nothing would be left is dropped, as are
// classes without an amount and providers without classes. The errors are ErrNotAllocated and
// *ProviderMissing.
func (a Amounts) Add(differences Amounts) (Amounts, error) {
	if len(a) == 0 {
		return nil, ErrNotAllocated
	}
	for _, provider := range slices.Sorted(maps.Keys(differences)) {
		if _, ok := a[provider]; !ok {
			return nil, &ProviderMissing{Provider: provider}
		}
	}
	return a.Plus(differences).withoutZeros(), nil
}

// Negated is what takes differences back.
func (a Amounts) Negated() Amounts {
	back := Amounts{}
	for provider, classes := range a {
		for class, n := range classes {
			back.put(provider, class, -n)
		}
	}
	return back
}

// Split returns the positive and the negative part of differences.
func (a Amounts) Split() (more, less Amounts) {
	more, less = Amounts{}, Amounts{}
	for provider, classes := range a {
		for class, n := range classes {
			if n < 0 {
				less.put(provider, class, n)
			} else {
				more.put(provider, class, n)
			}
		}
	}
	return more, less
}

// Equal reports whether amounts are equal.
func (a Amounts) Equal(b Amounts) bool { return a.contains(b) && b.contains(a) }

// contains reports whether a has the amounts of b, in all classes that b names. An absent class of
// a equals zero.
func (a Amounts) contains(b Amounts) bool {
	for provider, classes := range b {
		for class, n := range classes {
			if a[provider][class] != n {
				return false
			}
		}
	}
	return true
}

// Concerned returns the part that others are about, zeros included.
func (a Amounts) Concerned(diff Amounts) Amounts {
	part := Amounts{}
	for provider, classes := range diff {
		for class := range classes {
			part.put(provider, class, a[provider][class])
		}
	}
	return part
}

// With returns the amounts, with those of more replacing those of the same provider and class. An
// amount of zero or less removes the allocation.
func (a Amounts) With(others Amounts) Amounts {
	cur := a.clone()
	for provider, classes := range others {
		if cur[provider] == nil {
			cur[provider] = map[string]int64{}
		}
		maps.Copy(cur[provider], classes)
	}
	return cur.withoutZeros()
}

// Lacking returns what is missing of some amounts, on the providers with allocations.
func (a Amounts) Lacking(want Amounts) Amounts {
	missing := Amounts{}
	for provider, classes := range want {
		if a[provider] == nil {
			continue
		}
		for class, n := range classes {
			if d := n - a[provider][class]; d > 0 {
				missing.put(provider, class, d)
			}
		}
	}
	return missing
}

// clone copies both levels of the maps.
func (a Amounts) clone() Amounts {
	c := make(Amounts, len(a))
	for provider, classes := range a {
		c[provider] = maps.Clone(classes)
	}
	return c
}

// put adds an amount in place.
func (a Amounts) put(provider, class string, n int64) {
	if a[provider] == nil {
		a[provider] = map[string]int64{}
	}
	a[provider][class] += n
}

// withoutZeros drops amounts of nothing in place. Negative amounts are dropped as well: Add
// promises that a class with less than zero is no allocation. It returns a.
func (a Amounts) withoutZeros() Amounts {
	for _, classes := range a {
		maps.DeleteFunc(classes, func(_ string, n int64) bool { return n <= 0 })
	}
	maps.DeleteFunc(a, func(_ string, classes map[string]int64) bool { return len(classes) == 0 })
	return a
}
