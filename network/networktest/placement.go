package networktest

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
	"github.com/berthcloud/berth/network"
)

// TestPlacement checks that an implementation keeps the contract of network.Placement,
// in front of a placement service that has none of the providers of Tidy.
func TestPlacement(t *testing.T, p network.Placement) {
	for _, test := range []struct {
		claim string
		check func(*placeCase)
	}{
		{"Providers", providersAreKept},
		{"RemovedProviders", providersAreRemoved},
		{"Names", namesMayBeOdd},
		{"Traits", traitsAreReplaced},
		{"Inventories", inventoriesAreReplaced},
		{"InventoriesThatCannotBe", inventoriesAreChecked},
		{"Generations", generationsAreThoseOfTheGuide},
		{"Allocations", allocationsAreReplaced},
		{"AllocationsThatCannotBe", allocationsAreChecked},
		{"ConsumerTypes", consumersKeepTheirType},
		{"Exchange", allocationsAreExchanged},
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
	network.Placement
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
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(network.Provider{}, "Generation"),
		cmpopts.IgnoreFields(allocations.Consumer{}, "Generation")); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// generation returns that of a provider of the host's tree.
func (c *placeCase) generation(uuid string) int64 {
	c.Helper()
	tree, err := c.ProvidersBelow(c.Context(), RootProvider)
	c.must("ProvidersBelow", err)
	i := slices.IndexFunc(tree, func(p network.Provider) bool { return p.UUID == uuid })
	if i < 0 {
		c.Fatalf("%s is not in the tree", uuid)
	}
	return tree[i].Generation
}

// raised runs do twice, and checks by how much that raises the device's generation.
func (c *placeCase) raised(what string, by int64, do func() error) {
	c.Helper()
	before := c.generation(DeviceProvider)
	c.must(what, do())
	c.must(what+" again", do())
	if got := c.generation(DeviceProvider) - before; got != by {
		c.Errorf("%s, twice, raises the generation by %d, want %d", what, got, by)
	}
}

func providersAreKept(c *placeCase) {
	ctx := c.Context()
	_, err := c.ProviderNamed(ctx, "host one")
	c.is("ProviderNamed before", err, allocations.ErrNoProvider)
	_, err = c.ProviderNamed(ctx, "")
	c.is("ProviderNamed of no name", err, allocations.ErrNoProvider)
	_, err = c.ProvidersBelow(ctx, RootProvider)
	c.is("ProvidersBelow before", err, allocations.ErrNoProvider)
	_, err = c.ProvidersBelow(ctx, "pony")
	c.kind("ProvidersBelow of a name", err, fault.Invalid)
	MakeTree(c, c)

	got, err := c.ProviderNamed(ctx, "host one")
	c.must("ProviderNamed", err)
	c.same("ProviderNamed", network.Provider{UUID: RootProvider, Name: "host one"}, got)
	c.must("EnsureProvider again",
		c.EnsureProvider(ctx, network.Provider{UUID: AgentProvider, Name: "host one:agent", Parent: RootProvider}))
	c.must("EnsureProvider of the device below the root",
		c.EnsureProvider(ctx, network.Provider{UUID: DeviceProvider, Name: "host one:agent:br-int", Parent: RootProvider}))
	tree, err := c.ProvidersBelow(ctx, DeviceProvider)
	c.must("ProvidersBelow", err)
	slices.SortFunc(tree, func(a, b network.Provider) int { return strings.Compare(a.UUID, b.UUID) })
	c.same("ProvidersBelow", []network.Provider{
		{UUID: RootProvider, Name: "host one"},
		{UUID: AgentProvider, Name: "host one:agent", Parent: RootProvider},
		{UUID: DeviceProvider, Name: "host one:agent:br-int", Parent: RootProvider},
	}, tree)

	for _, tc := range []struct {
		what string
		p    network.Provider
		kind fault.Kind
	}{
		{"with a name that is taken", network.Provider{UUID: OtherProvider, Name: "host one"}, fault.Conflict},
		{
			"that gets a name that is taken",
			network.Provider{UUID: DeviceProvider, Name: "host one", Parent: RootProvider},
			fault.Conflict,
		},
		{"below nothing", network.Provider{UUID: OtherProvider, Name: "other", Parent: Nobody}, fault.Invalid},
		{
			"that goes below nothing",
			network.Provider{UUID: DeviceProvider, Name: "host one:agent:br-int", Parent: Nobody},
			fault.Invalid,
		},
		{"below itself", network.Provider{UUID: OtherProvider, Name: "other", Parent: OtherProvider}, fault.Invalid},
		{"below its own child", network.Provider{UUID: RootProvider, Name: "host one", Parent: AgentProvider}, fault.Invalid},
		{"without a name", network.Provider{UUID: OtherProvider}, fault.Invalid},
		{"with a long name", network.Provider{UUID: OtherProvider, Name: strings.Repeat("ö", 201)}, fault.Invalid},
		{"without a UUID", network.Provider{UUID: "pony", Name: "other"}, fault.Invalid},
		{"whose parent has no UUID", network.Provider{UUID: OtherProvider, Name: "other", Parent: "pony"}, fault.Invalid},
	} {
		c.kind("EnsureProvider "+tc.what, c.EnsureProvider(ctx, tc.p), tc.kind)
	}
}

func providersAreRemoved(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	c.must("RemoveProvider of none", c.RemoveProvider(ctx, Nobody))
	c.must("RemoveProvider of a path", c.RemoveProvider(ctx, "../traits/CUSTOM_A"))
	c.is("RemoveProvider of a parent", c.RemoveProvider(ctx, AgentProvider), allocations.ErrInUse)
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, Allocation(10)))
	err := c.RemoveProvider(ctx, DeviceProvider)
	c.is("RemoveProvider of what is allocated", err, allocations.ErrInUse)
	c.kind("RemoveProvider of what is allocated", err, fault.Conflict)
	a, err := c.Allocations(ctx, Consumer)
	c.must("Allocations", err)
	a.Amounts = nil
	c.must("SetAllocations of nothing", c.SetAllocations(ctx, Consumer, a))
	c.must("RemoveProvider", c.RemoveProvider(ctx, DeviceProvider))
	c.must("RemoveProvider of what was a parent", c.RemoveProvider(ctx, AgentProvider))
}

