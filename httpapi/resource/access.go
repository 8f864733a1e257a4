package resource

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
)

// A Policy decides whether a caller may do what a rule guards to a target. It
// refuses with a fault of kind Denied.
type Policy interface {
	AllowAbout(caller identity.Caller, rule string, target func(name string) (string, bool)) error
	// Possible reports whether there may be a target for which AllowAbout lets the caller act.
	Possible(caller identity.Caller, rule string) bool
	// PossibleForOthers reports the same of targets whose owners, by their names, are other
	// projects than the caller's.
	PossibleForOthers(caller identity.Caller, rule string, owners ...string) bool
	// Has reports whether there is such a rule.
	Has(rule string) bool
}

// A Target is what rules compare with the caller: the attributes of an object, and those of
// the objects that it belongs to, as "network:tenant_id" does. Values are texts as
// Python has them: True, None.
type Target struct {
	values map[string]string // these go before the attributes
	// attribute finds any other attribute; nil when there are none.
	attribute func(name string) (string, bool)
	// Projects are those that the object belongs to; nil for all, when policy alone decides who
	// sees it.
	Projects []string
	Shared   bool // it concerns all projects
}

// OwnedBy is the target of an object that belongs to a project.
func OwnedBy(project string) Target {
	return Target{values: map[string]string{"project_id": project, "tenant_id": project}, Projects: []string{project}}
}

// With adds a value.
func (t Target) With(name, value string) Target {
	if t.values != nil {
		t.values[name] = value
	}
	return t
}

// WithFlag adds a boolean.
func (t Target) WithFlag(name string, flag bool) Target {
	return t.With(name, pyjson.Str(pyjson.Of(flag)))
}

// SharedIf is an object that all projects see if one of the attributes is true.
func (t Target) SharedIf(flags ...bool) Target {
	t.Shared = slices.Contains(flags, true)
	return t
}

// value returns a value, and whether there is one.
func (t Target) value(name string) (string, bool) {
	if v, ok := t.values[name]; ok || t.attribute == nil {
		return v, ok
	}
	return t.attribute(name)
}

// changed is the object as a PUT will make it.
func (t Target) changed(b Body) Target {
	t.values = maps.Clone(t.values)
	if t.values == nil {
		t.values = make(map[string]string, len(b.Values))
	}
	for name, v := range b.Values {
		t.values[name] = pyjson.Str(v)
	}
	return t
}

// Concerns reports whether an object belongs to the caller's project. Neutron reads no others from
// its database, whatever policy says.
func (t Target) Concerns(ctx context.Context) bool {
	caller, _ := identity.From(ctx)
	return t.Shared || t.Projects == nil || caller.ProjectID != "" && slices.Contains(t.Projects, caller.ProjectID)
}

// The rules that define privileged callers.
const (
	ruleAdmin   = "context_is_admin"
	ruleService = "context_is_advsvc"
)

// An Access decides what callers may do.
type Access struct{ Policy Policy }

// Allow refuses what a rule does not let the caller do to a target.
func (a Access) Allow(ctx context.Context, rule string, t Target) error {
	caller, _ := identity.From(ctx)
	err := a.Policy.AllowAbout(caller, rule, t.value)
	if kind, _ := fault.Of(err); kind == fault.Denied {
		return fault.New(fault.Denied, codeForbidden, "rule:%s is disallowed by policy", rule)
	}
	return err
}

// possible refuses callers whom a rule refuses whatever the target is. Neutron reads the body
// first, as it has the target; here that is only done for callers who may be allowed something, so
// that others cannot make the service read large bodies.
func (a Access) possible(ctx context.Context, rule string) error {
	caller, _ := identity.From(ctx)
	if a.Policy.Possible(caller, rule) {
		return nil
	}
	return fault.New(fault.Denied, codeForbidden, "rule:%s is disallowed by policy", rule)
}

// AllowAttribute checks the rule of an attribute that is set, and those of its members for an
// attribute with a nested policy. A rule that does not exist is the default one. It returns the
// combination of the rules.
func (a Access) AllowAttribute(
	ctx context.Context, rule string, v pyjson.Value, nested bool, t Target,
) (text string, err error) {
	text, err = "rule:"+rule, a.allowOr(ctx, rule, t)
	if !nested {
		return text, err
	}
	var names []string
	checked := map[string]bool{}
	for _, item := range v.Items() {
		for _, m := range item.Members() {
			if part := rule + ":" + m.Key; !checked[part] {
				checked[part] = true
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
func (a Access) allowOr(ctx context.Context, rule string, t Target) error {
	if !a.Policy.Has(rule) {
		rule = policy.DefaultRule
	}
	return a.Allow(ctx, rule, t)
}

// mayRead reports whether the caller may see an attribute of an object.
func (a Access) mayRead(ctx context.Context, kind, attribute string, t Target) bool {
	rule := "get_" + kind + ":" + attribute
	return !a.Policy.Has(rule) || a.Allow(ctx, rule, t) == nil
}

// IsPrivileged reports whether the caller is an administrator or a service.
func (a Access) IsPrivileged(ctx context.Context) bool {
	return a.IsAdmin(ctx) || a.has(ctx, ruleService)
}

// IsAdmin reports whether the caller is an administrator.
func (a Access) IsAdmin(ctx context.Context) bool { return a.has(ctx, ruleAdmin) }

// has reports whether a rule holds for the caller, independent of any target.
func (a Access) has(ctx context.Context, rule string) bool {
	caller, _ := identity.From(ctx)
	return a.Allow(ctx, rule, OwnedBy(caller.ProjectID).With("user_id", caller.UserID)) == nil
}

// owned fills in the owner of an object in a body, under both its names, and refuses that of
// another project, as populate_project_id in neutron_lib does.
func (a Access) owned(ctx context.Context, v pyjson.Value) (pyjson.Value, error) {
	project, byProject := v.Get("project_id")
	tenant, byTenant := v.Get("tenant_id")
	switch {
	case byProject && byTenant && !Equal(project, tenant):
		return v, BadRequest("'project_id' and 'tenant_id' do not match")
	case byTenant:
		project = tenant
	case !byProject:
		return v, nil
	}
	caller, _ := identity.From(ctx)
	if pyjson.Str(project) != caller.ProjectID && !a.IsPrivileged(ctx) {
		return v, BadRequest("Specifying 'project_id' or 'tenant_id' other than the authenticated project in request " +
			"requires admin or advsvc privileges")
	}
	members := append([]pyjson.Member{}, v.Members()...)
	return pyjson.NewObject(append(members,
		pyjson.Member{Key: "project_id", Value: project},
		pyjson.Member{Key: "tenant_id", Value: project})...), nil
}
