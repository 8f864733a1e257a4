package settings

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/osloconfig"
)

// most is the largest total of an inventory that placement takes.
const most = math.MaxInt32

// pieces cuts text at the separator and drops blanks and empty pieces.
func pieces(text, separator string) []string {
	var all []string
	for piece := range strings.SplitSeq(text, separator) {
		if piece = strings.TrimSpace(piece); piece != "" {
			all = append(all, piece)
		}
	}
	return all
}

// fields cuts an item at its colons and drops the blanks around them.
func fields(item string) []string {
	all := strings.Split(item, ":")
	for i, f := range all {
		all[i] = strings.TrimSpace(f)
	}
	return all
}

// split cuts an item, unless there is something in it that no name has, and that
// would spoil the lines of a log.
func (p *parser) split(o option, item string) []string {
	f := fields(item)
	if slices.ContainsFunc(f, odd) {
		p.wrong(o, item, "want names without blanks and control characters, and a comma between items")
		return nil
	}
	return f
}

func odd(name string) bool {
	return !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// A mapping says what a list of physnet:device may repeat, and what a device is
// called: upstream's three agents differ.
type mapping struct {
	device       string // "bridge" or "device"
	example      string
	manyDevices  bool // a physical network may have several
	manyPhysnets bool // a device may have several
}

func (p *parser) mappings(o option, kind mapping) map[string][]string {
	devices := map[string][]string{}
	physnets := map[string]string{}
	for _, item := range o.items {
		f := p.split(o, item)
		if f == nil {
			continue
		}
		if len(f) != 2 || f[0] == "" || f[1] == "" {
			p.wrong(o, item, "want physnet:%s, such as %s", kind.device, kind.example)
			continue
		}
		net, device := f[0], f[1]
		switch other, taken := physnets[device]; {
		case len(devices[net]) > 0 && !kind.manyDevices:
			p.wrong(o, item, "%s has the %s %s already; leave one of them out", net, kind.device, devices[net][0])
		case taken && !kind.manyPhysnets:
			p.wrong(o, item, "%s belongs to %s already; give each physical network a %s of its own", device, other, kind.device)
		case !slices.Contains(devices[net], device):
			devices[net], physnets[device] = append(devices[net], device), net
		}
	}
	return devices
}

// Pairs reads an option of physnet:device items that is not upstream's, and returns the
// devices of each physical network. With one, each network and each device appears once.
func Pairs(
	name osloconfig.Name, items []string, device, example string, single bool,
) (map[string][]string, []*Mistake) {
	var p parser
	all := p.mappings(of(name.Group, name.Option, items), mapping{
		device: device, example: example, manyDevices: !single, manyPhysnets: !single,
	})
	return all, p.mistakes
}

// A rating says how the items of an option with rates are written.
type rating struct {
	form    string // "bridge:egress:ingress"
	example string
	unit    string
	numbers int
}

// rates reads name:number:…, where a number may be missing, or all of them with
// their colons.
func (p *parser) rates(o option, kind rating) map[string][]*int64 {
	rates := map[string][]*int64{}
	for _, item := range o.items {
		f := p.split(o, item)
		if f == nil {
			continue
		}
		if len(f) == 1 {
			f = append(f, make([]string, kind.numbers)...)
		}
		if len(f) != kind.numbers+1 {
			p.wrong(o, item, "want %s in %s, such as %s; an empty number means none", kind.form, kind.unit, kind.example)
			continue
		}
		if _, ok := rates[f[0]]; ok {
			p.wrong(o, item, "%s is given twice; leave one of them out", strconv.Quote(f[0]))
			continue
		}
		rates[f[0]] = p.numbers(o, item, f[1:], kind.unit)
	}
	return rates
}

func (p *parser) numbers(o option, item string, texts []string, unit string) []*int64 {
	numbers := make([]*int64, len(texts))
	for i, text := range texts {
		if text == "" {
			continue
		}
		n, ok := wholeNumber(text)
		if !ok || n < 0 || n > most {
			p.wrong(o, item, "%s: want a whole number of %s from 0 to %d%s", strconv.Quote(text), unit, most,
				suggestion(text, unit))
			continue
		}
		numbers[i] = &n
	}
	return numbers
}

// integer is what Python's int() takes.
var integer = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*$`)

func wholeNumber(text string) (int64, bool) {
	if !integer.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	return n, err == nil
}

// suggestion returns the value that 10G and 2.5gbit mean, when that is clear.
func suggestion(text, unit string) string {
	m := withUnit.FindStringSubmatch(text)
	if m == nil || unit != kbps {
		return ""
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n *= map[string]float64{"k": 1, "m": 1e3, "g": 1e6}[strings.ToLower(m[2])]
	if err != nil || n > most || n != math.Trunc(n) {
		return ""
	}
	return "; " + text + " is " + strconv.FormatFloat(n, 'f', 0, 64)
}

var withUnit = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?) ?([kmg])(?:b|bit|bps|bit/s)?$`)

