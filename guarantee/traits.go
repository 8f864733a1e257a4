package guarantee

import (
	"regexp"
	"slices"
	"strings"
)

// TunnelTrait is the trait of providers whose bandwidth serves tunnelled networks.
// Neutron's guide calls it CUSTOM_TUNNELLED_NETWORKS; its code does not.
const TunnelTrait = "CUSTOM_NETWORK_TUNNEL_PROVIDER"

// PhysicalNetworkTrait returns the trait of providers on a physical network. Names
// that differ only by case, or by signs that are neither letters nor digits, have
// one trait.
func PhysicalNetworkTrait(physnet string) string { return customTrait("PHYSNET_" + physnet) }

// VNICTypeTrait returns the trait of providers for a type of VNICs.
func VNICTypeTrait(vnicType string) string { return customTrait("VNIC_TYPE_" + vnicType) }

var otherRuns = regexp.MustCompile("[^0-9A-Za-z]+")

// customTrait normalizes as os-traits does: letters are raised last, lest one of
// another alphabet become ASCII.
func customTrait(name string) string {
	return "CUSTOM_" + strings.ToUpper(otherRuns.ReplaceAllString(name, "_"))
}

// operatorTrait matches what placement lets a client create; derivedTrait matches the prefixes of
// traits that are derived from the rest of a report.
var (
	operatorTrait = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]{1,248}$`)
	derivedTrait  = regexp.MustCompile(`^CUSTOM_(PHYSNET_|VNIC_TYPE_|NETWORK_TUNNEL_PROVIDER$)`)
)

// WantedTrait returns what is allowed instead of a trait that an operator gives to a device, "" for
// one that is allowed. Traits that are derived from the mappings and the agent are not: they would
// claim a network that the device is not on.
func WantedTrait(given string) string {
	switch {
	case !operatorTrait.MatchString(given):
		return "a trait of CUSTOM_ and capital letters, digits and underscores, at most 255 of them"
	case derivedTrait.MatchString(given):
		return "a trait that does not follow from the mappings and the agent"
	}
	return ""
}

// sortedSet returns the strings in order, each once.
func sortedSet(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}
