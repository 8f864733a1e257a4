package service_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

var anyGeneration placement.InventoryRule

func TestInventoryWritesRaiseTheGeneration(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	c.rises("host", 1, "DELETE of all from a provider that has none", func() error {
		return c.DeleteInventories(ctx, "host")
	})
	c.rises("host", 1, "PUT of all", func() error {
		_, err := c.SetInventories(ctx, "host", []placement.InventoryOf{offer("VCPU", 4)}, anyGeneration)
		return err
	})
	c.rises("host", 1, "POST", func() error {
		_, err := c.AddInventory(ctx, "host", offer("DISK_GB", 4), anyGeneration)
		return err
	})
	c.rises("host", 1, "PUT of one, unchanged", func() error {
		_, err := c.UpdateInventory(ctx, "host", offer("DISK_GB", 4), anyGeneration)
		return err
	})
	c.rises("host", 1, "DELETE of one", func() error { return c.DeleteInventory(ctx, "host", "VCPU") })
	c.rises("host", 1, "DELETE of all", func() error { return c.DeleteInventories(ctx, "host") })
}

func TestInventoryWritesKnowTheGeneration(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	old := placement.Generation(7)
	rule := placement.InventoryRule{Generation: &old}
	_, err := c.SetInventories(ctx, "host", nil, rule)
	c.refuses("PUT of all", err, fault.Conflict, placement.CodeConcurrentUpdate, "resource provider generation conflict")
	_, err = c.UpdateInventory(ctx, "host", offer("VCPU", 1), rule)
	c.refuses("PUT of one", err, fault.Conflict, placement.CodeConcurrentUpdate, "resource provider generation conflict")
	now := placement.Generation(0)
	if g, err := c.SetInventories(ctx, "host", nil, placement.InventoryRule{Generation: &now}); g != 1 || err != nil {
		t.Errorf("SetInventories() = %d, %v, want 1", g, err)
	}
}

func TestMissingInventoryDiffersByVerb(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	c.offers("host", offer("VCPU", 1))
	_, err := c.UpdateInventory(ctx, "host", offer("DISK_GB", 1), anyGeneration)
	c.refuses("PUT of one that is not there", err, fault.Invalid, "",
		"No inventory record with resource class for resource provider host: No inventory of class DISK_GB found.")
	_, err = c.UpdateInventory(ctx, "host", offer("X", 1), anyGeneration)
	c.refuses("PUT of one of no class", err, fault.NotFound, "", "No such resource class X.")
	_, err = c.SetInventories(ctx, "host", []placement.InventoryOf{offer("X", 1)}, anyGeneration)
	c.refuses("PUT of all with no class", err, fault.Invalid, "",
		"Unknown resource class in inventory for resource provider host: No such resource class X.")
	_, err = c.AddInventory(ctx, "host", offer("X", 1), anyGeneration)
	c.refuses("POST of no class", err, fault.Invalid, "",
		"Unable to create inventory for resource provider host: No such resource class X.")
	_, err = c.AddInventory(ctx, "host", offer("VCPU", 1), anyGeneration)
	c.refuses("POST of an existing one", err, fault.Conflict, placement.CodeConcurrentUpdate,
		"Update conflict: Inventory for 'VCPU' on resource provider 'host' already exists.")
	c.refuses("DELETE of none", c.DeleteInventory(ctx, "host", "DISK_GB"), fault.NotFound, "",
		"No inventory of class DISK_GB found for delete: No inventory of class DISK_GB found for delete")
	c.refuses("DELETE of no class", c.DeleteInventory(ctx, "host", "X"), fault.NotFound, "",
		"No inventory of class X found for delete: No such resource class X.")
	if g := c.generation("host"); g != 1 {
		t.Errorf("refused writes left the generation at %d, want 1", g)
	}
}

