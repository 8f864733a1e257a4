package servers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// managed are two cards that a host manages itself, with so many functions each.
func managed(host, each int) []inventory.Device { return qats(host, each, inventory.TraitPCIDevice) }

// startWithPCI has a host start that has providers of PCI devices if on, and returns the error of
// its sync.
func (w *fixture) startWithPCI(
	name string, on bool, devices []inventory.Device, units map[string][]inventory.Unit,
) error {
	w.Helper()
	has := inventory.Host{Devices: devices, PCI: &on, Units: units}
	_, node := computetest.Host(name, 0)
	id, err := guarantee.ParseUUID(string(node.ID))
	w.must(err)
	has.ID, has.Name = id, name
	has.VCPU, has.MemoryMB = inventory.Amount{Total: 8, Initial: 1}, inventory.Amount{Total: 4096, Initial: 1}
	has.DiskGB = inventory.Amount{Total: 100, Initial: 1}
	w.must(w.Report(ctx, compute.Report{Host: name, Version: 66, Node: *node, Inventory: &has}))
	_, err = w.SyncTree(ctx, name, has, true)
	return err
}

// qatsOf counts what a consumer is allocated of CUSTOM_QAT.
func (w *fixture) qatsOf(consumer compute.ID) (n int64) {
	w.Helper()
	allocated, err := w.places.Allocations(ctx, string(consumer))
	w.must(err)
	for _, classes := range allocated.Amounts {
		n += classes["CUSTOM_QAT"]
	}
	return n
}

// forgetQATs has placement forget the devices that consumers have, and the service those of the
// servers of a host if record.
func (w *fixture) forgetQATs(host string, record bool, consumers ...compute.ID) {
	w.Helper()
	for _, id := range consumers {
		c, err := w.places.Allocations(ctx, string(id))
		w.must(err)
		for provider, classes := range c.Amounts {
			if maps.DeleteFunc(classes, func(class string, _ int64) bool { return class == "CUSTOM_QAT" }); len(classes) == 0 {
				delete(c.Amounts, provider)
			}
		}
		w.must(w.places.SetAllocations(ctx, string(id), c))
	}
	if !record {
		return
	}
	w.must(w.db.Update(ctx, func(tx *compute.Tx) error {
		rows, err := compute.Rows[compute.HostedRow](tx, compute.Where(compute.ByHost, host))
		for i := range rows {
			if rows[i].Assignment = nil; err == nil {
				err = tx.Replace(&rows[i])
			}
		}
		return err
	}))
}

// A host that begins to have providers of its PCI devices starts with its servers and unconfirmed
// migrations having what the service has assigned to them, or the host says that they have. The
// devices are allocated to nobody else.
func TestPCIDevicesComeIntoPlacement(t *testing.T) {
	for _, record := range []bool{true, false} {
		w := newFixture(t, 0)
		w.withAliases()
		w.must(w.startWithPCI("cn1", true, managed(1, 2), nil))
		two, state := w.bootOf("qat2")
		if state != compute.Active {
			t.Fatalf("a server is %s: %s", state, w.why(two))
		}
		moving, _ := w.bootOf("qat1")
		w.must(w.startWithPCI("cn2", true, managed(2, 1)[:1], nil))
		w.must(w.MigrateServer(ctx, root, moving, "cn2"))
		w.work(w.cloudService, nil)
		migration := w.lastMigration().ID
		units := map[string][]inventory.Unit{}
		for _, row := range computetest.Read[compute.HostedRow](w, w.store, compute.Where(compute.ByHost, "cn1")) {
			units[string(row.Server)] = compute.Units(must(compute.ReadAssignment(row.Assignment)))
		}
		w.forgetQATs("cn1", !record, two, migration)
		w.must(w.startWithPCI("cn1", true, nil, nil)) // without devices: their providers are removed
		if record {
			units = nil
		} else {
			err := w.startWithPCI("cn1", true, managed(1, 2), nil)
			if err == nil || !strings.Contains(err.Error(), "server "+string(two)+" (vm) has 2 CUSTOM_QAT by the alias") &&
				!strings.Contains(err.Error(), "migration "+string(migration)) {
				t.Errorf("a start with devices that nobody knows: %v", err)
			}
			if service := must(w.Services(ctx))[0]; service.Up || !strings.Contains(service.StartError, "nobody knows") {
				t.Errorf("the service is up: %v, %q", service.Up, service.StartError)
			}
		}
		for range 2 {
			w.must(w.startWithPCI("cn1", true, managed(1, 2), units))
			if a, b := w.qatsOf(two), w.qatsOf(migration); a != 2 || b != 1 {
				t.Errorf("record %v: the server is allocated %d devices, and the migration %d", record, a, b)
			}
		}
		if record { // the addresses are known
			next, state := w.bootOf("qat1")
			all := slices.Concat(slices.Collect(maps.Values(w.addresses("cn1")))...)
			if state != compute.Active || len(all) != 4 {
				t.Errorf("another server is %s: %s, %v", state, w.why(next), all)
			}
			if _, state := w.bootOf("qat1"); state != compute.Error {
				t.Errorf("a server without a device is %s", state)
			}
		}
		w.must(w.ConfirmResize(ctx, ann, moving))
		w.work(w.cloudService, nil)
		if n := w.qatsOf(migration); n != 0 {
			t.Errorf("after its confirmation the migration is allocated %d devices", n)
		}
		w.calm("the start")
	}
}

