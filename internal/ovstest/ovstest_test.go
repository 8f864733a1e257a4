package ovstest_test

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/ovstest"
)

func TestSwitchRunsAndRestarts(t *testing.T) {
	t.Parallel()
	s := ovstest.NewSwitch(t)
	s.AddBridge("br0")
	s.AddPort("br0", "tap0", "port-1")
	if got := s.Control("get", "interface", "tap0", "ofport"); got != "1" {
		t.Errorf("the OpenFlow port of tap0 is %s, want 1", got)
	}
	s.StopDaemon()
	s.StartDaemon()
	if got := s.Run("ip", "-br", "link", "show", "br0"); !strings.HasPrefix(got, "br0") {
		t.Errorf("after a restart there is %q, want br0", got)
	}
}

func TestSouthboundKeepsItsData(t *testing.T) {
	t.Parallel()
	s := ovstest.NewSouthbound(t)
	s.Kill()
	s.Start()
	if got := s.Control("ovsdb-server/list-dbs"); !strings.Contains(got, "OVN_Southbound") {
		t.Errorf("the server has %q, want OVN_Southbound", got)
	}
}
