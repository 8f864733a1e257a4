package networkapi

import (
	"bytes"
	"cmp"
	"maps"
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
	writeValue(j, v)
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
	var all []network.ID
	for _, item := range v.Items() {
		all = append(all, network.ID(item.Str()))
	}
	return all
}

func fixedOf(v pyjson.Value) []network.FixedIP {
	all := []network.FixedIP{}
	for _, item := range v.Items() {
		subnet, _ := item.Get("subnet_id")
		addr, _ := item.Get("ip_address")
		addr, _ = toIP(addr) // it leaves what is no address
		all = append(all, network.FixedIP{Subnet: network.ID(subnet.Str()), IP: addr.Str()})
	}
	return all
}

func showAddresses(p *network.Port) pyjson.Value {
	return array(p.Addresses, func(a network.AddressRow) pyjson.Value {
		return object("subnet_id", string(a.Subnet), "ip_address", a.IP)
	})
}

// hasAddress is the filter fixed_ips: subnet_id=… or ip_address=…, all of those
// that are given.
func hasAddress(p *network.Port, values []string) bool {
	return slices.ContainsFunc(p.Addresses, func(a network.AddressRow) bool {
		for _, v := range values {
			key, want, _ := strings.Cut(v, "=")
			got := map[string]string{"subnet_id": string(a.Subnet), "ip_address": a.IP, "subnet": string(a.Subnet)}[key]
			if key == "ip_address_substr" && strings.Contains(a.IP, want) {
				continue
			}
			if got != want {
				return false
			}
		}
		return true
	})
}

// addressPairs is a list of addresses that a port may send from besides its own.
func addressPairs(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "Allowed address pairs must be a list."
	}
	return firstOf(v.Items(), func(pair pyjson.Value) string {
		addr, ok := pair.Get("ip_address")
		if !ok {
			return "AllowedAddressPair must contain ip_address"
		}
		if hw, given := pair.Get("mac_address"); given && hw.Kind() != pyjson.Null {
			if wrong := mac(hw); wrong != "" {
				return wrong
			}
		}
		if strings.Contains(addr.Str(), "/") {
			return cidr(addr)
		}
		return ip(addr)
	})
}

func pairsOf(v pyjson.Value) []network.AddressPair {
	var all []network.AddressPair
	for _, item := range v.Items() {
		addr, _ := item.Get("ip_address")
		hw, _ := item.Get("mac_address")
		all = append(all, network.AddressPair{IP: addr.Str(), MAC: hw.Str()})
	}
	return all
}

// showPairs shows the port's own MAC address where a pair has none.
func showPairs(p *network.Port) pyjson.Value {
	return array(p.AddressPairs, func(pair network.AddressPair) pyjson.Value {
		return object("ip_address", pair.IP, "mac_address", cmp.Or(pair.MAC, p.MAC))
	})
}

// dhcpOptions is a list of options with their names and values.
func dhcpOptions(v pyjson.Value) string {
	if v.Kind() != pyjson.Array {
		return "'" + shown(v) + "' is not a list"
	}
	return firstOf(v.Items(), func(option pyjson.Value) string {
		name, named := option.Get("opt_name")
		if _, valued := option.Get("opt_value"); !named || !valued || name.Str() == "" {
			return "No valid key specs matched for: " + shown(option)
		}
		return ""
	})
}

func optionsOf(v pyjson.Value) []network.DHCPOption {
	var all []network.DHCPOption
	for _, item := range v.Items() {
		name, _ := item.Get("opt_name")
		value, _ := item.Get("opt_value")
		version := pyjson.NewInt(4)
		if given, ok := item.Get("ip_version"); ok {
			version = given
		}
		n, _ := whole(version)
		all = append(all, network.DHCPOption{Name: name.Str(), Value: value.Str(), IPVersion: int(n)})
	}
	return all
}

func showOptions(p *network.Port) pyjson.Value {
	return array(p.DHCPOptions, func(o network.DHCPOption) pyjson.Value {
		return object("opt_name", o.Name, "opt_value", o.Value, "ip_version", o.IPVersion)
	})
}
