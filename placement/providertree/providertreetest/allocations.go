package providertreetest

import (
	"fmt"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement/providertree"
)

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

// allocationsMoveWithInventories moves what is allocated of the device to another provider,
// together with its inventory: both or neither.
func allocationsMoveWithInventories(c *placeCase) {
	ctx := c.Context()
	MakeTree(c, c)
	other := providertree.Provider{ID: OtherProvider, Name: "host one:agent:card", Parent: AgentProvider}
	c.must("Set", Set(ctx, c, other))
	first := Allocation(400)
	first.Type = allocations.Instance
	c.must("SetAllocations", c.SetAllocations(ctx, Consumer, first))
	consumers, err := c.Consumers(ctx, DeviceProvider)
	c.must("Consumers", err)
	c.same("Consumers", []string{Consumer}, consumers)
	consumers, err = c.Consumers(ctx, OtherProvider)
	c.must("Consumers of a new provider", err)
	c.same("Consumers of a new provider", 0, len(consumers))

	reshaped := func(total int64) (all []providertree.Provider, consumers map[string]allocations.Consumer) {
		c.Helper()
		device, other := c.get(DeviceProvider), c.get(OtherProvider)
		device.Inventories, other.Inventories = nil, Offering(total)
		server, err := c.Allocations(ctx, Consumer)
		c.must("Allocations", err)
		server.Amounts = allocations.Amounts{OtherProvider: {guarantee.EgressBandwidth: 400}}
		return []providertree.Provider{device, other}, map[string]allocations.Consumer{Consumer: server}
	}
	unchanged := func(what string) {
		c.Helper()
		cur, err := c.Allocations(ctx, Consumer)
		c.must("Allocations", err)
		c.same("the allocations after "+what, first, cur)
		c.same("the inventories after "+what, Offering(1000), c.get(DeviceProvider).Inventories)
	}
	providers, server := reshaped(1000)
	providers[0].Generation--
	c.is("Reshape of an outdated provider", c.Reshape(ctx, providers, server), allocations.ErrGeneration)
	unchanged("an outdated provider")
	providers, server = reshaped(1000)
	outdated := server[Consumer]
	generation := *outdated.Generation - 1
	outdated.Generation = &generation
	c.is("Reshape of an outdated consumer", c.Reshape(ctx, providers, map[string]allocations.Consumer{Consumer: outdated}),
		allocations.ErrGeneration)
	unchanged("an outdated consumer")
	c.is("Reshape of what does not move", c.Reshape(ctx, providers, nil), allocations.ErrInUse)
	unchanged("what does not move")
	providers, server = reshaped(399)
	c.is("Reshape to too little", c.Reshape(ctx, providers, server), allocations.ErrCapacity)
	unchanged("too little")

	providers, server = reshaped(1000)
	c.must("Reshape", c.Reshape(ctx, providers, server))
	c.is("Reshape again", c.Reshape(ctx, providers, server), allocations.ErrGeneration)
	cur, err := c.Allocations(ctx, Consumer)
	c.must("Allocations", err)
	first.Amounts = allocations.Amounts{OtherProvider: {guarantee.EgressBandwidth: 400}}
	c.same("the allocations", first, cur)
	c.same("the inventories of the device", 0, len(c.get(DeviceProvider).Inventories))
	c.same("those of the other provider", Offering(1000), c.get(OtherProvider).Inventories)
}
