package tc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
)

func TestParseMAC(t *testing.T) {
	for _, s := range []string{"02:BE:47:00:00:01", "02-be-47-00-00-01", "02be.4700.0001"} {
		if got, err := tc.ParseMAC(s); err != nil || got != mac(1) || got.String() != "02:be:47:00:00:01" {
			t.Errorf("ParseMAC(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "02:be:47", "02:be:47:00:00:01:02:03", "02:be:47:00:00:zz"} {
		if got, err := tc.ParseMAC(s); err == nil {
			t.Errorf("ParseMAC(%q) = %v, want an error", s, got)
		}
	}
}

// TestIFBNames wants names that Linux takes, and that never change: a device is
// found again by it after an upgrade.
func TestIFBNames(t *testing.T) {
	for iface, want := range map[string]string{"eth0": "bth-67b19724", "": "bth-811c9dc5"} {
		if got := tc.IFBName(iface); got != want {
			t.Errorf("IFBName(%q) = %s, want %s", iface, got, want)
		}
	}
	if name := tc.IFBName(strings.Repeat("x", 300)); len(name) > 15 {
		t.Errorf("%s is too long for Linux", name)
	}
}

// TestMostPorts fills a link to the last class.
func TestMostPorts(t *testing.T) {
	k := tctest.NewKernel("eth0")
	l := tc.Link{Interface: "eth0", Direction: tc.Egress, Rate: 10_000_000}
	most := int(tc.LastMinor-tc.PortMinor) + 1
	for i := range most + 2 {
		l.Ports = append(l.Ports, tc.Port{Key: fmt.Sprint(i), MAC: tc.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)}, Min: 1000})
	}
	r, err := tc.Enforce(k, []tc.Link{l})
	if err != nil || len(r.Failed) > 0 {
		t.Fatal(err, r.Failed)
	}
	if got := len(k.State["eth0"].Tree.Filters); got != most {
		t.Errorf("%d ports have a class, want %d", got, most)
	}
	if len(r.Findings) != 2 {
		t.Errorf("findings %v, want one for each port too many", r.Findings)
	}
	if again := tc.Plan([]tc.Link{l}, k.State); len(again) > 0 {
		t.Errorf("%d steps remain", len(again))
	}
}
