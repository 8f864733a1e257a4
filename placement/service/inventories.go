package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// SetInventories replaces all that a provider offers and returns its new
// generation. It fails as NotFound for the provider, as Invalid for an unknown
// class or an inventory without capacity, and as Conflict for another
// generation or when inventory that is in use would go. Capacity below what is
// used is allowed.
func (s *Service) SetInventories(
	ctx context.Context, uuid placement.UUID, invs []placement.InventoryOf, rule placement.InventoryRule,
) (placement.Generation, error) {
	return s.changeInventories(ctx, uuid, rule, func(t *tx, p placement.ProviderRow) error {
		if err := rule.Check(uuid, "Unable to update inventory", invs...); err != nil {
			return err
		}
		ids, err := t.classIDs()
		if err != nil {
			return err
		}
		var unknown unknownClass
		var used usedInventory
		err = t.setInventories(p, invs, ids)
		switch {
		case errors.As(err, &unknown):
			return fault.New(fault.Invalid, "", "Unknown resource class in inventory for resource provider %s: %s",
				uuid, unknown)
		case errors.As(err, &used):
			return fault.New(fault.Conflict, placement.CodeInventoryInUse, "update conflict: %s", used)
		}
		return err
	})
}

// DeleteInventories removes all that a provider offers. It fails as NotFound,
// and as Conflict when any of it is in use.
func (s *Service) DeleteInventories(ctx context.Context, uuid placement.UUID) error {
	_, err := s.changeInventories(ctx, uuid, placement.InventoryRule{}, func(t *tx, p placement.ProviderRow) error {
		var used usedInventory
		err := t.setInventories(p, nil, nil)
		if errors.As(err, &used) {
			return fault.New(fault.Conflict, placement.CodeInventoryInUse, "%s", used)
		}
		return err
	})
	return err
}

// AddInventory adds inventory of one class that the provider does not offer
// yet. It fails as NotFound for the provider, as Invalid for an unknown class
// or no capacity, and as Conflict when the class is there already.
func (s *Service) AddInventory(
	ctx context.Context, uuid placement.UUID, inv placement.InventoryOf, rule placement.InventoryRule,
) (placement.Generation, error) {
	const attempt = "Unable to create inventory"
	return s.changeInventories(ctx, uuid, rule, func(t *tx, p placement.ProviderRow) error {
		if err := rule.Check(uuid, attempt, inv); err != nil {
			return err
		}
		class, err := t.classID(inv.Class)
		if err != nil {
			return invalidIfUnknown(err, attempt, uuid)
		}
		if err := t.lockCustom(class); err != nil {
			return err
		}
		err = t.InsertInventory(p.ID, class, inv.Inventory)
		if errors.Is(err, placement.ErrNameTaken) {
			return fault.New(fault.Conflict, placement.CodeConcurrentUpdate,
				"Update conflict: Inventory for '%s' on resource provider '%s' already exists.", inv.Class, uuid)
		}
		return err
	})
}

// invalidIfUnknown turns an unknown class into the fault of writing inventory of it (400), and
// passes other errors on. Where the class is part of the path, the fault is NotFound instead.
func invalidIfUnknown(err error, attempt string, provider placement.UUID) error {
	var unknown unknownClass
	if errors.As(err, &unknown) {
		return fault.New(fault.Invalid, "", "%s for resource provider %s: %s", attempt, provider, unknown)
	}
	return err
}

// UpdateInventory changes the inventory of one class that the provider offers.
// It fails as NotFound for the provider or an unknown class, as Invalid for a
// class the provider does not offer or no capacity, and as Conflict for
// another generation.
func (s *Service) UpdateInventory(
	ctx context.Context, uuid placement.UUID, inv placement.InventoryOf, rule placement.InventoryRule,
) (placement.Generation, error) {
	return s.changeInventories(ctx, uuid, rule, func(t *tx, p placement.ProviderRow) error {
		if err := rule.Check(uuid, "Unable to update inventory", inv); err != nil {
			return err
		}
		class, err := t.classID(inv.Class)
		var unknown unknownClass
		if errors.As(err, &unknown) {
			return fault.New(fault.NotFound, "", "%s", unknown)
		}
		if err != nil {
			return err
		}
		err = t.UpdateInventory(p.ID, class, inv.Inventory)
		if errors.Is(err, placement.ErrNoRow) {
			return fault.New(fault.Invalid, "",
				"No inventory record with resource class for resource provider %s: No inventory of class %s found.",
				uuid, inv.Class)
		}
		return err
	})
}

// DeleteInventory removes the inventory of one class. It fails as NotFound for
// the provider, the class or the inventory, and as Conflict when it is in use.
func (s *Service) DeleteInventory(ctx context.Context, uuid placement.UUID, class string) error {
	_, err := s.changeInventories(ctx, uuid, placement.InventoryRule{}, func(t *tx, p placement.ProviderRow) error {
		absent := func(why string) error {
			return fault.New(fault.NotFound, "", "No inventory of class %s found for delete: %s", class, why)
		}
		id, err := t.classID(class)
		var unknown unknownClass
		if errors.As(err, &unknown) {
			return absent(string(unknown))
		}
		if err != nil {
			return err
		}
		n, err := t.deleteInventories(p, id)
		var used usedInventory
		if errors.As(err, &used) {
			return fault.New(fault.Conflict, placement.CodeConcurrentUpdate, "Unable to delete inventory of class %s: %s",
				class, used)
		}
		if err == nil && n == 0 {
			return absent("No inventory of class " + class + " found for delete")
		}
		return err
	})
	return err
}

