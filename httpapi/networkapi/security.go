package networkapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type securityGroupResource = resource[network.SecurityGroup, network.SecurityGroupRow]

func (a *API) securityGroups() *securityGroupResource {
	return &securityGroupResource{
		api: a, name: "security_group", plural: "security_groups", path: "/v2.0/security-groups",
		table:  securityGroupTable(),
		common: func(s *network.SecurityGroupRow) *network.Common { return &s.Common },
		id:     func(g *network.SecurityGroup) string { return string(g.ID) },
		target: func(g *network.SecurityGroup) target { return owner(g.Project) },
		made:   func(_ context.Context, s *network.SecurityGroupRow) (target, error) { return owner(s.Project), nil },
		vet:    notDefault,
		near:   ofProject,
		list: func(ctx context.Context, where ...network.Match) ([]network.SecurityGroup, error) {
			if err := a.ensureDefaultGroup(ctx, where); err != nil {
				return nil, err
			}
			return a.Network.SecurityGroups(ctx, where...)
		},
		where: map[string]network.Field{"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject},
		start: func(_ *http.Request, c identity.Caller) network.SecurityGroupRow {
			return network.SecurityGroupRow{Common: network.Common{Project: c.ProjectID}, Stateful: true}
		},
		create: a.Network.CreateSecurityGroups,
		update: func(ctx context.Context, g *network.SecurityGroup, fn func(*network.SecurityGroupRow) error) (network.SecurityGroup, error) {
			return a.Network.UpdateSecurityGroup(ctx, g.ID, fn)
		},
		remove: func(ctx context.Context, g *network.SecurityGroup, only network.Condition) error {
			return a.Network.DeleteSecurityGroup(ctx, g.ID, a.isAdmin(ctx), only)
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
	if project != caller.ProjectID && !a.isAdmin(ctx) {
		return nil
	}
	return a.Network.EnsureDefaultGroup(ctx, project)
}

func securityGroupTable() []attribute[network.SecurityGroup, network.SecurityGroupRow] {
	type (
		G = network.SecurityGroup
		S = network.SecurityGroupRow
	)
	of := func(g *G) *network.Common { return &g.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []attribute[G, S]{
		idAttribute[G, S](of), nameAttribute(of, in),
		boolean("stateful", post|put, true, func(s *S, b bool) { s.Stateful = b }, func(g *G) bool { return g.Stateful }),
		ownerAttribute("tenant_id", of, in), descriptionAttribute(of, in),
		{name: "shared", use: filter, convert: toBool, show: func(*G) pyjson.Value { return valueOf(false) }},
		{name: "security_group_rules", show: func(g *G) pyjson.Value { return array(g.Rules, ruleOfGroup) }},
	}
	all = append(all, unsortable(stamps[G, S](of))...)
	return append(all, ownerAttribute("project_id", of, in))
}

// notDefault refuses the name that each project's first group has.
func notDefault(_ context.Context, b body) error {
	if strings.EqualFold(b.values["name"].Str(), network.DefaultGroup) {
		return network.DefaultGroupExists()
	}
	return nil
}

// unsortable are attributes that lists cannot be sorted by.
func unsortable[T, S any](all []attribute[T, S]) []attribute[T, S] {
	for i := range all {
		all[i].use &^= sortable
	}
	return all
}

// ruleOfGroup is a rule as its group shows it.
func ruleOfGroup(row network.SecurityRuleRow) pyjson.Value {
	r := securityRule{SecurityRuleRow: row}
	var members []pyjson.Member
	table := securityRuleTable()
	for i := range table {
		if a := &table[i]; a.show != nil {
			members = append(members, pyjson.Member{Key: a.name, Value: a.show(&r)})
		}
	}
	tags := pyjson.Member{Key: "tags", Value: pyjson.NewArray()}
	return pyjson.NewObject(append(members, tags)...)
}
