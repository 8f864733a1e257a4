package agents

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Zone is an availability zone. Agents name their zone: DHCP agents make zones for networks, L3
// agents zones for routers.
type Zone struct {
	Name      string
	Resource  string // "network" or "router"
	Available bool   // one of its agents is enabled
}

// dhcpAgent is the type of agents that networks are given to.
const dhcpAgent = "DHCP agent"

// zoned are the types of agents that make zones, with what for.
var zoned = map[string]string{dhcpAgent: "network", "L3 agent": "router"}

// Zones returns the availability zones, by resource and name.
func (s *Service) Zones(ctx context.Context) (all []Zone, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all = nil
		for _, kind := range slices.Sorted(maps.Keys(zoned)) {
			agents, err := network.Rows[network.AgentRow](r, network.Where(network.ByAgentType, kind))
			if err != nil {
				return err
			}
			available := map[string]bool{}
			for _, a := range agents {
				if a.Zone != "" {
					available[a.Zone] = available[a.Zone] || a.AdminStateUp
				}
			}
			for _, name := range slices.Sorted(maps.Keys(available)) {
				all = append(all, Zone{name, zoned[kind], available[name]})
			}
		}
		return nil
	})
	return all, err
}

// ZonesExist refuses a zone that no agent of a DHCP server is in.
func ZonesExist(tx *network.Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	agents, err := network.Rows[network.AgentRow](tx, network.Where(network.ByAgentType, dhcpAgent))
	if err != nil {
		return err
	}
	zones := make(map[string]bool)
	for _, a := range agents {
		zones[a.Zone] = true
	}
	for _, name := range names {
		if !zones[name] {
			return fault.New(fault.NotFound, "AvailabilityZoneNotFound", "AvailabilityZone %s could not be found.",
				name)
		}
	}
	return nil
}
