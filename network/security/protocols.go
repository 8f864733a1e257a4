package security

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/network"
)

// protocols are those that have names, with their numbers, in Neutron's order.
var protocols = []struct {
	name   string
	number int
}{
	{"ah", 51},
	{"dccp", 33},
	{"egp", 8},
	{"esp", 50},
	{"gre", 47},
	{"hopopt", 0},
	{"icmp", icmp},
	{"igmp", 2},
	{"ip", 0},
	{"ipip", 4},
	{"ipv6-encap", 41},
	{"ipv6-frag", 44},
	{"ipv6-icmp", icmpOfIPv6},
	{"icmpv6", icmpOfIPv6},
	{"ipv6-nonxt", 59},
	{"ipv6-opts", 60},
	{"ipv6-route", 43},
	{"ospf", 89},
	{"pgm", 113},
	{"rsvp", 46},
	{"sctp", 132},
	{"tcp", 6},
	{"udp", 17},
	{"udplite", 136},
	{"vrrp", 112},
}

const (
	icmp       = 1
	icmpOfIPv6 = 58
)

// portProtocols are those whose rules may name ports.
var portProtocols = []string{"dccp", "sctp", "tcp", "udp", "udplite"}

// onlyIPv6 are the numbers of protocols that there are in IPv6 alone.
var onlyIPv6 = []int{41, 43, 44, icmpOfIPv6, 59, 60}

// ParseProtocol returns a protocol as rules have it: a name in lower case, or a
// number from 0 to 255 without zeros in front. The fault of another one is
// SecurityGroupRuleInvalidProtocol.
func ParseProtocol(text string) (string, error) {
	names := "None"
	for _, p := range protocols {
		if p.name == strings.ToLower(text) {
			return p.name, nil
		}
		names += ", '" + p.name + "'"
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 255 && strconv.Itoa(n) == text {
		return text, nil
	}
	return "", network.Invalid("SecurityGroupRuleInvalidProtocol",
		"Security group rule protocol %s not supported. Only protocol values [%s] "+
			"and integer representations [0 to 255] are supported.", text, names)
}

// protocolNumber is the number of a protocol that ParseProtocol took.
func protocolNumber(protocol string) int {
	for _, p := range protocols {
		if p.name == protocol {
			return p.number
		}
	}
	n, _ := strconv.Atoi(protocol) // a name that is in no table is 0
	return n
}

// namedProtocol returns the name of a protocol number, if it has one: "ip" for 0. A name is
// returned as it is.
func namedProtocol(protocol string) string {
	number, err := strconv.Atoi(protocol)
	if err != nil {
		return protocol
	}
	for _, p := range slices.Backward(protocols) {
		if p.number == number && p.name != "icmpv6" {
			return p.name
		}
	}
	return protocol
}

// ipv6Protocol is a protocol as a rule about IPv6 has it: ICMP is that of IPv6.
func ipv6Protocol(protocol string) string {
	switch protocol {
	case "icmp", "icmpv6":
		return "ipv6-icmp"
	case strconv.Itoa(icmp):
		return strconv.Itoa(icmpOfIPv6)
	}
	return protocol
}