// changeInventories runs fn on a provider of the generation that the rule requires
// for and raises the generation, which it returns. The generation rises also when fn changes
// nothing: upstream increments it with each write of inventory.
func (s *Service) changeInventories(
	ctx context.Context, uuid placement.UUID, rule placement.InventoryRule, fn func(*tx, placement.ProviderRow) error,
) (placement.Generation, error) {
	var after placement.Generation
	err := s.update(ctx, func(t *tx) error {
		p, err := t.provider(uuid)
		if err != nil {
			return orNoProvider(err, uuid)
		}
		if err := rule.Current(p); err != nil {
			return err
		}
		if err := fn(t, p); err != nil {
			return err
		}
		after = p.Generation + 1
		return t.bump(p)
	})
	return after, err
}

// classID returns the id of a class; the error of an unknown one is an
// unknownClass. It reads the store, not the snapshot: a class must not go between
// the two.
func (t *tx) classID(name string) (placement.ClassID, error) {
	ids, err := t.classIDs()
	if err != nil {
		return 0, err
	}
	id, ok := ids[name]
	if !ok {
		t.changes.Catalogs = true
		return 0, unknownClass(placement.ClassUnknown(name))
	}
	return id, nil
}

// classIDs returns the ids of all classes by name, read in this transaction.
func (t *tx) classIDs() (map[string]placement.ClassID, error) {
	list, err := t.Classes()
	ids := make(map[string]placement.ClassID, len(list))
	for _, c := range list {
		ids[c.Name] = placement.ClassID(c.ID)
	}
	return ids, err
}

// setInventories makes the provider offer exactly invs, whose classes have the given ids.
// Its generation stays. Removal comes first, so that nothing is written when inventory in use would
// go. What is allocated beyond a smaller total stays allocated, as in upstream.
func (t *tx) setInventories(
	p placement.ProviderRow, invs []placement.InventoryOf, ids map[string]placement.ClassID,
) error {
	plan, err := t.planInventories(p, invs, ids)
	if err != nil {
		return err
	}
	if _, err := t.deleteInventories(p, plan.surplus...); err != nil {
		return err
	}
	return t.writeInventories(p, plan)
}

// An inventoryPlan is how a provider gets other inventories.
type inventoryPlan struct {
	order   []placement.ClassID // of what is written
	want    map[placement.ClassID]placement.Inventory
	known   map[placement.ClassID]bool // classes that it offers already
	surplus []placement.ClassID        // classes that it offers and that are not wanted
}

// planInventories compares what a provider offers with invs, whose classes have the given ids.
func (t *tx) planInventories(
	p placement.ProviderRow, invs []placement.InventoryOf, ids map[string]placement.ClassID,
) (inventoryPlan, error) {
	plan := inventoryPlan{
		want:  make(map[placement.ClassID]placement.Inventory, len(invs)),
		known: make(map[placement.ClassID]bool),
	}
	for _, inv := range invs {
		id, ok := ids[inv.Class]
		if !ok {
			return plan, unknownClass(placement.ClassUnknown(inv.Class))
		}
		plan.want[id] = inv.Inventory
		plan.order = append(plan.order, id)
	}
	have, err := t.Inventories(p.ID)
	for _, row := range have {
		plan.known[row.Class] = true
		if _, keep := plan.want[row.Class]; !keep {
			plan.surplus = append(plan.surplus, row.Class)
		}
	}
	return plan, err
}

// writeInventories inserts the wanted inventories that are not known and updates the others.
func (t *tx) writeInventories(p placement.ProviderRow, plan inventoryPlan) error {
	if err := t.lockCustom(plan.order...); err != nil {
		return err
	}
	for _, id := range plan.order {
		write := t.InsertInventory
		if plan.known[id] {
			write = t.UpdateInventory
		}
		if err := write(p.ID, id, plan.want[id]); err != nil {
			return err
		}
	}
	return nil
}

// deleteInventories removes inventory of the classes and returns how many there
// were. Those in use are refused with a usedInventory that lists them in the
// order of their ids. The provider is locked by then, and a claim locks it before it writes
// allocations, so that none comes in between.
func (t *tx) deleteInventories(p placement.ProviderRow, classes ...placement.ClassID) (int, error) {
	if len(classes) == 0 {
		return 0, nil
	}
	allocated, err := t.AllocatedClasses(p.ID)
	if err != nil {
		return 0, err
	}
	leaving := make(map[placement.ClassID]bool, len(classes))
	for _, c := range classes {
		leaving[c] = true
	}
	allocated = slices.DeleteFunc(allocated, func(c placement.ClassID) bool { return !leaving[c] })
	if len(allocated) > 0 {
		names, err := t.classNames(allocated)
		if err != nil {
			return 0, err
		}
		return 0, usedInventory(inventoryInUse(strings.Join(names, ", "), p.UUID))
	}
	return t.DeleteInventories(p.ID, classes...)
}

// classNames returns the names of classes, sorted by id.
func (t *tx) classNames(ids []placement.ClassID) ([]string, error) {
	list, err := t.Classes()
	desired := make(map[placement.ClassID]bool, len(ids))
	for _, id := range ids {
		desired[id] = true
	}
	var names []string
	for _, c := range list {
		if desired[placement.ClassID(c.ID)] {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// lockCustom keeps the custom classes among some from being deleted. Standard classes are never
// deleted and need no lock. A class that does not exist any more is ErrNoRow, on which the
// operation runs again and finds the name unknown.
func (t *tx) lockCustom(ids ...placement.ClassID) error {
	custom := slices.DeleteFunc(slices.Clone(ids), func(id placement.ClassID) bool {
		return id < placement.FirstCustomClass
	})
	if len(custom) == 0 {
		return nil
	}
	return t.LockClasses(custom...)
}
