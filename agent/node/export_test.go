package node

import (
	"errors"
	"strings"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// Ignored are the options and groups of nova.conf of which a host reads nothing.
func Ignored() osloconfig.Names { return ignored(config.DefaultCompute()) }

// IgnoredHere are those of them that are about compute hosts.
func IgnoredHere() osloconfig.Names { return osloconfig.ParseNames(ignoredList) }

// Documented are the options that are about compute hosts, as an empty file has them, with
// one type of mediated devices.
func Documented() []config.Setting {
	s := newSettings(settings.Names{Host: "the machine's name", Canonical: "the machine's name"})
	s.addMdevType("TYPE")
	return s.Table()
}

// CPUTraits are cpuTraits, for tests.
var CPUTraits = cpuTraits

// CPUModels are the CPU flags and models of the table; KernelNamesOf and LibvirtNamesOf change the
// names of features that are traits.
func CPUModels() (flags []string, models map[string][]string) {
	return libvirtCPUs().flags, libvirtCPUs().models
}

var (
	KernelNamesOf  = kernelNamesOf
	LibvirtNamesOf = libvirtNamesOf
)

// CPUFeatures returns what servers' CPUs can do on a machine for x86 that can do what the words
// say.
func CPUFeatures(mode, models, flags, machine string) ([]string, error) {
	c := cpuModel{mode: mode, models: strings.Split(models, ","), flags: strings.Split(flags, ",")}
	var r reader
	c.understand(&r)
	if err := settings.Join(r.mistakes); err != nil {
		return nil, err
	}
	all, _, err := c.features(processor{features: strings.Fields(machine)}, "x86_64", &Report{})
	return all, err
}

// ParseCPUs reads a set of CPUs.
func ParseCPUs(text string) (numbers []int, again string, err error) {
	set, err := parseCPUs(text)
	return set.sorted(), set.String(), err
}

// ReservedPages reads values of [DEFAULT] reserved_huge_pages: by node and size in kB, the number
// of pages.
func ReservedPages(texts []string) (map[int]map[int64]int64, error) {
	var r reader
	all := r.reservedPages(texts, nil)
	return all, settings.Join(r.mistakes)
}

// ReadProviders reads one file.
func ReadProviders(text []byte) ([]inventory.Additional, []string, error) {
	p := providerReader{file: "a.yaml", taken: map[string]string{}}
	p.read(text)
	return p.all, p.warnings, errors.Join(p.errs...)
}

// A SpecDevice is a device that specs are held against.
type SpecDevice struct {
	Address, Vendor, Product, Parent string
}

// Specs reads values of [pci] device_spec and returns, for each device, the number of the
// first entry that means it; 0 for none. A device is a physical function when another has it
// as its parent.
func Specs(texts []string, devices []SpecDevice) ([]int, error) {
	var r reader
	specs := r.deviceSpecs(texts, nil)
	if err := settings.Join(r.mistakes); err != nil {
		return nil, err
	}
	p := pciMachine{machine: Machine{Root: "/nowhere"}, byAddr: map[string]pciDevice{}}
	for _, d := range devices {
		kind := plain
		for _, other := range devices {
			if other.Parent == d.Address {
				kind = physical
			}
		}
		if d.Parent != "" {
			kind = virtual
		}
		p.byAddr[d.Address] = pciDevice{
			address: d.Address, vendor: d.Vendor, product: d.Product, parent: d.Parent, kind: kind,
		}
	}
	matched := make([]int, len(devices))
	for i, d := range devices {
		for _, spec := range specs {
			if matched[i] == 0 && p.matches(&spec, p.byAddr[d.Address]) {
				matched[i] = spec.number
			}
		}
	}
	return matched, nil
}

// SpecNames returns the class and traits that an entry with one value gives to a device of
// Intel's.
func SpecNames(text string) (class string, traits []string, err error) {
	var r reader
	specs := r.deviceSpecs([]string{text}, nil)
	if err := settings.Join(r.mistakes); err != nil {
		return "", nil, err
	}
	if len(specs) != 1 {
		return "", nil, errors.New("want one entry")
	}
	p := pciProviders{byAddr: map[string]*pciProvider{}}
	p.add(&specs[0], pciDevice{address: "0000:81:00.0", vendor: "8086", product: "154c"})
	d := p.devices()[0]
	return d.Class, d.Traits, nil
}

// Nodes are the amounts of a topology that placement gets.
func (s *Settings) Nodes(t Topology) []inventory.Node { return s.resources.nodes(t.Nodes) }
