package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type policyResource = resource[network.Policy, network.PolicySpec]

func (a *API) policies() *policyResource {
	return &policyResource{
		api: a, name: "policy", plural: "policies", path: "/v2.0/qos/policies", single: true,
		table:  policyTable(),
		common: func(s *network.PolicySpec) *network.Common { return &s.Common },
		id:     func(p *network.Policy) string { return string(p.ID) },
		target: func(p *network.Policy) target { return owner(p.Project).flag("shared", p.Shared).opened(p.Shared) },
		made: func(_ context.Context, p *network.PolicySpec) (target, error) {
			return owner(p.Project).flag("shared", p.Shared), nil
		},
		list:  a.Network.Policies,
		near:  ofProjectOrAll,
		where: map[string]network.Field{"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject},
		start: func(_ *http.Request, c identity.Caller) network.PolicySpec {
			return network.PolicySpec{PolicyRow: network.PolicyRow{Common: network.Common{Project: c.ProjectID}}}
		},
		create: func(ctx context.Context, specs []network.PolicySpec) ([]network.Policy, error) {
			return a.Network.CreatePolicies(ctx, []network.PolicyRow{specs[0].PolicyRow}) // single: there is one
		},
		update: func(ctx context.Context, p *network.Policy, fn func(*network.PolicySpec) error) (network.Policy, error) {
			return a.Network.UpdatePolicy(ctx, p.ID, fn)
		},
		remove: func(ctx context.Context, p *network.Policy, only network.Condition) error {
			return a.Network.DeletePolicy(ctx, p.ID, only)
		},
	}
}

// policyTable are the attributes of QoS policies, in the order in which they are
// shown.
func policyTable() []attribute[network.Policy, network.PolicySpec] {
	type (
		P = network.Policy
		S = network.PolicySpec
	)
	of := func(p *P) *network.Common { return &p.Common }
	in := func(s *S) *network.Common { return &s.Common }
	described := func(s *S) *network.Common { s.Described = true; return &s.Common }
	isDefault := boolean("is_default", post|put|filter, false, func(s *S, b bool) { s.Default = b }, func(p *P) bool { return p.Default })
	isDefault.with = everything
	all := []attribute[P, S]{
		idAttribute[P, S](of), ownerAttribute("project_id", of, in), nameAttribute(of, described),
		boolean("shared", post|put|filter, false, func(s *S, b bool) { s.Shared = b }, func(p *P) bool { return p.Shared }),
		{name: "rules", show: func(p *P) pyjson.Value { return array(p.Rules, ruleOfPolicy) }},
		isDefault, descriptionAttribute(of, described),
	}
	all = append(all, stamps[P, S](of)...)
	return append(all, ownerAttribute("tenant_id", of, in))
}

// ruleOfPolicy is a rule as its policy shows it.
func ruleOfPolicy(row network.RuleRow) pyjson.Value {
	r := rule{RuleRow: row}
	kind := kindOf(r.Type)
	var members []pyjson.Member
	for i := range kind.table {
		if a := &kind.table[i]; a.show != nil && a.name != "id" {
			members = append(members, pyjson.Member{Key: a.name, Value: a.show(&r)})
		}
	}
	rest := object("id", string(r.ID), "qos_policy_id", string(r.Policy), "type", string(r.Type))
	return pyjson.NewObject(append(members, rest.Members()...)...)
}
