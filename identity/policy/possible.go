package policy

import (
	"slices"

	"github.com/berthcloud/berth/identity"
)

// Possible reports whether there may be a target for which Allow lets the caller act. It is for
// requests whose target is in their body: a caller that no target helps is refused before the body
// is read. A rule that was not registered is possible, and left to Allow.
func (e *Enforcer) Possible(caller identity.Caller, rule string) bool {
	return e.PossibleForOthers(caller, rule)
}

// PossibleForOthers reports whether there may be such a target whose owners, by their names, are
// other projects than the caller's. It is for lists: a caller whom no target of other projects is
// shown gets those of his own searched for.
func (e *Enforcer) PossibleForOthers(caller identity.Caller, rule string, owners ...string) bool {
	e.refresh()
	r, ok := e.defaults[rule]
	if !ok {
		return true
	}
	if e.opts.EnforceScope && len(r.Scopes) > 0 && !slices.Contains(r.Scopes, caller.Scope()) {
		return false
	}
	rules := e.current.Load().rules
	o := outlook{
		rules: rules, others: owners,
		ev: evaluation{rules: rules, caller: caller, evaluate: func(string) (string, bool) { return "", false }},
	}
	return o.of(rules.byName[rule]).holds
}

// An outlook finds how checks may end for a caller while nothing is known of the target, but for
// who does not own it.
type outlook struct {
	rules  ruleset
	others []string   // what of the target names other projects than the caller's
	ev     evaluation // for checks without a target
	depth  int
}

// chances are how a check may end.
type chances struct{ holds, fails bool }

// of over-estimates: what it says is impossible is so for all targets.
func (o *outlook) of(c check) chances {
	if o.depth == maxDepth {
		return chances{true, true}
	}
	o.depth++
	defer func() { o.depth-- }()
	switch c := c.(type) {
	case negation:
		inner := o.of(c.inner)
		return chances{holds: inner.fails, fails: inner.holds}
	case all:
		cur := chances{holds: true}
		for _, inner := range c {
			c := o.of(inner)
			cur = chances{cur.holds && c.holds, cur.fails || c.fails}
		}
		return cur
	case some:
		cur := chances{fails: true}
		for _, inner := range c {
			c := o.of(inner)
			cur = chances{cur.holds || c.holds, cur.fails && c.fails}
		}
		return cur
	case ruleRef:
		if rule, ok := o.rules.find(string(c)); ok {
			return o.of(rule)
		}
		return chances{fails: true}
	case hasRole:
		return o.unlessTargeted(c.role, c)
	case attribute:
		if o.rules.networking && len(c.path) == 1 && c.path[0] == "field" || len(c.path) > 1 {
			return chances{true, true}
		}
		if o.isOthers(c) {
			return chances{fails: true}
		}
		return o.unlessTargeted(c.want, c)
	case constant, vacant, misread:
		holds := c.holds(&o.ev)
		return chances{holds, !holds}
	}
	return chances{true, true}
}

// isOthers reports whether a check compares the caller's project with what names another one.
func (o *outlook) isOthers(c attribute) bool {
	name := c.path[0]
	if o.rules.networking {
		name = neutral(name)
	}
	return name == "project_id" && len(c.want.parts) == 1 && c.want.parts[0] == part{
		name: c.want.parts[0].name, named: true,
	} &&
		slices.Contains(o.others, c.want.parts[0].name)
}

// unlessTargeted evaluates a check with a template that has nothing of a target in it.
func (o *outlook) unlessTargeted(t template, c check) chances {
	for _, p := range t.parts {
		if p.named || p.bad {
			return chances{true, true}
		}
	}
	holds := c.holds(&o.ev)
	return chances{holds, !holds}
}
