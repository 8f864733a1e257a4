package networkapi

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type policyResource = resource[network.Policy, network.PolicyRow]

func (a *API) policies() *policyResource {
	return &policyResource{
		api: a, name: "policy", plural: "policies", path: "/v2.0/qos/policies", single: true,
		table:  policyTable(),
		common: func(s *network.PolicyRow) *network.Common { return &s.Common },
		id:     func(p *network.Policy) string { return string(p.ID) },
		target: func(p *network.Policy) target { return owner(p.Project).flag("shared", p.Shared) },
		made: func(_ context.Context, p *network.PolicyRow) (target, error) {
			return owner(p.Project).flag("shared", p.Shared), nil
		},
		list:  a.Network.Policies,
		where: map[string]network.Field{"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject},
		start: func(_ *http.Request, c identity.Caller) network.PolicyRow {
			return network.PolicyRow{Common: network.Common{Project: c.ProjectID}}
		},
		create: a.Network.CreatePolicies,
		update: func(ctx context.Context, p *network.Policy, fn func(*network.PolicyRow) error) (network.Policy, error) {
			return a.Network.UpdatePolicy(ctx, p.ID, fn)
		},
		remove: func(ctx context.Context, p *network.Policy) error { return a.Network.DeletePolicy(ctx, p.ID) },
	}
}

// policyTable are the attributes of QoS policies, in the order in which they are
// shown.
func policyTable() []attribute[network.Policy, network.PolicyRow] {
	type (
		P = network.Policy
		S = network.PolicyRow
	)
	of := func(p *P) *network.Common { return &p.Common }
	in := func(s *S) *network.Common { return &s.Common }
	all := []attribute[P, S]{
		idAttribute[P, S](of), ownerAttribute("project_id", of, in), nameAttribute(of, in),
		boolean("shared", post|put|filter, false, func(s *S, b bool) { s.Shared = b }, func(p *P) bool { return p.Shared }),
		{name: "rules", show: func(p *P) pyjson.Value { return array(p.Rules, ruleOfPolicy) }},
		boolean("is_default", post|put|filter, false, func(s *S, b bool) { s.Default = b }, func(p *P) bool { return p.Default }),
		descriptionAttribute(of, in),
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
