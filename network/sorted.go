package network

import (
	"cmp"
	"slices"
)

// sorted returns values in their order.
func sorted[V cmp.Ordered](values []V) []V { return slices.Sorted(slices.Values(values)) }

// sortedSet returns what is in some lists in order, each once.
func sortedSet[E cmp.Ordered](lists ...[]E) []E {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
