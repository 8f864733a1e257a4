package daemon

import (
	"sync/atomic"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// A livePolicy is an enforcer of rules that a reload replaces. It may be used from many goroutines.
type livePolicy struct {
	current atomic.Pointer[policy.Enforcer]
}

// Allow applies the current rules.
func (p *livePolicy) Allow(caller identity.Caller, rule string, target map[string]string) error {
	return p.current.Load().Allow(caller, rule, target)
}

// AllowAbout applies the current rules.
func (p *livePolicy) AllowAbout(caller identity.Caller, rule string, target func(name string) (string, bool)) error {
	return p.current.Load().AllowAbout(caller, rule, target)
}

// Possible applies the current rules.
func (p *livePolicy) Possible(caller identity.Caller, rule string) bool {
	return p.current.Load().Possible(caller, rule)
}

// PossibleForOthers applies the current rules.
func (p *livePolicy) PossibleForOthers(caller identity.Caller, rule string, owners ...string) bool {
	return p.current.Load().PossibleForOthers(caller, rule, owners...)
}

// Has reports whether there is such a rule.
func (p *livePolicy) Has(rule string) bool { return p.current.Load().Has(rule) }
