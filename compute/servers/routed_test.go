package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// A server with a port in a network of segments goes where its segment is, if the settings say so.
func TestRoutedNetworks(t *testing.T) {
	w := newFixture(t, 0, "cn1", "cn2")
	places := placementclient.NewCompute(options(w, w.paths.placement.inner))
	defer places.Close()
	nets, err := w.network.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{
			Common: network.Common{Project: computetest.Project, Name: "routed"}, AdminStateUp: true, PortSecurity: true,
		},
		Segments: []topology.SegmentSpec{{Type: network.VLAN, PhysicalNetwork: "physnet0", SegmentationID: 200}},
	}})
	w.must(err)
	segments, err := w.network.Segments(ctx)
	w.must(err)
	var segment network.ID
	for _, s := range segments {
		if s.Network == nets[0].ID {
			segment = s.ID
		}
	}
	_, err = w.network.CreateSubnets(ctx, []topology.SubnetSpec{{SubnetRow: network.SubnetRow{
		Common: network.Common{Project: computetest.Project}, Network: nets[0].ID, Segment: segment, IPVersion: 4,
		CIDR: "10.9.0.0/24",
	}}})
	w.must(err)
	on := w.serve(w.store, func(s *compute.Settings) { s.Requests.RoutedNetworks = true })
	boot := func(s *cloudService) compute.ID {
		t.Helper()
		made, err := w.CreateServers(ctx, ann, servers.ServerSpec{
			Name: "vm", Flavor: "m1", Image: cirros, Networks: []compute.NetworkSpec{{Network: compute.ID(nets[0].ID)}},
		})
		w.must(err)
		w.work(s, nil)
		return made[0].ID
	}
	refused := fmt.Sprintf("No valid host was found. Scheduling failed: Aggregates not found for the network %s",
		nets[0].ID)
	wants := func(what string, id compute.ID, text string) {
		t.Helper()
		if why := w.why(id); w.state(id) != compute.Error || !strings.Contains(why, text) {
			t.Errorf("%s: the server is %s: %s", what, w.state(id), why)
		}
		w.must(w.DeleteServer(ctx, ann, id))
		w.work(w.cloudService, nil)
	}
	wants("no provider", boot(on), refused)
	w.must(providertreetest.Set(ctx, w.places, providertree.Provider{ID: placement.UUID(segment), Name: "segment"}))
	wants("no aggregate", boot(on), refused)
	group := computetest.ID("group")
	w.must(places.Group(ctx, compute.ID(segment), group, true))
	wants("nobody in the aggregate", boot(on), "No valid host was found")
	_, node := computetest.Host("cn2", 0)
	w.must(places.Group(ctx, node.ID, group, true))
	for range 4 {
		id := boot(on)
		if s := must(w.Server(ctx, id)); s.State != compute.Active || s.Host != "cn2" {
			t.Errorf("the server is %s on %s: %s", s.State, s.Host, w.why(id))
		}
	}
	hosts := map[string]bool{}
	for range 12 {
		hosts[must(w.Server(ctx, boot(w.cloudService))).Host] = true
	}
	if !hosts["cn1"] {
		t.Errorf("without the setting servers go to %v", hosts)
	}
}
