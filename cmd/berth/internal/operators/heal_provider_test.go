package operators

import (
	"testing"

	"github.com/berthcloud/berth/ops/cloud"
)

// A provider is given for a port, a group of one, or a group of the flavor of any server or of one.
// Others are mistakes.
func TestKnownProvider(t *testing.T) {
	c := &cloud.Cloud{
		Placement: &cloud.Placement{Providers: []cloud.Provider{{UUID: "u1", Name: "cn1_0000:81:00.0"}}},
		Compute: &cloud.Compute{Servers: []cloud.Server{
			{UUID: "s1", Name: "web", Flavor: cloud.Flavor{Specs: map[string]string{"pci_passthrough:alias": "nic:2,gpu:1"}}},
			{UUID: "s2", Name: "db", Flavor: cloud.Flavor{Specs: map[string]string{"resources_gpu:VGPU": "1"}}},
		}},
		Network: &cloud.Network{
			Ports: []cloud.Port{{UUID: "p1", Name: "port", Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{ID: "g1"}}}}},
		},
	}
	for owner, want := range map[string]bool{
		"p1": true, "port": true, "g1": true, "_gpu": true, "db/_gpu": true, "s2/_gpu": true, "web/_gpu": false,
		"pci0-0": true, "pci1-0": true, "pci2-0": false, "web/pci0-1": true, "s1/pci1-0": true, "db/pci0-0": false,
		"none/pci0-0": false, "pci": false, "": false,
	} {
		for _, provider := range []string{"u1", "cn1_0000:81:00.0"} {
			if err := knownProvider(c, owner, provider); (err == nil) != want {
				t.Errorf("--provider %s=%s: %v", owner, provider, err)
			}
		}
		if err := knownProvider(c, owner, "u2"); err == nil {
			t.Errorf("--provider %s=u2 is accepted", owner)
		}
	}
}
