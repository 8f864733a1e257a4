package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/guarantee"
)

// networkSettings turns the settings into what the service needs. The error names all
// that is wrong with the drivers.
func networkSettings(cfg *config.Network) (network.Settings, error) {
	drivers, err := networkDrivers(&cfg.ML2)
	set := network.DefaultSettings()
	set.MTU = cfg.Neutron.GlobalPhysnetMTU
	set.ProjectTypes = cfg.ML2.TenantNetworkTypes
	set.VLANs, set.Tunnels = vlans(&cfg.ML2), tunnels(&cfg.ML2)
	set.FlatNetworks = nil
	if cfg.ML2.Enables(network.Flat) {
		set.FlatNetworks = cfg.ML2.FlatNetworks
	}
	set.MaxNameservers, set.MaxHostRoutes = cfg.Neutron.MaxDNSNameservers, cfg.Neutron.MaxSubnetHostRoutes
	set.MACBase = cfg.Neutron.MACPrefix()
	set.Quotas = networkQuotas(&cfg.Quotas)
	set.Drivers = drivers
	set.Extensions = guarantee.Extensions{Tunnels: cfg.Promises.Tunnels, Alternatives: cfg.Promises.Alternatives}
	set.KeepDeleted = cfg.Promises.KeepDeleted
	set.AgentDownTime = time.Duration(cfg.Neutron.AgentDownTime) * time.Second
	return set, err
}

// networkQuotas are the limits of projects. What is without an option of its own has
// the one for the rest.
func networkQuotas(q *config.Quotas) network.Quotas {
	all := network.DefaultQuotas()
	for resource := range all {
		all[resource] = int64(max(-1, q.Default))
	}
	for resource, most := range map[string]int{
		"network": q.Network, "subnet": q.Subnet, "port": q.Port, "security_group": q.SecurityGroup,
		"security_group_rule": q.SecurityGroupRule, "rbac_policy": q.RBACPolicy,
	} {
		all[resource] = int64(max(-1, most))
	}
	return all
}

// networkDrivers are the mechanism drivers, in the order of the settings, without what
// they must not bind.
func networkDrivers(m *config.ML2) ([]guarantee.Driver, error) {
	known := map[string]struct {
		guarantee.Driver
		group      string
		prohibited []string
	}{
		config.DriverOpenVSwitch: {guarantee.OpenVSwitch, "ovs_driver", m.OpenVSwitchProhibits},
		config.DriverSRIOV:       {guarantee.SRIOV, "sriov_driver", m.SRIOVProhibits},
		config.DriverOVN:         {guarantee.OVN, "ovn", nil},
	}
	var drivers []guarantee.Driver
	var errs []error
	for _, name := range m.MechanismDrivers {
		k := known[name]
		d, err := k.Without(k.prohibited)
		if err != nil {
			errs = append(errs, fmt.Errorf("[%s] %w", k.group, err))
		}
		drivers = append(drivers, d)
	}
	return drivers, errors.Join(errs...)
}

// vlans are the VLANs of each physical network. One is unknown that is not among them.
func vlans(m *config.ML2) map[string][]network.Range {
	all := make(map[string][]network.Range)
	if !m.Enables(network.VLAN) {
		return all
	}
	for name, ranges := range config.ParseVLANRanges(m.VLANRanges) {
		all[name] = networkRanges(ranges)
	}
	return all
}

// tunnels are the numbers of each type of tunnels that networks may have.
func tunnels(m *config.ML2) map[string][]network.Range {
	all := make(map[string][]network.Range)
	for kind, list := range map[string][]string{
		network.VXLAN: m.VXLANRanges, network.GRE: m.GRERanges, network.Geneve: m.GeneveRanges,
	} {
		if m.Enables(kind) {
			all[kind] = networkRanges(config.ParseRanges(list))
		}
	}
	return all
}

func networkRanges(ranges []config.Range) []network.Range {
	all := make([]network.Range, len(ranges))
	for i, r := range ranges {
		all[i] = network.Range(r)
	}
	return all
}
