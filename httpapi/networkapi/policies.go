package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/qos"
)

type policyResource = resource.Resource[qos.Policy, qos.PolicySpec]

func (a *API) policies() *policyResource {
	return &policyResource{
		API: a.kinds(), Name: "policy", Plural: "policies", Path: "/v2.0/qos/policies", OneOnly: true,
		Table:    policyTable(),
		Revision: func(s *qos.PolicySpec) int64 { return s.Revision },
		ID:       func(p *qos.Policy) string { return string(p.ID) },
		TargetOf: func(p *qos.Policy) resource.Target {
			return resource.OwnedBy(p.Project).WithFlag("shared", p.Shared).SharedIf(p.Shared)
		},
		TargetOfNew: func(_ context.Context, p *qos.PolicySpec) (resource.Target, error) {
			return resource.OwnedBy(p.Project).WithFlag("shared", p.Shared), nil
		},
		List:      a.Network.Policies,
		VisibleTo: ofProjectOrAll,
		StoreFields: map[string]network.Field{
			"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(_ *http.Request, c identity.Caller) qos.PolicySpec {
			return qos.PolicySpec{PolicyRow: network.PolicyRow{Common: network.Common{Project: c.ProjectID}}}
		},
		Create: func(ctx context.Context, specs []qos.PolicySpec) ([]qos.Policy, error) {
			return a.Network.CreatePolicies(ctx, []network.PolicyRow{specs[0].PolicyRow}) // single: there is one
		},
		Update: func(ctx context.Context, p *qos.Policy, fn func(*qos.PolicySpec) error) (qos.Policy, error) {
			return a.Network.UpdatePolicy(ctx, p.ID, fn)
		},
		Delete: func(ctx context.Context, p *qos.Policy, only resource.Condition) error {
			return a.Network.DeletePolicy(ctx, p.ID, unchanged(only))
		},
	}
}

// policyTable are the attributes of QoS policies, in the order in which they are
// shown.
func policyTable() []resource.Attribute[qos.Policy, qos.PolicySpec] {
	type (
		P = qos.Policy
		S = qos.PolicySpec
	)
	common := func(p *P) *network.Common { return &p.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	described := func(s *S) *network.Common { s.Described = true; return &s.Common }
	isDefault := boolean("is_default", post|put|filterable, false, func(s *S, b bool) { s.Default = b },
		func(p *P) bool { return p.Default })
	isDefault.Filter = resource.AcceptAll
	all := []resource.Attribute[P, S]{
		idAttribute[P, S](common), ownerAttribute("project_id", common, spec), nameAttribute(common, described),
		boolean("shared", post|put|filterable, false, func(s *S, b bool) { s.Shared = b },
			func(p *P) bool { return p.Shared }),
		{Name: "rules", Show: func(p *P) pyjson.Value { return resource.List(p.Rules, ruleOfPolicy) }},
		isDefault, descriptionAttribute(common, described),
	}
	all = append(all, stamps[P, S](common)...)
	return append(all, ownerAttribute("tenant_id", common, spec))
}

// ruleOfPolicy is a rule as its policy shows it.
func ruleOfPolicy(row network.RuleRow) pyjson.Value {
	r := rule{RuleRow: row}
	kind := kindOf(r.Type)
	var members []pyjson.Member
	for i := range kind.table {
		if a := &kind.table[i]; a.Show != nil && a.Name != "id" {
			members = append(members, pyjson.Member{Key: a.Name, Value: a.Show(&r)})
		}
	}
	rest := pyjson.NewObject(pyjson.M("id", string(r.ID)), pyjson.M("qos_policy_id", string(r.Policy)),
		pyjson.M("type", string(r.Type)))
	return pyjson.NewObject(append(members, rest.Members()...)...)
}
