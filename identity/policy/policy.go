// Package policy decides what a caller may do, by rules in oslo.policy's
// language: the defaults a service registers, and the files with which an
// operator overrides them. It is not for finding out who calls, and knows no
// service's rules.
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

// The values that the settings have in the current oslo.policy unless they are
// given. Its newest release always enforces the scope.
const (
	DefaultEnforceScope       = true
	DefaultEnforceNewDefaults = true
	DefaultRule               = "default"
)

// DefaultInterval is how often files are looked at unless Options says so.
const DefaultInterval = time.Second

// A Rule is the default for one operation, or for a name that other rules use.
type Rule struct {
	Name        string
	Check       string // in the policy language
	Description string
	Operations  []Operation      // none for a rule that only others use
	Scopes      []identity.Scope // what tokens may be scoped to; none means any
	Deprecated  *Deprecated      // what the rule was before, if that still counts
}

// An Operation is one request that a rule guards.
type Operation struct {
	Method string
	Path   string
}

// Deprecated is an earlier form of a rule. Until new defaults are enforced,
// what it allows stays allowed, and an override of its name counts for the rule.
type Deprecated struct {
	Name   string
	Check  string
	Reason string
	Since  string // the release that deprecated it
}

// Options says which rules an Enforcer enforces, and how.
type Options struct {
	// File is the path of the operator's policy file and Dirs are directories
	// of more of them. None of them has to exist. Empty means none.
	File string
	Dirs []string

	// EnforceScope refuses tokens of a scope that the rule does not list.
	EnforceScope bool
	// EnforceNewDefaults ignores the old form of rules.
	EnforceNewDefaults bool
	// DefaultRule names the rule that stands in for references to undefined
	// ones, if it exists. Empty means "default".
	DefaultRule string

	Defaults []Rule

	// Networking adds what Neutron's policies know besides: checks of the form
	// field:KIND:NAME=VALUE about the target, and tenant_id for the caller's
	// project.
	Networking bool

	// OnReload is called after each attempt to take in changed files, with nil
	// or with the reason why the rules stay as they were. It is called from
	// within Allow, never twice at a time. It may be nil.
	OnReload func(error)

	// Interval is the least time between two looks at the files; zero means
	// DefaultInterval.
	Interval time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// An Enforcer answers whether a caller may do something. Its methods may be
// called from several goroutines.
type Enforcer struct {
	opts     Options
	defaults map[string]*registered
	current  atomic.Pointer[state]
	nextLook atomic.Int64 // in Unix nanoseconds

	looking sync.Mutex
	seen    []source // guarded by looking; what was found last, readable or not
	lookErr string   // guarded by looking; why the last look found nothing
}

// A state is one version of the policy. It is immutable.
type state struct {
	rules    ruleset
	warnings []string
}

// New returns an Enforcer for the rules in opts. It is an error when a policy
// file exists but cannot be read or is no policy file, when a rule asks a
// remote server, and when the defaults are not well formed.
func New(opts Options) (*Enforcer, error) {
	if opts.DefaultRule == "" {
		opts.DefaultRule = DefaultRule
	}
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
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

// Allow returns nil if the rule lets the caller act on the target, and else a
// fault of kind Denied in upstream's words. A nil target means the caller's own
// project and user. In a target a value that is absent is written None.
//
// A rule that was not registered is an internal error. Every now and then,
// Allow looks whether the policy files have changed, and if so decides by their
// new content; if that is broken, the old rules stay.
func (e *Enforcer) Allow(caller identity.Caller, rule string, target map[string]string) error {
	return e.decide(rule, evaluation{caller: caller, target: target})
}

// AllowAbout is Allow about a target that is asked for its values by name, of which
// mostly few matter. It reports false for a value that the target does not have.
func (e *Enforcer) AllowAbout(caller identity.Caller, rule string, target func(name string) (string, bool)) error {
	return e.decide(rule, evaluation{caller: caller, ask: target})
}

func (e *Enforcer) decide(rule string, about evaluation) error {
	caller := about.caller
	e.refresh()
	r, ok := e.defaults[rule]
	if !ok {
		return fmt.Errorf("policy %q is not registered", rule)
	}
	if e.opts.EnforceScope && len(r.Scopes) > 0 && !slices.Contains(r.Scopes, caller.Scope()) {
		// Upstream hands the bare name of the rule to its exception here.
		return fault.New(fault.Denied, "", "%s", rule)
	}
	if !e.current.Load().rules.allow(rule, about) {
		return fault.New(fault.Denied, "", "Policy does not allow %s to be performed.", rule)
	}
	return nil
}

// Has reports whether a rule was registered.
func (e *Enforcer) Has(rule string) bool { return e.defaults[rule] != nil }

// Warnings says, for the log, what in the rules now in force an operator should
// look at: what is not understood, undefined, circular or deprecated.
func (e *Enforcer) Warnings() []string {
	return slices.Clone(e.current.Load().warnings)
}

// refresh looks at the files when it is time. One caller does so while the
// others go on with the rules they have.
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

// look takes in the files if they have changed since the last look. The same
// trouble is reported once.
func (e *Enforcer) look() (changed bool, err error) {
	found, err := find(e.opts.File, e.opts.Dirs)
	if err != nil {
		news := e.lookErr != err.Error()
		e.lookErr = err.Error()
		return news, fmt.Errorf("looking for policy files: %w", err)
	}
	if e.lookErr == "" && same(e.seen, found) {
		return false, nil
	}
	e.lookErr, e.seen = "", found
	return true, e.load()
}

// load puts the rules of the files seen last in force, or leaves everything as
// it is and returns an error.
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