func TestReservedIsHeldAgainstTotal(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	reserved := func(n int64) placement.InventoryOf {
		inv := offer("VCPU", 4)
		inv.Reserved = n
		return inv
	}
	full := placement.InventoryRule{MayBeFull: true}
	const form = " inventory for resource provider host: Invalid inventory for 'VCPU' on resource provider 'host'. The " +
		"reserved value is "
	_, err := c.AddInventory(ctx, "host", reserved(4), anyGeneration)
	c.refuses("all reserved before 1.26", err, fault.Invalid, "",
		"Unable to create"+form+"greater than or equal to total.")
	_, err = c.AddInventory(ctx, "host", reserved(5), full)
	c.refuses("more reserved than there is", err, fault.Invalid, "", "Unable to create"+form+"greater than total.")
	_, err = c.SetInventories(ctx, "host", []placement.InventoryOf{reserved(4)}, anyGeneration)
	c.refuses("all reserved before 1.26, PUT", err, fault.Invalid, "",
		"Unable to update"+form+"greater than or equal to total.")
	_, err = c.AddInventory(ctx, "host", reserved(4), full)
	c.must(err)
	_, err = c.UpdateInventory(ctx, "host", reserved(4), full)
	c.must(err)
}

// Python's JSON has numbers that are none, and with more reserved than there is a ratio below
// 0 leaves a capacity.
func TestRatiosThatCannotBeStored(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	inventory := func(reserved int64, ratio float64) placement.InventoryOf {
		inv := offer("VCPU", 4)
		inv.Reserved, inv.AllocationRatio = reserved, ratio
		return inv
	}
	const form = "Unable to create inventory for resource provider host: Invalid inventory for 'VCPU' on resource " +
		"provider 'host'. "
	for _, r := range []struct {
		reserved int64
		ratio    float64
		want     string
	}{
		{0, math.NaN(), "The reserved value is greater than total."},
		{0, math.Inf(-1), "The reserved value is greater than total."},
		{5, math.Inf(-1), "The allocation ratio -Inf cannot be stored."},
		{5, -1e300, "The allocation ratio -1e+300 cannot be stored."},
	} {
		_, err := c.AddInventory(ctx, "host", inventory(r.reserved, r.ratio), placement.InventoryRule{MayBeFull: true})
		c.refuses(fmt.Sprint(r.reserved, " reserved of 4, ratio ", r.ratio), err, fault.Invalid, "", form+r.want)
	}
	_, err := c.AddInventory(ctx, "host", inventory(5, -2), anyGeneration)
	c.must(err)
}

func TestInventoryInUseStays(t *testing.T) {
	c, ctx := newCloud(t), context.Background()
	c.provider("host", "")
	c.offers("host", offer("VCPU", 8), offer("MEMORY_MB", 8), offer("DISK_GB", 8))
	c.claims(claim("server", placement.ProviderAllocation{Provider: "host", Resources: []placement.ClassAmount{
		{Class: "DISK_GB", Amount: 2}, {Class: "VCPU", Amount: 2},
	}}))
	const used = "Inventory for 'VCPU, DISK_GB' on resource provider 'host' in use."
	_, err := c.SetInventories(ctx, "host", nil, anyGeneration)
	c.refuses("PUT of nothing", err, fault.Conflict, placement.CodeInventoryInUse, "update conflict: "+used)
	c.refuses("DELETE of all", c.DeleteInventories(ctx, "host"), fault.Conflict, placement.CodeInventoryInUse, used)
	c.refuses("DELETE of one", c.DeleteInventory(ctx, "host", "DISK_GB"), fault.Conflict, placement.CodeConcurrentUpdate,
		"Unable to delete inventory of class DISK_GB: Inventory for 'DISK_GB' on resource provider 'host' in use.")
	c.rises("host", 1, "shrinking below what is used", func() error {
		_, err := c.UpdateInventory(ctx, "host", offer("VCPU", 1), anyGeneration)
		return err
	})
	c.must(c.DeleteInventory(ctx, "host", "MEMORY_MB"))
	c.must(c.DeleteAllocations(ctx, "server"))
	c.must(c.DeleteInventories(ctx, "host"))
	p, _ := c.snapshot().Provider("host")
	if len(p.Inventories) != 0 {
		t.Errorf("inventories are left: %+v", p.Inventories)
	}
}
