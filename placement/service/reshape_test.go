package service_test

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// hostWithCard has a server on host, whose bandwidth is to move to the card.
func hostWithCard(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	c.provider("host", "")
	c.provider("card", "host")
	c.provider("other", "")
	c.offers("host", offer("VCPU", 8), offer("SRIOV_NET_VF", 4))
	c.claims(claim("s", placement.ProviderAllocation{Provider: "host", Resources: []placement.ClassAmount{
		{Class: "VCPU", Amount: 2}, {Class: "SRIOV_NET_VF", Amount: 1},
	}}))
	return c
}

// toCard is the reshape that moves the functions to the card.
func (c *cloud) toCard(claims ...placement.Claim) placement.Reshape {
	c.Helper()
	return placement.Reshape{
		Inventories: []placement.ProviderInventories{
			{Provider: "host", Generation: c.generation("host"), Inventories: []placement.InventoryOf{offer("VCPU", 8)}},
			{Provider: "card", Generation: c.generation("card"), Inventories: []placement.InventoryOf{offer("SRIOV_NET_VF", 4)}},
		},
		Claims: claims,
	}
}

func (c *cloud) generations() map[placement.UUID]placement.Generation {
	gs := make(map[placement.UUID]placement.Generation)
	for tree := range c.snapshot().Trees() {
		for _, p := range tree.Providers {
			gs[p.UUID] = p.Generation
		}
	}
	return gs
}

func TestReshapeMovesInventoryInUse(t *testing.T) {
	c := hostWithCard(t)
	before := c.generations()
	c.must(c.Reshape(context.Background(),
		c.toCard(claimSeen("s", 1, on("host", "VCPU", 2), on("card", "SRIOV_NET_VF", 1)))))
	if c.used("host", "SRIOV_NET_VF") != -1 || c.used("card", "SRIOV_NET_VF") != 1 || c.used("host", "VCPU") != 2 {
		t.Errorf("used are %d, %d, %d, want none, 1 and 2",
			c.used("host", "SRIOV_NET_VF"), c.used("card", "SRIOV_NET_VF"), c.used("host", "VCPU"))
	}
	want := map[placement.UUID]placement.Generation{
		"host": before["host"] + 3, "card": before["card"] + 3, "other": before["other"],
	}
	if diff := cmp.Diff(want, c.generations()); diff != "" {
		t.Errorf("generations (-want +got):\n%s", diff)
	}
}

func TestReshapeWithoutClaimsRaisesByTwo(t *testing.T) {
	c := hostWithCard(t)
	c.rises("card", 2, "a reshape", func() error {
		return c.Reshape(context.Background(), placement.Reshape{Inventories: []placement.ProviderInventories{
			{Provider: "card", Generation: 0, Inventories: []placement.InventoryOf{offer("SRIOV_NET_VF", 4)}},
		}})
	})
}

func TestRefusedReshapesChangeNothing(t *testing.T) {
	c := hostWithCard(t)
	before := placementtest.Observe(c.snapshot())
	moved := claimSeen("s", 1, on("host", "VCPU", 2), on("card", "SRIOV_NET_VF", 1))
	try := func(step string, change func(*placement.Reshape), kind fault.Kind, code fault.Code, want string) {
		t.Helper()
		r := c.toCard(moved)
		change(&r)
		c.refuses(step, c.Reshape(context.Background(), r), kind, code, want)
		if diff := cmp.Diff(before, placementtest.Observe(c.snapshot())); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", step, diff)
		}
	}
	try("dropping what is in use", func(r *placement.Reshape) { r.Claims = nil }, fault.Conflict,
		placement.CodeInventoryInUse,
		"update conflict: Inventory for 'SRIOV_NET_VF' on resource provider 'host' in use.")
	try("an unknown provider", func(r *placement.Reshape) { r.Inventories[1].Provider = "x" }, fault.Invalid,
		placement.CodeProviderNotFound,
		"Resource provider x in inventories not found: No resource provider with uuid x found")
	try("another generation", func(r *placement.Reshape) { r.Inventories[1].Generation = 4 }, fault.Conflict,
		placement.CodeConcurrentUpdate,
		"resource provider generation conflict for provider card: actual: 0, given: 4")
	try("an unknown class", func(r *placement.Reshape) { r.Inventories[1].Inventories[0].Class = "X" }, fault.Invalid, "",
		"malformed reshaper data: No such resource class X.")
	try("another consumer generation", func(r *placement.Reshape) { r.Claims[0].Seen.Generation = 3 }, fault.Conflict,
		placement.CodeConcurrentUpdate, "consumer generation conflict - expected 1 but got 3")
	try("another consumer generation and an unknown class", func(r *placement.Reshape) {
		r.Claims[0].Seen.Generation = 3
		r.Inventories[1].Inventories[0].Class = "X"
	}, fault.Conflict, placement.CodeConcurrentUpdate, "consumer generation conflict - expected 1 but got 3")
	try("a claim on no provider", func(r *placement.Reshape) {
		r.Claims = []placement.Claim{claimSeen("s", 1, on("x", "VCPU", 1))}
	},
		fault.Invalid, "", "Allocation for resource provider 'x' that does not exist.")
	moved.Seen = &placement.ConsumerSeen{Exists: true, Generation: 1}
	for text, ratio := range map[string]float64{"NaN": math.NaN(), "-Inf": math.Inf(-1), "-1e+300": -1e300} {
		try("a ratio of "+text, func(r *placement.Reshape) { r.Inventories[1].Inventories[0].AllocationRatio = ratio },
			fault.Invalid, "",
			"malformed reshaper data: Invalid inventory for 'SRIOV_NET_VF' on resource provider 'card'. The allocation ratio "+
				text+" cannot be stored.")
	}
	try("too much", func(r *placement.Reshape) {
		r.Claims = []placement.Claim{claimSeen("s", 1, on("card", "SRIOV_NET_VF", 5))}
	}, fault.Conflict, "", "Unable to allocate inventory: "+
		"Unable to create allocation for 'SRIOV_NET_VF' on resource provider 'card'. The requested amount would exceed "+
		"the capacity.")
}
