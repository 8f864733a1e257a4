package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// An Alias is a kind of PCI devices that flavors request by a name, as placement counts them.
type Alias struct {
	Class  string
	Traits []string // that a device must have, sorted
	// LiveMigratable says whether devices must be known to move live, or must not; nil for any. It is
	// no part of the query.
	LiveMigratable *bool
	// NUMAPolicy is numa_policy, "" for none: how near to a server's NUMA cells devices are to be,
	// unless its flavor or image says it. It is no part of the query.
	NUMAPolicy string
}

// aliasFields are the keys of an alias in [pci] alias. Values are texts.
var aliasFields = []string{
	"name", "capability_type", "product_id", "vendor_id", "device_type", "numa_policy", "resource_class", "traits",
	"live_migratable",
}

// aliasWords are the values that some of the keys may have.
var aliasWords = map[string][]string{
	"capability_type": {"pci"},
	"device_type":     {"type-PCI", "type-PF", "type-VF"},
	"numa_policy":     {"required", "legacy", "preferred", "socket"},
}

// deviceID matches the id of a vendor or a product of PCI devices.
var deviceID = regexp.MustCompile(`\A[0-9a-fA-F]{4}\z`)

// ParseAliases reads the values of Nova's option [pci] alias, an object of JSON each, as Nova does
// where PCI devices are scheduled in placement ([filter_scheduler] pci_in_placement): an alias is
// given once then, with a resource class or the ids of a vendor and a product. The result is not
// nil. The rules are those of nova.pci.request and nova.compute.pci_placement_translator.
func ParseAliases(values []string) (map[string]Alias, error) {
	aliases := map[string]Alias{}
	for _, text := range values {
		name, alias, err := parseAlias(text)
		if err != nil {
			return nil, fmt.Errorf("the alias %s: %w", text, err)
		}
		if _, twice := aliases[name]; twice {
			return nil, fmt.Errorf("the alias %s is given several times, which Nova refuses with pci_in_placement", name)
		}
		aliases[name] = alias
	}
	return aliases, nil
}

func parseAlias(text string) (name string, alias Alias, err error) {
	var fields map[string]string
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&fields); err != nil {
		return "", alias, fmt.Errorf("want an object of JSON with texts: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", alias, errors.New("want one object of JSON")
	}
	for key, value := range fields {
		words := aliasWords[key]
		switch {
		case !slices.Contains(aliasFields, key):
			return "", alias, fmt.Errorf("there is no key %s", key)
		case words != nil && !slices.Contains(words, value):
			return "", alias, fmt.Errorf("%s is one of %s", key, strings.Join(words, ", "))
		case strings.HasSuffix(key, "_id") && !deviceID.MatchString(value):
			return "", alias, fmt.Errorf("%s is four hexadecimal digits", key)
		}
	}
	if name = strings.TrimSpace(fields["name"]); name == "" {
		return "", alias, errors.New("it has no name")
	}
	switch class, vendor, product := fields["resource_class"], fields["vendor_id"], fields["product_id"]; {
	case class != "":
		alias.Class = deviceClass(class)
	case vendor == "" || product == "":
		return "", alias, errors.New("it has no resource_class, and not both vendor_id and product_id")
	default:
		alias.Class = strings.ToUpper("CUSTOM_PCI_" + vendor + "_" + product)
	}
	alias.NUMAPolicy = fields["numa_policy"]
	if text := fields["live_migratable"]; text != "" {
		live, ok := extraspecs.Bool(text)
		if !ok {
			return "", alias, errors.New("live_migratable is a truth value")
		}
		alias.LiveMigratable = &live
	}
	if traits := fields["traits"]; traits != "" {
		for trait := range strings.SplitSeq(traits, ",") {
			alias.Traits = append(alias.Traits, deviceTrait(trait))
		}
		slices.Sort(alias.Traits)
		alias.Traits = slices.Compact(alias.Traits)
	}
	return name, alias, nil
}

func deviceClass(name string) string {
	name = strings.ToUpper(name)
	if slices.Contains(placement.StandardClasses, name) || strings.HasPrefix(name, custom) {
		return name
	}
	return normalized(name)
}

const custom = "CUSTOM_"

func deviceTrait(name string) string {
	if standard(name) {
		return name
	}
	if name = strings.ToUpper(name); strings.HasPrefix(name, custom) {
		return name
	}
	return normalized(name)
}

// devicesOf are the requests of a flavor for PCI devices: "gpu:2,nic:1".
const devicesOf = "pci_passthrough:alias"

// A PCIDevice is the request of a flavor for one PCI device.
type PCIDevice struct {
	Suffix string // of its group in the query
	Alias  string // the name of the alias
}

// PCIDevices returns the requests of a flavor for PCI devices by aliases, none where placement does
// not have these devices (Settings.PCI). The error is a fault (Invalid).
func PCIDevices(f extraspecs.Flavor, settings Settings) (all []PCIDevice, err error) {
	text, ok := f.Specs[devicesOf]
	if !ok || settings.PCI == nil || !settings.Release.Since(Antelope) {
		return nil, nil
	}
	for i, entry := range strings.Split(text, ",") {
		name, number, counted := strings.Cut(entry, ":")
		name = strings.TrimSpace(name)
		count, err := strconv.Atoi(strings.TrimSpace(number))
		if !counted || err != nil {
			return nil, fault.New(fault.Invalid, "", "%s of flavor %s is %q: want ALIAS:COUNT, separated by commas", devicesOf,
				f.Name, text)
		}
		if _, defined := settings.PCI[name]; !defined {
			return nil, fault.New(fault.Invalid, "", "PCI alias %s is not defined", name)
		}
		for k := range count {
			all = append(all, PCIDevice{Suffix: fmt.Sprintf("pci%d-%d", i, k), Alias: name})
		}
	}
	return all, nil
}

// pciDevices adds a group for each PCI device that the flavor requests by an alias.
func (b *builder) pciDevices() error {
	all, err := PCIDevices(b.spec.Flavor, b.settings)
	if err != nil {
		return err
	}
	for _, d := range all {
		if b.groups[d.Suffix] != nil {
			return fault.New(fault.Invalid, "RequestGroupSuffixConflict", "Duplicate request group suffix %s.", d.Suffix)
		}
		g, alias := b.group(d.Suffix), b.settings.PCI[d.Alias]
		g.resources[alias.Class] = 1
		for _, t := range alias.Traits {
			g.required[t] = true
		}
		b.pci[d.Suffix] = d.Alias
	}
	return nil
}
