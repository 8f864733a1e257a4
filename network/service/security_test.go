package service_test

import (
	"context"
	"sync"
	"testing"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/topology"
)

// Of concurrent requests one creates the default group of a project.
func TestDefaultGroupIsCreatedOnce(t *testing.T) {
	s := newCloud(t).service
	ctx := context.Background()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := s.EnsureDefaultGroup(ctx, "red"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	groups, err := s.SecurityGroups(ctx, network.Where(network.ByProject, "red"))
	if err != nil || len(groups) != 1 || len(groups[0].Rules) != 4 {
		t.Errorf("the groups are %+v, %v; want one with four rules", groups, err)
	}
}

// Without port security the network's own ports are in no group either, and may send
// from further addresses.
func TestPortsOfTheNetworkWithoutPortSecurity(t *testing.T) {
	pairs := []network.AddressPair{{IP: "10.0.0.1"}}
	for _, secured := range []bool{true, false} {
		set := network.DefaultSettings()
		set.PortSecurity = secured
		s, ctx := newService(t, set), context.Background()
		nets, err := s.CreateNetworks(ctx, []topology.NetworkSpec{{NetworkRow: network.NetworkRow{PortSecurity: true}}})
		if err != nil {
			t.Fatal(err)
		}
		ports, err := s.CreatePorts(ctx, []ports.Spec{{
			PortRow:   network.PortRow{Network: nets[0].ID, DeviceOwner: "network:dhcp", AddressPairs: pairs},
			AnyGroups: true, AnyPortSecurity: true,
		}})
		if secured != (err != nil) || err == nil && (!ports[0].PortSecurity || len(ports[0].SecurityGroups) > 0) {
			t.Errorf("with port security (%v) the port is %+v, %v", secured, ports, err)
		}
	}
}
