package placementtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
)

var ordinary = []storeTest{
	{"NewStoreIsEmpty", emptyStore},
	{"ProvidersAreFound", findProviders},
	{"ProviderNamesAndUUIDsAreUnique", uniqueProviders},
	{"ProvidersMove", moveProviders},
	{"DeletedProvidersTakeTheirThingsAlong", deleteProviders},
	{"GenerationsAreComparedAndSwapped", bumpGenerations},
	{"InventoriesAreKept", keepInventories},
	{"InventoriesKnowWhatIsUsed", sumUsage},
	{"TraitsAreKept", keepTraits},
	{"TraitsLinkToProviders", linkTraits},
	{"AggregatesLinkToProviders", linkAggregates},
	{"ClassesAreKept", keepClasses},
	{"ConsumersAreKept", keepConsumers},
	{"AllocationsAreKept", keepAllocations},
	{"ProjectUsageIsSummedByClassAndType", sumProjects},
	{"TreeRowsAreWholeTrees", takeSnapshots},
	{"LongListsWork", longLists},
	{"TextIsKeptAsItIs", keepText},
	{"RowsAreLocked", takeLocks},
	{"ChecksumsSumUp", sumUp},
}

// wants says that an Update's function got an error it should not have.
func wants(call string, got, want error) error {
	if errors.Is(got, want) {
		return nil
	}
	return fmt.Errorf("%s = %v, want %v", call, got, want)
}

func emptyStore(c *storeCase) {
	c.view(func(r placement.Reader) error {
		rows, err := r.TreeRows(nil)
		c.same("TreeRows(nil)", len(rows.Providers)+len(rows.Inventories)+len(rows.Traits)+len(rows.Aggregates), 0)
		if err != nil {
			return err
		}
		_, provider := r.Provider(uuidOf("cn1"))
		_, consumer := r.Consumer(uuidOf("vm1"))
		traits, err := r.ProviderTraits(1)
		c.same("ProviderTraits(1)", len(traits), 0)
		return errors.Join(err,
			wants("Provider(unknown)", provider, placement.ErrNoRow),
			wants("Consumer(unknown)", consumer, placement.ErrNoRow))
	})
	usage := read(c, func(r placement.Reader) (placement.ProjectUsage, error) { return r.ProjectUsage("blue", "") })
	c.same("ProjectUsage(unknown)", len(usage.Rows)+len(usage.Consumers), 0)
}

func findProviders(c *storeCase) {
	root := c.provider("cn1", nil)
	child := c.provider("cn1_numa0", &root)
	other := c.provider("cn2", nil)
	c.view(func(r placement.Reader) error {
		for _, want := range []placement.ProviderRow{root, child, other} {
			got, err := r.Provider(want.UUID)
			if err != nil {
				return err
			}
			c.same("Provider("+want.Name+")", got, want)
		}
		tree, err := r.ProvidersIn(root.ID)
		c.same("ProvidersIn(cn1)", tree, []placement.ProviderRow{root, child})
		above, err1 := r.HasChildren(root.ID)
		below, err2 := r.HasChildren(child.ID)
		c.same("HasChildren(cn1), HasChildren(cn1_numa0)", []bool{above, below}, []bool{true, false})
		return errors.Join(err, err1, err2)
	})
}

func uniqueProviders(c *storeCase) {
	one := c.provider("cn1", nil)
	two := c.provider("cn2", nil)
	c.update(later, func(w placement.Writer) error {
		both := placement.ProviderRow{UUID: one.UUID, Name: two.Name}
		_, uuid := w.InsertProvider(both)
		_, name := w.InsertProvider(placement.ProviderRow{UUID: uuidOf("cn3"), Name: one.Name})
		renamed := two
		renamed.Name = one.Name
		deleted := placement.ProviderRow{ID: 1 << 30, Name: "nobody"}
		return errors.Join(
			wants("InsertProvider(both taken)", uuid, placement.ErrUUIDTaken),
			wants("InsertProvider(name taken)", name, placement.ErrNameTaken),
			wants("UpdateProvider(name taken)", w.UpdateProvider(renamed), placement.ErrNameTaken),
			wants("UpdateProvider(own name)", w.UpdateProvider(two), nil),
			wants("UpdateProvider(unknown)", w.UpdateProvider(deleted), placement.ErrNoRow),
		)
	})
	two.Modified, two.Updated = later, true
	rows := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	c.same("providers after refused changes", rows.Providers, []placement.ProviderRow{one, two})
}

