package service_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// newService returns a service on an empty database with some settings.
func newService(t *testing.T, set network.Settings) *service.Service {
	t.Helper()
	store, err := rowtable.OpenNetwork(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return service.New(storetest.Rerun(store), set, service.Peers{Log: logtest.Logger()})
}

// The MTU of a network is the most that fits through each of its segments, as ML2
// works it out.
func TestMTUs(t *testing.T) {
	jumbo := network.MTUs{
		Global: 9000, Path: 4000, Physical: map[string]int{"slow": 1400}, OverlayIPVersion: 6,
		GeneveHeader: 38,
	}
	plain := network.DefaultSettings().MTU
	none := network.MTUs{OverlayIPVersion: 4, GeneveHeader: 30}
	segment := func(kind, physical string, id int) topology.SegmentSpec {
		return topology.SegmentSpec{Type: kind, PhysicalNetwork: physical, SegmentationID: id}
	}
	vlan, slow := segment(network.VLAN, "fast", 7), segment(network.VLAN, "slow", 7)
	vxlan, local := segment(network.VXLAN, "", 8), segment(network.Local, "", -1)
	for _, tc := range []struct {
		name     string
		mtus     network.MTUs
		segments []topology.SegmentSpec
		request  int
		want     int // 0 for a refusal, which names most
		most     string
	}{
		{"VLAN", plain, []topology.SegmentSpec{vlan}, 0, 1500, ""},
		{"Flat", plain, []topology.SegmentSpec{segment(network.Flat, "fast", -1)}, 0, 1500, ""},
		{"VXLAN", plain, []topology.SegmentSpec{vxlan}, 0, 1450, ""},
		{"GRE", plain, []topology.SegmentSpec{segment(network.GRE, "", 8)}, 0, 1458, ""},
		{"Geneve", plain, []topology.SegmentSpec{segment(network.Geneve, "", 8)}, 0, 1450, ""},
		{"Local", plain, []topology.SegmentSpec{local}, 0, 1500, ""},
		{"Smaller", plain, []topology.SegmentSpec{vlan}, 1300, 1300, ""},
		{"TooBig", plain, []topology.SegmentSpec{vxlan}, 1451, 0, "1450"},
		{"JumboVLAN", jumbo, []topology.SegmentSpec{vlan}, 0, 9000, ""},
		{"OfThePhysicalNetwork", jumbo, []topology.SegmentSpec{slow}, 0, 1400, ""},
		{"PathAndIPv6", jumbo, []topology.SegmentSpec{vxlan}, 0, 3930, ""},
		{"GeneveHeader", jumbo, []topology.SegmentSpec{segment(network.Geneve, "", 8)}, 0, 3922, ""},
		{"TheLeast", jumbo, []topology.SegmentSpec{vlan, slow, vxlan, local}, 0, 1400, ""},
		{"TooBigForOne", jumbo, []topology.SegmentSpec{vlan, slow}, 1401, 0, "1400"},
		{"NothingKnown", none, []topology.SegmentSpec{vlan}, 70000, 70000, ""},
		{"NothingKnownOfTunnels", none, []topology.SegmentSpec{vxlan}, 1, 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := network.DefaultSettings()
			set.MTU, set.VLANs = tc.mtus, map[string][]network.Range{"fast": nil, "slow": nil}
			s := newService(t, set)
			created, err := s.CreateNetworks(context.Background(),
				[]topology.NetworkSpec{{NetworkRow: network.NetworkRow{MTU: tc.request}, Segments: tc.segments}})
			if tc.want == 0 {
				f, ok := fault.Find(err)
				if want := "Invalid input for operation: Requested MTU is too big, maximum is " + tc.most +
					"."; !ok || f.Error() != want {
					t.Errorf("CreateNetworks = %v, want %s", err, want)
				}
				return
			}
			if err != nil || created[0].MTU != tc.want {
				t.Errorf("CreateNetworks = %+v, %v, want the MTU %d", created, err, tc.want)
			}
		})
	}
}

// External networks whose creator says nothing of their type have one of their own,
// when there is one.
func TestExternalNetworksHaveATypeOfTheirOwn(t *testing.T) {
	for _, tc := range []struct {
		of       string
		external bool
		want     string // "" for none available
	}{
		{"", true, network.VXLAN},
		{network.VLAN, true, network.VLAN},
		{network.VLAN, false, network.VXLAN},
		{network.Flat, true, ""},
	} {
		set := network.DefaultSettings()
		set.ProjectTypes, set.ExternalType = []string{network.VXLAN}, tc.of
		set.VLANs, set.Tunnels = map[string][]network.Range{
			"p": nil,
		}, map[string][]network.Range{network.VXLAN: {{Low: 1, High: 9}}}
		created, err := newService(t, set).CreateNetworks(context.Background(),
			[]topology.NetworkSpec{{NetworkRow: network.NetworkRow{External: tc.external}}})
		switch _, code := fault.Of(err); {
		case tc.want == "" && code == "NoNetworkAvailable":
		case err != nil || created[0].Segments[0].Type != tc.want:
			t.Errorf("with %q an external (%v) network is %+v, %v, want of type %q", tc.of, tc.external, created, err,
				tc.want)
		}
	}
}
