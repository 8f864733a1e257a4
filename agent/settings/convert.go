package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/osloconfig"
)

// options are the ones that make up Resources, from whatever source.
type options struct {
	mappings, bandwidths, hypervisors, inventory      option
	packetDirected, packetUndirected, packetInventory option
	traits                                            option

	mapping   mapping
	tunnelled string // empty where there is no such thing
}

// convert converts options to resources. Parts with mistakes are missing from the result.
func (p *parser) convert(o options) Resources {
	mappings := p.mappings(o.mappings, o.mapping)
	r := Resources{Tunnelled: o.tunnelled}
	r.Report = guarantee.Report{
		Bandwidths:              p.bandwidths(o.bandwidths, o.mapping.device),
		Hypervisors:             p.hypervisors(o.hypervisors, o.mapping.device),
		InventoryDefaults:       p.inventory(o.inventory),
		PacketInventoryDefaults: p.inventory(o.packetInventory),
		Traits:                  p.traits(o.traits),
	}
	if o.mapping.manyDevices {
		r.Report.DeviceMappings = mappings
	} else {
		r.Report.BridgeMappings = firsts(mappings)
	}
	return r
}

func firsts(lists map[string][]string) map[string]string {
	all := map[string]string{}
	for name, list := range lists {
		all[name] = list[0]
	}
	return all
}

func (p *parser) bandwidths(o option, device string) map[string]guarantee.Directed {
	return directed(p.rates(o, rating{
		form: device + ":egress:ingress", example: deviceExample(device) + ":10000000:10000000", unit: kbps, numbers: 2,
	}))
}

func directed(rates map[string][]*int64) map[string]guarantee.Directed {
	all := map[string]guarantee.Directed{}
	for name, n := range rates {
		all[name] = guarantee.Directed{Egress: n[0], Ingress: n[1]}
	}
	return all
}

func deviceExample(device string) string {
	if device == "bridge" {
		return "br-physnet0"
	}
	return "ens5"
}

func (p *parser) hypervisors(o option, device string) map[string]string {
	return p.pairs(o, device+":hypervisor", deviceExample(device)+":compute0.example.org")
}

// requireMapped wants every device of an option to be one that the agent has.
// When the mappings themselves are mistaken, nothing can be said.
func (p *parser) requireMapped(o, mappings option, r *Resources, devices []string) {
	if !p.sound(mappings) {
		return
	}
	for _, device := range devices {
		if device == "" {
			p.wrong(o, itemOf(o, device), "there is no name before the first colon")
		} else if !r.mapped(device) {
			p.wrong(o, itemOf(o, device), "%s is not in %s; %s", device, mappings.name.Option, remedy(r, mappings))
		}
	}
}

func remedy(r *Resources, mappings option) string {
	known := r.Devices()
	if len(known) == 0 {
		return "add it there, since nothing is mapped yet"
	}
	return "add it there, or name one of " + strings.Join(known, ", ")
}

// itemOf returns the item that begins with the name.
func itemOf(o option, name string) string {
	i := slices.IndexFunc(o.items, func(item string) bool { return fields(item)[0] == name })
	if i < 0 {
		return name
	}
	return o.items[i]
}

// packetRates reads the two forms of packet rates, which exclude each other. An empty name means
// the agent's host.
func (p *parser) packetRates(o options, r *Resources, host string) {
	with := p.rates(o.packetDirected, rating{
		form: "hypervisor:egress:ingress", example: host + ":1000:1000", unit: kpps, numbers: 2,
	})
	without := p.rates(o.packetUndirected, rating{
		form: "hypervisor:rate", example: host + ":1000", unit: kpps, numbers: 1,
	})
	p.nameHost(o.packetDirected, with, host)
	p.nameHost(o.packetUndirected, without, host)
	if len(with) > 0 && len(without) > 0 {
		p.wrong(o.packetDirected, strings.Join(o.packetDirected.items, ","),
			"%s is set too, and a host has packet rates either with direction or without; leave one of the two out",
			o.packetUndirected.name.Option)
	}
	r.Report.PacketRates = directed(with)
	r.Report.UndirectedPacketRates = map[string]guarantee.Undirected{}
	for hypervisor, n := range without {
		r.Report.UndirectedPacketRates[hypervisor] = guarantee.Undirected{Any: n[0]}
	}
}

func (p *parser) nameHost(o option, rates map[string][]*int64, host string) {
	unnamed, ok := rates[""]
	if !ok {
		return
	}
	if _, named := rates[host]; named {
		p.wrong(o, itemOf(o, ""), "no name means this host, and %s is given too; leave one of them out", host)
	}
	delete(rates, "")
	rates[host] = unnamed
}

// complete gives each device the default hypervisor unless it has one, and each
// hypervisor with packet rates itself. It returns the devices that were given a
// hypervisor and are none of the agent's.
func (r *Resources) complete(fallback string) (strangers []string) {
	given, all := r.Report.Hypervisors, map[string]string{}
	devices := r.Devices()
	if _, ok := r.Report.Bandwidths[r.Tunnelled]; ok {
		devices = append(devices, r.Tunnelled)
	}
	for _, device := range devices {
		all[device] = fallback
		if name, ok := given[device]; ok {
			all[device] = name
		}
	}
	for _, hypervisor := range append(slices.Sorted(maps.Keys(r.Report.PacketRates)),
		slices.Sorted(maps.Keys(r.Report.UndirectedPacketRates))...) {
		if _, taken := all[hypervisor]; !taken {
			all[hypervisor] = hypervisor
		}
	}
	for _, device := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(devices, device) {
			strangers = append(strangers, device)
		}
	}
	r.Report.Hypervisors = all
	return strangers
}

// of makes an option of a group.
func of(group, name string, items []string) option {
	var all []string
	for _, item := range items {
		all = append(all, pieces(item, ",")...)
	}
	return option{osloconfig.Name{Group: group, Option: name}, all}
}
