package providertreetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// TestPlacement checks that an implementation keeps the contracts of providertree.Placement and
// allocations.Placement, in front of a placement service that has none of the providers of Tidy.
func TestPlacement(t *testing.T, p Placement) {
	for _, test := range []struct {
		claim string
		check func(*placeCase)
	}{
		{"Providers", providersAreKept},
		{"RemovedProviders", providersAreRemoved},
		{"Names", namesMayBeOdd},
		{"Contents", contentsAreSelected},
		{"Traits", traitsAreReplaced},
		{"UnknownTraits", unknownTraitsAreLeftOut},
		{"Inventories", inventoriesAreReplaced},
		{"InventoriesThatCannotBe", inventoriesAreChecked},
		{"Generations", generationsAreThoseOfTheGuide},
		{"OutdatedGenerations", generationsAreCompared},
		{"Allocations", allocationsAreReplaced},
		{"AllocationsThatCannotBe", allocationsAreChecked},
		{"ConsumerTypes", consumersKeepTheirType},
		{"Exchange", allocationsAreExchanged},
		{"Reshape", allocationsMoveWithInventories},
	} {
		t.Run(test.claim, func(t *testing.T) {
			defer Tidy(t, p)
			test.check(&placeCase{t, p})
		})
	}
}

// A placeCase is one test with the Placement that it is about.
type placeCase struct {
	*testing.T
	Placement
}

func (c *placeCase) must(what string, err error) {
	c.Helper()
	must(c, what, err)
}

// is checks which error it is.
func (c *placeCase) is(what string, err, want error) {
	c.Helper()
	if !errors.Is(err, want) {
		c.Errorf("%s = %v, want %v", what, err, want)
	}
}

// kind checks what kind of fault it is.
func (c *placeCase) kind(what string, err error, want fault.Kind) {
	c.Helper()
	if kind, _ := fault.Of(err); err == nil || kind != want {
		c.Errorf("%s = %v, of kind %v; want kind %v", what, err, kind, want)
	}
}

// same compares an answer, generations aside.
func (c *placeCase) same(what string, want, got any) {
	c.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(providertree.Provider{}, "Generation"),
		cmpopts.IgnoreFields(allocations.Consumer{}, "Generation")); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// nothing selects no contents.
func nothing(providertree.Provider) bool { return false }

