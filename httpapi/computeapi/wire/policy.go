package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
)

// A Policy decides whether a caller may do what a rule guards to a target; a nil target means the
// caller's own project and user. It refuses with a fault of kind Denied.
type Policy interface {
	Allow(caller identity.Caller, rule string, target map[string]string) error
	// Possible reports whether there may be a target for which Allow lets the caller act.
	Possible(caller identity.Caller, rule string) bool
}

// A Target is what rules compare with the caller: project_id or user_id.
type Target = map[string]string

// The targets that are no object's.
var (
	CloudTarget Target               = Target{} // what belongs to the cloud
	OwnTarget   Target                          // what is the caller's
	ofAdmin     = "context_is_admin"            // administrators
)

// OfProject is what belongs to a project, OfUser what belongs to a user.
func OfProject(id string) Target { return Target{"project_id": id} }
func OfUser(id string) Target    { return Target{"user_id": id} }

// Can refuses what policy does. Rules are named without what most begin with.
func (q *Request) Can(rule string, t Target) error {
	if !strings.HasPrefix(rule, "compute:") && !strings.HasPrefix(rule, "os_compute_api:") {
		rule = "os_compute_api:" + rule
	}
	err := q.API.Policy.Allow(q.Caller, rule, t)
	if kind, _ := fault.Of(err); kind == fault.Denied {
		return forbidden(rule)
	}
	return err
}

func forbidden(rule string) error {
	return fault.New(fault.Denied, codeForbidden, "Policy doesn't allow %s to be performed.", rule)
}

// possible refuses callers whom none of the rules lets through, whatever the target is. Nova reads
// and validates a body first, which may name the action or the owner; that is only done here for
// callers who may be allowed something. A server of another project stays hidden from them.
func (q *Request) possible(rules []string) error {
	if len(rules) == 0 ||
		slices.ContainsFunc(rules, func(rule string) bool { return q.API.Policy.Possible(q.Caller, rule) }) {
		return nil
	}
	if q.Param("server") != "" {
		if _, err := q.ServerInPath(rules[0]); err != nil {
			return err
		}
	}
	return forbidden(rules[0])
}

// bodyRules are the rules of a route with a body: those whose first operation it is. Others guard
// only what is in its answer.
func bodyRules(method, path string) []string {
	if method != http.MethodPost && method != http.MethodPut {
		return nil
	}
	return rulesByOperation()[method+" "+nameless.ReplaceAllString(path, "{}")]
}

// rulesByOperation are the names of the rules by their first operation, in which "{}" stands for
// each parameter. Routes share them; they are not changed.
var rulesByOperation = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, r := range policyRules {
		first, _, _ := strings.Cut(r.operations, ", ")
		operation, _, _ := strings.Cut(first, " (") // in parentheses: the action
		operation = strings.TrimSuffix(nameless.ReplaceAllString(operation, "{}"), "/")
		all[operation] = append(all[operation], r.name)
	}
	return all
})

var nameless = regexp.MustCompile(`\{[^}]*\}`)

// May reports whether policy allows the caller a rule on a target.
func (q *Request) May(rule string, t Target) bool { return q.Can(rule, t) == nil }

// IsAdmin reports whether the caller is an administrator.
func (q *Request) IsAdmin() bool { return q.API.Policy.Allow(q.Caller, ofAdmin, OwnTarget) == nil }

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
		all[i] = policy.Rule{Name: r.name, Check: r.check, Newest: newestChecks[r.name]}
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
	return &policy.Deprecated{
		Name: name, Check: check, Reason: "It gave every role of a project the same rights.", Since: "21.0.0",
	}
}
