// Package worlds makes big placement worlds for measuring: providers with
// inventories, traits and aggregates, and consumers that hold a part of it. The
// same kind, size and seed give the same world, wherever it is put: into a
// picture in memory, a new database, or any placement service by its API. It
// measures nothing, and is no place for rules.
package worlds

import "github.com/berthcloud/berth/placement"

// Names that every world knows, of what no provider has: to ask for what is not
// there.
const (
	NobodysClass = "PCI_DEVICE"
	NobodysTrait = "HW_CPU_X86_AMD_SVM"
)

// Variants is how many different amounts the queries of a world rotate over.
const Variants = 48

// A World is the content of a store, and the questions to ask of it. It does not
// change and is safe for concurrent use.
type World struct {
	classes []placement.Named
	traits  []placement.Named
	picture placement.Picture

	aggregates []placement.UUID // by id - 1
	consumers  []consumer

	// query asks for the nth variant of what the world is made for, more for
	// the amounts that nobody has.
	query func(n, more int) string
}

// A consumer holds something.
type consumer struct {
	uuid placement.UUID
	held []holding
}

// A holding is what a consumer has of one class on one provider.
type holding struct {
	provider int64
	class    placement.ClassID
	amount   int64
}

// Rows returns what placement.NewWorld makes a picture of, with the providers
// numbered from 1. It must not be changed.
func (w *World) Rows() (classes, traits []placement.Named, pic placement.Picture) {
	return w.classes, w.traits, w.picture
}

// Picture returns a new picture of the world in memory.
func (w *World) Picture() *placement.World {
	return placement.NewWorld(w.classes, w.traits, w.picture, epoch)
}

// Providers returns how many providers there are.
func (w *World) Providers() int { return len(w.picture.Providers) }

// Roots lists the UUIDs of the roots of all trees.
func (w *World) Roots() []placement.UUID {
	var all []placement.UUID
	for _, p := range w.picture.Providers {
		if p.Parent == 0 {
			all = append(all, p.UUID)
		}
	}
	return all
}

// Query returns the path and query of a question that every host of the world
// answers, without a limit. Variants differ in amounts only, and the answers to
// them have the same size but for what is in use.
func (w *World) Query(variant int) string {
	return "/allocation_candidates?" + w.query(variant%Variants, 0)
}

// Full is Query for amounts that no host has free. But in Wide worlds they are
// within the units of all.
func (w *World) Full(variant int) string {
	return "/allocation_candidates?" + w.query(variant%Variants, 1)
}

// Anywhere is Query for hosts that are in any of the zones and compute nodes, which
// all hosts are. Wide worlds have no such question.
func (w *World) Anywhere(variant int) string {
	members := "&member_of=in:"
	for n := range zones {
		if n > 0 {
			members += ","
		}
		members += string(w.Zone(n))
	}
	return w.Query(variant) + members + "&required=COMPUTE_NODE"
}

// Zoned is Query for the hosts of one zone that have ZonedTrait: one host of
// eight, more or less. Wide worlds have no such question.
func (w *World) Zoned(variant int) string {
	return w.Query(variant) + "&member_of=" + string(w.Zone(variant)) + "&required=" + ZonedTrait
}

// ZonedTrait is what half of the hosts have.
const ZonedTrait = "HW_CPU_X86_AVX2"

// zones is how many aggregates there are that divide the hosts among them.
const zones = 4

// Zone returns the UUID of an aggregate in which one host of four is.
func (w *World) Zone(n int) placement.UUID { return w.aggregates[n%zones] }
