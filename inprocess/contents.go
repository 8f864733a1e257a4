package inprocess

import (
	"context"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// customTrait matches the traits that clients may create.
var customTrait = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]{1,248}$`)

// EnsureTrait is network.Placement's. Standard traits are refused, as by the API: placement has
// all of them.
func (p *Placement) EnsureTrait(ctx context.Context, name string) error {
	if !customTrait.MatchString(name) {
		return invalid("%.50q cannot be a trait: it has to be CUSTOM_ and capital letters, digits and underscores, at most 255 of them", name)
	}
	_, err := p.service.EnsureTrait(ctx, name)
	return told(err, nil)
}

// SetTraits is network.Placement's. Traits that are so already are not written.
func (p *Placement) SetTraits(ctx context.Context, uuid string, traits []string) error {
	want := slices.Compact(slices.Sorted(slices.Values(traits)))
	return allocations.Retry(ctx, allocations.Pause, func() error {
		snapshot, is, _, err := p.find(ctx, uuid)
		if err != nil {
			return noProvider(told(err, nil))
		}
		var has []string
		for _, id := range is.Traits {
			has = append(has, snapshot.TraitName(id))
		}
		slices.Sort(has)
		if slices.Equal(has, want) {
			return nil
		}
		_, err = p.service.SetTraits(ctx, is.UUID, is.Generation, want)
		return noProvider(told(err, nil))
	})
}

// SetInventories is network.Placement's. Inventories that are so already are not
// written: placement would count that as a change.
func (p *Placement) SetInventories(ctx context.Context, uuid string, inventories map[string]guarantee.Inventory) error {
	want := make(map[string]placement.Inventory, len(inventories))
	for class, inv := range inventories {
		want[class] = complete(inv)
		if err := check(class, want[class]); err != nil {
			return err
		}
	}
	return allocations.Retry(ctx, allocations.Pause, func() error {
		snapshot, is, _, err := p.find(ctx, uuid)
		if err != nil {
			return noProvider(told(err, nil))
		}
		has := make(map[string]placement.Inventory, len(is.Inventories))
		for _, s := range is.Inventories {
			has[snapshot.ClassName(s.Class)] = *s.Inventory
		}
		if maps.Equal(has, want) {
			return nil
		}
		var all []placement.InventoryOf
		for _, class := range slices.Sorted(maps.Keys(want)) {
			all = append(all, placement.InventoryOf{Class: class, Inventory: want[class]})
		}
		_, err = p.service.SetInventories(ctx, is.UUID, all, placement.InventoryRule{Generation: &is.Generation, MayBeFull: true})
		return noProvider(told(err, allocations.ErrInUse))
	})
}

// complete sets placement's defaults in an inventory.
func complete(i guarantee.Inventory) placement.Inventory {
	return placement.Inventory{
		Total: i.Total, Reserved: or(i.Reserved, 0), MinUnit: or(i.MinUnit, 1), MaxUnit: or(i.MaxUnit, placement.MaxInt),
		StepSize: or(i.StepSize, 1), AllocationRatio: or(i.AllocationRatio, 1),
	}
}

// or returns an optional number, or the default of placement's API (its schema of inventories).
func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// maxRatio is the greatest ratio that every database can store.
const maxRatio = 3.40282e+38

// check refuses inventories that are invalid for any provider.
func check(class string, i placement.Inventory) error {
	for _, f := range []struct {
		name  string
		n     int64
		least int64
	}{{"total", i.Total, 1}, {"reserved", i.Reserved, 0}, {"min_unit", i.MinUnit, 1}, {"max_unit", i.MaxUnit, 1}, {"step_size", i.StepSize, 1}} {
		if f.n < f.least || f.n > placement.MaxInt {
			return invalid("%s of the inventory of %s is %d: it has to be %d to %d", f.name, class, f.n, f.least, placement.MaxInt)
		}
	}
	if math.IsNaN(i.AllocationRatio) || i.AllocationRatio > maxRatio {
		return invalid("allocation_ratio of the inventory of %s is %v, which is too much", class, i.AllocationRatio)
	}
	return nil
}
