package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// readProviders reads what operators add to providers: all files *.yaml of a directory, in
// the order of their names. A directory that is not there has none.
func (s *Settings) readProviders(warnings *[]string) error {
	if s.providers == "" {
		return nil
	}
	entries, err := os.ReadDir(s.providers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("[compute] provider_config_location: %w", err)
	}
	p := providerReader{taken: map[string]string{}}
	for _, e := range entries { // sorted
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".yaml") {
			continue
		}
		path := filepath.Join(s.providers, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("reading what is added to providers: %w", err))
			continue
		}
		p.file = path
		p.read(text)
	}
	s.Additional = p.all
	*warnings = append(*warnings, p.warnings...)
	return errors.Join(p.errs...)
}

// A providerReader reads files, and collects what is wrong.
type providerReader struct {
	file     string
	all      []inventory.Additional
	taken    map[string]string // files by the provider that they name
	warnings []string
	errs     []error
}

// wrong notes what is wrong at a place: "providers[0].traits".
func (p *providerReader) wrong(path, format string, args ...any) {
	if path != "" {
		path += ": "
	}
	p.errs = append(p.errs, fmt.Errorf("%s: %s%s", p.file, path, fmt.Sprintf(format, args...)))
}

func (p *providerReader) read(text []byte) {
	root, err := decode(text)
	if err != nil {
		p.wrong("", "%s", syntaxError(err))
		return
	}
	top, ok := p.object("", root)
	if !ok || !p.version(top["meta"]) {
		return
	}
	p.known("", top, "meta", "providers")
	for i, provider := range p.list("providers", top["providers"], has(top, "providers")) {
		p.provider(fmt.Sprintf("providers[%d]", i), provider)
	}
}

// decode reads the one document of a file.
func decode(text []byte) (root any, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one document")
	}
	return root, nil
}

// syntaxError is the reader's error on one line.
func syntaxError(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
	return strings.Join(strings.Fields(text), " ")
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}

// object wants a mapping whose keys are text.
func (p *providerReader) object(path string, v any) (map[string]any, bool) {
	o, ok := v.(map[string]any)
	if !ok {
		p.wrong(path, "want a mapping with names as keys, not %s", shown(v))
	}
	return o, ok
}

// list wants a list, if it is given.
func (p *providerReader) list(path string, v any, given bool) []any {
	all, ok := v.([]any)
	if given && !ok {
		p.wrong(path, "want a list, not %s", shown(v))
	}
	return all
}

// known warns of keys that mean nothing.
func (p *providerReader) known(path string, o map[string]any, keys ...string) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(keys, key) {
			if path != "" {
				path += ": "
			}
			p.warnings = append(p.warnings,
				fmt.Sprintf("%s: %s%.60q does nothing; known are %s", p.file, path, key, strings.Join(keys, ", ")))
		}
	}
}

// shown is a value for a message, on one line.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%.60q", v)
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	if text := fmt.Sprint(v); len(text) < 60 && !strings.Contains(text, "\n") {
		return text
	}
	return "what is there"
}

var schemaVersion = regexp.MustCompile(`^([0-9]+)\.([0-9]|[1-9][0-9]+)$`)

// version reports whether the file is of a version that can be read.
func (p *providerReader) version(v any) bool {
	const at = "meta.schema_version"
	meta, _ := v.(map[string]any)
	text, _ := meta["schema_version"].(string)
	parts := schemaVersion.FindStringSubmatch(text)
	switch {
	case parts == nil:
		p.wrong(at, `want "1.0", in quotes, not %s`, shown(meta["schema_version"]))
		return false
	case parts[1] != "1":
		p.wrong(at, "%s is a version that Berth does not know; it knows 1.0", text)
		return false
	case parts[2] != "0":
		p.warnings = append(p.warnings,
			fmt.Sprintf("%s: %s: %s is newer than 1.0: what it has more does nothing", p.file, at, text))
	}
	return true
}

func (p *providerReader) provider(path string, v any) {
	o, ok := p.object(path, v)
	if !ok {
		return
	}
	p.known(path, o, "identification", "inventories", "traits")
	a := inventory.Additional{File: p.file, Inventories: map[string]inventory.Extra{}}
	before := len(p.errs)
	name := p.identification(path+".identification", o["identification"], &a)
	for i, item := range p.additional(path+".inventories", o, "inventories") {
		p.inventories(fmt.Sprintf("%s.inventories.additional[%d]", path, i), item, a.Inventories)
	}
	for i, item := range p.additional(path+".traits", o, "traits") {
		if trait, ok := p.custom(fmt.Sprintf("%s.traits.additional[%d]", path, i),
			item); ok && !slices.Contains(a.Traits, trait) {
			a.Traits = append(a.Traits, trait)
		}
	}
	switch other := p.taken[name]; {
	case len(p.errs) > before:
	case len(a.Inventories) == 0 && len(a.Traits) == 0:
		p.warnings = append(p.warnings, fmt.Sprintf("%s: %s: it adds nothing to %s", p.file, path, name))
	case other != "":
		p.wrong(path, "%s is in %s already", name, other)
	default:
		p.taken[name] = p.file
		p.all = append(p.all, a)
	}
}

