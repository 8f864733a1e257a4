package guide

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// names replace in a script the values that differ between runs.
type names struct {
	known  string            // the scripts: UUIDs in them are unchanged
	values map[string]string // by name
	byText map[string]string // names by value
	counts map[string]int
}

func newNames() *names {
	return &names{values: make(map[string]string), byText: make(map[string]string), counts: make(map[string]int)}
}

func (n *names) bind(name, value string) { n.values[name], n.byText[value] = value, name }

var nameForm = regexp.MustCompile(`<[a-z][a-z0-9-]*>`)

// resolve replaces names by values.
func (n *names) resolve(command string) string {
	return nameForm.ReplaceAllStringFunc(command, func(name string) string {
		if value, ok := n.values[name]; ok {
			return value
		}
		return name
	})
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var (
	idRow    = regexp.MustCompile(`(?m)^\| id +\| (` + uuid + `) `)
	uuidForm = regexp.MustCompile(uuid)

	// Of what follows, the first part is the kind of the name.
	chosen = regexp.MustCompile(`(?P<request>\breq-` + uuid + `)|(?P<id>` + uuid +
		`|\b[0-9a-f]{32}\b)|(?P<host>\b[0-9a-f]{56}\b)|(?P<mac>(?:[0-9a-f]{2}:){5}[0-9a-f]{2})` +
		`|(?P<number>\b7\d{4}\b)|(?P<url>http://127\.0\.0\.1:\d+)`)
	// Neutron allocates addresses of a subnet at random.
	addressForm = regexp.MustCompile(`ip_address='[^']+'`)
	timeForm    = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?(\.\d+)?`)
)

// named calls the id that was printed, of the object or else the first, by a name.
func (n *names) named(name, out string) error {
	id := uuidForm.FindString(out)
	if row := idRow.FindStringSubmatch(out); row != nil {
		id = row[1]
	}
	if id == "" {
		return fmt.Errorf("there is no id to be called %s", name)
	}
	n.bind(name, id)
	return nil
}

// shown is an output with names in place of values, and without differences in the width of tables
// only.
func (n *names) shown(out string) string {
	out = timeForm.ReplaceAllString(out, "<time>")
	out = addressForm.ReplaceAllString(out, "ip_address='<ip>'")
	out = chosen.ReplaceAllStringFunc(out, func(value string) string {
		if name, ok := n.byText[value]; ok {
			return name
		}
		if strings.Contains(n.known, value) {
			return value
		}
		kind := ""
		for i, part := range chosen.FindStringSubmatch(value) {
			if i > 0 && part != "" {
				kind = chosen.SubexpNames()[i]
			}
		}
		n.counts[kind]++
		name := fmt.Sprintf("<%s%d>", kind, n.counts[kind])
		n.bind(name, value)
		return name
	})
	return tidy(out)
}

// tidy narrows tables to their content, removes the lines between the rows, sorts rows except those
// of one object, and removes empty lines.
func tidy(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, " \r\n")
		if strings.HasPrefix(line, "|") {
			line = strings.TrimSpace(column.ReplaceAllString(line, " | "))
		}
		if line != "" && !ruler.MatchString(line) {
			lines = append(lines, line+"\n")
		}
	}
	if len(lines) > 1 && strings.HasPrefix(lines[0], "| ") && !strings.HasPrefix(lines[0], "| Field ") {
		slices.Sort(lines[1:])
	}
	return strings.Join(lines, "")
}

var (
	ruler  = regexp.MustCompile(`^[+-]+$`)
	column = regexp.MustCompile(` *\| *`)
)
