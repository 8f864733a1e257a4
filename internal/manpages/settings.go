package manpages

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// A Configuration describes the settings of a service and their sources.
type Configuration struct {
	Page     string // the name of its page
	Service  string // as in "berth placement serve"
	Files    string // of OpenStack's that it reads, as in "the file that OpenStack Placement reads"
	Variable string // an example: the environment variable of an option
	Option   string // which that is, as "`name` in `[group]`"
	Paths    []Path
	Settings []config.Setting
	Ignored  osloconfig.Names
}

// A Path is a file and its meaning.
type Path struct{ Name, Meaning string }

// intro is the beginning of the page. Help of single settings is in the table.
func (c *Configuration) intro() string {
	return "Berth reads " + c.Files + ", by the rules of oslo.config: groups in brackets, " +
		"`name = value` in lines, comments behind `#` at the start of a line. A dollar sign in a value is written `$$`. " +
		"The environment wins over files: `" + c.Variable + "` sets " + c.Option + ".\n\n" +
		"A wrong value stops the start, and all wrong values are named at once. " +
		"Unknown names are warned about and have no effect."
}

// Settings returns the page of the settings of a service, in section 5: every setting with its
// type, its default and its help. Secrets are replaced by asterisks.
func Settings(c Configuration, s Stamp) Page {
	w := begin(c.Page, 5, "settings of Berth's "+c.Service+" service", s)
	w.section("DESCRIPTION")
	w.prose(c.intro())
	groups, members := grouped(c.Settings)
	for _, group := range groups {
		w.section("[" + group + "]")
		for _, set := range members[group] {
			w.item(term(set), set.Help+standard(set)+older(set))
		}
	}
	w.section("IGNORED")
	w.prose("Accepted for the sake of existing files, without effect:")
	for group, names := range c.Ignored.ByGroup() {
		w.item("["+group+"]", strings.Join(names, ", "))
	}
	if len(c.Ignored.Groups) > 0 {
		w.item("whole groups", strings.Join(c.Ignored.Groups, ", "))
	}
	w.section("FILES")
	for _, p := range c.Paths {
		w.item(italic(p.Name), p.Meaning)
	}
	w.section("SEE ALSO")
	w.WriteString(reference("berth-"+c.Service+"-serve", 1) + "\n")
	return Page{c.Page, 5, w.String()}
}

// grouped groups settings, in the order in which the groups appear.
func grouped(settings []config.Setting) (groups []string, members map[string][]config.Setting) {
	members = make(map[string][]config.Setting)
	for _, s := range settings {
		if members[s.Group] == nil {
			groups = append(groups, s.Group)
		}
		members[s.Group] = append(members[s.Group], s)
	}
	return groups, members
}

func term(s config.Setting) string {
	about := s.Value.Type()
	if s.Secret() {
		about += ", secret"
	}
	return bold(s.Name.Option) + " (" + breakable(escape(about)) + ")"
}

// standard describes the default.
func standard(s config.Setting) string {
	if def := s.Display(); def != "" {
		return " Default: `" + def + "`."
	}
	return ""
}

func older(s config.Setting) string {
	var b strings.Builder
	for _, n := range s.Older {
		if n.Group == "" {
			n.Group = s.Group
		}
		fmt.Fprintf(&b, " Also read as `%s`.", n)
	}
	return b.String()
}

// reference names another page.
func reference(name string, section int) string {
	return bold(name) + "(" + strconv.Itoa(section) + ")"
}
