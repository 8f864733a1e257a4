package networkapi

import (
	"bytes"
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

// encode writes a value as JSON text, and null as an empty object.
func encode(v pyjson.Value) []byte {
	if v.Kind() != pyjson.Object {
		return []byte("{}")
	}
	var b bytes.Buffer
	j := httpapi.NewJSON(&b)
	j.Value(v)
	_ = j.Close() // a Buffer takes all
	return b.Bytes()
}

// decode reads an object that encode wrote.
func decode(text []byte) pyjson.Value {
	v, err := pyjson.Parse(text)
	if err != nil {
		return pyjson.NewObject()
	}
	return v
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func idsOf(v pyjson.Value) []network.ID {
	return each(v, func(item pyjson.Value) network.ID { return network.ID(item.Str()) })
}

func fixedOf(v pyjson.Value) []network.FixedIP {
	return each(v, func(item pyjson.Value) network.FixedIP {
		addr, _ := toIP(part(item, "ip_address")) // what is no address is unchanged
		return network.FixedIP{Subnet: network.ID(part(item, "subnet_id").Str()), IP: addr.Str()}
	})
}

func showAddresses(p *network.Port) pyjson.Value {
	return array(p.Addresses, func(a network.AddressRow) pyjson.Value {
		return object("subnet_id", string(a.Subnet), "ip_address", a.IP)
	})
}

// hasAddress is the filter fixed_ips: subnet_id=… or ip_address=…, all of those
// that are given.
func hasAddress(wanted []string) func(*network.Port) bool {
	var conditions []func(network.AddressRow) bool
	for _, condition := range sortedKeys(setOf(wanted)) {
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
func hasMAC(wanted []string) func(*network.Port) bool {
	any := map[string]bool{}
	for _, v := range wanted {
		if hw, err := net.ParseMAC(v); err == nil {
			any[hw.String()] = true
		}
	}
	return func(p *network.Port) bool {
		own, err := net.ParseMAC(p.MAC)
		return err == nil && any[own.String()]
	}
}

// toText converts a host to text: null is the empty one.
func toText(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return valueOf(""), nil
	}
	return valueOf(pyjson.Str(v)), nil
}

// boundDetails are the details of a binding, with its driver.
func boundDetails(b *network.BindingRow) pyjson.Value {
	details := decode(b.Details)
	if b.Driver == "" {
		return details
	}
	drivers := object("bound_drivers", object("0", b.Driver))
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
		return v, badRequest("Allowed address pairs must be a list.")
	}
	for _, pair := range v.Items() {
		addr, ok := pair.Get("ip_address")
		if !ok {
			return v, newFault("AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
		}
		if wrong := pairWrong(pair, addr); wrong != "" {
			return v, badRequest("%s", wrong)
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
	return each(v, func(item pyjson.Value) network.AddressPair {
		return network.AddressPair{IP: part(item, "ip_address").Str(), MAC: part(item, "mac_address").Str()}
	})
}

// showPairs shows the port's own MAC address where a pair has none.
func showPairs(p *network.Port) pyjson.Value {
	return array(p.AddressPairs, func(pair network.AddressPair) pyjson.Value {
		return object("ip_address", pair.IP, "mac_address", cmp.Or(pair.MAC, p.MAC))
	})
}

// How long the name and the value of an option are at most.
const maxOptionName, maxOptionValue = 64, 255

// toDHCPOptions takes a list of options with their names and values.
func toDHCPOptions(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() != pyjson.Array && v.Kind() != pyjson.Null {
		return v, invalidInput("'%s' is not a list", pyjson.Str(v))
	}
	for _, option := range v.Items() {
		name, named := option.Get("opt_name")
		value, valued := option.Get("opt_value")
		if !named || !valued || name.Str() == "" || text(maxOptionName)(name) != "" || orNull(text(maxOptionValue))(value) != "" {
			return v, invalidInput("No valid key specs matched for: %s", pyjson.Str(option))
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
	var order []key // in which they were said, the last time
	said := map[key]pyjson.Value{}
	for _, item := range slices.Backward(v.Items()) {
		version := pyjson.NewInt(4)
		if given, ok := item.Get("ip_version"); ok {
			version = given
		}
		n, _ := whole(version)
		k := key{part(item, "opt_name").Str(), int(n)}
		if _, later := said[k]; !later {
			said[k] = part(item, "opt_value")
			order = append(order, k)
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o network.DHCPOption) bool {
		_, again := said[key{o.Name, o.IPVersion}]
		return again
	})
	for _, k := range slices.Backward(order) {
		if value := said[k]; value.Kind() != pyjson.Null {
			all = append(all, network.DHCPOption{Name: k.name, Value: value.Str(), IPVersion: k.version})
		}
	}
	return all
}

func showOptions(p *network.Port) pyjson.Value {
	return array(p.DHCPOptions, func(o network.DHCPOption) pyjson.Value {
		return object("opt_name", o.Name, "opt_value", o.Value, "ip_version", o.IPVersion)
	})
}
