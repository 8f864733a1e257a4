package cloud

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// Snapshot returns the snapshot that the placement service would have of the records, for searches.
// Classes and traits that only a provider names are added. It fails when the records are not those
// of a placement service: a provider twice, a parent or root that is not there.
func (c *Cloud) Snapshot() (*snapshot.Snapshot, error) {
	p := c.Placement
	ids := make(map[string]int64, len(p.Providers))
	for i := range p.Providers {
		uuid := p.Providers[i].UUID
		if ids[uuid] != 0 {
			return nil, fmt.Errorf("provider %s is there twice", uuid)
		}
		ids[uuid] = int64(i + 1)
	}
	n := newNames(p)
	var rows placement.TreeRows
	for i := range p.Providers {
		provider := &p.Providers[i]
		id := int64(i + 1)
		row := placement.ProviderRow{
			ID: id, UUID: placement.UUID(provider.UUID), Name: provider.Name,
			Generation: placement.Generation(provider.Generation),
			Parent:     ids[provider.Parent], Root: ids[provider.Root], Modified: c.Begun,
		}
		switch {
		case row.Root == 0:
			return nil,
				fmt.Errorf("provider %s (%s) has the root %q, which is not there", provider.UUID, provider.Name, provider.Root)
		case row.Parent == 0 && provider.Parent != "":
			return nil,
				fmt.Errorf("provider %s (%s) has the parent %s, which is not there", provider.UUID, provider.Name, provider.Parent)
		}
		rows.Providers = append(rows.Providers, row)
		for class, inventory := range provider.Inventories {
			rows.Inventories = append(rows.Inventories, placement.InventoryRow{
				Provider: id, Class: placement.ClassID(n.classes[class]), Inventory: placement.Inventory(inventory),
				Used: provider.Usages[class], Modified: c.Begun,
			})
		}
		for _, trait := range provider.Traits {
			rows.Traits = append(rows.Traits, placement.ProviderTraitRow{
				Provider: id, Trait: placement.TraitID(n.traits[trait]),
			})
		}
		for _, uuid := range provider.Aggregates {
			rows.Aggregates = append(rows.Aggregates, placement.AggregateRow{
				Provider: id, ID: placement.AggregateID(n.aggregates[uuid]), UUID: placement.UUID(uuid),
			})
		}
	}
	return snapshot.New(named(n.classes), named(n.traits), rows, c.Begun), nil
}

// TreeProviders returns the records of the providers of a tree, in its order.
func TreeProviders(s *snapshot.Snapshot, tree *snapshot.Tree) []Provider {
	providers := make([]Provider, 0, len(tree.Providers))
	for _, rp := range tree.Providers {
		provider := Provider{
			UUID: string(rp.UUID), Name: rp.Name, Generation: int64(rp.Generation), Root: string(tree.Root().UUID),
			Inventories: map[string]Inventory{}, Usages: map[string]int64{}, Traits: []string{}, Aggregates: []string{},
		}
		if rp.Parent >= 0 {
			provider.Parent = string(tree.Providers[rp.Parent].UUID)
		}
		for i := range rp.Inventories {
			inventory := &rp.Inventories[i]
			class := s.ClassName(inventory.Class)
			provider.Inventories[class] = Inventory(*inventory.Inventory)
			provider.Usages[class] = inventory.Used
		}
		for _, id := range rp.Traits {
			provider.Traits = append(provider.Traits, s.TraitName(id))
		}
		for _, id := range rp.Aggregates {
			provider.Aggregates = append(provider.Aggregates, string(s.AggregateUUID(id)))
		}
		slices.Sort(provider.Traits)
		slices.Sort(provider.Aggregates)
		providers = append(providers, provider)
	}
	return providers
}

// names are the ids of classes, traits and aggregates in a snapshot.
type names struct{ classes, traits, aggregates map[string]int32 }

// newNames numbers all names in the records. Standard classes have the ids that they have in a
// database.
func newNames(p *Placement) names {
	classes, traits, aggregates := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, class := range p.Classes {
		classes[class] = true
	}
	for _, trait := range p.Traits {
		traits[trait] = true
	}
	for i := range p.Providers {
		for class := range p.Providers[i].Inventories {
			classes[class] = true
		}
		for _, trait := range p.Providers[i].Traits {
			traits[trait] = true
		}
		for _, uuid := range p.Providers[i].Aggregates {
			aggregates[uuid] = true
		}
	}
	n := names{classes: map[string]int32{}, traits: number(traits), aggregates: number(aggregates)}
	for id, class := range placement.StandardClasses {
		n.classes[class] = int32(id)
		delete(classes, class)
	}
	for class, id := range number(classes) {
		n.classes[class] = int32(placement.FirstCustomClass) + id
	}
	return n
}

// number gives names numbers from 1, in their order.
func number(set map[string]bool) map[string]int32 {
	ids := make(map[string]int32, len(set))
	for i, name := range slices.Sorted(maps.Keys(set)) {
		ids[name] = int32(i + 1)
	}
	return ids
}

// named lists names in the order of their ids.
func named(ids map[string]int32) []placement.Named {
	list := make([]placement.Named, 0, len(ids))
	for name, id := range ids {
		list = append(list, placement.Named{ID: id, Name: name})
	}
	slices.SortFunc(list, func(a, b placement.Named) int { return int(a.ID - b.ID) })
	return list
}
