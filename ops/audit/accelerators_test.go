package audit_test

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// Accelerators of a device profile are Cyborg's: its providers are below the host's, and what a
// server has of them is in the server's allocation, although its flavor does not name it.
func TestAcceleratorsOfCyborg(t *testing.T) {
	const cyborg = "OWNER_CYBORG"
	profile := map[string]string{"accel:device_profile": "gpu"}
	for _, tc := range []struct {
		name   string
		specs  map[string]string
		traits []string // of the provider
		class  string
		want   []audit.Code
	}{
		{"VGPU", profile, []string{cyborg}, "VGPU", nil},
		{"VGPU of a Cyborg that does not set its trait", profile, nil, "VGPU", nil},
		{"FPGA", profile, []string{cyborg}, "FPGA", nil},
		{"class of Cyborg's own", profile, []string{cyborg}, "CUSTOM_ACCELERATOR", nil},
		{
			"profile and a VGPU of Nova",
			map[string]string{"accel:device_profile": "gpu", "resources:VGPU": "1"},
			[]string{cyborg},
			"VGPU",
			[]audit.Code{audit.FlavorAmountMissing},
		},
		{"VGPU of Nova", profile, []string{"OWNER_NOVA"}, "VGPU", []audit.Code{audit.ClassNotRequested}},
		{"no profile", nil, nil, "VGPU", []audit.Code{audit.ClassNotRequested}},
		// Another flavor was given to the server, with Nova's VGPUs: Cyborg's are still there.
		{"no profile, and a device of Cyborg's", nil, []string{cyborg}, "VGPU", nil},
	} {
		c := audittest.Copied(audittest.Whole().Done())
		root := cloudtest.UUID("host cn1")
		device := cloud.Provider{
			UUID: cloudtest.UUID("accelerator"), Name: "cn1_0000:81:00.0", Parent: root, Root: root, Traits: tc.traits,
			Inventories: map[string]cloud.Inventory{
				tc.class: {Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1},
			},
		}
		c.Placement.Providers = append(c.Placement.Providers, device)
		for _, name := range append([]string{tc.class}, tc.traits...) {
			if name == tc.class && !slices.Contains(c.Placement.Classes, name) {
				c.Placement.Classes = append(c.Placement.Classes, name)
			} else if name != tc.class && !slices.Contains(c.Placement.Traits, name) {
				c.Placement.Traits = append(c.Placement.Traits, name)
			}
		}
		for i := range c.Compute.Servers {
			if s := &c.Compute.Servers[i]; s.Name == "without" {
				s.Flavor.Specs = tc.specs
				if tc.specs == nil {
					s.Flavor.Specs = map[string]string{}
				}
				k := slices.IndexFunc(c.Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == s.UUID })
				c.Placement.Consumers[k].Allocations[device.UUID] = map[string]int64{tc.class: 1}
			}
		}
		c.Placement.Sort()
		cloudtest.Count(c)
		found := audit.Check(index.New(c), audit.Options{}).Findings
		if got := codes(found); !slices.Equal(got, tc.want) {
			t.Errorf("%s: found %q, want %q: %+v", tc.name, got, tc.want, found)
		}
	}
}
