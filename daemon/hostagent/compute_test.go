package hostagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/compute/inventory"
)

// A report has the units of devices that the driver's servers have. A driver without servers may
// have lost them, and says nothing.
func TestUnitsOfServers(t *testing.T) {
	fake := &driver.Fake{}
	for _, r := range []*hostReports{{driver: fake}, {}} {
		if units, err := r.units(); units != nil || err != nil {
			t.Errorf("without servers the units are %v, %v", units, err)
		}
	}
	mdev := hostlist.MediatedDevice{UUID: "u", Type: "nvidia-35", Provider: "pci_0000_84_00_0", Class: "VGPU"}
	all := []hostlist.Server{
		{ID: "plain", Running: true},
		{ID: "cells", Assignment: &hostlist.Assignment{Cells: []hostlist.Cell{{Node: 1}}}},
		{ID: "gpus", Running: true, Assignment: &hostlist.Assignment{
			Mdevs:      []hostlist.MediatedDevice{mdev, mdev},
			PCIDevices: []hostlist.PCIDevice{{Address: "0000:af:01.0", Provider: "0000:AF:00.0", Class: "CUSTOM_QAT"}},
		}},
	}
	for _, s := range all {
		if err := fake.Build(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r := &hostReports{driver: fake}
	units, err := r.units()
	want := map[string][]inventory.Unit{"gpus": {
		{Device: "0000:AF:00.0", Class: "CUSTOM_QAT", Count: 1, Addresses: []string{"0000:af:01.0"}},
		{Device: "pci_0000_84_00_0", Class: "VGPU", Count: 2},
	}}
	if diff := cmp.Diff(want, units); diff != "" || err != nil {
		t.Errorf("units (-want +got):\n%s%v", diff, err)
	}
	if err := fake.Destroy(t.Context(), "gpus"); err != nil {
		t.Fatal(err)
	}
	if units, err := r.units(); units == nil || len(units) > 0 || err != nil {
		t.Errorf("without a server that has units they are %v, %v", units, err)
	}
}
