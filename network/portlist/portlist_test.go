package portlist_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/network/portlist"
)

// The list as it is in the file is what releases exchange: members may be added, and no other may
// change.
func TestWire(t *testing.T) {
	text, err := os.ReadFile("testdata/list.json")
	if err != nil {
		t.Fatal(err)
	}
	vlan := 100
	want := portlist.List{Revision: "0123456789abcdef", Ports: []portlist.Port{
		{
			ID: "p1", Network: "n1", MAC: "fa:16:3e:00:00:01", AdminStateUp: true, Status: portlist.Active, Device: "s1",
			DeviceOwner: "compute:nova", Driver: "sriovnicswitch", VIF: "hw_veb", VNIC: "direct", PCISlot: "0000:05:10.1",
			Providers: []string{"rp1", "rp2"}, NetworkType: "vlan", PhysicalNetwork: "physnet0", SegmentationID: &vlan,
			Rules: []portlist.Rule{
				{Type: "bandwidth_limit", Direction: "egress", Rate: 3000},
				{Type: "dscp_marking", Rate: 26},
				{Type: "minimum_bandwidth", Direction: "ingress", Rate: 1000},
				{Type: "minimum_packet_rate", Direction: "any", Rate: 5},
				{Type: "packet_rate_limit", Direction: "egress", Rate: 7, Burst: 9},
			},
		},
		{
			ID: "p2", Network: "n2", MAC: "fa:16:3e:00:00:02", Status: portlist.Down, Driver: "openvswitch", VIF: "ovs",
			VNIC: "normal", Providers: []string{}, Rules: []portlist.Rule{},
		},
	}}
	var got portlist.List
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var file, again any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, again); diff != "" {
		t.Errorf("written (-file +written):\n%s", diff)
	}
}

// A later release may have types of rules that this one does not know.
func TestUnknownRule(t *testing.T) {
	var got portlist.Rule
	if err := json.Unmarshal([]byte(`{"type": "latency", "direction": "egress", "max_ms": 3}`), &got); err != nil {
		t.Fatal(err)
	}
	if want := (portlist.Rule{Type: "latency", Direction: "egress"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []string{`[]`, `{"type": 1}`, `{"type": "minimum_bandwidth", "min_kbps": "fast"}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// A heartbeat cannot say what the service has to find out.
func TestHeartbeat(t *testing.T) {
	text, err := json.Marshal(portlist.Heartbeat{
		Type: "Open vSwitch agent", Binary: "b", Host: "h", Topic: "N/A", Configurations: []byte(`{"a":1}`), Start: true,
		Hosts: []string{"h"}, Problem: "p", Unchanged: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"agent_type":"Open vSwitch ` +
		`agent","binary":"b","host":"h","topic":"N/A","availability_zone":"","configurations":{"a":1},"start_flag":true}`
	if string(text) != want {
		t.Errorf("written %s, want %s", text, want)
	}
}