func moveProviders(c *storeCase) {
	one := c.provider("cn1", nil)
	two := c.provider("cn2", nil)
	child := c.provider("nic", &two)
	two.Name, two.Parent, two.Root, two.Modified, two.Updated = "renamed", one.ID, one.ID, later, true
	child.Root, child.Modified, child.Updated = one.ID, later, true
	c.update(later, func(w placement.Writer) error {
		return errors.Join(w.UpdateProvider(two), w.SetRoot(one.ID, child.ID))
	})
	tree := read(c, func(r placement.Reader) ([]placement.ProviderRow, error) { return r.ProvidersIn(one.ID) })
	c.same("the tree that was moved into", tree, []placement.ProviderRow{one, two, child})
	deleted := read(c, func(r placement.Reader) ([]placement.ProviderRow, error) { return r.ProvidersIn(two.ID) })
	c.same("the tree that was moved away", len(deleted), 0)
}

func deleteProviders(c *storeCase) {
	p := c.provider("cn1", nil)
	c.inventory(p.ID, 0, 8)
	trait := add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait("CUSTOM_GOLD") })
	c.update(early, func(w placement.Writer) error {
		return errors.Join(w.AddProviderTraits(p.ID, trait), w.AddProviderAggregates(p.ID, uuidOf("agg")))
	})
	c.update(later, func(w placement.Writer) error { return w.DeleteProvider(p.ID) })
	rows := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	c.same("what is left", rows, placement.TreeRows{FoldCase: rows.FoldCase, FoldLike: rows.FoldLike})
	used := read(c, func(r placement.Reader) (bool, error) { return r.TraitInUse(trait) })
	c.same("TraitInUse", used, false)
}

func bumpGenerations(c *storeCase) {
	p := c.provider("cn1", nil)
	c.update(later, func(w placement.Writer) error {
		return errors.Join(
			w.BumpProvider(p.ID, 0),
			w.BumpProvider(p.ID, 1),
			wants("BumpProvider(old)", w.BumpProvider(p.ID, 1), placement.ErrStale),
			wants("BumpProvider(future)", w.BumpProvider(p.ID, 3), placement.ErrStale),
			wants("BumpProvider(unknown)", w.BumpProvider(1<<30, 0), placement.ErrStale),
		)
	})
	got := read(c, func(r placement.Reader) (placement.ProviderRow, error) { return r.Provider(p.UUID) })
	p.Generation, p.Modified, p.Updated = 2, later, true
	c.same("the provider", got, p)
}

func keepInventories(c *storeCase) {
	p := c.provider("cn1", nil)
	cpu := c.inventory(p.ID, 0, 8)
	ram := c.inventory(p.ID, 1, placement.MaxInt)
	c.update(later, func(w placement.Writer) error {
		cpu.Inventory = placement.Inventory{Total: 4, MinUnit: 2, MaxUnit: 4, StepSize: 2, AllocationRatio: 0.1}
		cpu.Modified = later
		return errors.Join(
			w.UpdateInventory(p.ID, 0, cpu.Inventory),
			wants("InsertInventory(there)", w.InsertInventory(p.ID, 1, cpu.Inventory), placement.ErrNameTaken),
			wants("UpdateInventory(not there)", w.UpdateInventory(p.ID, 2, cpu.Inventory), placement.ErrNoRow),
		)
	})
	got := read(c, func(r placement.Reader) ([]placement.InventoryRow, error) { return r.Inventories(p.ID, 1<<30) })
	c.same("Inventories", got, []placement.InventoryRow{cpu, ram})
	c.update(later, func(w placement.Writer) error {
		n, err := w.DeleteInventories(p.ID, 0, 2)
		c.same("DeleteInventories(0, 2)", n, 1)
		none, err2 := w.DeleteInventories(p.ID)
		c.same("DeleteInventories()", none, 0)
		return errors.Join(err, err2)
	})
	remaining := read(c, func(r placement.Reader) ([]placement.InventoryRow, error) { return r.Inventories(p.ID) })
	c.same("Inventories after deletion", remaining, []placement.InventoryRow{ram})
	c.view(func(r placement.Reader) error {
		deleted, err := r.ClassInUse(0)
		kept, err2 := r.ClassInUse(1)
		c.same("ClassInUse(0), ClassInUse(1)", []bool{deleted, kept}, []bool{false, true})
		return errors.Join(err, err2)
	})
}

