package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// A deviceSpec is one entry of [pci] device_spec: which devices are for servers, and for
// what.
type deviceSpec struct {
	number          int    // of the entry, from 1
	where           string // file and line
	vendor, product string // four hexadecimal digits each; empty: any
	device          string // a network interface, instead of an address
	address         addressSpec

	forPorts        bool   // physical_network is there: ports can be the device
	physicalNetwork string // empty: tunnels

	class  string   // in placement; empty: by vendor and product
	traits []string // in placement, sorted
	remote bool     // another machine manages the device
	// oneTime says whether each device is for one server only, until an operator offers it again; nil:
	// it does not say.
	oneTime *bool
}

// An addressSpec says which PCI addresses are meant, part by part: domain, bus, slot and
// function.
type addressSpec struct {
	parts    [4]string // empty: any
	patterns [4]*regexp.Regexp
}

// The parts of an address: their names in an entry, their largest numbers, their digits.
var addressParts = [4]struct {
	name   string
	most   uint64
	digits int
}{{"domain", 0xffff, 4}, {"bus", 0xff, 2}, {"slot", 0x1f, 2}, {"function", 0x7, 1}}

// matches reports whether an address is meant.
func (a addressSpec) matches(address string) bool {
	parts := splitAddress(address)
	for i, part := range parts {
		if a.parts[i] != "" && a.parts[i] != part || a.patterns[i] != nil && !a.patterns[i].MatchString(part) {
			return false
		}
	}
	return true
}

// one returns the address, if the entry names one.
func (a addressSpec) one() string {
	for _, part := range a.parts {
		if part == "" {
			return ""
		}
	}
	return fmt.Sprintf("%s:%s:%s.%s", a.parts[0], a.parts[1], a.parts[2], a.parts[3])
}

// pciAddress is how Linux writes one; domains of more digits are not for servers.
var pciAddress = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// splitAddress cuts an address that pciAddress matches.
func splitAddress(address string) [4]string {
	return [4]string{address[:4], address[5:7], address[8:10], address[11:]}
}

// A specReader reads the entries, and collects mistakes.
type specReader struct {
	*reader
	entry int    // that is read, from 1
	where string // file and line of it
	all   []deviceSpec
}

func (r *specReader) wrong(key, value, format string, args ...any) {
	r.reader.wrong(groupPCI, "device_spec", value, "entry %d: %s%s", r.entry, key, fmt.Sprintf(format, args...))
	r.mistakes[len(r.mistakes)-1].Where = r.where
}

func (r *specReader) warn(format string, args ...any) {
	r.reader.warn("[pci] device_spec: entry %d: %s", r.entry, fmt.Sprintf(format, args...))
}

// deviceSpecs reads the values of [pci] device_spec: each is an entry or a list of them, in
// JSON. Places are the files and lines of as many of the values as are known.
func (r *reader) deviceSpecs(texts, places []string) []deviceSpec {
	specs := specReader{reader: r}
	for i, text := range texts {
		if i < len(places) {
			specs.where = places[i]
		}
		v, err := decodeJSON(text)
		if err != nil {
			specs.entry++
			specs.wrong("", text, "want JSON: %s", err)
			continue
		}
		entries, ok := v.([]any)
		if !ok {
			entries = []any{v}
		}
		for _, e := range entries {
			specs.entry++
			object, ok := e.(map[string]any)
			if !ok {
				specs.wrong("", text, `want an object, such as {"address": "0000:81:00.0"}, or a list of them`)
				continue
			}
			specs.read(object)
		}
	}
	return specs.all
}

// decodeJSON reads one value.
func decodeJSON(text string) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&v); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it ends too early")
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind its end")
	}
	return v, nil
}

// idle are keys of Nova's that make no difference here.
var idle = []string{"trusted", "managed"}

func (r *specReader) read(object map[string]any) {
	d := deviceSpec{
		number: r.entry, where: r.where, vendor: r.id(object, "vendor_id"), product: r.id(object, "product_id"),
		device: r.text(object, "devname"),
	}
	if address, given := object["address"]; given && address != nil && address != "" {
		if d.device != "" {
			r.wrong("devname: ", d.device, "leave it out, or address: both name a device")
		}
		d.address = r.address(address)
	}
	r.network(object, &d)
	d.class = r.class(r.text(object, "resource_class"))
	d.traits = r.traits(r.text(object, "traits"))
	if r.flag(object, "live_migratable") {
		d.traits = append(d.traits, "HW_PCI_LIVE_MIGRATABLE")
		slices.Sort(d.traits)
		d.traits = slices.Compact(d.traits)
	}
	if d.remote = r.flag(object, "remote_managed"); d.remote {
		r.warn("remote_managed devices are ignored: Berth's servers cannot have them")
	}
	if object["one_time_use"] != nil {
		once := r.flag(object, "one_time_use")
		d.oneTime = &once
	}
	if d.oneTime != nil && *d.oneTime && d.forPorts {
		r.warn("one_time_use does nothing for devices of ports: they are not in placement")
	}
	for _, key := range idle {
		r.flag(object, key)
	}
	known := append([]string{
		"vendor_id", "product_id", "devname", "address", "physical_network", "resource_class",
		"traits", "remote_managed", "one_time_use", "live_migratable",
	}, idle...)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			r.warn("%.60q does nothing", key)
		}
	}
	r.all = append(r.all, d)
}