func namesMayBeOdd(c *placeCase) {
	for _, name := range []string{"höst & co=1?#%2F/+;:Open vSwitch agent", strings.Repeat("ö", 200)} {
		c.must("EnsureProvider", c.EnsureProvider(c.Context(), network.Provider{UUID: RootProvider, Name: name}))
		got, err := c.ProviderNamed(c.Context(), name)
		c.must("ProviderNamed", err)
		c.same("ProviderNamed", network.Provider{UUID: RootProvider, Name: name}, got)
	}
}

func traitsAreReplaced(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	c.kind("SetTraits of one that is not there", c.SetTraits(ctx, DeviceProvider, []string{"CUSTOM_NOBODY"}),
		fault.Invalid)
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
	c.is("SetTraits of no provider", c.SetTraits(ctx, Nobody, nil), allocations.ErrNoProvider)
	for _, traits := range [][]string{{"CUSTOM_B", "CUSTOM_A", "CUSTOM_B"}, {"CUSTOM_A"}, nil} {
		c.raised(fmt.Sprintf("SetTraits(%q)", traits), 1, func() error { return c.SetTraits(ctx, DeviceProvider, traits) })
	}
}

func inventoriesAreReplaced(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	zero, one, ten, most, even, ratio := int64(0), int64(1), int64(10), int64(2147483647), 1.0, 1.5
	c.is("SetInventories of no provider", c.SetInventories(ctx, Nobody, nil), allocations.ErrNoProvider)
	for _, tc := range []struct {
		inventories map[string]guarantee.Inventory
		raise       int64
	}{
		{Offering(1000), 0}, // as it is
		{
			map[string]guarantee.Inventory{
				guarantee.EgressBandwidth: {
					Total: 1000, MinUnit: &one, MaxUnit: &most, StepSize: &one, Reserved: &zero,
					AllocationRatio: &even,
				},
			},
			0,
		},
		{map[string]guarantee.Inventory{
			guarantee.EgressBandwidth: {Total: 2000},
			guarantee.IngressBandwidth: {
				Total: 500, AllocationRatio: &ratio, MinUnit: &ten, MaxUnit: &ten, StepSize: &ten,
				Reserved: &one,
			},
		}, 1},
		{Offering(2000), 1},
		{map[string]guarantee.Inventory{guarantee.EgressBandwidth: {Total: 10, Reserved: &ten}}, 1}, // no capacity is left
		{nil, 1},
		{Offering(1000), 1},
	} {
		c.raised(fmt.Sprintf("SetInventories(%v)", tc.inventories), tc.raise, func() error {
			return c.SetInventories(ctx, DeviceProvider, tc.inventories)
		})
	}
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, Allocation(10)))
	c.must("SetInventories below what is allocated", c.SetInventories(ctx, DeviceProvider, Offering(5)))
	err := c.SetInventories(ctx, DeviceProvider, nil)
	c.is("SetInventories without what is allocated", err, allocations.ErrInUse)
	c.kind("SetInventories without what is allocated", err, fault.Conflict)
}

