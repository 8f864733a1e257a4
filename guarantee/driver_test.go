package guarantee_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
)

func TestNamespaces(t *testing.T) {
	for _, tc := range []struct {
		d    guarantee.Driver
		want string
	}{
		{ovs, "87ee7d5c-73bb-11e8-9008-c4d987b2a692"},
		{sriov, "87f1895c-73bb-11e8-9008-c4d987b2a692"},
		{ovn, "5533233b-800c-11eb-b1f4-000056b2f5b8"},
	} {
		if got := tc.d.Namespace.String(); got != tc.want {
			t.Errorf("the namespace of %s is %s; want %s", tc.d.Name, got, tc.want)
		}
	}
}

func TestWithout(t *testing.T) {
	d, err := ovs.Without([]string{"direct"})
	if diff := cmp.Diff([]string{"normal"}, d.VNICTypes); err != nil || diff != "" {
		t.Errorf("Open vSwitch without direct: %v, -want +got:\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"normal", "direct"}, ovs.VNICTypes); diff != "" {
		t.Errorf("Without changed its receiver:\n%s", diff)
	}
	for _, tc := range []struct {
		prohibited []string
		want       string
	}{
		{[]string{"macvtap"}, `"macvtap"`},
		{[]string{"direct", "normal"}, "leave one out"},
	} {
		if _, err := ovs.Without(tc.prohibited); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Without(%v) = %v; want an error with %q", tc.prohibited, err, tc.want)
		}
	}
}

func TestEnforces(t *testing.T) {
	for _, tc := range []struct {
		d         guarantee.Driver
		t         guarantee.RuleType
		direction string
		want      bool
	}{
		{ovs, guarantee.MinimumBandwidth, guarantee.Ingress, true},
		{ovs, guarantee.MinimumPacketRate, guarantee.AnyDirection, true},
		{ovs, guarantee.PacketRateLimit, guarantee.AnyDirection, false},
		{ovs, guarantee.DSCPMarking, "", true},
		{sriov, guarantee.BandwidthLimit, guarantee.Egress, true},
		{sriov, guarantee.BandwidthLimit, guarantee.Ingress, false},
		{sriov, guarantee.MinimumBandwidth, guarantee.Ingress, true},
		{sriov, guarantee.MinimumPacketRate, guarantee.Egress, false},
		{sriov, guarantee.DSCPMarking, "", false},
		{ovn, guarantee.MinimumBandwidth, guarantee.Egress, true},
		{ovn, guarantee.DSCPMarking, "", true},
		{ovn, guarantee.MinimumPacketRate, guarantee.AnyDirection, false},
	} {
		if got := tc.d.Enforces(tc.t, tc.direction); got != tc.want {
			t.Errorf("%s enforces %s %q: %v; want %v", tc.d.Name, tc.t, tc.direction, got, tc.want)
		}
	}
}

func TestClasses(t *testing.T) {
	for _, tc := range []struct {
		t         guarantee.RuleType
		direction string
		want      string
	}{
		{guarantee.MinimumBandwidth, guarantee.Egress, "NET_BW_EGR_KILOBIT_PER_SEC"},
		{guarantee.MinimumBandwidth, guarantee.Ingress, "NET_BW_IGR_KILOBIT_PER_SEC"},
		{guarantee.MinimumBandwidth, guarantee.AnyDirection, ""},
		{guarantee.MinimumPacketRate, guarantee.Egress, "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC"},
		{guarantee.MinimumPacketRate, guarantee.Ingress, "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC"},
		{guarantee.MinimumPacketRate, guarantee.AnyDirection, "NET_PACKET_RATE_KILOPACKET_PER_SEC"},
		{guarantee.BandwidthLimit, guarantee.Egress, ""},
		{guarantee.DSCPMarking, "", ""},
	} {
		if got := guarantee.Class(tc.t, tc.direction); got != tc.want {
			t.Errorf("Class(%s, %q) = %q; want %q", tc.t, tc.direction, got, tc.want)
		}
	}
}