// tree returns the providers of a provider's tree, with all contents or without any, sorted by id.
func (c *placeCase) tree(
	member placement.UUID, contents func(providertree.Provider) bool,
) []providertree.Provider {
	c.Helper()
	tree, err := c.Tree(c.Context(), member, contents)
	c.must("Tree", err)
	slices.SortFunc(tree.Providers, func(a, b providertree.Provider) int {
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return tree.Providers
}

// get returns a provider of the host's tree, with its contents.
func (c *placeCase) get(id placement.UUID) providertree.Provider {
	c.Helper()
	all := c.tree(RootProvider, nil)
	i := slices.IndexFunc(all, func(p providertree.Provider) bool { return p.ID == id })
	if i < 0 {
		c.Fatalf("%s is not in the tree", id)
	}
	return all[i]
}

// raised replaces what the device has, twice, and checks that the first time raises its generation
// by so much, the second time does not, and that it has it.
func (c *placeCase) raised(what string, by int64, change func(*providertree.Provider)) {
	c.Helper()
	before := c.get(DeviceProvider)
	for range 2 {
		c.must(what, Change(c.Context(), c, DeviceProvider, change))
	}
	want := before.Clone()
	change(&want)
	got := c.get(DeviceProvider).Clone()
	if n := got.Generation - before.Generation; n != by {
		c.Errorf("%s, twice, raises the generation by %d, want %d", what, n, by)
	}
	if diff := cmp.Diff(want.Clone(), got, cmpopts.IgnoreFields(providertree.Provider{}, "Generation"),
		cmpopts.EquateEmpty()); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func providersAreKept(c *placeCase) {
	ctx := c.Context()
	for _, name := range []string{"host one", ""} {
		_, err := c.Named(ctx, name)
		c.is(fmt.Sprintf("Named(%q) before", name), err, allocations.ErrNoProvider)
	}
	if before := c.tree(RootProvider, nil); len(before) > 0 {
		c.Errorf("Tree before = %v", before)
	}
	_, err := c.Tree(ctx, "pony", nothing)
	c.kind("Tree of a name", err, fault.Invalid)
	MakeTree(c, c)

	root, err := c.Named(ctx, "host one")
	c.must("Named", err)
	c.same("Named", providertree.Provider{ID: RootProvider, Name: "host one"}, root)
	agent := providertree.Provider{ID: AgentProvider, Name: "host one:agent", Parent: RootProvider}
	moved := providertree.Provider{ID: DeviceProvider, Name: "host one:agent:br-int", Parent: RootProvider}
	for _, p := range []providertree.Provider{agent, moved} {
		before := c.get(p.ID)
		generation, err := c.Update(ctx, p)
		c.must("Update", err)
		if after := c.get(p.ID); generation != after.Generation || !cmp.Equal(before.Inventories, after.Inventories) {
			c.Errorf("Update = %d, and placement has %+v after %+v", generation, after, before)
		}
	}
	c.same("Tree", []providertree.Provider{root, agent, moved}, c.tree(DeviceProvider, nothing))
	_, err = c.Create(ctx, moved)
	c.is("Create of one that exists", err, allocations.ErrGeneration)
	_, err = c.Create(ctx, providertree.Provider{ID: DeviceProvider, Name: "host one:agent:br-new"})
	c.is("Create of one that exists under another name", err, allocations.ErrGeneration)
	_, err = c.Update(ctx, providertree.Provider{ID: Nobody, Name: "nobody"})
	c.is("Update of none", err, allocations.ErrGeneration)

	for _, tc := range []struct {
		what string
		p    providertree.Provider
		kind fault.Kind
	}{
		{"with a name that is taken", providertree.Provider{ID: OtherProvider, Name: "host one"}, fault.Conflict},
		{"below nothing", providertree.Provider{ID: OtherProvider, Name: "other", Parent: Nobody}, fault.Invalid},
		{"below itself", providertree.Provider{ID: OtherProvider, Name: "other", Parent: OtherProvider}, fault.Invalid},
		{"without a name", providertree.Provider{ID: OtherProvider}, fault.Invalid},
		{"with a long name", providertree.Provider{ID: OtherProvider, Name: strings.Repeat("ö", 201)}, fault.Invalid},
		{"without a UUID", providertree.Provider{ID: "pony", Name: "other"}, fault.Invalid},
		{"whose parent has no UUID", providertree.Provider{ID: OtherProvider, Name: "other", Parent: "pony"}, fault.Invalid},
	} {
		_, err := c.Create(ctx, tc.p)
		c.kind("Create "+tc.what, err, tc.kind)
	}
	for _, tc := range []struct {
		what string
		p    providertree.Provider
		kind fault.Kind
	}{
		{
			"with a name that is taken",
			providertree.Provider{ID: DeviceProvider, Name: "host one", Parent: RootProvider},
			fault.Conflict,
		},
		{
			"below nothing",
			providertree.Provider{ID: DeviceProvider, Name: "host one:agent:br-int", Parent: Nobody},
			fault.Invalid,
		},
		{
			"below its own child",
			providertree.Provider{ID: RootProvider, Name: "host one", Parent: AgentProvider},
			fault.Invalid,
		},
	} {
		_, err := c.Update(ctx, tc.p)
		c.kind("Update "+tc.what, err, tc.kind)
		if providertree.IsConflict(err) {
			c.Errorf("Update %s = %v, which does not end by itself", tc.what, err)
		}
	}
}

func providersAreRemoved(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	c.must("Remove of none", c.Remove(ctx, Nobody))
	c.must("Remove of a path", c.Remove(ctx, "../traits/CUSTOM_A"))
	c.is("Remove of a parent", c.Remove(ctx, AgentProvider), allocations.ErrInUse)
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, Allocation(10)))
	err := c.Remove(ctx, DeviceProvider)
	c.is("Remove of what is allocated", err, allocations.ErrInUse)
	c.kind("Remove of what is allocated", err, fault.Conflict)
	used, err := c.Used(ctx, DeviceProvider)
	c.must("Used", err)
	c.same("Used", map[string]int64{guarantee.EgressBandwidth: 10}, used)
	a, err := c.Allocations(ctx, Consumer)
	c.must("Allocations", err)
	a.Amounts = nil
	c.must("SetAllocations of nothing", c.SetAllocations(ctx, Consumer, a))
	c.must("Remove", c.Remove(ctx, DeviceProvider))
	_, err = c.Used(ctx, DeviceProvider)
	c.is("Used of what was removed", err, allocations.ErrGeneration)
	c.must("Remove of what was a parent", c.Remove(ctx, AgentProvider))
}

func namesMayBeOdd(c *placeCase) {
	for _, name := range []string{"höst & co=1?#%2F/+;:Open vSwitch agent", strings.Repeat("ö", 200)} {
		want := providertree.Provider{ID: RootProvider, Name: name}
		c.must("Set", Set(c.Context(), c, want))
		got, err := c.Named(c.Context(), name)
		c.must("Named", err)
		c.same("Named", want, got)
	}
}

// contentsAreSelected: providers that were not selected have none.
func contentsAreSelected(c *placeCase) {
	MakeTree(c, c)
	gold := func(p *providertree.Provider) { p.Traits = []string{"CUSTOM_A"} }
	c.must("Change", Change(c.Context(), c, DeviceProvider, gold))
	for _, selected := range []placement.UUID{DeviceProvider, AgentProvider} {
		for _, p := range c.tree(RootProvider, func(p providertree.Provider) bool { return p.ID == selected }) {
			if (p.Inventories != nil) != (p.ID == selected) ||
				(len(p.Traits) > 0) != (p.ID == selected && selected == DeviceProvider) {
				c.Errorf("with the contents of %s, %s has %v and %v", selected, p.ID, p.Inventories, p.Traits)
			}
		}
	}
}

func traitsAreReplaced(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	device := c.get(DeviceProvider)
	device.Traits = []string{"CUSTOM_NOBODY"}
	_, err := c.SetTraits(ctx, device)
	c.kind("SetTraits of one that does not exist", err, fault.Invalid)
	for _, name := range []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_A"} {
		c.must("EnsureTrait", c.EnsureTrait(ctx, name))
	}
	for _, name := range []string{
		"bad name", "", "CUSTOM_", "CUSTOM_a", "HW_NIC_SRIOV", "CUSTOM_" + strings.Repeat("A", 249),
	} {
		if err := c.EnsureTrait(ctx, name); err == nil {
			c.Errorf("EnsureTrait(%q) = nil", name)
		}
	}
	_, err = c.SetTraits(ctx, providertree.Provider{ID: Nobody})
	c.is("SetTraits of no provider", err, allocations.ErrGeneration)
	unknown, err := c.UnknownTraits(ctx, []string{"COMPUTE_NODE", "HW_NO_RELEASE", "CUSTOM_A", "CUSTOM_NOBODY"})
	c.must("UnknownTraits", err)
	c.same("UnknownTraits", []string{"HW_NO_RELEASE", "CUSTOM_NOBODY"}, unknown)
	for _, traits := range [][]string{{"CUSTOM_B", "CUSTOM_A", "CUSTOM_B"}, {"CUSTOM_A"}, nil} {
		c.raised(fmt.Sprintf("traits %q", traits), 1, func(p *providertree.Provider) { p.Traits = traits })
	}
}

