package guarantee

import (
	"fmt"
	"maps"
	"slices"
)

// A State is what placement should have of one agent. It is a function of the
// report: the same report gives the same State, in the same order.
type State struct {
	Driver string // its name

	// Traits must exist before providers can have them: those of the physical networks of its
	// devices, those that operators configure, and those of all VNIC types that its driver binds.
	// The last are created even when no provider has them, because a query that names an unknown
	// trait is refused rather than answered without candidates. Sorted, each once.
	Traits []string

	// Providers are sorted by hypervisor; an agent's own comes before its devices'.
	Providers []Provider

	// Warnings are for the operator, one line each: which devices are omitted and why. The other
	// devices are served.
	Warnings []string
}

// A Provider is a resource provider of an agent or of one of its devices. What it has
// is all that it should have.
type Provider struct {
	Name       string
	UUID       UUID
	Hypervisor string // name of the root of its tree, which compute makes
	Parent     UUID   // the agent's; zero for an agent, whose parent is the root
	Device     string // "" for an agent
	Traits     []string
	// Inventories are by class. An agent has some, and traits, only while it
	// reports packet rates: otherwise nothing needs to be written to it, and its
	// generation stays 0.
	Inventories map[string]Inventory
}

// An Inventory is the inventory of a class. Nil fields have placement's defaults.
type Inventory struct {
	Total           int64
	AllocationRatio *float64
	MinUnit         *int64
	MaxUnit         *int64
	StepSize        *int64
	Reserved        *int64
}

// State returns what placement should have of an agent of the driver on a host, from
// its report. An agent whose report has no bandwidths has an empty State. The host
// counts only for agents that name no hypervisors.
func (d Driver) State(host string, r Report) State {
	b := stateBuilder{driver: d, report: r, host: host, state: State{Driver: d.Name}}
	if !r.HasBandwidths() {
		return b.state
	}
	b.networks = r.networks()
	b.sameNames()
	if t := d.TunnelDevice; t != "" { // it may be a bridge at the same time
		b.networks[t] = append(b.networks[t], TunnelTrait)
	}
	for _, t := range d.VNICTypes {
		b.vnics = append(b.vnics, VNICTypeTrait(t))
	}
	devices := b.devicesByHypervisor()
	rates := b.packetRates()
	for _, hypervisor := range b.hypervisors(devices, rates) {
		b.agent(hypervisor, rates[hypervisor])
		for _, device := range devices[hypervisor] {
			b.device(hypervisor, device)
		}
	}
	b.strayTraits()
	b.state.Traits = sortedSet(append(b.state.Traits, b.vnics...))
	return b.state
}

// Provider returns the provider of a UUID, and whether the agent has it.
func (s State) Provider(uuid UUID) (Provider, bool) {
	i := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.UUID == uuid })
	if i < 0 {
		return Provider{}, false
	}
	return s.Providers[i], true
}

// Hypervisors returns the names of the roots that the providers hang on, sorted.
func (s State) Hypervisors() []string {
	var names []string
	for _, p := range s.Providers {
		names = append(names, p.Hypervisor)
	}
	return sortedSet(names)
}

type stateBuilder struct {
	driver   Driver
	report   Report
	host     string
	networks map[string][]string // traits, by device
	vnics    []string            // traits
	state    State
}

// devicesByHypervisor returns the devices that become providers, in order.
func (b *stateBuilder) devicesByHypervisor() map[string][]string {
	devices := map[string][]string{}
	for _, device := range slices.Sorted(maps.Keys(b.report.Bandwidths)) {
		hypervisor := b.report.hypervisor(device, b.host)
		switch {
		case device == "":
			b.warn("a bandwidth is left out: resource_provider_bandwidths does not name the device")
		case hypervisor == "":
			b.warn("%q is left out: resource_provider_hypervisors does not name its hypervisor", device)
		case len(b.networks[device]) == 0:
			b.warn("%q is left out: no physical network is mapped to it", device)
		default:
			devices[hypervisor] = append(devices[hypervisor], device)
		}
	}
	return devices
}