func sumUsage(c *storeCase) {
	one, two := c.provider("cn1", nil), c.provider("cn2", nil)
	first, second, third := c.inventory(one.ID, 0, 8), c.inventory(one.ID, 1, 8), c.inventory(two.ID, 0, 8)
	a, b := c.consumer("vm1", ""), c.consumer("vm2", "")
	c.allocate(a.UUID, one, 0, 2)
	c.allocate(b.UUID, one, 0, 3)
	c.allocate(b.UUID, two, 0, 1)
	c.allocate(b.UUID, one, 7, 1) // no inventory of that class
	first.Used, third.Used = 5, 1
	got := read(c, func(r placement.Reader) ([]placement.InventoryRow, error) { return r.Inventories(two.ID, one.ID) })
	c.same("Inventories", got, []placement.InventoryRow{first, second, third})
	classes := read(c, func(r placement.Reader) ([]placement.ClassID, error) { return r.AllocatedClasses(one.ID) })
	c.same("AllocatedClasses", classes, []placement.ClassID{0, 7})
}

func keepTraits(c *storeCase) {
	gold := add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait("CUSTOM_GOLD") })
	iron := add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait("CUSTOM_IRON") })
	c.update(later, func(w placement.Writer) error {
		_, taken := w.InsertTrait("CUSTOM_GOLD")
		return errors.Join(
			wants("InsertTrait(there)", taken, placement.ErrNameTaken),
			w.DeleteTrait(iron),
			wants("DeleteTrait(gone)", w.DeleteTrait(iron), placement.ErrNoRow),
		)
	})
	got := read(c, func(r placement.Reader) ([]placement.Named, error) { return r.Traits() })
	c.same("Traits", got, []placement.Named{{ID: int32(gold), Name: "CUSTOM_GOLD", Modified: early}})
	spelled := read(c, func(r placement.Reader) ([]string, error) {
		return r.TraitSpellings("CUSTOM_GOLD", "CUSTOM_IRON")
	})
	c.same("TraitSpellings", spelled, []string{"CUSTOM_GOLD"})
	c.update(later, func(w placement.Writer) error {
		return w.InsertCatalogs([]placement.Named{{ID: 0, Name: "VCPU"}, {ID: 1, Name: "MEMORY_MB"}},
			[]string{"CUSTOM_A", "CUSTOM_B"})
	})
	spelled = read(c, func(r placement.Reader) ([]string, error) { return r.TraitSpellings("CUSTOM_B", "CUSTOM_A") })
	slices.Sort(spelled) // their order is the database's
	c.same("traits that were inserted together", spelled, []string{"CUSTOM_A", "CUSTOM_B"})
	classes := read(c, func(r placement.Reader) ([]placement.Named, error) { return r.Classes() })
	c.same("classes that were inserted together", classes,
		[]placement.Named{{ID: 0, Name: "VCPU", Modified: later}, {ID: 1, Name: "MEMORY_MB", Modified: later}})
}

