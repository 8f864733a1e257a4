package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// networkSettings converts the settings. The error joins all mistakes in the drivers' settings.
func networkSettings(cfg *config.Network) (network.Settings, error) {
	drivers, err := networkDrivers(&cfg.ML2)
	set := network.DefaultSettings()
	set.MTU = mtus(cfg)
	set.Types, set.ProjectTypes, set.ExternalType = cfg.ML2.TypeDrivers, cfg.ML2.TenantNetworkTypes, cfg.ML2.ExternalType
	set.VLANs, set.Tunnels = vlans(&cfg.ML2), tunnels(&cfg.ML2)
	set.FlatNetworks = nil
	if cfg.ML2.Enables(network.Flat) {
		set.FlatNetworks = cfg.ML2.FlatNetworks
	}
	set.MaxAddressPairs, set.PortSecurity = cfg.Neutron.MaxAddressPairs, cfg.ML2.Extends(config.ExtensionPortSecurity)
	set.MaxNameservers, set.MaxHostRoutes = cfg.Neutron.MaxDNSNameservers, cfg.Neutron.MaxSubnetHostRoutes
	set.MACBase = cfg.Neutron.MACPrefix()
	set.Quotas = networkQuotas(&cfg.Quotas)
	set.Drivers, set.OVNSockets = drivers, cfg.OVN.SocketDir
	set.Extensions = guarantee.Extensions{Tunnels: cfg.Promises.Tunnels, Alternatives: cfg.Promises.Alternatives}
	set.KeepDeleted = cfg.Promises.KeepDeleted
	set.NewAgentsDown = !cfg.Neutron.NewAgents
	set.Events = network.Events{Status: cfg.Neutron.NotifyNovaOfStatus, Data: cfg.Neutron.NotifyNovaOfData}
	set.AgentDownTime = time.Duration(cfg.Neutron.AgentDownTime) * time.Second
	return set, err
}

// mtus are how large packets may be.
func mtus(cfg *config.Network) network.MTUs {
	m := network.MTUs{
		Global: cfg.Neutron.GlobalPhysnetMTU, Path: cfg.ML2.PathMTU, Physical: config.ParseMTUs(cfg.ML2.PhysicalMTUs),
		OverlayIPVersion: 4, GeneveHeader: cfg.ML2.GeneveMaxHeader,
	}
	if cfg.ML2.OverlayIPVersion == "6" {
		m.OverlayIPVersion = 6
	}
	return m
}

// networkQuotas returns the bounds of projects. Resources without an option of their own have the
// default one.
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

// networkDrivers returns the mechanism drivers in the order of the settings, without the VNIC types
// that they are prohibited to bind.
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
		if name == config.DriverL2Population {
			continue
		}
		k := known[name]
		d, err := k.Without(k.prohibited)
		if err != nil {
			errs = append(errs, fmt.Errorf("[%s] %w", k.group, err))
		}
		drivers = append(drivers, d)
	}
	return drivers, errors.Join(errs...)
}

// vlans returns the VLANs of each physical network, none without the type driver. A physical
// network that is not in the result does not exist.
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

// tunnels returns the segmentation ids of each enabled type of tunnels.
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

// TrialNetworkAddress is where the service listens without any settings.
const TrialNetworkAddress = "127.0.0.1:9696"

// TrialNetwork changes the settings to those of a start without files: no authentication, one
// physical network, and the plugins and drivers of the guide.
func TrialNetwork(cfg *config.Network) {
	cfg.Berth.Listen = TrialNetworkAddress
	cfg.Neutron.AuthStrategy = config.StrategyNoAuth
	cfg.Neutron.ServicePlugins = []string{config.PluginQoS, config.PluginTrunk, config.PluginSegments}
	cfg.ML2.MechanismDrivers = []string{config.DriverOpenVSwitch, config.DriverSRIOV}
	cfg.ML2.ExtensionDrivers = []string{config.ExtensionQoS, config.ExtensionPortSecurity}
	cfg.ML2.TenantNetworkTypes = []string{"vxlan"}
	cfg.ML2.VLANRanges, cfg.ML2.VXLANRanges = []string{"physnet0"}, []string{"1:1000"}
}