func inventoriesAreChecked(c *placeCase) {
	MakeTree(c, c)
	n := func(n int64) *int64 { return &n }
	ratio := 1e39
	for what, bad := range map[string]guarantee.Inventory{
		"nothing":         {},
		"too much":        {Total: 1 << 31},
		"negative":        {Total: -1},
		"reserved":        {Total: 1, Reserved: n(-1)},
		"more reserved":   {Total: 1, Reserved: n(2)},
		"min_unit":        {Total: 1, MinUnit: n(0)},
		"max_unit":        {Total: 1, MaxUnit: n(0)},
		"step_size":       {Total: 1, StepSize: n(0)},
		"large step_size": {Total: 1, StepSize: n(1 << 31)},
		"ratio":           {Total: 1, AllocationRatio: &ratio},
	} {
		err := c.SetInventories(c.Context(), DeviceProvider, map[string]guarantee.Inventory{guarantee.IngressBandwidth: bad})
		c.kind("SetInventories: "+what, err, fault.Invalid)
	}
	two := Offering(1000)
	two["CUSTOM_NONE"] = guarantee.Inventory{Total: 1}
	c.kind("SetInventories of a class that is not there", c.SetInventories(c.Context(), DeviceProvider, two),
		fault.Invalid)
	c.raised("SetInventories", 0, func() error { return c.SetInventories(c.Context(), DeviceProvider, Offering(1000)) })
}

// generationsAreThoseOfTheGuide: an agent's provider that needs nothing is never
// written, a device's has one generation for its traits and one for its inventories.
func generationsAreThoseOfTheGuide(c *placeCase) {
	ctx := c.Context()
	c.must("EnsureTrait", c.EnsureTrait(ctx, "CUSTOM_A"))
	MakeTree(c, c)
	for range 2 {
		MakeTree(c, c)
		c.must("SetTraits of the agent", c.SetTraits(ctx, AgentProvider, nil))
		c.must("SetTraits of the device", c.SetTraits(ctx, DeviceProvider, []string{"CUSTOM_A"}))
		c.must("SetInventories of the agent", c.SetInventories(ctx, AgentProvider, nil))
	}
	if agent, device := c.generation(AgentProvider), c.generation(DeviceProvider); agent != 0 || device != 2 {
		c.Errorf("the agent has generation %d, the device %d; want 0 and 2", agent, device)
	}
}

