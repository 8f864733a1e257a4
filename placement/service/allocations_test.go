package service_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// stockedCloud has two hosts of eight VCPUs.
func stockedCloud(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	for _, host := range []placement.UUID{"a", "b"} {
		c.provider(host, "")
		c.offers(host, offer("VCPU", 8))
	}
	return c
}

// consumer returns the generation of a consumer, -1 when there is none.
func (c *cloud) consumer(uuid placement.UUID) placement.Generation {
	c.Helper()
	h, err := c.AllocationsOf(context.Background(), uuid)
	c.must(err)
	if h.Consumer.ID == 0 {
		return -1
	}
	return h.Consumer.Generation
}

func TestClaimsRaiseGenerations(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	both := claim("s", on("a", "VCPU", 1), on("b", "VCPU", 1))
	for step, want := range []placement.Generation{1, 2} {
		c.rises("a", 1, "PUT", func() error { return c.SetAllocations(ctx, both) })
		if got := c.consumer("s"); got != want {
			t.Errorf("claim %d leaves the consumer at generation %d, want %d", step, got, want)
		}
	}
	many := []placement.Claim{
		claim("s", on("a", "VCPU", 1)), claim("s2", on("a", "VCPU", 1)), claim("s3", on("b", "VCPU", 2)),
	}
	c.rises("a", 1, "POST of two claims on it", func() error { return c.SetManyAllocations(ctx, many) })
	c.rises("b", 0, "DELETE", func() error { return c.DeleteAllocations(ctx, "s3") })
	c.rises("a", 1, "clearing by PUT", func() error { return c.SetAllocations(ctx, claim("s2")) })
	if got := c.consumer("s2"); got != -1 {
		t.Errorf("a cleared consumer is there at generation %d", got)
	}
	c.must(c.SetAllocations(ctx, claim("s2", on("a", "VCPU", 1))))
	if got := c.consumer("s2"); got != 1 {
		t.Errorf("a consumer that came back has generation %d, want 1", got)
	}
}

func TestClaimsKnowTheConsumer(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	conflict := func(step string, cl placement.Claim, want string) {
		t.Helper()
		c.refuses(step, c.SetAllocations(ctx, cl), fault.Conflict, placement.CodeConcurrentUpdate,
			"consumer generation conflict - expected "+want)
	}
	conflict("a generation of none", claimSeen("s", 5, on("a", "VCPU", 1)), "null but got 5")
	c.claims(claimSeen("s", -1, on("a", "VCPU", 1)))
	conflict("no generation of one", claimSeen("s", -1, on("a", "VCPU", 1)), "1 but got None")
	conflict("another generation", claimSeen("s", 0, on("a", "VCPU", 1)), "1 but got 0")
	c.claims(claimSeen("s", 1))
	conflict("the generation of one that was cleared", claimSeen("s", 1, on("a", "VCPU", 1)), "null but got 1")
	c.claims(claimSeen("s", -1, on("a", "VCPU", 1)))
}

func TestRefusedClaimsChangeNothing(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	const refused = "Unable to allocate inventory: "
	ga, gb := c.generation("a"), c.generation("b")
	err := c.SetAllocations(ctx, claim("s", on("a", "VCPU", 1), on("b", "NOTHING", 1)))
	c.refuses("an unknown class", err, fault.Invalid, "",
		"Unable to allocate inventory for consumer s: No such resource class NOTHING.")
	err = c.SetManyAllocations(ctx, []placement.Claim{claim("s", on("a", "VCPU", 1)), claim("s2", on("b", "NOTHING", 1))})
	c.refuses("an unknown class in POST", err, fault.Invalid, "",
		"Unable to allocate inventory No such resource class NOTHING.")
	err = c.SetAllocations(ctx, claim("s", on("a", "VCPU", 1), on("x", "VCPU", 1)))
	c.refuses("an unknown provider", err, fault.Invalid, "", "Allocation for resource provider 'x' that does not exist.")
	err = c.SetAllocations(ctx, claim("s", on("a", "DISK_GB", 1)))
	c.refuses("a class without inventory", err, fault.Conflict, "",
		refused+"Inventory for 'DISK_GB' on resource provider 'a' invalid.")
	err = c.SetManyAllocations(ctx, []placement.Claim{claim("s", on("a", "VCPU", 5)), claim("s2", on("a", "VCPU", 5))})
	c.refuses("more than there is, over two consumers", err, fault.Conflict, "",
		refused+"Unable to create allocation for 'VCPU' on resource provider 'a'. The requested amount would exceed "+
			"the capacity.")
	if c.generation("a") != ga || c.generation("b") != gb || c.consumer("s") != -1 || c.consumer("s2") != -1 {
		t.Errorf("refused claims left generations %d, %d and consumers %d, %d",
			c.generation("a"), c.generation("b"), c.consumer("s"), c.consumer("s2"))
	}
}

func TestClaimsKeepToUnits(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("a", "")
	inv := offer("VCPU", 100)
	inv.MinUnit, inv.MaxUnit, inv.StepSize = 4, 12, 4
	c.offers("a", inv)
	for amount, ok := range map[int64]bool{3: false, 4: true, 6: false, 12: true, 16: false} {
		err := c.SetAllocations(ctx, claim("s", on("a", "VCPU", amount)))
		if ok {
			c.must(err)
			continue
		}
		c.refuses("a wrong unit", err, fault.Conflict, "", "Unable to allocate inventory: "+
			"Unable to create allocation for 'VCPU' on resource provider 'a'. The requested amount would violate inventory "+
			"constraints.")
	}
}

