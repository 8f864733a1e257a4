package networkapi

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/ports"
)

func idsOf(v pyjson.Value) []network.ID {
	return resource.Each(v, func(item pyjson.Value) network.ID { return network.ID(item.Str()) })
}

func fixedOf(v pyjson.Value) []ports.FixedIP {
	return resource.Each(v, func(item pyjson.Value) ports.FixedIP {
		addr, _ := toIP(resource.Member(item, "ip_address")) // what is no address is unchanged
		return ports.FixedIP{Subnet: network.ID(resource.Member(item, "subnet_id").Str()), IP: addr.Str()}
	})
}

func showAddresses(p *network.Port) pyjson.Value {
	return resource.List(p.Addresses, func(a network.AddressRow) pyjson.Value {
		return pyjson.NewObject(pyjson.M("subnet_id", string(a.Subnet)), pyjson.M("ip_address", a.IP))
	})
}

// hasAddress is the filter fixed_ips: subnet_id=… or ip_address=…, all of those
// that are given.
func hasAddress(values []string) func(*network.Port) bool {
	var conditions []func(network.AddressRow) bool
	for _, condition := range slices.Sorted(maps.Keys(resource.SetOf(values))) {
		switch key, want, _ := strings.Cut(condition, "="); key {
		case "subnet_id":
			conditions = append(conditions, func(a network.AddressRow) bool { return string(a.Subnet) == want })
		case "ip_address":
			conditions = append(conditions, func(a network.AddressRow) bool { return a.IP == want })
		case "ip_address_substr":
			conditions = append(conditions, func(a network.AddressRow) bool { return strings.Contains(a.IP, want) })
		}
	}
	return func(p *network.Port) bool {
		return len(conditions) == 0 || slices.ContainsFunc(p.Addresses, func(a network.AddressRow) bool {
			return !slices.ContainsFunc(conditions, func(holds func(network.AddressRow) bool) bool { return !holds(a) })
		})
	}
}

// hasMAC compares hardware addresses however they are written.
func hasMAC(values []string) func(*network.Port) bool {
	valid := map[string]bool{}
	for _, v := range values {
		if hw, err := net.ParseMAC(v); err == nil {
			valid[hw.String()] = true
		}
	}
	return func(p *network.Port) bool {
		own, err := net.ParseMAC(p.MAC)
		return err == nil && valid[own.String()]
	}
}

// toText converts a host to text: null is the empty one.
func toText(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return pyjson.Of(""), nil
	}
	return pyjson.Of(pyjson.Str(v)), nil
}

// boundDetails are the details of a binding, with its driver.
func boundDetails(b *network.BindingRow) pyjson.Value {
	details := resource.Decode(b.Details)
	if b.Driver == "" {
		return details
	}
	drivers := pyjson.NewObject(pyjson.M("bound_drivers", pyjson.NewObject(pyjson.M("0", b.Driver))))
	return pyjson.NewObject(append(slices.Clone(details.Members()), drivers.Members()...)...)
}

// eitherCase are the ways in which an address may have been written.
func eitherCase(v string) []string { return []string{v, strings.ToLower(v), strings.ToUpper(v)} }

// toAddressPairs converts a list of allowed address pairs.
func toAddressPairs(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return pyjson.NewArray(), nil
	}
	if v.Kind() != pyjson.Array {
		return v, resource.BadRequest("Allowed address pairs must be a list.")
	}
	for _, pair := range v.Items() {
		addr, ok := pair.Get("ip_address")
		if !ok {
			return v, resource.NewFault("AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
		}
		if wrong := pairWrong(pair, addr); wrong != "" {
			return v, resource.BadRequest("%s", wrong)
		}
	}
	return v, nil
}

func pairWrong(pair, addr pyjson.Value) string {
	if hw, given := pair.Get("mac_address"); given && hw.Kind() != pyjson.Null {
		if wrong := mac(hw); wrong != "" {
			return wrong
		}
	}
	if strings.Contains(addr.Str(), "/") {
		return cidr(addr)
	}
	return ip(addr)
}

func pairsOf(v pyjson.Value) []network.AddressPair {
	return resource.Each(v, func(item pyjson.Value) network.AddressPair {
		return network.AddressPair{
			IP: resource.Member(item, "ip_address").Str(), MAC: resource.Member(item, "mac_address").Str(),
		}
	})
}

// showPairs shows the port's own MAC address where a pair has none.
func showPairs(p *network.Port) pyjson.Value {
	return resource.List(p.AddressPairs, func(pair network.AddressPair) pyjson.Value {
		return pyjson.NewObject(pyjson.M("ip_address", pair.IP), pyjson.M("mac_address", cmp.Or(pair.MAC, p.MAC)))
	})
}

// How long the name and the value of an option are at most.
const maxOptionName, maxOptionValue = 64, 255

// toDHCPOptions accepts a list of options with their names and values: _validate_any_key_spec in
// neutron_lib.
func toDHCPOptions(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array && v.Kind() != pyjson.Null {
		return v, resource.InvalidInput("'%s' is not a list", pyjson.Str(v))
	}
	for _, option := range v.Items() {
		name, named := option.Get("opt_name")
		value, valued := option.Get("opt_value")
		if !named || !valued || name.Str() == "" || resource.MaxLength(maxOptionName)(name) != "" ||
			resource.Nullable(resource.MaxLength(maxOptionValue))(value) != "" {
			return v, resource.InvalidInput("No valid key specs matched for: %s", pyjson.Str(option))
		}
	}
	return v, nil
}

// withOptions is options with others, by name and version: one without a value goes.
func withOptions(all []network.DHCPOption, v pyjson.Value) []network.DHCPOption {
	type key struct {
		name    string
		version int
	}
	var order []key // in which they are last in the list, backwards
	given := map[key]pyjson.Value{}
	for _, item := range slices.Backward(v.Items()) {
		version := pyjson.NewInt(4)
		if v, ok := item.Get("ip_version"); ok {
			version = v
		}
		n, _ := resource.ParseInt(version)
		k := key{resource.Member(item, "opt_name").Str(), int(n)}
		if _, later := given[k]; !later {
			given[k] = resource.Member(item, "opt_value")
			order = append(order, k)
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o network.DHCPOption) bool {
		_, replaced := given[key{o.Name, o.IPVersion}]
		return replaced
	})
	for _, k := range slices.Backward(order) {
		if value := given[k]; value.Kind() != pyjson.Null {
			all = append(all, network.DHCPOption{Name: k.name, Value: value.Str(), IPVersion: k.version})
		}
	}
	return all
}

func showOptions(p *network.Port) pyjson.Value {
	return resource.List(p.DHCPOptions, func(o network.DHCPOption) pyjson.Value {
		return pyjson.NewObject(pyjson.M("opt_name", o.Name), pyjson.M("opt_value", o.Value),
			pyjson.M("ip_version", o.IPVersion))
	})
}