func allocationsAreReplaced(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	got, err := c.Allocations(ctx, Consumer)
	c.must("Allocations of a new consumer", err)
	c.same("Allocations of a new consumer", allocations.Consumer{}, got)
	got, err = c.Allocations(ctx, "no UUID")
	c.must("Allocations of a name", err)
	c.same("Allocations of a name", allocations.Consumer{}, got)
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, Allocation(400)))
	got, err = c.Allocations(ctx, Consumer)
	c.must("Allocations", err)
	c.same("Allocations", Allocation(400), got)
	if got.Generation == nil {
		c.Fatal("Allocations has no generation")
	}

	c.is("SetAllocations as of a new consumer", c.SetAllocations(ctx, Consumer, Allocation(500)),
		allocations.ErrGeneration)
	more := Allocation(1001)
	more.Generation = got.Generation
	err = c.SetAllocations(ctx, Consumer, more)
	c.is("SetAllocations of too much", err, allocations.ErrCapacity)
	c.kind("SetAllocations of too much", err, fault.Conflict)
	more = Allocation(1000)
	more.Generation = got.Generation
	c.must("SetAllocations of all", c.SetAllocations(ctx, Consumer, more))
	err = c.SetAllocations(ctx, Consumer, more)
	c.is("SetAllocations as of before", err, allocations.ErrGeneration)
	c.kind("SetAllocations as of before", err, fault.Conflict)

	got, err = c.Allocations(ctx, Consumer)
	c.must("Allocations of all", err)
	got.Amounts = nil
	c.must("SetAllocations of nothing", c.SetAllocations(ctx, Consumer, got))
	got, err = c.Allocations(ctx, Consumer)
	c.must("Allocations of nothing", err)
	c.same("Allocations of nothing", allocations.Consumer{}, got)
	if got.Generation != nil {
		c.Errorf("a consumer without allocations has generation %d", *got.Generation)
	}
}

func allocationsAreChecked(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	on := func(provider, class string, amount int64) allocations.Consumer {
		a := Allocation(1)
		a.Amounts = allocations.Amounts{provider: {class: amount}}
		return a
	}
	noProject, noUser, longProject, badType, empty := Allocation(1), Allocation(1), Allocation(1), Allocation(1),
		Allocation(1)
	noProject.Project, noUser.User, longProject.Project, badType.Type = "", "", strings.Repeat("p", 256), "a server"
	empty.Amounts[DeviceProvider] = nil
	for i, tc := range []struct {
		what string
		a    allocations.Consumer
	}{
		{"no project", noProject},
		{"no user", noUser},
		{"a long project", longProject},
		{"a bad type", badType},
		{"zero", Allocation(0)},
		{"less than nothing", Allocation(-1)},
		{"nothing on a provider", empty},
		{"no such provider", on(Nobody, guarantee.EgressBandwidth, 1)},
		{"no such class", on(DeviceProvider, "CUSTOM_NONE", 1)},
	} {
		// Upstream keeps the consumers of claims that it refused.
		consumer := fmt.Sprintf("00000000-0000-4000-8000-0000000002%02d", i)
		c.kind("SetAllocations: "+tc.what, c.SetAllocations(ctx, consumer, tc.a), fault.Invalid)
		got, err := c.Allocations(ctx, consumer)
		c.must("Allocations", err)
		c.same("Allocations: "+tc.what, allocations.Consumer{}, got)
	}
	c.kind("SetAllocations of a name", c.SetAllocations(ctx, "pony", Allocation(1)), fault.Invalid)
	err := c.SetAllocations(ctx, "00000000-0000-4000-8000-000000000300", on(DeviceProvider, guarantee.IngressBandwidth, 1))
	c.is("SetAllocations of what is not offered", err, allocations.ErrCapacity)
}