// additional returns what the list of the same name below a key has, if it is given.
func (p *providerReader) additional(path string, provider map[string]any, key string) []any {
	if !has(provider, key) {
		return nil
	}
	o, ok := p.object(path, provider[key])
	if !ok {
		return nil
	}
	p.known(path, o, "additional")
	return p.list(path+".additional", o["additional"], has(o, "additional"))
}

var providerUUID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// longestName is what placement takes as the name of a provider.
const longestName = 200

// identification says which provider is meant, and returns how the file calls it.
func (p *providerReader) identification(path string, v any, a *inventory.Additional) string {
	o, ok := p.object(path, v)
	if !ok {
		return ""
	}
	name, isName := o["name"].(string)
	uuid, isUUID := o["uuid"].(string)
	switch {
	case len(o) != 1 || !isName && !isUUID:
		p.wrong(path, "want either uuid or name, and text behind it")
	case isName && (name == "" || len([]rune(name)) > longestName):
		p.wrong(path+".name", "want 1 to %d characters, not %s", longestName, shown(name))
	case isName:
		a.Name = name
	case uuid == string(inventory.ComputeNode):
		a.ID = inventory.ComputeNode
	case providerUUID.MatchString(uuid):
		id, _ := guarantee.ParseUUID(uuid) // the pattern is stricter
		a.ID = placement.UUID(id.String())
	default:
		p.wrong(path+".uuid", "want a UUID or %s, not %s", inventory.ComputeNode, shown(uuid))
	}
	return string(a.ID) + a.Name
}

// customName is what placement takes as the name of a class or trait of an operator's.
var customName = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]{1,248}$`)

func (p *providerReader) custom(path string, v any) (string, bool) {
	name, _ := v.(string)
	if !customName.MatchString(name) {
		p.wrong(path, "want CUSTOM_ and capital letters, digits and underscores behind it, not %s", shown(v))
		return "", false
	}
	return name, true
}

// inventories reads one item of a list: an inventory by its class.
func (p *providerReader) inventories(path string, v any, extras map[string]inventory.Extra) {
	o, ok := p.object(path, v)
	if !ok {
		return
	}
	for _, class := range slices.Sorted(maps.Keys(o)) {
		if _, ok := p.custom(path, class); !ok {
			continue
		}
		if _, twice := extras[class]; twice {
			p.wrong(path, "%s is given twice", class)
			continue
		}
		extras[class] = p.inventory(path+"."+class, o[class])
	}
}

func (p *providerReader) inventory(path string, v any) inventory.Extra {
	var e inventory.Extra
	before := len(p.errs)
	o, ok := p.object(path, v)
	if !ok {
		return e
	}
	if !has(o, "total") {
		p.wrong(path, "want total")
	}
	total := new(int64)
	amounts := map[string]struct {
		to    **int64
		least int64
	}{
		"total": {&total, 1}, "reserved": {&e.Reserved, 0}, "min_unit": {&e.MinUnit, 1}, "max_unit": {&e.MaxUnit, 1},
		"step_size": {&e.StepSize, 1},
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if a, ok := amounts[key]; ok {
			*a.to = p.whole(path+"."+key, o[key], a.least)
		} else if key == "allocation_ratio" {
			e.AllocationRatio = p.ratio(path+"."+key, o[key])
		} else {
			p.wrong(path, "%.60q is nothing that an inventory has", key)
		}
	}
	if e.Total = *total; len(p.errs) == before && e.Reserved != nil && *e.Reserved > e.Total {
		p.wrong(path+".reserved", "%d is more than the total, %d", *e.Reserved, e.Total)
	}
	return e
}

// whole wants a whole number that placement takes.
func (p *providerReader) whole(path string, v any, least int64) *int64 {
	n := int64(-1)
	switch v := v.(type) {
	case int:
		n = int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= placement.MaxInt {
			n = int64(v)
		}
	}
	if n < least || n > placement.MaxInt {
		p.wrong(path, "want a whole number from %d to %d, not %s", least, placement.MaxInt, shown(v))
		n = least
	}
	return &n
}

// ratio wants an allocation ratio that placement takes.
func (p *providerReader) ratio(path string, v any) *float64 {
	f := math.NaN()
	switch v := v.(type) {
	case int:
		f = float64(v)
	case float64:
		f = v
	}
	if !(f > 0 && f <= math.MaxFloat32) {
		p.wrong(path, "want a number greater than 0, not %s", shown(v))
		f = 1
	}
	return &f
}
