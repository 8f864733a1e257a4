package neutron

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// names map the names in a dialogue to values. The zero value is not ready: see newNames.
type names struct {
	values map[string]string // by name: "@net", "<id1>"
	byText map[string]string // the name of a value
	said   strings.Builder   // all requests so far, as they are in the file
	counts map[string]int    // how many of a kind have no other name
	own    map[string]int    // how many of a kind were disowned
}

func newNames(projects map[string]string) *names {
	n := &names{
		values: make(map[string]string), byText: make(map[string]string), counts: make(map[string]int),
		own: make(map[string]int),
	}
	for name, id := range projects {
		n.bind("@"+name, id)
	}
	return n
}

func (n *names) bind(name, value string) {
	n.values[name] = value
	n.byText[value] = name
}

var nameForm = regexp.MustCompile(`@[a-z][a-z0-9_]*`)

// resolve replaces names by values. Unknown words are unchanged.
func (n *names) resolve(text string) string {
	n.said.WriteString(text + "\n")
	return nameForm.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := n.values[name]; ok {
			return value
		}
		return name
	})
}

const (
	uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	macPattern  = `(?:[0-9a-f]{2}:){5}[0-9a-f]{2}`

	// A trunk has a bridge of its own, named after its id.
	bridgePattern = `tbr-[0-9a-f]{8}-[0-9a-f]`
	// A port of DPDK's has a socket, called after its id.
	socketPattern = `vhu[0-9a-f]{8}-[0-9a-f]{2}`
	// A host has an id for each project, made of both.
	hostPattern = `[0-9a-f]{56}`
)

var (
	chosenForm = regexp.MustCompile(`\b(?:` + uuidPattern + `|[0-9a-f]{32}|` + hostPattern + `)\b|` + macPattern + "|" +
		bridgePattern + "|" + socketPattern)
	timeForm  = regexp.MustCompile(`^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+|Z)| \d\d:\d\d:\d\d(?:\.\d+)?)$`)
	addresses = []string{"ip_address", "fixed_ips", "addr"}
	numbers   = []string{"provider:segmentation_id", "segmentation_id", "vlan"}
)

// text replaces the values in a text by names, and assigns names to ids and MAC addresses that have
// none.
func (n *names) text(s string) string {
	for name, value := range n.values {
		if distinctive(value) && !chosenForm.MatchString(value) {
			s = replaceWord(s, value, name)
		}
	}
	return chosenForm.ReplaceAllStringFunc(s, func(value string) string {
		return n.name(kindOf(value), value)
	})
}

const hostLength = 56

// chosenWords are attributes whose values are words that a service chooses, with their kinds.
var chosenWords = map[string]string{
	"adminPass": "password", "reservation_id": "reservation", "OS-EXT-SRV-ATTR:reservation_id": "reservation",
}

func kindOf(chosen string) string {
	switch {
	case strings.Contains(chosen, ":"):
		return "mac"
	case strings.HasPrefix(chosen, "tbr-"):
		return "bridge"
	case strings.HasPrefix(chosen, "vhu"):
		return "socket"
	case len(chosen) == hostLength:
		return "host"
	}
	return "id"
}

// distinctive reports whether a value is unlikely to occur in a text by chance, as small numbers
// are not.
func distinctive(value string) bool { return len(value) > 4 }

// name returns the name of a value, or the value itself if a request contained it.
func (n *names) name(kind, value string) string {
	if n.wasSaid(kind, value) {
		return value
	}
	if name, ok := n.byText[value]; ok {
		return name
	}
	n.counts[kind]++
	name := fmt.Sprintf("<%s%d>", kind, n.counts[kind])
	n.bind(name, value)
	return name
}

// wasSaid reports whether a request contained a value; a number, as that of a segment.
func (n *names) wasSaid(kind, value string) bool {
	if kind != "number" {
		return containsWord(n.said.String(), value)
	}
	return regexp.MustCompile(`segmentation_id"?[:=]\s*"?` + value + `\b`).MatchString(n.said.String())
}

// leaked is a number of Neutron's database that some of its answers contain by mistake; no API has
// it.
const leaked = "standard_attr_id"

// value puts names into a piece of JSON, which belongs to an attribute.
func (n *names) value(attribute string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		named := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != leaked {
				named[n.text(key)] = n.value(key, v[key])
			}
		}
		return named
	case []any:
		named := make([]any, len(v))
		for i := range v {
			named[i] = n.value(attribute, v[i])
		}
		return named
	case string:
		return n.word(attribute, v)
	case json.Number:
		if slices.Contains(numbers, attribute) {
			return n.number(v)
		}
	}
	return v
}

func (n *names) word(attribute, s string) string {
	if timeForm.MatchString(s) {
		return "<time>"
	}
	if _, err := netip.ParseAddr(s); err == nil && slices.Contains(addresses, attribute) {
		return n.name("ip", s)
	}
	if _, err := strconv.Atoi(s); err == nil && slices.Contains(numbers, attribute) {
		return n.name("number", s)
	}
	if kind := chosenWords[attribute]; kind != "" && s != "" {
		return n.name(kind, s)
	}
	return n.text(s)
}

func (n *names) number(v json.Number) any {
	if name := n.name("number", v.String()); name != v.String() {
		return name
	}
	return v
}

// blank returns a copy with one word for every value without a name, so that objects can be sorted
// before they get names.
func (n *names) blank() *names {
	b := newNames(nil)
	for name, value := range n.values {
		b.bind(name, value)
	}
	b.said.WriteString(n.said.String())
	return b
}

// containsWord reports whether a text has a value that is no part of a longer one.
func containsWord(text, value string) bool { return replaceWord(text, value, "\x00") != text }

// replaceWord replaces a value where it is no part of a longer one.
func replaceWord(text, value, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, value)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(value)
		if i > 0 && wordy(text[i-1]) || end < len(text) && wordy(text[end]) {
			b.WriteString(text[:end])
		} else {
			b.WriteString(text[:i] + by)
		}
		text = text[end:]
	}
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
