package network

import (
	"cmp"
	"maps"
	"slices"
)

// sorted returns values in their order.
func sorted[V cmp.Ordered](values []V) []V { return slices.Sorted(slices.Values(values)) }

// sortedKeys returns the keys of a map in their order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sortedSet returns what is in some lists in order, each once.
func sortedSet[E cmp.Ordered](lists ...[]E) []E {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
