// Package clouds generates big clouds for measurements: providers with inventories,
// traits and aggregates, and consumers with allocations. The same kind, size and seed yield the
// same cloud in each form: a snapshot in memory, a new database, or any placement service by its
// API. It does not measure.
package clouds

import (
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Names that exist in every cloud and no provider has, for queries without candidates.
const (
	NobodysClass = "PCI_DEVICE"
	NobodysTrait = "HW_CPU_X86_AMD_SVM"
)

// Variants is the number of different amounts in the queries of a cloud.
const Variants = 48

// A Cloud is the content of a store, and queries on it. It is immutable and safe for concurrent
// use.
type Cloud struct {
	classes []placement.Named
	traits  []placement.Named
	picture placement.TreeRows

	aggregates []placement.UUID // by id - 1
	consumers  []consumer

	// query returns the nth variant of the cloud's query, with more for amounts that no provider
	// has.
	query func(n, more int) string
}

// A consumer has allocations.
type consumer struct {
	uuid      placement.UUID
	allocated []holding
}

// A holding is a consumer's allocation of one class on one provider.
type holding struct {
	provider int64
	class    placement.ClassID
	amount   int64
}

// Rows returns the arguments of snapshot.New, with the providers numbered from 1. They must
// not be changed.
func (w *Cloud) Rows() (classes, traits []placement.Named, pic placement.TreeRows) {
	return w.classes, w.traits, w.picture
}

// Snapshot returns a new snapshot of the cloud in memory.
func (w *Cloud) Snapshot() *snapshot.Snapshot {
	return snapshot.New(w.classes, w.traits, w.picture, epoch)
}

// Providers returns the number of providers.
func (w *Cloud) Providers() int { return len(w.picture.Providers) }

// Roots lists the UUIDs of the roots of all trees.
func (w *Cloud) Roots() []placement.UUID {
	var all []placement.UUID
	for _, p := range w.picture.Providers {
		if p.Parent == 0 {
			all = append(all, p.UUID)
		}
	}
	return all
}

// Query returns the path and query of a question for which every host of the cloud is a candidate,
// without a limit. Variants differ in amounts only, and their answers have the same size except for
// the amounts in use.
func (w *Cloud) Query(variant int) string {
	return "/allocation_candidates?" + w.query(variant%Variants, 0)
}

// Full is Query for amounts that no host has free. In Wide clouds they are within the total of all
// units.
func (w *Cloud) Full(variant int) string {
	return "/allocation_candidates?" + w.query(variant%Variants, 1)
}

// Anywhere is Query for hosts that are in any of the zones and compute nodes, which
// all hosts are. Wide clouds have no such question.
func (w *Cloud) Anywhere(variant int) string {
	members := "&member_of=in:"
	for n := range zones {
		if n > 0 {
			members += ","
		}
		members += string(w.Zone(n))
	}
	return w.Query(variant) + members + "&required=COMPUTE_NODE"
}

// Zoned is Query for the hosts of one zone that have ZonedTrait: about one host of eight. Wide
// clouds have no such question.
func (w *Cloud) Zoned(variant int) string {
	return w.Query(variant) + "&member_of=" + string(w.Zone(variant)) + "&required=" + ZonedTrait
}

// ZonedTrait is what half of the hosts have.
const ZonedTrait = "HW_CPU_X86_AVX2"

// zones is the number of aggregates that divide the hosts among them.
const zones = 4

// Zone returns the UUID of an aggregate in which one host of four is.
func (w *Cloud) Zone(n int) placement.UUID { return w.aggregates[n%zones] }
