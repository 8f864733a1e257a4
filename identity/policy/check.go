package policy

import (
	"slices"
	"strings"
	"sync"

	"github.com/berthcloud/berth/identity"
)

// A check is one node of a compiled rule. Checks are compared with reflect.DeepEqual, so they
// contain data only. They are immutable after compilation.
type check interface {
	// holds evaluates the check. It is called through evaluation.test only.
	holds(ev *evaluation) bool
}

// The kinds of check. misread and remote represent text that is not a check: the first refuses, as
// upstream does, the second is an error when the rules are loaded.
type (
	// constant is "@", "!" or the empty text.
	constant bool
	negation struct{ inner check }
	// all holds for no checks, some does not.
	all     []check
	some    []check
	ruleRef string // rule:<name>
	hasRole struct{ role template }
	// literal compares a literal, in Python's printed form, with the right side.
	literal struct {
		kind, value string
		want        template
	}
	// attribute is the look-up of a path of names in the credentials of the caller.
	attribute struct {
		path []string
		want template
	}
	unreadable struct{ kind, match string } // a left side that is no Python name or literal
	misread    struct{ text string }
	vacant     struct{} // a rule without a value, which allows everything
	remote     struct{ text string }
)

// maxDepth bounds the nesting of rules and references during evaluation. In practice only a cycle
// reaches it.
const maxDepth = 400

// An evaluation is the state of one decision. Where upstream raises an
// exception, failed is set: the answer is then no, also below a "not".
type evaluation struct {
	rules    ruleset
	caller   identity.Caller
	target   map[string]string                // nil for the caller's own project and user
	evaluate func(name string) (string, bool) // overrides target; nil for none
	depth    int
	failed   bool
}

// evaluations are reused, since each request needs one.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// of returns a value of the target, and whether it has one.
func (ev *evaluation) of(name string) (value string, ok bool) {
	switch {
	case ev.evaluate != nil:
		return ev.evaluate(name)
	case ev.target == nil:
		return own(&ev.caller, name)
	}
	value, ok = ev.target[name]
	return value, ok
}

// decide evaluates a whole rule.
func (ev *evaluation) decide(c check) bool {
	ok := ev.test(c)
	return ok && !ev.failed
}

// test evaluates one node and whatever is below it.
func (ev *evaluation) test(c check) bool {
	if ev.failed || ev.depth == maxDepth {
		ev.failed = true
		return false
	}
	ev.depth++
	ok := c.holds(ev)
	ev.depth--
	return ok
}

// fail refuses the whole decision.
func (ev *evaluation) fail() bool {
	ev.failed = true
	return false
}

// expand fills in a template from the target. A name that the target lacks
// makes the check false; a template that cannot be filled in fails the decision.
func (ev *evaluation) expand(t template) (string, bool) {
	s, outcome := t.expand(ev)
	if outcome == malformed {
		ev.failed = true
	}
	return s, outcome == expanded
}

func (c constant) holds(*evaluation) bool    { return bool(c) }
func (c negation) holds(ev *evaluation) bool { return !ev.test(c.inner) }
func (c vacant) holds(*evaluation) bool      { return true }
func (c misread) holds(*evaluation) bool     { return false }
func (c remote) holds(ev *evaluation) bool   { return ev.fail() }

func (c all) holds(ev *evaluation) bool {
	for _, inner := range c {
		if !ev.test(inner) {
			return false
		}
	}
	return true
}

func (c some) holds(ev *evaluation) bool {
	for _, inner := range c {
		if ev.test(inner) {
			return true
		}
	}
	return false
}

// holds for a reference evaluates it. An undefined rule is evaluated as the default rule, and as a
// refusal without one.
func (c ruleRef) holds(ev *evaluation) bool {
	rule, ok := ev.rules.find(string(c))
	return ok && ev.test(rule)
}

// holds for a role ignores case.
func (c hasRole) holds(ev *evaluation) bool {
	want, ok := ev.expand(c.role)
	if !ok {
		return false
	}
	want = strings.ToLower(want)
	return slices.ContainsFunc(ev.caller.Roles, func(r string) bool { return strings.ToLower(r) == want })
}

// holds for a literal is the same for all callers: it is about the target alone.
func (c literal) holds(ev *evaluation) bool {
	want, ok := ev.expand(c.want)
	return ok && want == c.value
}

// holds for an attribute compares a credential with the right side. Credentials have no parts: a
// path into one fails as an index into a string does upstream.
func (c attribute) holds(ev *evaluation) bool {
	name := c.path[0]
	if ev.rules.networking && len(c.path) == 1 {
		if name == "field" {
			return ev.field(c.want.source)
		}
		name = neutral(name)
	}
	want, ok := ev.expand(c.want)
	if !ok {
		return false
	}
	values, known := credential(&ev.caller, name)
	if !known || len(values) == 0 {
		return false
	}
	if len(c.path) > 1 {
		return ev.fail()
	}
	return slices.Contains(values, want)
}

// holds for an unreadable left side fails, but a name missing from the target is detected first.
func (c unreadable) holds(ev *evaluation) bool {
	if _, ok := ev.expand(newTemplate(c.match)); !ok {
		return false
	}
	return ev.fail()
}

// walk calls visit for c and all checks below it.
func walk(c check, visit func(check)) {
	visit(c)
	var inner []check
	switch c := c.(type) {
	case negation:
		inner = []check{c.inner}
	case all:
		inner = c
	case some:
		inner = c
	}
	for _, c := range inner {
		walk(c, visit)
	}
}
