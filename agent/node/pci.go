package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/inventory"
)

// traitPCI is the trait of providers that are created for PCI devices.
const traitPCI = inventory.TraitPCIDevice

// A pciDevice is one of the machine's.
type pciDevice struct {
	address         string
	vendor, product string // four hexadecimal digits each
	kind            pciKind
	parent          string // address of the physical function, of a virtual one
	device          string // network interface: its own, or of a virtual function its parent's
}

// A pciKind is the role of a device in SR-IOV.
type pciKind int

const (
	plain    pciKind = iota // nothing
	physical                // can have virtual functions
	virtual                 // is one
	vdpa                    // is one that is used by vDPA
)

// pciDevices are the machine's, in the order of their addresses.
func (m Machine) pciDevices() ([]pciDevice, error) {
	names, err := m.list(sysPCI)
	if err != nil {
		return nil, err
	}
	var all []pciDevice
	var errs []error
	for _, name := range names {
		if !pciAddress.MatchString(name) {
			continue
		}
		d, err := m.pciDevice(name)
		if d.vendor == "" && err == nil {
			continue // it went while it was read
		}
		all, errs = append(all, d), append(errs, err)
	}
	return all, errors.Join(errs...)
}

const sysPCI = "/sys/bus/pci/devices"

func (m Machine) pciDevice(address string) (d pciDevice, err error) {
	var errs [6]error
	d.address = address
	d.vendor, errs[0] = m.read(sysPCI, address, "vendor")
	d.product, errs[1] = m.read(sysPCI, address, "device")
	d.vendor, d.product = strings.TrimPrefix(d.vendor, "0x"), strings.TrimPrefix(d.product, "0x")
	d.parent, errs[2] = m.target(sysPCI, address, "physfn")
	interfaces := address
	if d.parent != "" {
		d.kind, interfaces = virtual, d.parent
	}
	total, err := m.number(sysPCI, address, "sriov_totalvfs")
	if errs[3] = err; total > 0 {
		d.kind = physical
	}
	names, err := m.list(sysPCI, interfaces, "net")
	if errs[4] = err; len(names) > 0 {
		d.device = names[0]
	}
	names, errs[5] = m.list(sysPCI, address)
	if d.kind == virtual && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "vdpa") }) {
		d.kind = vdpa
	}
	return d, errors.Join(errs[:]...)
}

// A pciMachine has the devices, by their addresses.
type pciMachine struct {
	machine Machine
	all     []pciDevice
	byAddr  map[string]pciDevice
}

// matches reports whether an entry means a device. One that names a physical function
// means its virtual ones too.
func (p *pciMachine) matches(spec *deviceSpec, d pciDevice) bool {
	if spec.vendor != "" && spec.vendor != d.vendor || spec.product != "" && spec.product != d.product {
		return false
	}
	only := spec.address.one()
	if spec.device != "" {
		only, _ = p.machine.target("/sys/class/net", spec.device, "device") // a device that is absent has no address
		if only == "" {
			return false
		}
		return only == d.address || only == d.parent && p.byAddr[only].kind == physical
	}
	if only != "" && p.byAddr[only].kind == physical && d.parent != "" && spec.address.matches(d.parent) {
		return true
	}
	return spec.address.matches(d.address)
}

// reportPCI says which devices ports can be, and which are providers.
func (s *Settings) reportPCI(m Machine, r *Report) error {
	r.Host.PCI = &s.pciInPlacement
	if len(s.devices) == 0 {
		return nil
	}
	all, err := m.pciDevices()
	if err != nil {
		return err
	}
	p := pciMachine{machine: m, all: all, byAddr: map[string]pciDevice{}}
	for _, d := range all {
		p.byAddr[d.address] = d
	}
	idle := map[int]bool{}
	providers := pciProviders{byAddr: map[string]*pciProvider{}}
	for i := range s.devices {
		idle[i] = true
	}
	for _, d := range all {
		i := slices.IndexFunc(s.devices, func(spec deviceSpec) bool { return p.matches(&spec, d) })
		if i < 0 {
			continue
		}
		idle[i] = false
		switch spec := &s.devices[i]; {
		case spec.remote:
		case spec.forPorts:
			r.addPort(spec, d)
		case s.pciInPlacement:
			providers.add(spec, d)
		}
	}
	for i := range s.devices {
		if idle[i] {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("[pci] device_spec: entry %d: this machine has no such device, or an earlier entry has it",
					s.devices[i].number))
		}
	}
	r.Host.Devices = append(r.Host.Devices, providers.devices()...)
	return errors.Join(providers.errs...)
}

// addPort adds a device that ports can be.
func (r *Report) addPort(spec *deviceSpec, d pciDevice) {
	if d.kind != virtual && d.kind != physical {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("[pci] device_spec: entry %d: %s is no function of an SR-IOV card, and ports cannot be it",
				spec.number, d.address))
		return
	}
	r.Devices = append(r.Devices, Device{
		Slot: d.address, Vendor: d.vendor + ":" + d.product, PhysicalNetwork: spec.physicalNetwork, Parent: d.device,
		Whole: d.kind == physical,
	})
}

// A pciProvider is a device that is a provider: a card, or the virtual functions of one.
type pciProvider struct {
	address string
	class   string
	traits  []string
	own     bool     // the card itself
	devices []string // addresses
}

type pciProviders struct {
	byAddr map[string]*pciProvider
	errs   []error
}

// add puts a device into its provider.
func (p *pciProviders) add(spec *deviceSpec, d pciDevice) {
	address, own := d.address, true
	if d.kind == virtual || d.kind == vdpa {
		address, own = d.parent, false
	}
	class := spec.class
	if class == "" {
		class = strings.ToUpper("CUSTOM_PCI_" + d.vendor + "_" + d.product)
	}
	traits := spec.traits
	if spec.oneTime != nil && *spec.oneTime {
		traits = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(traits), inventory.TraitOneTimeUse))))
	}
	provider := p.byAddr[address]
	if provider == nil {
		provider = &pciProvider{address: address, class: class, traits: traits, own: own}
		p.byAddr[address] = provider
	}
	wrong := func(format string, args ...any) {
		p.errs = append(p.errs, fmt.Errorf("[pci] device_spec: entry %d: %s: %s", spec.number, d.address,
			fmt.Sprintf(format, args...)))
	}
	switch with := strings.Join(provider.devices, ", "); {
	case provider.own != own || own && len(provider.devices) > 0:
		wrong("a physical function and virtual ones of it (%s) cannot both be for servers", with)
	case provider.class != class:
		wrong("its class %s is not that of the others of its card, %s (%s): give all of them the same", class,
			provider.class, with)
	case !own && spec.oneTime != nil:
		wrong("one_time_use is for devices as a whole, and it is a virtual function")
	case !slices.Equal(provider.traits, traits):
		wrong("its traits %s are not those of the others of its card, %s (%s): give all of them the same",
			strings.Join(traits, ","), strings.Join(provider.traits, ","), with)
	}
	provider.devices = append(provider.devices, d.address)
}

// devices are the providers, in the order of their addresses.
func (p *pciProviders) devices() (all []inventory.Device) {
	for _, address := range slices.Sorted(maps.Keys(p.byAddr)) {
		provider := p.byAddr[address]
		all = append(all, inventory.Device{
			Suffix: strings.ToUpper(address), Class: provider.class, Total: int64(len(provider.devices)),
			Traits: provider.traits, Addresses: provider.devices,
			Why: "[pci] device_spec, " + strings.Join(provider.devices, ", "),
		})
	}
	return all
}