func (b *stateBuilder) packetRates() map[string]map[string]int64 {
	rates := b.report.packetRates()
	if len(b.driver.Rules[MinimumPacketRate]) == 0 && b.report.HasPacketRates() {
		b.warn("packet rates are left out: the driver %s cannot guarantee any", b.driver.Name)
		return nil
	}
	return rates
}

// hypervisors returns all on which the agent has a provider: the ones it names, those
// of mapped devices without bandwidth among them, and those with packet rates.
func (b *stateBuilder) hypervisors(devices map[string][]string, rates map[string]map[string]int64) []string {
	names := slices.Collect(maps.Values(b.report.Hypervisors))
	names = slices.AppendSeq(names, maps.Keys(devices))
	names = slices.AppendSeq(names, maps.Keys(rates))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	return sortedSet(names)
}

func (b *stateBuilder) agent(hypervisor string, rates map[string]int64) {
	name := Name{Driver: b.driver, Hypervisor: hypervisor}
	p := Provider{Name: name.String(), UUID: name.UUID(), Hypervisor: hypervisor}
	if len(rates) > 0 {
		p.Traits = sortedSet(b.vnics)
		p.Inventories = b.report.PacketInventoryDefaults.inventories(rates)
	}
	b.state.Providers = append(b.state.Providers, p)
}

func (b *stateBuilder) device(hypervisor, device string) {
	name := Name{Driver: b.driver, Hypervisor: hypervisor, Device: device}
	own := slices.Concat(b.networks[device], b.report.Traits[device])
	b.state.Traits = append(b.state.Traits, own...)
	b.state.Providers = append(b.state.Providers, Provider{
		Name:        name.String(),
		UUID:        name.UUID(),
		Hypervisor:  hypervisor,
		Parent:      Name{Driver: b.driver, Hypervisor: hypervisor}.UUID(),
		Device:      device,
		Traits:      sortedSet(slices.Concat(own, b.vnics)),
		Inventories: b.report.InventoryDefaults.inventories(b.report.Bandwidths[device].bandwidth()),
	})
}

// sameNames warns of physical networks that are one for placement.
func (b *stateBuilder) sameNames() {
	names := map[string][]string{} // by trait
	for _, name := range sortedSet(
		slices.Concat(slices.Sorted(maps.Keys(b.report.BridgeMappings)), slices.Sorted(maps.Keys(b.report.DeviceMappings)))) {
		trait := PhysicalNetworkTrait(name)
		names[trait] = append(names[trait], name)
	}
	for _, trait := range slices.Sorted(maps.Keys(names)) {
		if len(names[trait]) > 1 {
			b.warn("the physical networks %q are one for placement, %s", names[trait], trait)
		}
	}
}

// strayTraits warns of traits that nothing can have.
func (b *stateBuilder) strayTraits() {
	for _, device := range slices.Sorted(maps.Keys(b.report.Traits)) {
		if _, ok := b.report.Bandwidths[device]; !ok {
			b.warn("the traits of %q are left out: resource_provider_bandwidths does not have it, so it has no provider", device)
		}
	}
}

func (b *stateBuilder) warn(format string, args ...any) {
	b.state.Warnings = append(b.state.Warnings, fmt.Sprintf(format, args...))
}

func (d InventoryDefaults) inventories(totals map[string]int64) map[string]Inventory {
	all := make(map[string]Inventory, len(totals))
	for class, total := range totals {
		all[class] = Inventory{
			Total:           total,
			AllocationRatio: d.AllocationRatio,
			MinUnit:         d.MinUnit,
			MaxUnit:         d.MaxUnit,
			StepSize:        d.StepSize,
			Reserved:        d.Reserved,
		}
	}
	return all
}