func TestClaimsReplaceWhatWasHeld(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	c.claims(claim("s", on("a", "VCPU", 8)))
	c.claims(claim("s", on("a", "VCPU", 6), on("b", "VCPU", 8))) // its own usage does not count
	if a, b := c.used("a", "VCPU"), c.used("b", "VCPU"); a != 6 || b != 8 {
		t.Errorf("used are %d and %d, want 6 and 8", a, b)
	}
	err := c.SetAllocations(ctx, claim("s2", on("a", "VCPU", 3)))
	if kind, _ := fault.Of(err); kind != fault.Conflict {
		t.Errorf("a claim over the rest gives %v", err)
	}
	c.must(c.SetManyAllocations(ctx, []placement.Claim{claim("s"), claim("s2", on("a", "VCPU", 8))}))
	if c.used("a", "VCPU") != 8 || c.used("b", "VCPU") != 0 {
		t.Errorf("used are %d and %d, want 8 and 0", c.used("a", "VCPU"), c.used("b", "VCPU"))
	}
}

func TestOverfullProvidersMayBeRelieved(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	c.claims(claim("s", on("a", "VCPU", 6)))
	c.claims(claim("s2", on("a", "VCPU", 2)))
	_, err := c.UpdateInventory(ctx, "a", offer("VCPU", 4), anyGeneration)
	c.must(err)
	c.must(c.SetAllocations(ctx, claim("s", on("a", "VCPU", 6))))
	c.must(c.SetAllocations(ctx, claim("s", on("a", "VCPU", 5))))
	err = c.SetAllocations(ctx, claim("s", on("a", "VCPU", 6)))
	c.refuses("growing again", err, fault.Conflict, "", "Unable to allocate inventory: "+
		"Unable to create allocation for 'VCPU' on resource provider 'a'. The requested amount would exceed the capacity.")
}

func TestConsumersHaveOwners(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	owner := func() [3]string {
		h, err := c.AllocationsOf(ctx, "s")
		c.must(err)
		return [3]string{h.Consumer.Project, h.Consumer.User, h.Consumer.Type}
	}
	const nobody = "00000000-0000-0000-0000-000000000000"
	for _, step := range []struct{ sent, want [3]string }{
		{[3]string{"", "", ""}, [3]string{nobody, nobody, ""}},
		{[3]string{"p", "u", ""}, [3]string{"p", "u", ""}},
		{[3]string{"p", "u", "INSTANCE"}, [3]string{"p", "u", "INSTANCE"}},
		{[3]string{"p2", "u2", ""}, [3]string{"p2", "u2", "INSTANCE"}},
		{[3]string{"p2", "u2", "MIGRATION"}, [3]string{"p2", "u2", "MIGRATION"}},
	} {
		c.claims(placement.Claim{
			Consumer: "s", Project: step.sent[0], User: step.sent[1], Type: step.sent[2],
			Allocations: []placement.ProviderAllocation{on("a", "VCPU", 1)},
		})
		if got := owner(); got != step.want {
			t.Errorf("after a claim by %q the consumer is of %q, want %q", step.sent, got, step.want)
		}
	}
}

func TestAllocationsAreReported(t *testing.T) {
	c, ctx := stockedCloud(t), context.Background()
	h, err := c.AllocationsOf(ctx, "nobody")
	if err != nil || len(h.Allocations) != 0 || h.Consumer.ID != 0 {
		t.Errorf("AllocationsOf(unknown) = %+v, %v", h, err)
	}
	c.claims(claim("s", on("a", "VCPU", 1)))
	c.claims(claim("s2", on("a", "VCPU", 2)))
	rows, g, err := c.AllocationsOn(ctx, "a")
	c.must(err)
	got := make(map[placement.UUID]int64)
	for _, r := range rows {
		got[r.Consumer] = r.Used
	}
	if diff := cmp.Diff(map[placement.UUID]int64{"s": 1, "s2": 2}, got); diff != "" || g != 3 {
		t.Errorf("AllocationsOn(a) is of generation %d, want 3 (-want +got):\n%s", g, diff)
	}
	_, _, err = c.AllocationsOn(ctx, "x")
	c.refuses("allocations on none", err, fault.NotFound, "", "No resource provider with uuid x found")
	c.refuses("deleting none", c.DeleteAllocations(ctx, "x"), fault.NotFound, "", "No allocations for consumer 'x'")
	u, err := c.ProjectUsage(ctx, "p", "u")
	c.must(err)
	if len(u.Rows) != 1 || u.Rows[0].Used != 3 || u.Consumers[""] != 2 {
		t.Errorf("ProjectUsage(p, u) = %+v, want 3 of one class by 2 consumers", u)
	}
}

// What a consumer held before is freed in the snapshot too, though the new claim
// does not name the provider.
func TestMovedClaimFreesWhereItWas(t *testing.T) {
	c := newCloud(t)
	for _, name := range []placement.UUID{"a", "b"} {
		c.provider(name, "")
		c.offers(name, offer("VCPU", 8))
	}
	c.claims(claim("vm", on("a", "VCPU", 2)))
	c.claims(claimSeen("vm", 1, on("b", "VCPU", 3)))
	if a, b := c.used("a", "VCPU"), c.used("b", "VCPU"); a != 0 || b != 3 {
		t.Errorf("used after the move: a %d, b %d, want 0 and 3", a, b)
	}
	c.must(c.SetManyAllocations(context.Background(), []placement.Claim{claimSeen("vm", 2, on("a", "VCPU", 1))}))
	if a, b := c.used("a", "VCPU"), c.used("b", "VCPU"); a != 1 || b != 0 {
		t.Errorf("used after moving back: a %d, b %d, want 1 and 0", a, b)
	}
}