func linkTraits(c *storeCase) {
	p := c.provider("cn1", nil)
	var ids []placement.TraitID
	for _, name := range []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"} {
		ids = append(ids, add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait(name) }))
	}
	c.update(early, func(w placement.Writer) error {
		return errors.Join(
			w.AddProviderTraits(p.ID, ids[1], ids[0]),
			w.AddProviderTraits(p.ID, ids[2], ids[0]),
			w.AddProviderTraits(p.ID),
			w.RemoveProviderTraits(p.ID, ids[1]),
			wants("AddProviderTraits(unknown)", w.AddProviderTraits(p.ID, 1<<30), placement.ErrNoRow),
		)
	})
	got := read(c, func(r placement.Reader) ([]placement.TraitID, error) { return r.ProviderTraits(p.ID) })
	c.same("ProviderTraits", got, []placement.TraitID{ids[0], ids[2]})
	c.view(func(r placement.Reader) error {
		used, err := r.TraitInUse(ids[0])
		free, err2 := r.TraitInUse(ids[1])
		c.same("TraitInUse", []bool{used, free}, []bool{true, false})
		return errors.Join(err, err2)
	})
}

func linkAggregates(c *storeCase) {
	one, two := c.provider("cn1", nil), c.provider("cn2", nil)
	c.update(early, func(w placement.Writer) error {
		return errors.Join(
			w.AddProviderAggregates(one.ID, uuidOf("b"), uuidOf("a"), uuidOf("b")),
			w.AddProviderAggregates(two.ID, uuidOf("a"), uuidOf("c")),
			w.AddProviderAggregates(two.ID, uuidOf("a")),
		)
	})
	query := func(p placement.ProviderRow) []placement.AggregateRow {
		return read(c, func(r placement.Reader) ([]placement.AggregateRow, error) { return r.ProviderAggregates(p.ID) })
	}
	first, second := query(one), query(two)
	c.same("UUIDs", []placement.UUID{first[0].UUID, first[1].UUID, second[0].UUID, second[1].UUID},
		[]placement.UUID{uuidOf("b"), uuidOf("a"), uuidOf("a"), uuidOf("c")})
	c.same("the shared aggregate", first[1].ID, second[0].ID)
	c.update(later, func(w placement.Writer) error { return w.RemoveProviderAggregates(two.ID, second[0].ID) })
	c.same("the one that was left", query(two), second[1:])
	c.same("the one that stayed", query(one), first)
}

func keepClasses(c *storeCase) {
	c.update(early, func(w placement.Writer) error {
		return errors.Join(w.InsertClass(placement.FirstCustomClass, "CUSTOM_A"), w.InsertClass(0, "VCPU"))
	})
	c.update(later, func(w placement.Writer) error {
		return errors.Join(
			wants("InsertClass(name taken)", w.InsertClass(5, "VCPU"), placement.ErrNameTaken),
			wants("RenameClass(name taken)", w.RenameClass(placement.FirstCustomClass, "VCPU"), placement.ErrNameTaken),
			wants("RenameClass(unknown)", w.RenameClass(77, "CUSTOM_X"), placement.ErrNoRow),
			w.RenameClass(placement.FirstCustomClass, "CUSTOM_B"),
		)
	})
	vcpu := placement.Named{ID: 0, Name: "VCPU", Modified: early}
	custom := placement.Named{ID: int32(placement.FirstCustomClass), Name: "CUSTOM_B", Modified: later}
	query := func() []placement.Named {
		return read(c, func(r placement.Reader) ([]placement.Named, error) { return r.Classes() })
	}
	c.same("Classes", query(), []placement.Named{vcpu, custom})
	c.update(later, func(w placement.Writer) error {
		return errors.Join(
			w.DeleteClass(placement.FirstCustomClass),
			wants("DeleteClass(gone)", w.DeleteClass(placement.FirstCustomClass), placement.ErrNoRow),
		)
	})
	c.same("Classes after deletion", query(), []placement.Named{vcpu})
}

func keepConsumers(c *storeCase) {
	plain, typed := c.consumer("vm1", ""), c.consumer("vm2", "INSTANCE")
	query := func(uuid placement.UUID) placement.ConsumerRow {
		return read(c, func(r placement.Reader) (placement.ConsumerRow, error) { return r.Consumer(uuid) })
	}
	c.same("the one without a type", query(plain.UUID), plain)
	c.same("the one with a type", query(typed.UUID), typed)
	plain.Project, plain.User, plain.Type = "red", "bob", "MIGRATION"
	c.claim(later, placement.ClaimRows{Updates: []placement.ConsumerRow{plain}})
	plain.Generation = 2
	c.same("the one that was given away", query(plain.UUID), plain)
	c.update(later, func(w placement.Writer) error {
		if err := w.WriteClaims(placement.ClaimRows{Deletes: []placement.ConsumerRow{plain}}); err != nil {
			return err
		}
		_, deleted := w.Consumer(plain.UUID)
		return wants("Consumer(gone)", deleted, placement.ErrNoRow)
	})
	c.same("the other", query(typed.UUID), typed)
}

