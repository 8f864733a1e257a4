package security

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/berthcloud/berth/network"
)

// The range of all ports, which is no range.
const minPort, maxPort = 1, 65535

// check refuses a rule that contradicts itself, and writes it as Neutron keeps it: ICMP
// of IPv6 by its own name, and all ports as none in particular.
func (s *RuleSpec) check() error {
	if s.EtherType == network.IPv6 {
		s.Protocol = ipv6Protocol(s.Protocol)
	}
	if s.PortMin == minPort && s.PortMax == maxPort {
		s.PortMin, s.PortMax = -1, -1
	}
	return cmp.Or(s.checkPorts(), s.checkVersion(), s.checkRemote())
}

func (s *RuleSpec) checkPorts() error {
	number := protocolNumber(s.Protocol)
	isNumber := func(name string) bool { return protocolNumber(name) == number }
	switch {
	case s.PortMin < 0 && s.PortMax < 0:
		return nil
	case s.Protocol == "":
		return network.Invalid("SecurityGroupProtocolRequiredWithPorts",
			"Must also specify protocol if port range is given.")
	case slices.ContainsFunc(portProtocols, isNumber):
		return checkRange(s.PortMin, s.PortMax)
	case number == icmp || number == icmpOfIPv6:
		return checkICMP(s.PortMin, s.PortMax)
	}
	return network.Invalid("SecurityGroupInvalidProtocolForPort",
		"Ports cannot be specified for protocol %d. Ports are only supported for %s.",
		number, strings.ToUpper(strings.Join(portProtocols, ", ")))
}

func checkRange(low, high int) error {
	switch {
	case low == 0 || high == 0:
		return network.Invalid("SecurityGroupInvalidPortValue", "Invalid value for port 0")
	case low < 0 || high < low:
		return network.Invalid("SecurityGroupInvalidPortRange",
			"For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}
	return nil
}

// checkICMP validates the type and the code of ICMP, which are stored in the fields for ports.
func checkICMP(kind, code int) error {
	const most = 255
	wrong := func(field, attribute string, value int) error {
		return network.Invalid("SecurityGroupInvalidIcmpValue",
			"Invalid value for ICMP %s (%s) %d. It must be 0 to 255.", field, attribute, value)
	}
	switch {
	case kind > most:
		return wrong("type", "port_range_min", kind)
	case code > most:
		return wrong("code", "port_range_max", code)
	case kind < 0 && code >= 0:
		return network.Invalid("SecurityGroupMissingIcmpType",
			"ICMP code (port-range-max) %d is provided but ICMP type (port-range-min) is missing.", code)
	}
	return nil
}

// checkVersion refuses addresses and protocols of the other version of IP.
func (s *RuleSpec) checkVersion() error {
	if p, err := netip.ParsePrefix(s.RemoteIP); err == nil && p.Addr().Is6() != (s.EtherType == network.IPv6) {
		return network.Invalid("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s",
			s.EtherType, s.RemoteIP)
	}
	if s.Protocol != "" && s.EtherType == network.IPv4 && slices.Contains(onlyIPv6, protocolNumber(s.Protocol)) {
		return network.Invalid("SecurityGroupEthertypeConflictWithProtocol", "Invalid ethertype %s for protocol %s.",
			s.EtherType, s.Protocol)
	}
	return nil
}

// checkRemote refuses a rule that names several kinds of peers.
func (s *RuleSpec) checkRemote() error {
	peers := slices.DeleteFunc([]string{s.RemoteIP, string(s.RemoteGroup), s.RemoteAddresses},
		func(p string) bool { return p == "" })
	if len(peers) > 1 {
		return network.Invalid("SecurityGroupMultipleRemoteEntites",
			"Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	}
	return nil
}
