package guide

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// names are what stands in a script for what differs from run to run.
type names struct {
	known  string            // the scripts: what is in them stays
	values map[string]string // by name
	byText map[string]string // names by value
	counts map[string]int
}

func newNames() *names {
	return &names{values: make(map[string]string), byText: make(map[string]string), counts: make(map[string]int)}
}

func (n *names) bind(name, value string) { n.values[name], n.byText[value] = value, name }

var nameForm = regexp.MustCompile(`<[a-z][a-z0-9-]*>`)

// resolve puts values in place of names.
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
	chosen = regexp.MustCompile(`(?P<request>\breq-` + uuid + `)|(?P<id>` + uuid + `|\b[0-9a-f]{32}\b)|(?P<host>\b[0-9a-f]{56}\b)|(?P<mac>(?:[0-9a-f]{2}:){5}[0-9a-f]{2})` +
		`|(?P<number>\b7\d{4}\b)|(?P<url>http://127\.0\.0\.1:\d+)`)
	// Neutron gives addresses of a subnet at random.
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

// shown is an output with names in place of values, and without what only the width
// of tables differs in.
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

// tidy makes tables as narrow as what they show now, without lines between the rows,
// which are in no order but for those of one object, and leaves out empty lines.
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
