package audit_test

import (
	"slices"
	"testing"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// Dedicated CPUs of an image count as the properties of the image say, where the compute service
// shows them, and may be VCPU or PCPU elsewhere.
func TestImagesOfServers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known bool
		class string // that the server has in place of VCPU
		image string // its policy for CPUs
		want  []audit.Code
	}{
		{"dedicated and known", true, "PCPU", "dedicated", nil},
		{"dedicated by the fallback query", true, "VCPU", "dedicated", nil},
		{"shared and known", true, "PCPU", "", []audit.Code{audit.ClassNotRequested, audit.FlavorAmountMissing}},
		{"not known", false, "PCPU", "", nil},
	} {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Server("server0", "cn1")
		if tc.image != "" {
			b.At("server0").ImageProperties = map[string]string{"hw_cpu_policy": tc.image}
		}
		c := b.Done()
		c.Compute.ImagesKnown = tc.known
		root := c.Placement.Provider(cloudtest.UUID("host cn1"))
		root.Inventories["PCPU"] = root.Inventories["VCPU"]
		amounts := c.Placement.Consumers[0].Allocations[root.UUID]
		n := amounts["VCPU"]
		delete(amounts, "VCPU")
		amounts[tc.class] = n
		cloudtest.Count(c)
		c.Placement.Classes = append(c.Placement.Classes, "PCPU")
		c.Placement.Sort()
		found := audit.Check(index.New(c), audit.Options{}).Findings
		if got := codes(found); !slices.Equal(got, tc.want) {
			t.Errorf("%s: found %q, want %q: %+v", tc.name, got, tc.want, found)
		}
	}
}