// text returns what a key says; null and nothing are the same.
func (r *specReader) text(object map[string]any, key string) string {
	text, ok := object[key].(string)
	if !ok && object[key] != nil {
		r.wrong(key+": ", shown(object[key]), "want text in quotes")
	}
	return text
}

// id returns a number of four hexadecimal digits, "" for any.
func (r *specReader) id(object map[string]any, key string) string {
	text := r.text(object, key)
	if _, given := object[key].(string); !given || text == "*" {
		return ""
	}
	id, err := hexadecimal(strings.TrimSpace(text), 0xffff, 4)
	if err != nil {
		r.wrong(key+": ", text, "%s", err)
	}
	return id
}

var hexDigits = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]+$`)

// hexadecimal writes a number with as many digits as addresses have.
func hexadecimal(text string, most uint64, digits int) (string, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil || !hexDigits.MatchString(text) || n > most {
		return "", fmt.Errorf("want a hexadecimal number up to %x", most)
	}
	return fmt.Sprintf("%0*x", digits, n), nil
}

// address reads which addresses are meant: "domain:bus:slot.function", of which parts may
// be missing or *, or an object with a regular expression for each part.
func (r *specReader) address(v any) (a addressSpec) {
	switch v := v.(type) {
	case string:
		return r.glob(v)
	case map[string]any:
		return r.patterns(v)
	}
	r.wrong("address: ", shown(v), `want "domain:bus:slot.function" or an object with these four`)
	return a
}

func (r *specReader) glob(text string) (a addressSpec) {
	rest, function, _ := strings.Cut(text, ".")
	parts := strings.Split(rest, ":")
	if len(parts) > 3 {
		r.wrong("address: ", text, "want domain:bus:slot.function")
		return a
	}
	parts = append(parts, function)
	for i, part := range parts {
		k := i + len(a.parts) - len(parts) // missing parts are the leading ones
		if part = strings.TrimSpace(part); part == "" || part == "*" {
			continue
		}
		p := addressParts[k]
		digits, err := hexadecimal(part, p.most, p.digits)
		if err != nil {
			r.wrong("address: ", text, "%s: %s, or *", p.name, err)
		}
		a.parts[k] = digits
	}
	return a
}

// allDigits is a pattern that means one number: Nova takes it for the number then.
var allDigits = regexp.MustCompile(`^[0-9a-fA-F]+$`)

func (r *specReader) patterns(object map[string]any) (a addressSpec) {
	names := make([]string, len(addressParts))
	for i, p := range addressParts {
		names[i] = p.name
		v, given := object[p.name]
		text, ok := v.(string)
		if !given {
			continue
		}
		if !ok {
			r.wrong("address: "+p.name+": ", shown(v), "want a regular expression in quotes")
			continue
		}
		pattern, err := regexp.Compile(`^(?:` + text + `)`) // the end is open, as Python's match has it
		if err != nil {
			r.wrong("address: "+p.name+": ", text, "want a regular expression")
			continue
		}
		a.patterns[i] = pattern
		if allDigits.MatchString(text) && len(text) == p.digits {
			a.parts[i] = text
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, key) {
			r.warn("address: %.60q does nothing; known are %s", key, strings.Join(names, ", "))
		}
	}
	return a
}

func (r *specReader) network(object map[string]any, d *deviceSpec) {
	v, given := object["physical_network"]
	d.forPorts, d.physicalNetwork = given, r.text(object, "physical_network")
	if given && v == "" {
		r.wrong("physical_network: ", "", "want the name of a physical network, or null for tunnels")
	}
}

// flag reads a key that says yes or no.
func (r *specReader) flag(object map[string]any, key string) bool {
	yes, ok := object[key].(bool)
	if ok || object[key] == nil {
		return yes
	}
	text, _ := object[key].(string)
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "on", "y", "yes":
		return true
	case "0", "f", "false", "off", "n", "no":
		return false
	}
	if text == "" {
		text = shown(object[key])
	}
	r.wrong(key+": ", text, `want "true" or "false"`)
	return false
}

var notAlphanumeric = regexp.MustCompile(`[^0-9A-Za-z]+`)

// normal is the name of an operator's class or trait, as os-traits makes it of any text.
func normal(text string) string {
	return "CUSTOM_" + strings.ToUpper(notAlphanumeric.ReplaceAllString(text, "_"))
}

// class is the resource class that an entry names, "" for none.
func (r *specReader) class(text string) string {
	if text == "" {
		return ""
	}
	name := strings.ToUpper(text)
	if slices.Contains(placement.StandardClasses, name) {
		return name
	}
	if !strings.HasPrefix(name, "CUSTOM_") {
		name = normal(name)
	}
	if !customName.MatchString(name) {
		r.wrong("resource_class: ", text,
			"it becomes %.60q, and a class is CUSTOM_, letters, digits and underscores, 255 at most", name)
	}
	return name
}

// traits are those that an entry names, and the one of all PCI devices.
func (r *specReader) traits(text string) []string {
	all := []string{traitPCI}
	if text == "" {
		return all
	}
	for piece := range strings.SplitSeq(text, ",") {
		if slices.Contains(placement.StandardTraits, piece) {
			all = append(all, piece)
			continue
		}
		name := strings.ToUpper(piece)
		if !strings.HasPrefix(name, "CUSTOM_") {
			name = normal(name)
		}
		if !customName.MatchString(name) {
			r.wrong("traits: ", piece,
				"it becomes %.60q, and a trait is CUSTOM_, letters, digits and underscores, 255 at most", name)
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
