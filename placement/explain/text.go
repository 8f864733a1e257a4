package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berthcloud/berth/placement"
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
			fmt.Fprintf(b, "  %s\n", d)
		}
	}
	b.WriteString("\n")
	for _, sentence := range e.sums() {
		fmt.Fprintf(b, "%s.\n", upper(sentence))
	}
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

// Summary says in one line what is missing: the constraint and the change that helps most.
func (e *Explanation) Summary() string {
	s := "no host fits (" + string(e.Constraint) + ")"
	switch {
	case e.Refused != "":
		s = "placement refuses the request: " + strings.TrimSuffix(e.Refused, ".")
	case e.Fitting > 0:
		return fits(e.Fitting) + " now"
	case e.Constraint == candidates.Combination:
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
	if advice := e.Advice(nil); advice != "" {
		s += "; " + advice
	}
	return s
}

// Advice says in one line which change helps most, "" when none does. Not to request a class or
// group at all is named only where no smaller change helps. Owner is as for Write.
func (e *Explanation) Advice(owner func(suffix string) string) string {
	if len(e.Changes) == 0 {
		return ""
	}
	if owner == nil {
		owner = groupName
	}
	best := max(0,
		slices.IndexFunc(e.Changes, func(c Change) bool { return c.Kind != WithoutClass && c.Kind != WithoutGroup }))
	return count(e.Changes[best].Hosts, "host") + " would fit if " + e.Changes[best].describe(owner)
}

// String says what a host lacks, for people.
func (m Miss) String() string { return m.text(groupName) }

// text is String with words for whose request group a suffix is.
func (m Miss) text(owner func(suffix string) string) string {
	about := ""
	if m.Group != "" {
		about = owner(m.Group) + ": "
	}
	provider := ""
	if m.Provider != "" {
		provider = " on " + m.Provider
	}
	switch m.Kind {
	case candidates.NoInventory:
		return about + "no " + m.Class + " at all"
	case candidates.NoCapacity:
		reason := fmt.Sprintf("%d of %d used", m.Used, m.Total)
		if m.Reserved > 0 {
			reason += fmt.Sprintf(", %d reserved", m.Reserved)
		}
		return fmt.Sprintf("%s%s:%d requested, %d available%s (%s)", about, m.Class, m.Requested, m.Most, provider, reason)
	case candidates.OutOfUnits:
		return fmt.Sprintf("%s%s:%d requested, and %s offers %s in one allocation", about, m.Class, m.Requested, m.Provider,
			m.Units())
	case candidates.RequiredTraits:
		return about + "lacks " + strings.Join(m.Traits, ", ") + provider
	case candidates.ForbiddenTraits:
		return about + "has " + strings.Join(m.Traits, ", ") + ", which is forbidden," + provider
	case candidates.RootRequired:
		return "the host " + strings.Join(rootWords(m.Traits), ", ")
	case candidates.MemberOf:
		return about + "not in the aggregates that it must be in"
	case candidates.ForbiddenMemberOf:
		return about + "in an aggregate that it must not be in"
	case candidates.InTree:
		return about + "not the requested host"
	case candidates.EmptyGroup:
		return about + "requests nothing in particular"
	case candidates.Combination:
		return "each group fits by itself, but not all of them together"
	}
	return about + string(m.Kind)
}

// Units says which amounts an inventory takes in one allocation, where the one that is requested is
// none of them.
func (m Miss) Units() string {
	switch {
	case m.Requested > m.MaxUnit:
		return fmt.Sprintf("at most %d", m.MaxUnit)
	case m.Requested < m.MinUnit:
		return fmt.Sprintf("at least %d", m.MinUnit)
	}
	return fmt.Sprintf("multiples of %d", m.StepSize)
}

// rootWords say what a root lacks, and has.
func rootWords(traits []string) []string {
	words := make([]string, len(traits))
	for i, t := range traits {
		if name, forbidden := strings.CutPrefix(t, "!"); forbidden {
			words[i] = "has " + name
		} else {
			words[i] = "lacks " + t
		}
	}
	return words
}

// Reason says in one line what Constraint is derived from: where no provider remains for a request
// group or a class, what each constraint drops for that, else everything that was counted.
func (e *Explanation) Reason() string {
	if g := e.unserved(); g != nil && e.RootDropped < e.Hosts {
		return g.Reason(nil)
	}
	parts := []string{count(e.Hosts, "host") + " with " + count(e.Providers, "provider")}
	for i := range e.Groups {
		parts = append(parts, e.Groups[i].Reason(nil))
	}
	return strings.Join(append(parts, e.sums()...), "; ")
}

// Reason says in one line what remains for a group, and what each constraint drops. Owner says
// whose group a suffix is; nil for the suffix itself, or for the class of the group without suffix.
func (g *Group) Reason(owner func(suffix string) string) string {
	subject := groupName(g.Suffix)
	switch {
	case owner != nil:
		subject = owner(g.Suffix)
		if g.Class != "" {
			subject += ", " + g.Class
		}
	case g.Suffix == "" && g.Class != "":
		subject = g.Class
	}
	parts := []string{fit(g.Hosts, g.Providers)}
	for _, d := range g.Drops {
		parts = append(parts, d.String())
	}
	return subject + ": " + strings.Join(parts, "; ")
}

// String says how much a constraint drops, and which one it is.
func (d Drop) String() string {
	return hostsAndProviders(d.Hosts, d.Providers) + " dropped: " + d.Constraint
}

// sums say how many hosts can serve the groups.
func (e *Explanation) sums() (parts []string) {
	if e.RootDropped > 0 {
		parts = append(parts, "traits of the host drop "+count(e.RootDropped, "host"))
	}
	each := count(e.FitEachGroup, "host") + " can serve each group by itself"
	if e.LackTraits > 0 {
		each += fmt.Sprintf(", %d of which lack a required trait", e.LackTraits)
	}
	return append(parts, fmt.Sprintf("%s, and %d all of them together", each, e.FitAllGroups))
}

// constraintText says which constraint of a request group dropped providers.
func constraintText(d candidates.DropCount, g *placement.RequestGroup) string {
	switch d.Kind {
	case candidates.NoInventory:
		return "no inventory of " + d.Class
	case candidates.OutOfUnits:
		return fmt.Sprintf("min_unit, max_unit or step_size for %s:%d", d.Class, d.Amount)
	case candidates.NoCapacity:
		return fmt.Sprintf("no free capacity for %s:%d", d.Class, d.Amount)
	case candidates.RequiredTraits:
		return "required traits " + someOfEach(g.Required)
	case candidates.ForbiddenTraits:
		return "forbidden traits " + some(g.Forbidden, ", ")
	case candidates.MemberOf:
		return "member_of " + someOfEach(g.MemberOf)
	case candidates.ForbiddenMemberOf:
		return "forbidden aggregates " + some(g.NotMemberOf, ", ")
	case candidates.InTree:
		return "in_tree " + string(g.InTree)
	}
	return string(d.Kind)
}

// some names a few of what a query lists, which may be hundreds of aggregates.
func some[S ~string](list []S, between string) string {
	const few = 5
	var names []string
	for _, name := range list[:min(len(list), few)] {
		names = append(names, string(name))
	}
	text := strings.Join(names, between)
	if more := len(list) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// someOfEach is some for a list of which each element is met by one of several names.
func someOfEach[S ~string](list [][]S) string {
	each := make([]string, len(list))
	for i, anyOf := range list {
		each[i] = some(anyOf, " or ")
	}
	return some(each, ", ")
}