// A host does not serve that had its PCI devices in placement and has report_in_placement off now,
// until it is on, or there are no devices there.
func TestPCIDevicesStayInPlacement(t *testing.T) {
	w := newFixture(t, 0)
	w.withAliases()
	w.must(w.startWithPCI("cn1", true, managed(1, 2), nil))
	id, _ := w.bootOf("qat2")
	const reason = "[pci] report_in_placement is off, and placement has the PCI devices of the host, cn1_0000:1"
	if err := w.startWithPCI("cn1", false, nil, nil); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a start without providers: %v", err)
	}
	if service := must(w.Services(ctx))[0]; service.Up || !strings.Contains(service.StartError, reason) {
		t.Errorf("the service is up: %v, %q", service.Up, service.StartError)
	}
	if n := w.qatsOf(id); n != 2 {
		t.Errorf("the server is allocated %d devices", n)
	}
	w.must(w.startWithPCI("cn1", true, managed(1, 2), nil))
	w.must(w.DeleteServer(ctx, ann, id))
	w.work(w.cloudService, nil)
	w.must(w.startWithPCI("cn1", true, nil, nil))
	w.must(w.startWithPCI("cn1", false, nil, nil))
	if service := must(w.Services(ctx))[0]; !service.Up || service.StartError != "" {
		t.Errorf("the service is up: %v, %q", service.Up, service.StartError)
	}
}

// A device for one use that a server had, on a host where it was built or that it left, is given to
// no other one until an operator offers it again.
func TestPCIDevicesForOneUse(t *testing.T) {
	once := func(host int) []inventory.Device {
		return qats(host, 1, inventory.TraitPCIDevice, inventory.TraitOneTimeUse)
	}
	w := newFixture(t, 0)
	w.withAliases()
	w.must(w.startWithPCI("cn1", true, once(1), nil))
	_, node := computetest.Host("cn1", 0)
	provider := func(device string) (one providertree.Provider) {
		t.Helper()
		tree, err := w.places.Tree(ctx, placement.UUID(node.ID), nil)
		w.must(err)
		for _, p := range tree.Providers {
			if p.Name == "cn1_"+device {
				one = p
			}
		}
		return one
	}
	id, state := w.bootOf("qat1")
	if state != compute.Active {
		t.Fatalf("a server is %s: %s", state, w.why(id))
	}
	device := w.givenAt("cn1", id).PCIDevices[0]
	if got := provider(device.Provider).Inventories["CUSTOM_QAT"]; !device.OneTimeUse || got.Reserved != 1 {
		t.Errorf("the device %+v has the inventory %+v", device, got)
	}
	w.must(w.DeleteServer(ctx, ann, id))
	w.work(w.cloudService, nil)
	other, _ := w.bootOf("qat1")
	w.must(w.startWithPCI("cn2", true, once(2), nil))
	w.must(w.MigrateServer(ctx, root, other, ""))
	w.work(w.cloudService, nil)
	w.must(w.ConfirmResize(ctx, ann, other))
	w.work(w.cloudService, nil)
	w.must(w.startWithPCI("cn1", true, once(1), nil))
	if _, state := w.bootOf("qat1"); state != compute.Active { // the other one of cn2
		t.Errorf("a server is %s", state)
	}
	if next, state := w.bootOf("qat1"); state != compute.Error {
		t.Errorf("a server gets a device that was used: %s, %+v", state, w.givenAt("cn1", next))
	}
	w.must(providertreetest.Change(ctx, w.places, provider(device.Provider).ID, func(p *providertree.Provider) {
		p.Inventories = map[string]placement.Inventory{"CUSTOM_QAT": providertreetest.Offer(1)}
	}))
	if next, state := w.bootOf("qat1"); state != compute.Active || len(w.givenAt("cn1", next).PCIDevices) != 1 {
		t.Errorf("a server is %s with a device that is offered again: %s", state, w.why(next))
	}
}
