package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/settings"
)

// oneLineEach wants every mistake to be one line of text that can be printed.
func oneLineEach(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "] ") || !strings.Contains(line, ": ") {
			t.Errorf("%q is not the line of a mistake", line)
		}
	}
}

// FuzzOptions gives an OVS agent any text in the options with resources. Either
// there are mistakes, or the network service can read the heartbeat.
func FuzzOptions(f *testing.F) {
	f.Add("p0:br0,p1:br1", "br0:1:2,br1", "br0:h", "step_size:10", ":1:2", "", "br0:CUSTOM_A")
	f.Add("p0:br0", "br0:10G:,br0:1:1,rp_tunnelled:1:1", "br0", "total:5,allocation_ratio:1e5", "", "a:1,b", "br0:x")
	f.Add("p0", "a:b:c:d", "::", "min_unit:", "::::", ":", ":")
	f.Add("p 0:br\n0", "\xff:1:1", "br0:\x00", "allocation_ratio:0x1p3", "$x", "${a}", "br0:CUSTOM_")
	f.Fuzz(func(t *testing.T, mappings, bandwidths, hypervisors, inventory, with, without, traits string) {
		s, err := fromEnv(settings.OVS, map[string]string{
			"OVS__BRIDGE_MAPPINGS":                                       mappings,
			"OVS__RESOURCE_PROVIDER_BANDWIDTHS":                          bandwidths,
			"OVS__RESOURCE_PROVIDER_HYPERVISORS":                         hypervisors,
			"OVS__RESOURCE_PROVIDER_INVENTORY_DEFAULTS":                  inventory,
			"OVS__RESOURCE_PROVIDER_PACKET_PROCESSING_WITH_DIRECTION":    with,
			"OVS__RESOURCE_PROVIDER_PACKET_PROCESSING_WITHOUT_DIRECTION": without,
			"BERTH__RESOURCE_PROVIDER_TRAITS":                            traits,
		})
		oneLineEach(t, err)
		if err == nil {
			usable(t, s)
		}
	})
}

// FuzzFunctions does the same with the options of an SR-IOV agent.
func FuzzFunctions(f *testing.F) {
	f.Add("p0:ens5,p0:ens6", "ens5:1:1", "ens5:0000:07:00.2;0000:07:00.3", "h")
	f.Add("p0:ens5,p1:ens5", ":1", "ens5", ":")
	f.Fuzz(func(t *testing.T, mappings, bandwidths, excluded, hypervisor string) {
		s, err := fromEnv(settings.SRIOV, map[string]string{
			"SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS":             mappings,
			"SRIOV_NIC__RESOURCE_PROVIDER_BANDWIDTHS":         bandwidths,
			"SRIOV_NIC__EXCLUDE_DEVICES":                      excluded,
			"SRIOV_NIC__RESOURCE_PROVIDER_DEFAULT_HYPERVISOR": hypervisor,
		})
		oneLineEach(t, err)
		if err == nil {
			usable(t, s)
		}
	})
}

// FuzzOVN gives a chassis any text.
func FuzzOVN(f *testing.F) {
	f.Add("resource_provider_bandwidths=br-ex:1001:2000;br-ex2:3000:4000, resource_provider_hypervisors=br-ex:h;br-ex2:h",
		"p:br-ex")
	f.Add("resource_provider_inventory_defaults=allocation_ratio:1.0;min_unit:10,resource_provider_traits=br-ex:CUSTOM_A",
		"p:br-ex,p2:br-ex")
	f.Add("=,resource_provider_bandwidths,resource_provider_x=;;", ":,")
	f.Fuzz(func(t *testing.T, cms, mappings string) {
		r, warnings, err := settings.ParseOVN(map[string]string{"ovn-cms-options": cms, "ovn-bridge-mappings": mappings},
			"rp_tunnelled")
		oneLineEach(t, err)
		for _, w := range warnings {
			if strings.ContainsAny(w, "\n\r") {
				t.Errorf("%q is not one line", w)
			}
		}
		if err == nil {
			usable(t, &settings.Settings{Kind: settings.OVN, Resources: r})
		}
	})
}

// usable wants every device with bandwidth to have a place in the tree, and the
// heartbeat to be readable.
func usable(t *testing.T, s *settings.Settings) {
	t.Helper()
	report := reported(t, s)
	for device := range report.Bandwidths {
		if report.Hypervisors[device] == "" {
			t.Errorf("%q has bandwidth and no hypervisor", device)
		}
	}
	for _, f := range settings.Check(machine{}, time.Time{}, s) {
		if strings.ContainsAny(f.String(), "\n\r") {
			t.Errorf("%q is not one line", f)
		}
	}
}