func consumersKeepTheirType(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	first := Allocation(1)
	first.Type = "INSTANCE"
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, first))
	for amount, kind := range map[int64]string{2: "INSTANCE", 3: ""} {
		got, err := c.Allocations(ctx, Consumer)
		c.must("Allocations", err)
		if got.Type != "INSTANCE" {
			c.Errorf("type = %q, want INSTANCE", got.Type)
		}
		got.Amounts[DeviceProvider][guarantee.EgressBandwidth], got.Type = amount, kind
		c.must("SetAllocations", c.SetAllocations(ctx, Consumer, got))
	}
}

// allocationsAreExchanged writes two consumers at once, which have all of the device together: both
// or none of them change, and each write raises a generation by one.
func allocationsAreExchanged(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	const moved = "00000000-0000-4000-8000-000000000301"
	both := func() (server, migration allocations.Consumer) {
		c.Helper()
		server, err := c.Allocations(ctx, Consumer)
		c.must("Allocations", err)
		migration, err = c.Allocations(ctx, moved)
		c.must("Allocations", err)
		return server, migration
	}
	write := func(server, migration allocations.Consumer) error {
		return c.SetManyAllocations(ctx, map[string]allocations.Consumer{Consumer: server, moved: migration})
	}
	having := func(a allocations.Consumer, amount int64) allocations.Consumer {
		a.Amounts = Allocation(amount).Amounts
		return a
	}
	first := Allocation(1000)
	first.Type = allocations.Instance
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, first))
	before, _ := both()
	begun := having(before, 600)
	begun.Type, begun.Generation = allocations.Migration, nil
	c.must("SetManyAllocations", write(having(before, 400), begun))
	server, migration := both()
	c.same("the server", having(first, 400), server)
	c.same("the migration", begun, migration)
	if *server.Generation != *before.Generation+1 {
		c.Errorf("the server has generation %d after %d", *server.Generation, *before.Generation)
	}

	c.is("SetManyAllocations with a former generation", write(having(before, 300), having(migration, 100)),
		allocations.ErrGeneration)
	c.is("SetManyAllocations as of a new consumer", write(having(server, 300), begun), allocations.ErrGeneration)
	c.is("SetManyAllocations of too much", write(having(server, 500), having(migration, 501)), allocations.ErrCapacity)
	stays, too := both()
	c.same("the server after refusals", server, stays)
	c.same("the migration after refusals", migration, too)
	migration.Amounts = nil
	c.must("SetManyAllocations back", write(having(server, 1000), migration))
	server, migration = both()
	c.same("the server at last", first, server)
	c.same("the migration at last", allocations.Consumer{}, migration)
}

// TestPlacementConcurrency has several clients change the same providers at the same time: those
// that collide retry. Upstream's service on SQLite does not support that.
func TestPlacementConcurrency(t *testing.T, p network.Placement) {
	c := &placeCase{t, p}
	defer Tidy(t, p)
	ctx := c.Context()
	MakeTree(c, c)
	traits := []string{"CUSTOM_A", "CUSTOM_B"}
	for _, name := range traits {
		c.must("EnsureTrait", c.EnsureTrait(ctx, name))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for _, err := range []error{
				c.EnsureProvider(ctx, network.Provider{UUID: OtherProvider, Name: "host one:agent:br-new", Parent: AgentProvider}),
				c.SetInventories(ctx, DeviceProvider, Offering(int64(2000+i))),
				c.SetTraits(ctx, DeviceProvider, traits[i%2:]),
				c.RemoveProvider(ctx, Nobody),
			} {
				if err != nil {
					c.Errorf("among others: %v", err)
				}
			}
		})
	}
	all.Wait()
	got, err := c.ProviderNamed(ctx, "host one:agent:br-new")
	c.must("ProviderNamed", err)
	c.same("ProviderNamed", network.Provider{
		UUID: OtherProvider, Name: "host one:agent:br-new", Parent: AgentProvider,
	}, got)
}