// The units of rates.
const (
	kbps = "kbit/s"
	kpps = "kilopackets/s"
)

// pairs reads name:value, each name once.
func (p *parser) pairs(o option, form, example string) map[string]string {
	pairs := map[string]string{}
	for _, item := range o.items {
		f := p.split(o, item)
		if f == nil {
			continue
		}
		if len(f) != 2 || f[0] == "" || f[1] == "" {
			p.wrong(o, item, "want %s, such as %s", form, example)
			continue
		}
		if _, ok := pairs[f[0]]; ok {
			p.wrong(o, item, "%s is given twice; leave one of them out", f[0])
			continue
		}
		pairs[f[0]] = f[1]
	}
	return pairs
}

// inventory reads the fields of inventories. Like upstream it accepts what placement refuses later,
// such as a step of 0; Check reports it.
func (p *parser) inventory(o option) guarantee.InventoryDefaults {
	var inv guarantee.InventoryDefaults
	integers := map[string]**int64{
		"max_unit": &inv.MaxUnit, "min_unit": &inv.MinUnit, "step_size": &inv.StepSize, "reserved": &inv.Reserved,
	}
	pairs := p.pairs(o, "field:number", "step_size:1000")
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		item := name + ":" + pairs[name]
		switch target, ok := integers[name]; {
		case name == "allocation_ratio":
			inv.AllocationRatio = p.ratio(o, item, pairs[name])
		case ok:
			*target = p.numbers(o, item, []string{pairs[name]}, "units")[0]
		default:
			p.wrong(o, item, "there is no such field; want allocation_ratio, max_unit, min_unit, reserved or step_size")
		}
	}
	return inv
}

func (p *parser) ratio(o option, item, text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(text, "xX") {
		p.wrong(o, item, "want a number of at least 0, such as 1.0")
		return nil
	}
	return &f
}

func (p *parser) traits(o option) map[string][]string {
	traits := map[string][]string{}
	for _, item := range o.items {
		f := p.split(o, item)
		switch {
		case f == nil:
		case len(f) != 2 || f[0] == "":
			p.wrong(o, item, "want device:TRAIT, such as ens5:CUSTOM_BEST_EFFORT")
		case guarantee.WantedTrait(f[1]) != "":
			p.wrong(o, item, "want %s", guarantee.WantedTrait(f[1]))
		case !slices.Contains(traits[f[0]], f[1]):
			traits[f[0]] = append(traits[f[0]], f[1])
		}
	}
	if len(traits) == 0 {
		return nil // what is not there is not reported
	}
	return traits
}

// exclusions reads device:function;function, each device once.
func (p *parser) exclusions(o option) map[string][]string {
	all := map[string][]string{}
	for _, item := range o.items {
		device, functions, ok := strings.Cut(item, ":") // the functions have colons of their own
		if device = strings.TrimSpace(device); !ok || device == "" || odd(device) {
			p.wrong(o, item, "want device:function;function, such as ens5:0000:07:00.2;0000:07:00.3")
			continue
		}
		if _, twice := all[device]; twice {
			p.wrong(o, item, "%s is given twice; put all its functions behind one colon", device)
			continue
		}
		all[device] = pieces(functions, ";")
	}
	return all
}