// unknownTraitsAreLeftOut: a provider gets those of its traits that placement knows, and they are
// not written again. The others are more than one request has the names of.
func unknownTraitsAreLeftOut(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	known := []string{"COMPUTE_NODE", "CUSTOM_A"}
	var later []string
	for i := range 100 {
		later = append(later, fmt.Sprintf("HW_CPU_OF_A_LATER_RELEASE_%02d", i))
	}
	var before int64
	for range 2 {
		result, err := providertree.Sync(ctx, c, providertree.Spec{
			Root: RootProvider, Plan: func(actual providertree.Tree) (providertree.Plan, error) {
				root, _ := actual.Find(RootProvider)
				root.Traits = slices.Concat(known, later)
				return providertree.Compare(actual, []providertree.Provider{root}, nil), nil
			},
		})
		c.must("Sync", err)
		c.must("Sync", result.Err())
		c.same("Result.Unknown", []providertree.Unknown{{Name: "host one", Traits: later}}, result.Unknown)
		root := c.get(RootProvider).Clone()
		c.same("the traits", known, root.Traits)
		if before != 0 && root.Generation != before {
			c.Errorf("the second time raises the generation from %d to %d", before, root.Generation)
		}
		before = root.Generation
	}
}

func inventoriesAreReplaced(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	_, err := c.SetInventories(ctx, providertree.Provider{ID: Nobody})
	c.is("SetInventories of no provider", err, allocations.ErrGeneration)
	for _, tc := range []struct {
		inventories map[string]placement.Inventory
		raise       int64
	}{
		{Offering(1000), 0}, // as it is
		{map[string]placement.Inventory{
			guarantee.EgressBandwidth:  Offer(2000),
			guarantee.IngressBandwidth: {Total: 500, AllocationRatio: 1.5, MinUnit: 10, MaxUnit: 10, StepSize: 10, Reserved: 1},
		}, 1},
		{Offering(2000), 1},
		{map[string]placement.Inventory{ // no capacity is left
			guarantee.EgressBandwidth: {Total: 10, Reserved: 10, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1},
		}, 1},
		{nil, 1},
		{Offering(1000), 1},
	} {
		c.raised(fmt.Sprintf("inventories %v", tc.inventories), tc.raise,
			func(p *providertree.Provider) { p.Inventories = tc.inventories })
	}
	c.must("EnsureClass", c.EnsureClass(ctx, "CUSTOM_NIC"))
	c.must("EnsureClass again", c.EnsureClass(ctx, "CUSTOM_NIC"))
	c.raised("a custom class", 1, func(p *providertree.Provider) {
		p.Inventories = Offering(1000)
		p.Inventories["CUSTOM_NIC"] = Offer(1)
	})

	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, Allocation(10)))
	device := c.get(DeviceProvider)
	device.Inventories = Offering(5)
	device.Generation, err = c.SetInventories(ctx, device)
	c.must("SetInventories below what is allocated", err)
	device.Inventories = nil
	_, err = c.SetInventories(ctx, device)
	c.is("SetInventories without what is allocated", err, allocations.ErrInUse)
	c.kind("SetInventories without what is allocated", err, fault.Conflict)
}

