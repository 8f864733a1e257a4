package node

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// classVGPU is the resource class of mediated devices that have no other.
const classVGPU = "VGPU"

// An mdevType is a type of mediated devices, with its group.
type mdevType struct {
	name      string
	addresses []string // of the cards that are of this type
	class     string
	most      *int // on the host; nil: what the cards can have
}

// addMdevType adds a type that [devices] names.
func (s *Settings) addMdevType(name string) {
	if name != "" && !slices.ContainsFunc(s.mdevs, func(m *mdevType) bool { return m.name == name }) {
		s.mdevs = append(s.mdevs, &mdevType{name: name, class: classVGPU})
	}
}

func (m *mdevType) group() string { return "mdev_" + m.name }

var mdevClass = regexp.MustCompile(`^(VGPU|CUSTOM_[A-Z0-9_]{1,248})$`)

func (m *mdevType) settings() []config.Setting {
	g := m.group()
	return []config.Setting{
		config.NewSetting(g, "device_addresses", osloconfig.List(&m.addresses),
			"PCI addresses of the cards whose mediated devices are of this type, separated by commas.").
			FormerlyIn("vgpu_"+m.name, "device_addresses"),
		config.NewSetting(g, "mdev_class", osloconfig.String(&m.class).Check(func(text string) error {
			if !mdevClass.MatchString(text) {
				return errors.New("want VGPU, or CUSTOM_ and capital letters, digits and underscores behind it")
			}
			return nil
		}), "Resource class of these devices."),
		config.NewSetting(g, "max_instances", osloconfig.OptionalInt(&m.most).Check(func(text string) error {
			if n, err := strconv.Atoi(text); err == nil && (n < 1 || n > math.MaxInt32) {
				return errors.New("want a number from 1 on, or nothing")
			}
			return nil
		}), "Devices of this type that the host has at most. Not set: as many as the cards can have."),
	}
}

// mdevRules say which type the devices of a card are of.
type mdevRules struct {
	any    *mdevType            // of every card, if not nil
	byAddr map[string]*mdevType // by the card's address
}

// mdevRules follow from the types: when one of several has no addresses, the first is that
// of every card.
func (r *reader) mdevRules(types []*mdevType) mdevRules {
	rules := mdevRules{byAddr: map[string]*mdevType{}}
	for _, m := range types {
		if strings.ContainsRune(m.name, '/') {
			r.wrong(groupDevices, "enabled_mdev_types", m.name,
				"want names of types, as /sys/class/mdev_bus/*/mdev_supported_types has them")
		}
		for _, text := range m.addresses {
			address := strings.ToLower(text)
			switch other := rules.byAddr[address]; {
			case !pciAddress.MatchString(address):
				r.wrong(m.group(), "device_addresses", text, "want a PCI address, such as 0000:84:00.0")
			case other != nil:
				r.wrong(m.group(), "device_addresses", text, "[%s] has it already; a card has devices of one type", other.group())
			default:
				rules.byAddr[address] = m
			}
		}
	}
	if len(types) == 1 {
		rules.any = types[0]
	}
	for _, m := range types {
		if len(m.addresses) > 0 {
			continue
		}
		if len(types) > 1 {
			r.warn("[devices] enabled_mdev_types: %s has no device_addresses in [%s], so only the first type is used, %s, "+
				"on every card", m.name, m.group(), types[0].name)
		}
		if m.class != classVGPU {
			r.warn("[%s] mdev_class does nothing without device_addresses", m.group())
		}
		return mdevRules{any: types[0]}
	}
	return rules
}

// of returns the type of a card's devices, nil for none, and their class.
func (r mdevRules) of(address string) (m *mdevType, class string) {
	m, listed := r.byAddr[address]
	switch {
	case listed:
		return m, m.class
	case r.any != nil:
		return r.any, classVGPU
	}
	return nil, ""
}

const sysMdev = "/sys/class/mdev_bus"

// reportMdevs makes a provider of each card that can have mediated devices.
func (s *Settings) reportMdevs(m Machine, r *Report) error {
	if len(s.mdevs) == 0 {
		return nil
	}
	cards, err := m.list(sysMdev)
	if err != nil {
		return err
	}
	var all []*mdevCard
	used := map[*mdevType]int64{}
	for _, address := range cards {
		kind, class := s.mdevOf.of(address)
		if kind == nil || !pciAddress.MatchString(address) {
			continue
		}
		card := &mdevCard{address: address, class: class, kind: kind}
		if err := card.count(m); err != nil {
			return err
		}
		all = append(all, card)
		used[kind] += card.made
	}
	for _, card := range all {
		if most := card.kind.most; most != nil {
			card.free = max(min(card.free, int64(*most)-used[card.kind]), 0)
		}
		used[card.kind] += card.free
		if total := card.made + card.free; total > 0 {
			r.Host.Devices = append(r.Host.Devices, inventory.Device{
				Suffix: card.libvirtName(), Class: card.class, Total: total, MdevType: card.kind.name,
				Why: "[devices] enabled_mdev_types, " + card.kind.name + " of " + card.address,
			})
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.mdevOf.byAddr)) {
		if !slices.Contains(cards, address) {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("[%s] device_addresses: %s cannot have mediated devices, or is not there",
					s.mdevOf.byAddr[address].group(), address))
		}
	}
	return nil
}

// An mdevCard is a card that can have mediated devices.
type mdevCard struct {
	address, class string
	kind           *mdevType
	made, free     int64 // devices that it has, and more that it can have
}

// count counts the devices of the card's type.
func (c *mdevCard) count(m Machine) (err error) {
	dir := []string{sysMdev, c.address, "mdev_supported_types", c.kind.name}
	if c.free, err = m.number(append(dir, "available_instances")...); err != nil {
		return err
	}
	created, err := m.list(append(dir, "devices")...)
	c.made = int64(len(created))
	return err
}

// libvirtName is how libvirt calls the card, and so Nova its provider.
func (c *mdevCard) libvirtName() string {
	return "pci_" + strings.NewReplacer(":", "_", ".", "_").Replace(c.address)
}