func keepAllocations(c *storeCase) {
	one, two := c.provider("cn1", nil), c.provider("cn2", nil)
	a, b := c.consumer("vm1", ""), c.consumer("vm2", "")
	rows := []placement.AllocationRow{
		c.allocate(a.UUID, one, 0, 2), c.allocate(a.UUID, two, 1, 5), c.allocate(b.UUID, one, 0, 1),
	}
	c.update(early, func(w placement.Writer) error {
		return errors.Join(w.BumpProvider(one.ID, 0), w.BumpProvider(one.ID, 1))
	})
	rows[0].ProviderGeneration, rows[2].ProviderGeneration = 2, 2
	for i := range rows {
		rows[i].ConsumerGeneration = 1
	}
	c.view(func(r placement.Reader) error {
		owner, err := r.AllocationsOf(a.UUID)
		c.same("AllocationsOf(vm1)", owner.Allocations, rows[:2])
		on, g, err2 := r.AllocationsOn(one.UUID)
		c.same("AllocationsOn(cn1)", on, []placement.AllocationRow{rows[0], rows[2]})
		c.same("the generation of cn1", g, placement.Generation(2))
		in, err3 := r.AllocationsIn(two.ID)
		c.same("AllocationsIn(cn2)", in, []placement.ConsumerAllocations{owner})
		other, err4 := r.AllocationsOf(b.UUID)
		both := []placement.ConsumerAllocations{owner, other}
		if b.UUID < a.UUID {
			slices.Reverse(both)
		}
		in, err5 := r.AllocationsIn(one.ID)
		c.same("AllocationsIn(cn1)", in, both)
		consumers, err6 := r.Consumers(b.UUID, uuidOf("nobody"))
		c.same("Consumers(vm2)", consumers, []placement.ConsumerRow{other.Consumer})
		return errors.Join(err, err2, err3, err4, err5, err6)
	})
	c.read(func(r placement.Reader) error {
		owner, err := r.AllocationsOf(a.UUID)
		c.same("AllocationsOf(vm1) in a Read", owner.Allocations, rows[:2])
		return err
	})
	c.read(func(r placement.Reader) error {
		on, g, err := r.AllocationsOn(one.UUID)
		c.same("AllocationsOn(cn1) in a Read", on, []placement.AllocationRow{rows[0], rows[2]})
		c.same("the generation of cn1 in a Read", g, placement.Generation(2))
		return err
	})
	c.read(func(r placement.Reader) error {
		in, err := r.AllocationsIn(two.ID)
		c.same("the consumers of AllocationsIn(cn2) in a Read", len(in), 1)
		return err
	})
	c.claim(later, placement.ClaimRows{Released: map[placement.UUID][]placement.AllocatedAmount{a.UUID: {
		{Provider: one.ID, ProviderUUID: one.UUID, Root: one.ID, Class: 0, Used: 2},
		{Provider: two.ID, ProviderUUID: two.UUID, Root: two.ID, Class: 1, Used: 5},
	}}})
	c.view(func(r placement.Reader) error {
		owner, err := r.AllocationsOf(a.UUID)
		c.same("AllocationsOf(vm1) after their deletion", owner, placement.ConsumerAllocations{})
		on, _, err2 := r.AllocationsOn(one.UUID)
		c.same("AllocationsOn(cn1) after their deletion", on, rows[2:])
		return errors.Join(err, err2)
	})
}

