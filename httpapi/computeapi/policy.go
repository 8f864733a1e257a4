package computeapi

import (
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// A Policy decides whether a caller may do what a rule guards to a target; a nil target means the
// caller's own project and user. It refuses with a fault of kind Denied.
type Policy interface {
	Allow(caller identity.Caller, rule string, target map[string]string) error
}

// A target is what rules look at: project_id or user_id.
type target = map[string]string

// The targets that are no object's.
var (
	nobodys target               = target{} // what belongs to the cloud
	own     target                          // what is the caller's
	ofAdmin = "context_is_admin"            // administrators
)

func ofProject(id string) target { return target{"project_id": id} }
func ofUser(id string) target    { return target{"user_id": id} }

// can refuses what policy does. Rules are named without what most begin with.
func (q *request) can(rule string, t target) error {
	if !strings.HasPrefix(rule, "compute:") {
		rule = "os_compute_api:" + rule
	}
	err := q.api.Policy.Allow(q.caller, rule, t)
	if kind, _ := fault.Of(err); kind == fault.Denied {
		return fault.New(fault.Denied, codeForbidden, "Policy doesn't allow %s to be performed.", rule)
	}
	return err
}

// may reports whether policy allows the caller a rule on a target.
func (q *request) may(rule string, t target) bool { return q.can(rule, t) == nil }

// isAdmin reports whether the caller is an administrator.
func (q *request) isAdmin() bool { return q.api.Policy.Allow(q.caller, ofAdmin, own) == nil }

// A policyRule is one rule: its name, its check, the rule that it was before ("" for
// none), and what it guards, as methods and paths.
type policyRule struct{ name, check, old, operations string }

// oldRules are the former rules. Until new defaults are enforced, either is sufficient.
var oldRules = map[string]string{
	"admin_or_owner": "role:admin or project_id:%(project_id)s",
	"admin_api":      "role:admin",
}

// PolicyDefaults are the rules of the API, for the policy engine.
func PolicyDefaults() []policy.Rule {
	all := make([]policy.Rule, len(policyRules))
	for i, r := range policyRules {
		all[i] = policy.Rule{Name: r.name, Check: r.check}
		for operation := range strings.SplitSeq(r.operations, ", ") {
			if method, path, ok := strings.Cut(operation, " "); ok {
				all[i].Operations = append(all[i].Operations, policy.Operation{Method: method, Path: path})
				all[i].Scopes = []identity.Scope{identity.Project}
			}
		}
		if r.old != "" {
			all[i].Deprecated = deprecated(r)
		}
	}
	return all
}

// deprecated is what a rule was before: another rule, or one of the same name with the
// check of another.
func deprecated(r policyRule) *policy.Deprecated {
	name, check, renamed := strings.Cut(r.old, "=")
	if !renamed {
		name, check = r.old, oldRules[r.old]
	}
	return &policy.Deprecated{Name: name, Check: check, Reason: "It gave every role of a project the same rights.", Since: "21.0.0"}
}
