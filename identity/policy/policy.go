// Package policy decides what a caller may do, by rules in oslo.policy's language: the defaults
// that a service registers, and the files with which an operator overrides them. Authentication is
// in the packages next to it, and the services' rules are in the packages of their APIs.
//
// A rule goes through these stages:
//
//	source.go, file.go      policy files, in YAML or JSON, are found and read
//	parse.go, compare.go    a text becomes a tree of checks
//	ruleset.go              defaults and overrides are merged; findings about them are the warnings
//	policy.go               Enforcer: one decision, and changed files are loaded
//	check.go, template.go, credential.go, field.go
//	                        the checks are evaluated for a caller and a target
//
// The reference is oslo.policy 4: a malformed rule refuses instead of being an error, "not" binds
// tighter than "and" and that tighter than "or", an undefined rule is the default rule. Checks that
// query an HTTP server are refused when they are loaded.
package policy

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// DefaultRule is oslo.policy's name of the rule that replaces undefined ones, if it exists.
const DefaultRule = "default"

// defaultInterval is the interval of checks for changed files unless Options sets one.
const defaultInterval = time.Second

// A Rule is the default for one operation, or for a name that other rules refer to (RuleDefault and
// DocumentedRuleDefault in oslo.policy).
type Rule struct {
	Name        string
	Check       string // in the policy language
	Newest      string // the check when new defaults are enforced, if a later release changed it
	Description string
	Operations  []Operation      // none for a rule that only others use
	Scopes      []identity.Scope // the scopes that tokens may have; none means any
	Deprecated  *Deprecated      // the earlier form of the rule, if that still applies
}

// An Operation is one request that a rule guards.
type Operation struct {
	Method string
	Path   string
}

// Deprecated is an earlier form of a rule (DeprecatedRule in oslo.policy). Until new defaults are
// enforced, it is an alternative to the rule, and an override of its name applies to the rule.
type Deprecated struct {
	Name   string
	Check  string
	Reason string
	Since  string // the release that deprecated it
}

