package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The keys of a chassis that ParseOVN reads.
const (
	ovnOptions  = "ovn-cms-options"
	ovnMappings = "ovn-bridge-mappings"
)

// The options within ovn-cms-options.
const (
	optionBandwidths  = "resource_provider_bandwidths"
	optionHypervisors = "resource_provider_hypervisors"
	optionInventory   = "resource_provider_inventory_defaults"
	optionTraits      = "resource_provider_traits"
)

// ParseOVN reads the resources of an OVN chassis from its keys and values: external_ids of Open
// vSwitch or of a chassis in the southbound database, or other_config where newer versions have
// them. The options are those of the agents' files, with commas between options, semicolons between
// items and colons within. It ignores options of others in ovn-cms-options.
//
// A device needs an entry in resource_provider_hypervisors, and one in ovn-bridge-mappings or the
// name tunnelled; otherwise a warning names it and it is omitted, as upstream does silently. OVN
// has no packet rates. The error joins a Mistake for each invalid part; there are no Resources
// then.
func ParseOVN(ids map[string]string, tunnelled string) (r Resources, warnings []string, err error) {
	given, warnings := cmsOptions(ids[ovnOptions])
	get := func(name string) option {
		o := of(ovnOptions, name, nil)
		o.items = pieces(given[name], ";")
		return o
	}
	o := options{
		mappings:    of("external_ids", ovnMappings, []string{ids[ovnMappings]}),
		bandwidths:  get(optionBandwidths),
		hypervisors: get(optionHypervisors),
		inventory:   get(optionInventory),
		traits:      get(optionTraits),
		mapping:     mapping{device: "bridge", example: "physnet0:br-ex", manyPhysnets: true},
		tunnelled:   tunnelled,
	}
	var p parser
	r = p.convert(o)
	if err := Join(p.mistakes); err != nil {
		return Resources{}, warnings, err
	}
	return r, append(warnings, r.leaveOut()...), nil
}

// cmsOptions takes the value of ovn-cms-options apart. Of an option that is
// given twice the first counts, as upstream has it.
func cmsOptions(text string) (given map[string]string, warnings []string) {
	given = map[string]string{}
	known := []string{optionBandwidths, optionHypervisors, optionInventory, optionTraits}
	for _, part := range pieces(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			if strings.HasPrefix(name, "resource_provider_") {
				warnings = append(warnings, fmt.Sprintf("%s: there is no option %q; want one of %s", ovnOptions, name,
					strings.Join(known, ", ")))
			}
			continue
		}
		if _, twice := given[name]; twice {
			warnings = append(warnings, fmt.Sprintf("%s: %s is given twice; the first one counts", ovnOptions, name))
			continue
		}
		given[name] = value
	}
	return given, warnings
}

// leaveOut drops the devices that cannot be placed in the tree of providers.
func (r *Resources) leaveOut() (warnings []string) {
	for _, device := range slices.Sorted(maps.Keys(r.Report.Bandwidths)) {
		var missing string
		switch {
		case device == "":
			warnings = append(warnings, fmt.Sprintf("%s: an item of %s begins with a colon; it is left out", ovnOptions,
				optionBandwidths))
			delete(r.Report.Bandwidths, device)
			continue
		case r.Report.Hypervisors[device] == "":
			missing = fmt.Sprintf("%s does not say its hypervisor; add %s:<hypervisor>", optionHypervisors, device)
		case !r.mapped(device):
			missing = fmt.Sprintf("%s does not say its physical network; add <physnet>:%s", ovnMappings, device)
		default:
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s: %s is left out of %s: %s", ovnOptions, device,
			optionBandwidths, missing))
		delete(r.Report.Bandwidths, device)
	}
	return warnings
}

// OVNZones returns the availability zones that ovn-cms-options name, sorted and with
// commas between them, as Neutron shows those of a chassis.
func OVNZones(options string) string {
	for _, part := range pieces(options, ",") {
		if value, ok := strings.CutPrefix(part, "availability-zones="); ok {
			zones := pieces(value, ":")
			slices.Sort(zones)
			return strings.Join(slices.Compact(zones), ", ")
		}
	}
	return ""
}
