package networkapi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/network"
)

// A Policy decides whether a caller may do what a rule guards to a target. It
// refuses with a fault of kind Denied.
type Policy interface {
	AllowAbout(caller identity.Caller, rule string, target func(name string) (string, bool)) error
	// Possible reports whether there may be a target for which AllowAbout lets the caller act.
	Possible(caller identity.Caller, rule string) bool
	// PossibleForOthers reports the same of targets whose owners, by their names, are other projects than the caller's.
	PossibleForOthers(caller identity.Caller, rule string, owners ...string) bool
	// Has reports whether there is such a rule.
	Has(rule string) bool
}

// A target is what rules look at, of an object: its attributes, and what they say of
// the objects that it belongs to, as "network:tenant_id" does. Values are texts as
// Python has them: True, None.
type target struct {
	values map[string]string // these go before the attributes
	// attribute finds any other attribute; nil when there are none.
	attribute func(name string) (string, bool)
	// near are the projects that the object belongs to; nil for all, when policy alone decides who
	// sees it.
	near []string
	open bool // all projects have to do with it
}

// owner is the target of an object that belongs to a project.
func owner(project string) target {
	return target{values: map[string]string{"project_id": project, "tenant_id": project}, near: []string{project}}
}

// with adds a value.
func (t target) with(name, value string) target {
	if t.values != nil {
		t.values[name] = value
	}
	return t
}

// flag adds a boolean.
func (t target) flag(name string, is bool) target { return t.with(name, pyjson.Str(valueOf(is))) }

// opened is an object that all projects see if one of the attributes is true.
func (t target) opened(is ...bool) target {
	t.open = slices.Contains(is, true)
	return t
}

// of returns a value, and whether there is one.
func (t target) of(name string) (string, bool) {
	if v, ok := t.values[name]; ok || t.attribute == nil {
		return v, ok
	}
	return t.attribute(name)
}

// changed is the object as a PUT will make it.
func (t target) changed(b body) target {
	t.values = maps.Clone(t.values)
	if t.values == nil {
		t.values = make(map[string]string, len(b.values))
	}
	for name, v := range b.values {
		t.values[name] = pyjson.Str(v)
	}
	return t
}

// isNear reports whether an object belongs to the caller's project. Neutron reads no others from
// its database, whatever policy says.
func (t target) isNear(ctx context.Context) bool {
	caller, _ := identity.From(ctx)
	return t.open || t.near == nil || caller.ProjectID != "" && slices.Contains(t.near, caller.ProjectID)
}

// isAdmin and isService are the rules that say what a caller is.
const (
	isAdmin   = "context_is_admin"
	isService = "context_is_advsvc"
)

func (a *API) allow(ctx context.Context, rule string, t target) error {
	caller, _ := identity.From(ctx)
	err := a.Policy.AllowAbout(caller, rule, t.of)
	if kind, _ := fault.Of(err); kind == fault.Denied {
		return fault.New(fault.Denied, codeForbidden, "rule:%s is disallowed by policy", rule)
	}
	return err
}

// possible refuses callers whom a rule refuses whatever the target is. Neutron reads the body first, as it has the target; that is
// only done here for callers who may be allowed something.
func (a *API) possible(ctx context.Context, rule string) error {
	caller, _ := identity.From(ctx)
	if a.Policy.Possible(caller, rule) {
		return nil
	}
	return fault.New(fault.Denied, codeForbidden, "rule:%s is disallowed by policy", rule)
}

// allowAttribute checks the rule of an attribute that is set, and those of its parts where it has
// some. A rule that does not exist is the default one. It returns the combination of the rules.
func (a *API) allowAttribute(ctx context.Context, rule string, v pyjson.Value, parts bool, t target) (text string, err error) {
	text, err = "rule:"+rule, a.allowOr(ctx, rule, t)
	if !parts {
		return text, err
	}
	var names []string
	asked := map[string]bool{}
	for _, item := range v.Items() {
		for _, m := range item.Members() {
			if part := rule + ":" + m.Key; !asked[part] {
				asked[part] = true
				names = append(names, "rule:"+part)
				err = cmp.Or(err, a.allowOr(ctx, part, t))
			}
		}
	}
	if len(names) > 0 {
		text = "(" + text + " and (" + strings.Join(names, " and ") + "))"
	}
	return text, err
}

// allowOr checks a rule, or the default one when it does not exist.
func (a *API) allowOr(ctx context.Context, rule string, t target) error {
	if !a.Policy.Has(rule) {
		rule = policy.DefaultRule
	}
	return a.allow(ctx, rule, t)
}