// Options are the rules and settings of an Enforcer.
type Options struct {
	// File is the path of the operator's policy file and Dirs are directories
	// of more of them. None of them has to exist. Empty means none.
	File string
	Dirs []string

	// EnforceScope refuses tokens of a scope that the rule does not list (option enforce_scope).
	EnforceScope bool
	// EnforceNewDefaults ignores the deprecated forms of rules (option enforce_new_defaults).
	EnforceNewDefaults bool
	// DefaultRule names the rule that replaces undefined ones, if it exists. Empty means "default".
	DefaultRule string

	Defaults []Rule

	// Networking adds Neutron's extensions: checks of the form field:KIND:NAME=VALUE about the
	// target, and tenant_id for the caller's project.
	Networking bool

	// OnReload is called after each attempt to load changed files, with nil or with the reason why
	// the rules are unchanged. It is called from within Allow, never concurrently. It may be nil.
	OnReload func(error)

	// Interval is the least time between two checks for changed files; zero means defaultInterval.
	Interval time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// An Enforcer decides whether callers may do something. Its methods may be called concurrently.
type Enforcer struct {
	opts     Options
	defaults map[string]*registered
	current  atomic.Pointer[state]
	nextLook atomic.Int64 // in Unix nanoseconds

	looking sync.Mutex
	seen    []source // guarded by looking; the sources found last, readable or not
	lookErr string   // guarded by looking; the error of the last check, "" for none
}

// A state is one version of the policy. It is immutable. Decisions under way go on with the one
// that they began with.
type state struct {
	rules    ruleset
	warnings []string
}

// New returns an Enforcer for the rules in opts. It is an error when a policy file exists but
// cannot be read or is malformed, when a rule has a remote check, and when the defaults are
// invalid.
func New(opts Options) (*Enforcer, error) {
	if opts.DefaultRule == "" {
		opts.DefaultRule = DefaultRule
	}
	if opts.Interval == 0 {
		opts.Interval = defaultInterval
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	defaults, err := register(opts.Defaults)
	if err != nil {
		return nil, err
	}
	e := &Enforcer{opts: opts, defaults: defaults}
	e.nextLook.Store(opts.Now().Add(opts.Interval).UnixNano())
	if e.seen, err = find(opts.File, opts.Dirs); err != nil {
		return nil, fmt.Errorf("looking for policy files: %w", err)
	}
	if err := e.load(); err != nil {
		return nil, err
	}
	return e, nil
}

// Allow returns nil if the rule lets the caller act on the target, and else a fault of kind Denied
// with upstream's message. A nil target means the caller's own project and user. Absent values in a
// target are [None].
//
// A rule that was not registered is an internal error. Once in an Interval, Allow checks whether
// the policy files have changed, and applies their new content; if that is invalid, the old rules
// remain in effect.
func (e *Enforcer) Allow(caller identity.Caller, rule string, target map[string]string) error {
	return e.decide(rule, evaluation{caller: caller, target: target})
}

// AllowAbout is Allow with a target whose values are looked up by name when a rule needs them. The
// function returns false for a value that the target does not have.
func (e *Enforcer) AllowAbout(caller identity.Caller, rule string, target func(name string) (string, bool)) error {
	return e.decide(rule, evaluation{caller: caller, evaluate: target})
}

// decide refreshes the rules, checks the scope of the token and then the rule. With EnforceScope,
// no override of a rule can admit a token of a scope that the default does not list.
func (e *Enforcer) decide(rule string, about evaluation) error {
	caller := about.caller
	e.refresh()
	r, ok := e.defaults[rule]
	if !ok {
		return fmt.Errorf("policy %q is not registered", rule)
	}
	if e.opts.EnforceScope && len(r.Scopes) > 0 && !slices.Contains(r.Scopes, caller.Scope()) {
		// Upstream's exception has the bare name of the rule here.
		return fault.New(fault.Denied, "", "%s", rule)
	}
	if !e.current.Load().rules.allow(rule, about) {
		return fault.New(fault.Denied, "", "Policy does not allow %s to be performed.", rule)
	}
	return nil
}

// Has reports whether a rule was registered.
func (e *Enforcer) Has(rule string) bool { return e.defaults[rule] != nil }

// Warnings returns, for the log, findings about the rules in effect: malformed, undefined, circular
// and deprecated ones. They are not errors, since upstream's services start with such rules.
func (e *Enforcer) Warnings() []string {
	return slices.Clone(e.current.Load().warnings)
}

// refresh checks for changed files after the interval. One caller does so while the others use the
// current rules.
func (e *Enforcer) refresh() {
	now := e.opts.Now()
	next := e.nextLook.Load()
	if now.UnixNano() < next || !e.nextLook.CompareAndSwap(next, now.Add(e.opts.Interval).UnixNano()) {
		return
	}
	if !e.looking.TryLock() {
		return
	}
	defer e.looking.Unlock()
	if changed, err := e.look(); changed && e.opts.OnReload != nil {
		e.opts.OnReload(err)
	}
}

// look loads the files if they have changed since the last check. The same error is reported once.
func (e *Enforcer) look() (changed bool, err error) {
	sources, err := find(e.opts.File, e.opts.Dirs)
	if err != nil {
		isNew := e.lookErr != err.Error()
		e.lookErr = err.Error()
		return isNew, fmt.Errorf("looking for policy files: %w", err)
	}
	if e.lookErr == "" && same(e.seen, sources) {
		return false, nil
	}
	e.lookErr, e.seen = "", sources
	return true, e.load()
}

// load applies the rules of the files found last, or changes nothing and returns an error. The
// caller is New, or has locked looking.
func (e *Enforcer) load() error {
	file, err := read(e.seen)
	if err != nil {
		return err
	}
	rules := merge(e.defaults, file, e.opts.EnforceNewDefaults, e.opts.DefaultRule)
	rules.networking = e.opts.Networking
	e.current.Store(&state{
		rules:    rules,
		warnings: append(deprecations(e.defaults, file), rules.warnings()...),
	})
	return nil
}
