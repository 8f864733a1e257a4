package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/guarantee"
)

// Changes says what is different in the second of two readings, a line each,
// for a log: first what concerns resources, then other options that Berth acts
// on. Of secrets it says only that they have changed. Readings that mean the
// same have no changes, whatever their files look like.
func Changes(prev, cur *Settings) []string {
	lines := compare(prev.Resources.facts(), cur.Resources.facts())
	return append(lines, compare(prev.facts(), cur.facts())...)
}

// TableChanges does the same with two readings of one table, of what is acted on.
func TableChanges(prev, cur []config.Setting) []string { return compare(factsOf(prev), factsOf(cur)) }

// LogOptions are the options of the log, which is opened once.
var LogOptions = []string{
	"[DEFAULT] debug", "[DEFAULT] log_file", "[DEFAULT] log_dir", "[DEFAULT] watch_log_file", "[DEFAULT] use_json",
}

// NeedRestart returns those of the options that are changed in lines of Changes or TableChanges.
func NeedRestart(lines, options []string) (names []string) {
	for _, line := range lines {
		if name, _, _ := strings.Cut(line, ": "); slices.Contains(options, name) {
			names = append(names, name)
		}
	}
	return names
}

// A fact is something the settings say, in words.
type fact struct {
	text   string
	secret bool
}

func compare(prev, cur map[string]fact) []string {
	names := append(slices.Sorted(maps.Keys(prev)), slices.Sorted(maps.Keys(cur))...)
	slices.Sort(names)
	var lines []string
	for _, name := range slices.Compact(names) {
		before, after := prev[name], cur[name]
		switch {
		case before.text == after.text:
		case before.secret || after.secret:
			lines = append(lines, name+" has changed")
		default:
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", name, orNothing(after.text), orNothing(before.text)))
		}
	}
	return lines
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// facts lists what the options say that are not part of the resources.
func (s *Settings) facts() map[string]fact {
	return factsOf(slices.DeleteFunc(s.Table(), func(o config.Setting) bool { return ofResources(o.Name.Option) }))
}

func factsOf(table []config.Setting) map[string]fact {
	all := map[string]fact{}
	for _, o := range table {
		all[o.Name.String()] = fact{o.Value.String(), o.Secret()}
	}
	return all
}

func ofResources(option string) bool {
	return strings.HasPrefix(option, "resource_provider_") || strings.HasSuffix(option, "_mappings")
}

func (r *Resources) facts() map[string]fact {
	all := map[string]fact{}
	add := func(name, text string) { all[name] = fact{text: text} }
	for physnet, devices := range r.Mappings() {
		add("devices of "+physnet, strings.Join(slices.Sorted(slices.Values(devices)), ", "))
	}
	for device, rate := range r.Report.Bandwidths {
		add("bandwidth of "+device, rateWords(rate, kbps))
	}
	for device, hypervisor := range r.Report.Hypervisors {
		add("hypervisor of "+device, hypervisor)
	}
	for device, traits := range r.Report.Traits {
		add("traits of "+device, strings.Join(slices.Sorted(slices.Values(traits)), ", "))
	}
	for hypervisor, rate := range r.Report.PacketRates {
		add("packet rate of "+hypervisor, rateWords(rate, kpps))
	}
	for hypervisor, rate := range r.Report.UndirectedPacketRates {
		add("packet rate of "+hypervisor, amount(rate.Any, kpps))
	}
	add("defaults of bandwidth inventories", inventoryWords(r.Report.InventoryDefaults))
	add("defaults of packet rate inventories", inventoryWords(r.Report.PacketInventoryDefaults))
	return all
}

func rateWords(r guarantee.Directed, unit string) string {
	return "egress " + amount(r.Egress, unit) + ", ingress " + amount(r.Ingress, unit)
}

func amount(n *int64, unit string) string {
	if n == nil {
		return "none"
	}
	return strconv.FormatInt(*n, 10) + " " + unit
}

// inventoryWords writes the fields that are set as the option has them.
func inventoryWords(d guarantee.InventoryDefaults) string {
	var pairs []string
	if d.AllocationRatio != nil {
		pairs = append(pairs, "allocation_ratio:"+strconv.FormatFloat(*d.AllocationRatio, 'g', -1, 64))
	}
	for _, f := range []struct {
		name string
		n    *int64
	}{{"max_unit", d.MaxUnit}, {"min_unit", d.MinUnit}, {"reserved", d.Reserved}, {"step_size", d.StepSize}} {
		if f.n != nil {
			pairs = append(pairs, f.name+":"+strconv.FormatInt(*f.n, 10))
		}
	}
	return strings.Join(pairs, ",")
}
