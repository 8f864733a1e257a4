package networkapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/security"
)

type securityGroupResource = resource.Resource[security.Group, network.SecurityGroupRow]

func (a *API) securityGroups() *securityGroupResource {
	return &securityGroupResource{
		API: a.kinds(), Name: "security_group", Plural: "security_groups", Path: "/v2.0/security-groups",
		Table:    securityGroupTable(),
		Revision: func(s *network.SecurityGroupRow) int64 { return s.Revision },
		ID:       func(g *security.Group) string { return string(g.ID) },
		TargetOf: func(g *security.Group) resource.Target { return resource.OwnedBy(g.Project) },
		TargetOfNew: func(_ context.Context, s *network.SecurityGroupRow) (resource.Target, error) {
			return resource.OwnedBy(s.Project), nil
		},
		Validate:  notDefault,
		VisibleTo: ofProject,
		List: func(ctx context.Context, where ...network.Match) ([]security.Group, error) {
			if err := a.ensureDefaultGroup(ctx, where); err != nil {
				return nil, err
			}
			return a.Network.SecurityGroups(ctx, where...)
		},
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(_ *http.Request, c identity.Caller) network.SecurityGroupRow {
			return network.SecurityGroupRow{Common: network.Common{Project: c.ProjectID}, Stateful: true}
		},
		Create: a.Network.CreateSecurityGroups,
		Update: func(
			ctx context.Context, g *security.Group, fn func(*network.SecurityGroupRow) error,
		) (security.Group, error) {
			return a.Network.UpdateSecurityGroup(ctx, g.ID, fn)
		},
		Delete: func(ctx context.Context, g *security.Group, only resource.Condition) error {
			return a.Network.DeleteSecurityGroup(ctx, g.ID, a.access().IsAdmin(ctx), unchanged(only))
		},
	}
}

// ensureDefaultGroup creates the default group of a project: the caller's, or that of a filter.
// Only administrators create those of other projects.
func (a *API) ensureDefaultGroup(ctx context.Context, where []network.Match) error {
	caller, _ := identity.From(ctx)
	project := caller.ProjectID
	if project == "" {
		return nil
	}
	for _, m := range where {
		if m.Field == network.ByProject && len(m.Values) > 0 {
			project, _ = m.Values[0].(string) // it is from the query
			break
		}
	}
	if project != caller.ProjectID && !a.access().IsAdmin(ctx) {
		return nil
	}
	return a.Network.EnsureDefaultGroup(ctx, project)
}

func securityGroupTable() []resource.Attribute[security.Group, network.SecurityGroupRow] {
	type (
		G = security.Group
		S = network.SecurityGroupRow
	)
	common := func(g *G) *network.Common { return &g.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	all := []resource.Attribute[G, S]{
		idAttribute[G, S](common), nameAttribute(common, spec),
		boolean("stateful", post|put, true, func(s *S, b bool) { s.Stateful = b }, func(g *G) bool { return g.Stateful }),
		ownerAttribute("tenant_id", common, spec), descriptionAttribute(common, spec),
		{Name: "shared", Use: filterable, Convert: resource.ToBool, Show: func(*G) pyjson.Value { return pyjson.Of(false) }},
		{Name: "security_group_rules", Show: func(g *G) pyjson.Value { return resource.List(g.Rules, ruleOfGroup) }},
	}
	all = append(all, unsortable(stamps[G, S](common))...)
	return append(all, ownerAttribute("project_id", common, spec))
}

// notDefault refuses the name that each project's first group has.
func notDefault(_ context.Context, b resource.Body) error {
	if strings.EqualFold(b.Values["name"].Str(), security.DefaultGroup) {
		return security.DefaultGroupExists()
	}
	return nil
}

// unsortable are attributes that lists cannot be sorted by.
func unsortable[T, S any](all []resource.Attribute[T, S]) []resource.Attribute[T, S] {
	for i := range all {
		all[i].Use &^= sortable
	}
	return all
}

// ruleOfGroup is a rule as its group shows it.
func ruleOfGroup(row network.SecurityRuleRow) pyjson.Value {
	r := securityRule{SecurityRuleRow: row}
	var members []pyjson.Member
	table := securityRuleTable()
	for i := range table {
		if a := &table[i]; a.Show != nil {
			members = append(members, pyjson.Member{Key: a.Name, Value: a.Show(&r)})
		}
	}
	tags := pyjson.Member{Key: "tags", Value: pyjson.NewArray()}
	return pyjson.NewObject(append(members, tags)...)
}