func sumProjects(c *storeCase) {
	p := c.provider("cn1", nil)
	a, b, plain := c.consumer("vm1", "INSTANCE"), c.consumer("vm2", "INSTANCE"), c.consumer("vm3", "")
	idle, other := c.consumer("vm4", "MIGRATION"), c.consumer("vm5", "INSTANCE")
	other.User = "bob"
	c.claim(early, placement.ClaimRows{Updates: []placement.ConsumerRow{other}})
	c.allocate(a.UUID, p, 0, 2)
	c.allocate(a.UUID, p, 1, 10)
	c.allocate(b.UUID, p, 0, 3)
	c.allocate(plain.UUID, p, 0, 7)
	c.allocate(other.UUID, p, 0, 100)
	query := func(project, user string) placement.ProjectUsage {
		return read(c, func(r placement.Reader) (placement.ProjectUsage, error) { return r.ProjectUsage(project, user) })
	}
	c.same("ProjectUsage(blue, ann), without "+idle.Type, query("blue", "ann"), placement.ProjectUsage{
		Rows: []placement.UsageRow{
			{Class: 0, Used: 7}, {Class: 0, Type: "INSTANCE", Used: 5}, {Class: 1, Type: "INSTANCE", Used: 10},
		},
		Consumers: map[string]int64{"": 1, "INSTANCE": 2},
	})
	c.same("ProjectUsage(blue)", query("blue", ""), placement.ProjectUsage{
		Rows: []placement.UsageRow{
			{Class: 0, Used: 7}, {Class: 0, Type: "INSTANCE", Used: 105}, {Class: 1, Type: "INSTANCE", Used: 10},
		},
		Consumers: map[string]int64{"": 1, "INSTANCE": 3},
	})
	c.same("rows of another project", len(query("red", "").Rows), 0)
}

func takeSnapshots(c *storeCase) {
	one := c.provider("cn1", nil)
	two := c.provider("cn2", nil)
	child := c.provider("nic", &one)
	cpu, bandwidth := c.inventory(one.ID, 0, 8), c.inventory(child.ID, 12, 1000)
	vm := c.consumer("vm1", "")
	c.allocate(vm.UUID, child, 12, 300)
	bandwidth.Used = 300
	gold := add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait("CUSTOM_GOLD") })
	c.update(early, func(w placement.Writer) error {
		return errors.Join(w.AddProviderTraits(child.ID, gold), w.AddProviderAggregates(two.ID, uuidOf("agg")))
	})
	links := read(c, func(r placement.Reader) ([]placement.AggregateRow, error) { return r.ProviderAggregates(two.ID) })
	query := func(roots ...int64) placement.TreeRows {
		return read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(roots) })
	}
	tree := placement.TreeRows{
		Providers:   []placement.ProviderRow{one, child},
		Inventories: []placement.InventoryRow{cpu, bandwidth},
		Traits:      []placement.ProviderTraitRow{{Provider: child.ID, Trait: gold}},
	}
	whatever := query()
	tree.FoldCase, tree.FoldLike = whatever.FoldCase, whatever.FoldLike // the database's own business
	c.same("TreeRows of one tree", query(one.ID, 1<<30), tree)
	c.same("TreeRows of nothing", query([]int64{}...),
		read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows([]int64{1 << 30}) }))
	tree.Providers = []placement.ProviderRow{one, two, child}
	tree.Aggregates = links
	whole := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(nil) })
	c.same("TreeRows of all", whole, tree)
	c.same("TreeRows of all by name", query(two.ID, one.ID), tree)
}

func longLists(c *storeCase) {
	const n = 1203
	var roots []int64
	c.update(early, func(w placement.Writer) error {
		roots = nil
		for i := range n {
			name := fmt.Sprintf("cn%04d", i)
			id, err := w.InsertProvider(placement.ProviderRow{UUID: uuidOf(name), Name: name})
			if err != nil {
				return err
			}
			roots = append(roots, id)
		}
		return w.SetRoot(roots[0], roots[1:]...)
	})
	tree := read(c, func(r placement.Reader) ([]placement.ProviderRow, error) { return r.ProvidersIn(roots[0]) })
	c.same("providers moved at once", len(tree), n)
	var rows []placement.AllocationRow
	for _, p := range roots {
		rows = append(rows, placement.AllocationRow{Provider: p, Consumer: uuidOf("vm1"), Used: 1})
	}
	c.claim(early, placement.ClaimRows{Allocations: rows})
	allocated := read(c, func(r placement.Reader) (placement.ConsumerAllocations, error) {
		return r.AllocationsOf(uuidOf("vm1"))
	})
	c.same("allocations made at once", len(allocated.Allocations), n)
	trees := read(c, func(r placement.Reader) (placement.TreeRows, error) { return r.TreeRows(roots) })
	c.same("providers in a snapshot of many roots", len(trees.Providers), n)
}