func inventoriesAreChecked(c *placeCase) {
	MakeTree(c, c)
	before := c.get(DeviceProvider)
	set := func(what string, class string, bad placement.Inventory) {
		c.Helper()
		want := before.Clone()
		want.Inventories[class] = bad
		_, err := c.SetInventories(c.Context(), want)
		c.kind("SetInventories: "+what, err, fault.Invalid)
	}
	for what, change := range map[string]func(*placement.Inventory){
		"nothing":         func(i *placement.Inventory) { i.Total = 0 },
		"too much":        func(i *placement.Inventory) { i.Total = 1 << 31 },
		"negative":        func(i *placement.Inventory) { i.Total = -1 },
		"reserved":        func(i *placement.Inventory) { i.Reserved = -1 },
		"more reserved":   func(i *placement.Inventory) { i.Reserved = 2 },
		"min_unit":        func(i *placement.Inventory) { i.MinUnit = 0 },
		"max_unit":        func(i *placement.Inventory) { i.MaxUnit = 0 },
		"step_size":       func(i *placement.Inventory) { i.StepSize = 0 },
		"large step_size": func(i *placement.Inventory) { i.StepSize = 1 << 31 },
		"ratio":           func(i *placement.Inventory) { i.AllocationRatio = 1e39 },
	} {
		bad := Offer(1)
		change(&bad)
		set(what, guarantee.IngressBandwidth, bad)
	}
	set("a class that does not exist", "CUSTOM_NONE", Offer(1))
	if after := c.get(DeviceProvider); after.Generation != before.Generation {
		c.Errorf("refused writes raised the generation from %d to %d", before.Generation, after.Generation)
	}
}

