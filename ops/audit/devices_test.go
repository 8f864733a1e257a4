package audit_test

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

const pciClass = "CUSTOM_PCI_8086_10CA"

// withDevices returns the records of a host with two PCI devices, and of a server on it that
// requests some by an alias and has others.
func withDevices(alias string, allocated int, change func(device *cloud.Provider)) *cloud.Cloud {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	if alias != "" {
		b.At("server0").Flavor.Specs = map[string]string{"pci_passthrough:alias": alias}
	}
	root := cloudtest.UUID("host cn1")
	for _, address := range []string{"0000:81:00.0", "0000:82:00.0"} {
		device := cloud.Provider{
			UUID: cloudtest.UUID(address), Name: "cn1_" + address, Parent: root, Root: root, Traits: []string{index.ManagedPCI},
			Inventories: map[string]cloud.Inventory{
				pciClass: {Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1},
			},
		}
		change(&device)
		b.Placement.Providers = append(b.Placement.Providers, device)
		b.Placement.Traits = append(b.Placement.Traits, device.Traits...)
	}
	b.Placement.Classes = append(b.Placement.Classes, pciClass)
	c := b.Done()
	for _, address := range []string{"0000:81:00.0", "0000:82:00.0"}[:allocated] {
		c.Placement.Consumers[0].Allocations[cloudtest.UUID(address)] = map[string]int64{pciClass: 1}
	}
	cloudtest.Count(c)
	return c
}

// PCI devices count where Nova schedules them in placement, and its aliases are known.
func TestPCIDevices(t *testing.T) {
	aliases, err := request.ParseAliases([]string{`{"name": "nic", "vendor_id": "8086", "product_id": "10ca"}`})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		pci       map[string]request.Alias
		version   string
		alias     string
		allocated int
		want      []audit.Code
	}{
		{"one of one", aliases, "2.96", "nic:1", 1, nil},
		{"two of two", aliases, "2.96", "nic:2", 2, nil},
		{"none of one", aliases, "2.96", "nic:1", 0, []audit.Code{audit.FlavorAmountMissing}},
		{"two of one", aliases, "2.96", "nic:1", 2, []audit.Code{audit.FlavorAmountSuperfluous}},
		{"one of none", aliases, "2.96", "", 1, []audit.Code{audit.ClassNotRequested}},
		{"settings of Nova that are not known", nil, "2.96", "nic:1", 2, nil},
		{"Zed, which only reports devices", aliases, "2.93", "nic:1", 0, nil},
	} {
		c := withDevices(tc.alias, tc.allocated, func(*cloud.Provider) {})
		c.Compute.Version = tc.version
		x := index.New(c)
		x.PCI = tc.pci
		found := audit.Check(x, audit.Options{}).Findings
		if got := codes(found); !slices.Equal(got, tc.want) {
			t.Errorf("%s: found %q, want %q: %+v", tc.name, got, tc.want, found)
		}
	}
}

// Nova reserves a one-time-use device with its first use, until an operator has cleaned it: neither
// is a fault. Another device that is reserved while it is used is worth knowing.
func TestOneTimeUse(t *testing.T) {
	reserve := func(trait string) func(*cloud.Provider) {
		return func(device *cloud.Provider) {
			device.Traits = append(device.Traits, trait)
			device.Inventories[pciClass] = cloud.Inventory{
				Total: 1, Reserved: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1,
			}
		}
	}
	c := withDevices("", 1, reserve("HW_PCI_ONE_TIME_USE"))
	if found := audit.Check(index.New(c), audit.Options{}).Findings; len(found) > 0 {
		t.Errorf("of a device that is used for the only time: %+v", found)
	}
	if spent := index.SpentDevices(c); len(spent) != 1 || spent[0].Name != "cn1_0000:82:00.0" {
		t.Errorf("spent devices are %+v, want the one that no server uses", spent)
	}
	c = withDevices("", 1, reserve("HW_PCI_LIVE_MIGRATABLE"))
	if got := codes(audit.Check(index.New(c), audit.Options{}).Findings); !slices.Equal(got,
		[]audit.Code{audit.ReservedInUse}) {
		t.Errorf("of another device: %q", got)
	}
	if spent := index.SpentDevices(c); len(spent) > 0 {
		t.Errorf("spent devices are %+v", spent)
	}
}
