package guarantee

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// An UnknownProvider says that no driver's agents on a host have all providers of a
// port's allocation. Neutron answers UnknownResourceProvider (400); the binding
// fails.
type UnknownProvider struct {
	Providers []UUID // of the allocation, sorted
	Covered   []UUID // of them, those that some agent has, sorted
}

func (e *UnknownProvider) Error() string {
	known := "none"
	if len(e.Covered) > 0 {
		known = join(e.Covered)
	}
	return fmt.Sprintf("no driver's agents on the host have all providers of the allocation (%s; known there: %s); "+
		"compare resource_provider_hypervisors of the agents with the names in placement", join(e.Providers), known)
}

// An AmbiguousProvider says that the agents of several drivers have all providers of a
// port's allocation. Neutron's error is AmbiguousResponsibilityForResourceProvider;
// the binding fails.
type AmbiguousProvider struct {
	Providers []UUID   // of the allocation, sorted
	Drivers   []string // their names, sorted
}

func (e *AmbiguousProvider) Error() string {
	return fmt.Sprintf("several drivers (%s) are responsible for the providers of the allocation (%s); give each its "+
		"own UUID namespace",
		strings.Join(e.Drivers, ", "), join(e.Providers))
}

// Responsible returns the name of the one driver that may bind a port with an
// allocation: the States of its agents on the port's host have all providers of
// the allocation. The errors are *UnknownProvider, also for an allocation that is
// Empty, and *AmbiguousProvider.
//
// Providers are compared with those that the States create: under the names of
// hypervisors. Neutron takes the host's name here and so cannot bind where the two
// differ.
func Responsible(a ProfileAllocation, states []State) (string, error) {
	uuids := a.Providers()
	covered := map[string][]UUID{} // by driver
	for _, s := range states {
		for _, id := range uuids {
			if _, ok := s.Provider(id); ok {
				covered[s.Driver] = append(covered[s.Driver], id)
			}
		}
	}
	var known []UUID
	var drivers []string
	for _, driver := range slices.Sorted(maps.Keys(covered)) {
		ids := sortedUUIDs(slices.Values(covered[driver]))
		known = append(known, ids...)
		if len(ids) == len(uuids) {
			drivers = append(drivers, driver)
		}
	}
	switch len(drivers) {
	case 0:
		return "", &UnknownProvider{Providers: uuids, Covered: sortedUUIDs(slices.Values(known))}
	case 1:
		return drivers[0], nil
	}
	return "", &AmbiguousProvider{Providers: uuids, Drivers: drivers}
}

// sortedUUIDs returns the UUIDs in order, each once.
func sortedUUIDs(ids iter.Seq[UUID]) []UUID {
	return slices.Compact(slices.SortedFunc(ids, func(a, b UUID) int { return bytes.Compare(a[:], b[:]) }))
}
