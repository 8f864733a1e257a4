package heal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/placement"
)

// withoutOtherHosts returns what is allocated, without the trees of hosts that findings say it must
// not be held on. An allocation that is rebuilt keeps only the trees from which the server was
// evacuated.
func (sp *serverPlan) withoutOtherHosts(rebuild bool) allocations.Amounts {
	sources := sp.EvacuationSources(sp.server)
	amounts := sp.allocated.Plus(nil)
	maps.DeleteFunc(amounts, func(uuid string, _ map[string]int64) bool {
		provider := sp.ByUUID[uuid]
		if provider == nil {
			return rebuild
		}
		tree := sp.RootOf(provider).UUID
		return rebuild && !slices.Contains(sources, tree) ||
			!index.Shares(provider) && slices.ContainsFunc(sp.findings, func(f audit.Finding) bool {
				return (f.Code == audit.AllocatedOnSeveralHosts || f.Code == audit.EvacuationSourceAllocated) && len(f.About) > 1 &&
					f.About[1].ID == tree
			})
	})
	return amounts
}

// possible returns amounts without classes of which their provider has no inventory, since
// placement refuses these.
func (sp *serverPlan) possible(amounts allocations.Amounts) allocations.Amounts {
	part := amounts.Plus(nil)
	for uuid, classes := range part {
		maps.DeleteFunc(classes, func(class string, _ int64) bool {
			_, has := sp.ByUUID[uuid].Inventories[class]
			return !has
		})
	}
	return part
}

// withoutUnnamed returns amounts without those of ports' classes on the server's host that no port
// names and the flavor does not request. They may be for ports that name nothing yet.
func (sp *serverPlan) withoutUnnamed(amounts, named allocations.Amounts, flavor map[string]int64) allocations.Amounts {
	rest := amounts.Plus(nil)
	for uuid, classes := range rest {
		if provider := sp.ByUUID[uuid]; provider == nil || sp.server.Root == nil || sp.RootOf(provider) != sp.server.Root {
			continue
		}
		for class, n := range classes {
			if index.IsPortClass(class) {
				classes[class] = min(n, named[uuid][class]+flavor[class])
			}
		}
	}
	return rest
}

// withUnnamed returns the result with what it lacks of the ports' classes that were allocated
// before. They are superfluous, and stay unless it is a finding that is repaired, or would be the
// next one: while ports name nothing, audit does not know what is superfluous.
func (sp *serverPlan) withUnnamed(result, before allocations.Amounts, groups portGroups) allocations.Amounts {
	const code = audit.PortAmountSuperfluous
	if groups.complete && len(groups.open) > 0 && sp.permits(deleteFlag) &&
		(len(sp.o.Codes) == 0 || slices.Contains(sp.o.Codes, code)) {
		return result
	}
	for uuid, classes := range short(result, before) {
		if slices.ContainsFunc(sp.findings, func(f audit.Finding) bool { return f.Code == code && f.About[1].ID == uuid }) {
			continue
		}
		maps.DeleteFunc(classes, func(class string, _ int64) bool { return !index.IsPortClass(class) })
		result = result.Plus(allocations.Amounts{uuid: classes})
	}
	return result
}

// withoutFlavor returns amounts without what flavors request, on the server's host and on providers
// that share with others. Cyborg's accelerators stay.
func (sp *serverPlan) withoutFlavor(amounts allocations.Amounts, ways []placement.Query) allocations.Amounts {
	rest, own := amounts.Plus(nil), sp.FlavorClasses()
	for uuid, classes := range rest {
		if provider := sp.ByUUID[uuid]; provider == nil || !index.Shares(provider) && sp.RootOf(provider) != sp.server.Root {
			continue
		}
		maps.DeleteFunc(classes, func(class string, _ int64) bool {
			if sp.IsAccelerator(sp.server, uuid, class) {
				return false
			}
			return slices.Contains(own, class) || !index.IsPortClass(class) &&
				slices.ContainsFunc(ways, func(q placement.Query) bool { return index.Sum(q)[class] > 0 })
		})
	}
	return rest
}

// describe returns amounts for people.
func (sp *serverPlan) describe(amounts allocations.Amounts) string {
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(amounts)) {
		name := uuid
		if p := sp.ByUUID[uuid]; p != nil {
			name = p.Name
		}
		if positive := maps.Clone(amounts[uuid]); index.Total(positive) > 0 {
			maps.DeleteFunc(positive, func(_ string, n int64) bool { return n == 0 })
			list = append(list, fmt.Sprintf("%s on %s", index.FormatAmounts(positive), name))
		}
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, "; ")
}

// most returns the greater amount of each provider and class.
func most(a, b allocations.Amounts) allocations.Amounts { return a.Plus(short(a, b)) }

// short returns what is missing of some amounts.
func short(has, want allocations.Amounts) allocations.Amounts {
	missing := allocations.Amounts{}
	for uuid, classes := range want {
		for class, n := range classes {
			if d := n - has[uuid][class]; d > 0 {
				missing = missing.Plus(allocations.Amounts{uuid: {class: d}})
			}
		}
	}
	return missing
}
