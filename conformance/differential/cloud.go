package differential

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// The names in sequences. They are few, so that requests interact.
var (
	standardClasses = []string{"VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "NET_BW_EGR_KILOBIT_PER_SEC"}
	customClasses   = []string{"CUSTOM_BW", "CUSTOM_GOLD", "CUSTOM_A1_"}
	standardTraits  = []string{"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD", "COMPUTE_VOLUME_MULTI_ATTACH"}
	customTraits    = []string{"CUSTOM_RED", "CUSTOM_BLUE", "CUSTOM_PHYSNET_0"}
	projects        = []string{"p1", "admin", "00000000-0000-0000-0000-000000000000", "proj/ä"}
	users           = []string{"u1", "admin", "00000000-0000-0000-0000-000000000000"}
	consumerTypes   = []string{"INSTANCE", "MIGRATION", "unknown", "all", "T_1"}
)

const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// cloud drafts the requests that build a few trees of providers, with a
// sharing one among them more often than not.
func (g *Generator) cloud() []maker {
	if g.flavour == flavourSpoiled && g.chance(0.3) {
		return nil
	}
	var setup []maker
	for _, name := range customTraits[:2] {
		setup = append(setup, func(*Generator, int) draft {
			return draft{method: http.MethodPut, path: "/traits/" + name}
		})
	}
	setup = append(setup, func(*Generator, int) draft {
		return draft{method: http.MethodPut, path: "/resource_classes/" + customClasses[0]}
	})
	uuids := g.forest(&setup)
	for i, uuid := range uuids {
		setup = append(setup, putInventoriesOf(uuid), putTraitsOf(uuid, i == 0 && g.chance(0.7)))
		if g.chance(0.6) {
			setup = append(setup, putAggregatesOf(uuid))
		}
	}
	return setup
}

// forest drafts providers, each a root or a child of an earlier one.
func (g *Generator) forest(setup *[]maker) []string {
	var uuids []string
	for i := range 3 + g.rng.IntN(5) {
		uuid := g.uuid()
		parent := ""
		if i > 1 && g.chance(0.6) {
			parent = pick(g, uuids[1:])
		}
		uuids = append(uuids, uuid)
		*setup = append(*setup, func(g *Generator, _ int) draft {
			body := object{{"name", fmt.Sprintf("rp-%d", i)}, {"uuid", uuid}}
			if parent != "" {
				body = append(body, member{"parent_provider_uuid", parent})
			}
			return draft{method: http.MethodPost, path: "/resource_providers", body: body}
		})
	}
	return uuids
}

func putInventoriesOf(uuid string) maker {
	return func(g *Generator, minor int) draft { return g.putInventories(uuid, minor) }
}

func putTraitsOf(uuid string, sharing bool) maker {
	return func(g *Generator, _ int) draft { return g.putTraits(uuid, sharing) }
}

func putAggregatesOf(uuid string) maker {
	return func(g *Generator, minor int) draft { return g.putAggregates(uuid, minor) }
}

// provider returns the uuid of a provider that exists, mostly.
func (g *Generator) provider() string {
	if len(g.t.order) == 0 || g.chance(0.03) {
		return pick(g, g.unborn)
	}
	return pick(g, g.t.order)
}

// consumer returns the uuid of a consumer, of an existing one if it can.
func (g *Generator) consumer(existing float64) string {
	if len(g.t.consumers) > 0 && g.chance(existing) {
		return pick(g, slices.Sorted(maps.Keys(g.t.consumers)))
	}
	i := g.rng.IntN(len(g.unborn))
	if g.t.orphans[g.unborn[i]] {
		g.unborn[i] = g.uuid()
	}
	return g.unborn[i]
}

func (g *Generator) class() string {
	switch x := g.rng.Float64(); {
	case x < 0.75:
		return pick(g, standardClasses)
	case x < 0.95:
		return customClasses[0]
	default:
		return pick(g, customClasses)
	}
}

// classOf returns a class that the provider has an inventory of, mostly.
func (g *Generator) classOf(uuid string) string {
	p := g.t.providers[uuid]
	if p == nil || len(p.inventory) == 0 || g.chance(0.1) {
		return g.class()
	}
	return pick(g, slices.Sorted(maps.Keys(p.inventory)))
}

func (g *Generator) trait() string {
	switch x := g.rng.Float64(); {
	case x < 0.6:
		return pick(g, standardTraits)
	case x < 0.9:
		return pick(g, customTraits[:2])
	case x < 0.95:
		return sharingTrait
	default:
		return pick(g, customTraits)
	}
}

// traitOf returns a trait that some provider has, mostly.
func (g *Generator) traitOf() string {
	p := g.t.providers[g.provider()]
	if p == nil || len(p.traits) == 0 || g.chance(0.4) {
		return g.trait()
	}
	return pick(g, p.traits)
}

func (g *Generator) aggregate() string {
	if g.chance(0.03) {
		return g.uuid()
	}
	return pick(g, g.aggregates)
}