// mayRead reports whether the caller may see an attribute of an object.
func (a *API) mayRead(ctx context.Context, kind, attribute string, t target) bool {
	rule := "get_" + kind + ":" + attribute
	return !a.Policy.Has(rule) || a.allow(ctx, rule, t) == nil
}

// is reports whether the caller is an administrator or a service.
func (a *API) is(ctx context.Context) bool {
	return a.isAdmin(ctx) || a.has(ctx, isService)
}

// isAdmin reports whether the caller is an administrator.
func (a *API) isAdmin(ctx context.Context) bool { return a.has(ctx, isAdmin) }

// has reports whether a rule holds for the caller, independent of any target.
func (a *API) has(ctx context.Context, rule string) bool {
	caller, _ := identity.From(ctx)
	return a.allow(ctx, rule, owner(caller.ProjectID).with("user_id", caller.UserID)) == nil
}

// projectOf is the project whose objects the caller may put to use, "" for any.
func (a *API) projectOf(ctx context.Context) string {
	if a.isAdmin(ctx) {
		return ""
	}
	caller, _ := identity.From(ctx)
	return caller.ProjectID
}

// owned fills in the owner of an object in a body, under both its names, and
// refuses that of another project.
func (a *API) owned(ctx context.Context, v pyjson.Value) (pyjson.Value, error) {
	project, byProject := v.Get("project_id")
	tenant, byTenant := v.Get("tenant_id")
	switch {
	case byProject && byTenant && !equal(project, tenant):
		return v, badRequest("'project_id' and 'tenant_id' do not match")
	case byTenant:
		project = tenant
	case !byProject:
		return v, nil
	}
	caller, _ := identity.From(ctx)
	if pyjson.Str(project) != caller.ProjectID && !a.is(ctx) {
		return v, badRequest("Specifying 'project_id' or 'tenant_id' other than the authenticated project in request " +
			"requires admin or advsvc privileges")
	}
	members := append([]pyjson.Member{}, v.Members()...)
	return pyjson.NewObject(append(members,
		pyjson.Member{Key: "project_id", Value: project},
		pyjson.Member{Key: "tenant_id", Value: project})...), nil
}

// network adds the owner of the network of an object.
func (t target) network(project string) target {
	t.near = append(t.near, project)
	return t.with("network:tenant_id", project).with("network:project_id", project)
}

// onNetwork is the target of a new object on a network, which the caller must be allowed to use: it
// is the caller's, shared, or the caller is an administrator.
func (a *API) onNetwork(ctx context.Context, kind string, id network.ID, project string) (target, error) {
	all, err := a.Network.Networks(ctx, network.Where(network.ByID, id))
	if err != nil {
		return target{}, err
	}
	caller, _ := identity.From(ctx)
	if len(all) == 0 || all[0].Project != caller.ProjectID && !all[0].Shared && !all[0].External && !a.is(ctx) {
		return target{}, network.NotFound("network", id)
	}
	n := all[0]
	if !a.is(ctx) && !n.Shared && n.Project != project {
		return target{}, fault.New(fault.Denied, "HTTPForbidden", "Tenant %s not allowed to create %s on this network", project, kind)
	}
	return owner(project).flag("shared", n.Shared).network(n.Project), nil
}

// choice returns which QoS policies the caller may replace and choose. Services may choose any, and
// replace those of their project only, as in Neutron.
func (a *API) choice(ctx context.Context) network.PolicyChoice {
	project := a.projectOf(ctx)
	if a.is(ctx) {
		return network.PolicyChoice{From: project}
	}
	return network.PolicyChoice{From: project, To: project}
}

// A policyRule is one rule: its name, its check, the check that it had before ("" for
// none), and what it guards, as method and path.
type policyRule struct{ name, check, old, operation string }

// everybody is a check that all callers pass.
const everybody = "@"

// PolicyDefaults are the rules of the API, for the policy engine.
func PolicyDefaults() []policy.Rule {
	all := make([]policy.Rule, len(policyRules))
	for i, r := range policyRules {
		all[i] = policy.Rule{Name: r.name, Check: r.check}
		if method, path, ok := strings.Cut(r.operation, " "); ok {
			all[i].Operations = []policy.Operation{{Method: method, Path: path}}
			all[i].Scopes = []identity.Scope{identity.Project}
		}
		if r.old != "" {
			all[i].Deprecated = &policy.Deprecated{Name: r.name, Check: r.old, Reason: "It gave every role of a project the same rights.", Since: "16.0"}
		}
	}
	return all
}
