package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement/candidates"
)

// shown is how many changes, and how many hosts that fit, the text for people has.
const shown = 8

// Write writes an explanation for people. Owner says whose request group a suffix is ("port eth0,
// group …"); nil for the suffix itself.
func (e *Explanation) Write(w io.Writer, owner func(suffix string) string) error {
	if owner == nil {
		owner = groupName
	}
	var b strings.Builder
	if e.Host != "" && e.Refused == "" {
		heading := e.Host + " does not fit:\n"
		if e.FitsHost() {
			heading = e.Host + " fits.\n"
		}
		b.WriteString(heading)
		for _, h := range e.Near {
			writeMisses(&b, "", h.Misses, owner)
		}
		b.WriteString("\n")
	}
	switch {
	case e.Refused != "":
		fmt.Fprintf(&b, "Placement refuses the query: %s\n", e.Refused)
	case e.Fitting == 0:
		fmt.Fprintf(&b, "No host fits; there are %s with %s.\n", count(e.Hosts, "host"), count(e.Providers, "provider"))
	default:
		more := ""
		if e.Fitting > shown {
			more = fmt.Sprintf(" and %d more", e.Fitting-shown)
		}
		fmt.Fprintf(&b, "%s, of %d: %s%s.\n", fits(e.Fitting), e.Hosts, strings.Join(e.Fit[:min(len(e.Fit), shown)], ", "),
			more)
	}
	if e.Refused == "" {
		e.writeGroups(&b, owner)
	}
	e.writeChanges(&b, owner)
	if e.Host == "" && len(e.Near) > 0 {
		b.WriteString("\nWhat hosts lack that do not fit:\n")
		for _, h := range e.Near {
			writeMisses(&b, h.Name+": ", h.Misses, owner)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMisses writes what a host lacks, in lines of which the first begins with its name.
func writeMisses(b *strings.Builder, name string, misses []Miss, owner func(string) string) {
	last := ""
	for _, m := range misses {
		text := m.text(owner)
		if text == last { // what a group's classes have in common, such as the wrong tree
			continue
		}
		fmt.Fprintf(b, "  %s%s\n", name, text)
		name, last = strings.Repeat(" ", len(name)), text
	}
}

// writeGroups writes what each constraint drops.
func (e *Explanation) writeGroups(b *strings.Builder, owner func(string) string) {
	for _, g := range e.Groups {
		subject := owner(g.Suffix)
		if g.Class != "" {
			subject += ", " + g.Class
		}
		fmt.Fprintf(b, "\n%s: %s\n", upper(subject), fit(g.Hosts, g.Providers))
		for _, d := range g.Drops {
			fmt.Fprintf(b, "  %s dropped: %s\n", hostsAndProviders(d.Hosts, d.Providers), d.Constraint)
		}
	}
	b.WriteString("\n")
	if e.RootDropped > 0 {
		fmt.Fprintf(b, "Traits of the host drop %s.\n", count(e.RootDropped, "host"))
	}
	fmt.Fprintf(b, "%s can serve each group by itself, and %d all of them together.\n",
		upper(count(e.FitEachGroup, "host")), e.FitAllGroups)
}

// writeChanges writes what would help.
func (e *Explanation) writeChanges(b *strings.Builder, owner func(string) string) {
	switch {
	case len(e.Changes) > 0:
		b.WriteString("\nWith a single change:\n")
	case e.Fitting < e.Hosts:
		b.WriteString("\nNo single change of the request would give another host.\n")
	}
	for i, c := range e.Changes {
		if i == shown {
			fmt.Fprintf(b, "  and %d more\n", len(e.Changes)-shown)
			return
		}
		names := strings.Join(c.Names, ", ")
		if more := c.Hosts - e.Fitting - len(c.Names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(b, "  %s would fit if %s: %s\n", count(c.Hosts, "host"), c.describe(owner), names)
	}
}

// fit says how many remain.
func fit(hosts, providers int) string {
	if hosts == 0 {
		return "no host remains"
	}
	return fmt.Sprintf("%s remaining", hostsAndProviders(hosts, providers))
}

func hostsAndProviders(hosts, providers int) string {
	if hosts == 0 {
		return count(providers, "provider")
	}
	return count(hosts, "host") + " (" + count(providers, "provider") + ")"
}

// fits says how many hosts fit.
func fits(n int) string {
	if n == 1 {
		return "1 host fits"
	}
	return count(n, "host") + " fit"
}

// count is a number with what is counted.
func count(n int, suffix string) string {
	switch n {
	case 0:
		return "no " + suffix
	case 1:
		return "1 " + suffix
	}
	return fmt.Sprintf("%d %ss", n, suffix)
}

// upper begins a sentence.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Summary says in one line what is missing, for a fault's details: the constraint and the change
// that helps most. Not to request a class or group at all is named only where no smaller change
// helps.
func (e *Explanation) Summary() string {
	s := "no host fits (" + e.Constraint + ")"
	switch {
	case e.Refused != "":
		s = "placement refuses the request: " + strings.TrimSuffix(e.Refused, ".")
	case e.Fitting > 0:
		return fits(e.Fitting) + " now"
	case e.Constraint == string(candidates.Combination):
		s = "each group fits somewhere, but no host can serve all of them together"
	default:
		for _, g := range e.Groups {
			if g.Hosts == 0 && len(g.Drops) > 0 {
				s = fmt.Sprintf("no host remains for %s: %s", strings.TrimSpace(g.Suffix+" "+g.Class),
					g.Drops[len(g.Drops)-1].Constraint)
				break
			}
		}
	}
	if len(e.Changes) > 0 {
		best := max(0,
			slices.IndexFunc(e.Changes, func(c Change) bool { return c.Kind != WithoutClass && c.Kind != WithoutGroup }))
		s += fmt.Sprintf("; %s would fit if %s", count(e.Changes[best].Hosts, "host"), e.Changes[best])
	}
	return s
}