func keepText(c *storeCase) {
	name := `Ünïcode "quotes" '; DROP TABLE x; -- ? $1 \ % _ 🚢`
	p := c.provider("cn1", nil)
	p.Name, p.Modified, p.Updated = name, later, true
	c.update(later, func(w placement.Writer) error { return w.UpdateProvider(p) })
	got := read(c, func(r placement.Reader) (placement.ProviderRow, error) { return r.Provider(p.UUID) })
	c.same("the provider", got, p)
	vm := c.add(placement.ConsumerRow{UUID: "NOT-a-uuid", Project: strings.Repeat("p", 255), User: name, Type: "A"})
	consumer := read(c, func(r placement.Reader) (placement.ConsumerRow, error) { return r.Consumer(vm.UUID) })
	c.same("the consumer", consumer, vm)
}

// takeLocks takes the locks of a Writer: on stores with one writer at a time
// they are nothing, and still report what does not exist.
func takeLocks(c *storeCase) {
	p := c.provider("cn1", nil)
	c.update(early, func(w placement.Writer) error {
		return errors.Join(
			w.InsertClass(placement.FirstCustomClass, "CUSTOM_A"),
			w.LockClasses(),
			w.LockClasses(placement.FirstCustomClass),
			wants("LockClasses(one of two)", w.LockClasses(placement.FirstCustomClass, placement.FirstCustomClass+1),
				placement.ErrNoRow),
			w.LockProvider(p.ID),
			w.LockProvider(1<<30),
		)
	})
}

// sumUp checks the checksums of a small snapshot by hand.
func sumUp(c *storeCase) {
	one := c.provider("cn1", nil)
	child := c.provider("nic", &one)
	inv := c.inventory(one.ID, 0, 8)
	c.inventory(child.ID, 1, 4)
	c.allocate(uuidOf("vm1"), one, 0, 3)
	trait := add(c, func(w placement.Writer) (placement.TraitID, error) { return w.InsertTrait("CUSTOM_A") })
	c.update(later, func(w placement.Writer) error {
		return errors.Join(w.AddProviderTraits(one.ID, trait), w.AddProviderAggregates(child.ID, uuidOf("a")),
			w.BumpProvider(child.ID, 0))
	})
	total := placement.Checksum{}
	c.view(func(r placement.Reader) error {
		all, err := r.Checksums()
		for _, d := range all {
			total.Providers += d.Providers
			total.Generations += d.Generations
			total.Roots += d.Roots
			total.Parents += d.Parents
			total.NameLengths += d.NameLengths
			total.Modified = max(total.Modified, d.Modified)
			total.Inventories += d.Inventories
			total.Total += d.Total
			total.Reserved += d.Reserved
			total.Ratios += d.Ratios
			total.Used += d.Used
			total.Traits += d.Traits
			total.TraitIDs += d.TraitIDs
			total.Aggregates += d.Aggregates
		}
		roots, err2 := r.RootsBetween(one.ID, child.ID+1)
		c.same("RootsBetween", roots, []int64{one.ID})
		none, err3 := r.RootsBetween(child.ID+1, child.ID+100)
		c.same("RootsBetween behind the last", len(none), 0)
		return errors.Join(err, err2, err3)
	})
	c.same("the sums", total, placement.Checksum{
		Providers: 2, Generations: 1, Roots: 2 * one.ID, Parents: one.ID, NameLengths: 6, Modified: later.Unix(),
		Inventories: 2, Total: inv.Total + 4, Reserved: 2, Ratios: 3000, Used: 3,
		Traits: 1, TraitIDs: int64(trait), Aggregates: 1,
	})
}
