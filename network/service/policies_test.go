package service_test

import (
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
)

// A network that nothing can be guaranteed on gets no policy that does: neither when it
// is made or changed, nor by a rule.
func TestNetworksThatGuaranteeNothing(t *testing.T) {
	const refused = "QosRuleNotSupportedByNetwork"
	tunnel := topology.SegmentSpec{Type: network.VXLAN, SegmentationID: 7}
	flat := topology.SegmentSpec{Type: network.Flat, PhysicalNetwork: "p"}
	for name, tc := range map[string]struct {
		segments []topology.SegmentSpec
		tunnels  bool // may be guaranteed
		want     fault.Code
	}{
		"Tunnel":         {[]topology.SegmentSpec{tunnel}, false, refused},
		"TunnelsAllowed": {[]topology.SegmentSpec{tunnel}, true, ""},
		"Local":          {[]topology.SegmentSpec{{Type: network.Local, SegmentationID: -1}}, true, refused},
		"Physical":       {[]topology.SegmentSpec{flat}, false, ""},
		"TunnelFirst":    {[]topology.SegmentSpec{tunnel, flat}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := network.DefaultSettings()
			set.Extensions = guarantee.Extensions{Tunnels: tc.tunnels}
			s := service.New(newStore(t), set, service.Peers{Log: logtest.Logger()})
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			check := func(what string, err error) {
				t.Helper()
				if got := code(err); got != tc.want || err != nil && got == "" {
					t.Errorf("%s: %v, want %q", what, err, tc.want)
				}
			}
			build := func(policy network.ID) ([]network.Network, error) {
				return s.CreateNetworks(t.Context(), []topology.NetworkSpec{{
					NetworkRow: network.NetworkRow{
						Common: network.Common{Project: "p"}, AdminStateUp: true,
						Policy: policy,
					}, Segments: tc.segments,
				}})
			}
			give := func(net, policy network.ID) error {
				_, err := s.UpdateNetwork(t.Context(), net, func(n *topology.NetworkSpec) error {
					n.Policy = policy
					return nil
				})
				return err
			}
			promise := func(policy network.ID) error {
				_, err := s.CreateRule(t.Context(),
					network.RuleRow{Policy: policy, Type: network.MinimumBandwidth, Direction: "egress", Rate: 5})
				return err
			}
			created, err := s.CreatePolicies(t.Context(),
				[]network.PolicyRow{{Common: network.Common{Project: "p"}}, {Common: network.Common{Project: "p"}}})
			must(err)
			minimum, empty := created[0].ID, created[1].ID
			must(promise(minimum))
			nets, err := build(empty)
			must(err)
			net := nets[0].ID
			check("a rule", promise(empty))
			check("a policy", give(net, minimum))
			must(s.DeleteNetwork(t.Context(), net))
			_, err = build(minimum)
			check("a new network", err)
			all, err := s.Policies(t.Context(), network.Where(network.ByID, empty))
			must(err)
			if got := len(all[0].Rules) == 0; got != (tc.want != "") {
				t.Errorf("the rules are %v", all[0].Rules)
			}
		})
	}
}
