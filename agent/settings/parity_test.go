package settings_test

import (
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/settings"
)

//go:embed testdata/parity.py
var parityScript string

// parityTexts are read by both sides. The devices of the bandwidths are mapped.
var parityTexts = map[string][]string{
	"bandwidths": {
		"", "br0", "br0:1:2", "br0::2", "br0:1:", "br0::", "br0:0:0", "br0:1:2,br1,br2:3:", "br0:1", "br0:1:2:3", "br0:",
		"br0:-1:1", "br0:+1:1", "br0:1_000:1", "br0:1__0:1", "br0:_1:1", "br0:1.0:1", "br0:1e3:1", "br0:0x10:1", "br0:x:1",
		"br0:1:1,br0:2:2", "br0:1:1,", "br0:1:1 , br1:2:2", "br0:007:1", "br0: 1:1",
	},
	"with": {
		"", ":1:2", "h:1:2", "h", ":", "::", "h:1", ":1:1,devstack0:2:2", "devstack0::", ":1:1,h::5",
		"h:1:1,h:1:1",
	},
	"without": {"", ":1", "h:1", "h", ":", "h:1:2", ":1,devstack0:2", ":0,h:7", "h:-1"},
	"inventory": {
		"", "step_size:1000", "allocation_ratio:1.5,min_unit:1,max_unit:10,reserved:0,step_size:1", "allocation_ratio:0",
		"allocation_ratio:-1", "allocation_ratio:1e2", "allocation_ratio:x", "min_unit:0", "min_unit:-1", "min_unit:1.0",
		"total:5", "Step_size:1", "step_size:1,step_size:2", "step_size", "step_size:", "min_unit: 5", "allocation_ratio:.5",
	},
	"bridges": {"", "p:b", "p:b,q:c", "p:b,p:c", "p:b,q:b", "p", "p:", ":b", "p:b:c", " p : b ,", "p:b,,q:c", "p:b,p:b"},
	"devices": {"", "p:a", "p:a,p:b", "p:a,q:a", "p:a,p:a", "p", "p:", ":a", "p:a:b", "p:a,q:a,p:a"},
}

// TestParity compares which options are refused, and what the others mean, with
// the installed Neutron.
func TestParity(t *testing.T) {
	var queries [][2]string
	for kind, texts := range parityTexts {
		for _, text := range texts {
			queries = append(queries, [2]string{kind, text})
		}
	}
	var answers []any
	queryNeutron(t, parityScript, queries, &answers)
	if len(answers) != len(queries) {
		t.Fatalf("Neutron answered %d of %d texts", len(answers), len(queries))
	}
	for i, want := range answers {
		got := readHere(t, queries[i][0], queries[i][1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %q (-Neutron +here):\n%s", queries[i][0], queries[i][1], diff)
		}
	}
}

// readHere returns what a heartbeat says of an option, nil when it is refused.
func readHere(t *testing.T, kind, text string) any {
	t.Helper()
	agent, env := settings.OVS, map[string]string{"OVS__BRIDGE_MAPPINGS": "p0:br0,p1:br1,p2:br2"}
	var key string
	switch kind {
	case "bandwidths":
		env["OVS__RESOURCE_PROVIDER_BANDWIDTHS"], key = text, "resource_provider_bandwidths"
	case "with":
		env["OVS__RESOURCE_PROVIDER_PACKET_PROCESSING_WITH_DIRECTION"], key = text,
			"resource_provider_packet_processing_with_direction"
	case "without":
		env["OVS__RESOURCE_PROVIDER_PACKET_PROCESSING_WITHOUT_DIRECTION"], key = text,
			"resource_provider_packet_processing_without_direction"
	case "inventory":
		env["OVS__RESOURCE_PROVIDER_INVENTORY_DEFAULTS"], key = text, "resource_provider_inventory_defaults"
	case "bridges":
		env["OVS__BRIDGE_MAPPINGS"], key = text, "bridge_mappings"
	case "devices":
		agent, env, key = settings.SRIOV, map[string]string{"SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS": text}, "device_mappings"
	}
	s, err := fromEnv(agent, env)
	if err != nil {
		return nil
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(configurations(t, s)), &all); err != nil {
		t.Fatal(err)
	}
	if all[key] == nil {
		return map[string]any{} // inventories without defaults are omitted
	}
	return all[key]
}