// generationsAreThoseOfTheGuide: an agent's provider that needs nothing is never
// written, a device's has one generation for its traits and one for its inventories.
func generationsAreThoseOfTheGuide(c *placeCase) {
	for range 2 {
		MakeTree(c, c)
		gold := func(p *providertree.Provider) { p.Traits = []string{"CUSTOM_A"} }
		c.must("the device's traits", Change(c.Context(), c, DeviceProvider, gold))
		if agent, device := c.get(AgentProvider).Generation, c.get(DeviceProvider).Generation; agent != 0 || device != 2 {
			c.Errorf("the agent has generation %d, the device %d; want 0 and 2", agent, device)
		}
		c.must("without traits", c.Remove(c.Context(), DeviceProvider))
	}
}

// generationsAreCompared: what was changed meanwhile is not overwritten.
func generationsAreCompared(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	c.must("EnsureTrait", c.EnsureTrait(ctx, "CUSTOM_A"))
	before := c.get(DeviceProvider)
	next := before
	for what, set := range map[string]func(providertree.Provider) (int64, error){
		"SetTraits":      func(p providertree.Provider) (int64, error) { return c.SetTraits(ctx, p) },
		"SetInventories": func(p providertree.Provider) (int64, error) { return c.SetInventories(ctx, p) },
	} {
		next.Inventories, next.Traits = Offering(next.Generation+7), []string{"CUSTOM_A"}
		generation, err := set(next)
		c.must(what, err)
		if generation != next.Generation+1 {
			c.Errorf("%s = %d at %d", what, generation, next.Generation)
		}
		_, err = set(before)
		c.is(what+" as of before", err, allocations.ErrGeneration)
		c.kind(what+" as of before", err, fault.Conflict)
		next.Generation = generation
	}
}

// TestPlacementConcurrency has several clients change the same providers at the same time: those
// that collide retry. Upstream's service on SQLite does not support that.
func TestPlacementConcurrency(t *testing.T, p Placement) {
	c := &placeCase{t, p}
	defer Tidy(t, p)
	ctx := c.Context()
	MakeTree(c, c)
	created := providertree.Provider{
		ID: OtherProvider, Name: "host one:agent:br-new", Parent: AgentProvider, Inventories: Offering(10),
		Traits: []string{"CUSTOM_A"},
	}
	traits := []string{"CUSTOM_A", "CUSTOM_B"}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for _, err := range []error{
				Set(ctx, c, created),
				Change(ctx, c, DeviceProvider, func(p *providertree.Provider) {
					p.Inventories = Offering(int64(2000 + i))
				}),
				Change(ctx, c, DeviceProvider, func(p *providertree.Provider) { p.Traits = traits[i%2:] }),
				c.Remove(ctx, Nobody),
			} {
				if err != nil {
					c.Errorf("among others: %v", err)
				}
			}
		})
	}
	all.Wait()
	c.same("the new provider", created, c.get(OtherProvider))
}
