package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A ruleset is all rules in force, by name. It is immutable once built.
type ruleset struct {
	byName   map[string]check
	fallback string // the rule that replaces undefined ones

	networking bool // Neutron's checks of fields are supported (field.go)
}

// find returns a rule, or the default rule when it is not defined.
func (r ruleset) find(name string) (check, bool) {
	if c, ok := r.byName[name]; ok {
		return c, true
	}
	c, ok := r.byName[r.fallback]
	return c, ok
}

// allow reports whether the rule of that name lets the caller act on the target.
func (r ruleset) allow(rule string, about evaluation) bool {
	ev := evaluations.Get().(*evaluation)
	*ev = about
	ev.rules = r
	allowed := ev.decide(r.byName[rule])
	*ev = evaluation{} // drops the references to the caller's data
	evaluations.Put(ev)
	return allowed
}

// A registered rule is a default with its check strings compiled.
type registered struct {
	Rule
	check  check
	newest check // nil if it is check
	old    check // of the deprecated rule, nil if there is none
}

// register compiles the defaults. A rule without a name, a duplicate, and one with a remote check
// are programming errors.
func register(defaults []Rule) (map[string]*registered, error) {
	rules := make(map[string]*registered, len(defaults))
	for _, d := range defaults {
		if d.Name == "" || rules[d.Name] != nil {
			return nil, fmt.Errorf("registering policies: the name %q is empty or taken", d.Name)
		}
		r := &registered{Rule: d, check: parseText(d.Check)}
		every := all{r.check}
		if d.Newest != "" {
			r.newest = parseText(d.Newest)
			every = append(every, r.newest)
		}
		if d.Deprecated != nil {
			r.old = parseText(d.Deprecated.Check)
			every = append(every, r.old)
		}
		if err := refuseRemote(every); err != nil {
			return nil, fmt.Errorf("registering policies: rule %q: %w", d.Name, err)
		}
		rules[d.Name] = r
	}
	return rules, nil
}

// effective returns the check in effect for a registered rule, which depends on the policy files:
//
//  1. an override of the rule itself always applies;
//  2. an override of its deprecated name applies, unless it equals that name's
//     default, or only refers to the new name;
//  3. otherwise the new default, or the old one too, until newOnly, from when on it is the newest.
func (r *registered) effective(file map[string]fileRule, newOnly bool) check {
	if o, ok := file[r.Name]; ok {
		return o.check
	}
	current := r.check
	if newOnly && r.newest != nil {
		current = r.newest
	}
	if r.old == nil {
		return current
	}
	if o, ok := file[r.Deprecated.Name]; ok && r.Deprecated.Name != r.Name &&
		!reflect.DeepEqual(bare(o.check), bare(r.old)) && o.check != check(ruleRef(r.Name)) {
		return o.check
	}
	if newOnly || r.Deprecated.Check == r.Check {
		return current
	}
	return some{r.check, r.old}
}

// bare returns the check without the reasons for warnings: a malformed check is a plain refusal,
// and equals any other.
func bare(c check) check {
	switch c := c.(type) {
	case misread:
		return constant(false)
	case vacant:
		return constant(true)
	case negation:
		return negation{bare(c.inner)}
	case all:
		return all(bareList(c))
	case some:
		return some(bareList(c))
	}
	return c
}

// bareList returns bare of each check, in a new list: the rules in force share the old one.
func bareList(list []check) []check {
	checks := make([]check, len(list))
	for i, c := range list {
		checks[i] = bare(c)
	}
	return checks
}

// merge builds the ruleset from the defaults and the files.
func merge(defaults map[string]*registered, file map[string]fileRule, newOnly bool, fallback string) ruleset {
	byName := make(map[string]check, len(defaults)+len(file))
	for name, o := range file {
		byName[name] = o.check
	}
	for name, r := range defaults {
		byName[name] = r.effective(file, newOnly)
	}
	return ruleset{byName: byName, fallback: fallback}
}

// warnings returns the findings about the rules in a fixed order.
func (r ruleset) warnings() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		walk(r.byName[name], func(c check) {
			if w := r.warning(c); w != "" {
				names = append(names, fmt.Sprintf("rule %q %s", name, w))
			}
		})
		if r.cyclic(name) {
			names = append(names, fmt.Sprintf("rule %q refers to itself in a circle and refuses when it gets there", name))
		}
	}
	return slices.Compact(names)
}

// warning returns the finding about one check, "" for none.
func (r ruleset) warning(c check) string {
	switch c := c.(type) {
	case misread:
		return fmt.Sprintf("is not understood and refuses: %q", c.text)
	case vacant:
		return `has no value and allows everybody (mind that "!" needs quotation marks)`
	case unreadable:
		return fmt.Sprintf("compares %q, which is neither an attribute nor a literal, and refuses", c.kind)
	case hasRole:
		return c.role.warning()
	case literal:
		return c.want.warning()
	case attribute:
		return c.want.warning()
	case ruleRef:
		if _, ok := r.byName[string(c)]; !ok {
			return fmt.Sprintf("refers to rule %q, which is not defined", string(c))
		}
	}
	return ""
}

// warning returns the finding about a template, "" for none.
func (t template) warning() string {
	if !t.malformed() {
		return ""
	}
	return fmt.Sprintf("has %q, where only %%(name)s can be filled in, and refuses", t.source)
}

// cyclic reports whether references from a rule lead back to it. It visits each rule once.
func (r ruleset) cyclic(start string) bool {
	seen := map[string]bool{}
	var reaches func(name string) bool
	reaches = func(name string) bool {
		for _, next := range references(r.byName[name]) {
			if next == start {
				return true
			}
			if !seen[next] {
				seen[next] = true
				if reaches(next) {
					return true
				}
			}
		}
		return false
	}
	return reaches(start)
}

// references lists the rules that a check names.
func references(c check) []string {
	var names []string
	if c != nil {
		walk(c, func(c check) {
			if r, ok := c.(ruleRef); ok {
				names = append(names, string(r))
			}
		})
	}
	return names
}

// deprecations warns of overrides under names that rules no longer have.
func deprecations(defaults map[string]*registered, file map[string]fileRule) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		d := defaults[name].Deprecated
		if d == nil || d.Name == name {
			continue
		}
		if o, ok := file[d.Name]; ok {
			names = append(names, fmt.Sprintf("%s overrides rule %q, which was replaced by %q in %s: %s",
				o.from, d.Name, name, d.Since, strings.TrimSpace(d.Reason)))
		}
	}
	return names
}
