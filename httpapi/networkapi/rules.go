package networkapi

import (
	"context"
	"math"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/qos"
)

type (
	ruleAttribute = resource.Attribute[rule, network.RuleRow]
	ruleResource  = resource.Resource[rule, network.RuleRow]
)

// A rule is a rule with whose policy it is in.
type rule struct {
	network.RuleRow
	project string
	shared  bool
}

// A ruleKind is a type of rules with its attributes.
type ruleKind struct {
	ruleType network.RuleType
	table    []ruleAttribute
}

// ruleKinds are all types of rules.
var ruleKinds = []ruleKind{
	{
		network.BandwidthLimit,
		[]ruleAttribute{ruleID, rate("max_kbps"), burst("max_burst_kbps"), direction("ingress", "egress")},
	},
	{network.DSCPMarking, []ruleAttribute{ruleID, dscpMark}},
	{network.MinimumBandwidth, []ruleAttribute{ruleID, rate("min_kbps"), direction("ingress", "egress")}},
	{network.MinimumPacketRate, []ruleAttribute{ruleID, rate("min_kpps"), direction("any", "ingress", "egress")}},
	{
		network.PacketRateLimit,
		[]ruleAttribute{ruleID, rate("max_kpps"), burst("max_burst_kpps"), direction("ingress", "egress")},
	},
}

// ofPolicy is the target of a rule of a policy.
func ofPolicy(id network.ID, project string, shared bool) resource.Target {
	return resource.OwnedBy(project).With("qos_policy_id", string(id)).WithFlag("shared", shared).SharedIf(shared)
}

// kindOf finds a type of rules.
func kindOf(t network.RuleType) ruleKind {
	for _, k := range ruleKinds {
		if k.ruleType == t {
			return k
		}
	}
	return ruleKind{ruleType: t}
}

var ruleID = ruleAttribute{
	Name: "id", Use: filterable | sortable, Check: resource.UUID,
	Show: func(r *rule) pyjson.Value { return pyjson.Of(string(r.ID)) },
}

func rate(name string) ruleAttribute {
	return ruleAttribute{
		Name: name, Use: post | put | required | filterable | sortable, Convert: resource.ToInt,
		Check: resource.Between(0, math.MaxInt32),
		Set:   func(r *network.RuleRow, v pyjson.Value) { r.Rate, _ = v.Int64() },
		Show:  func(r *rule) pyjson.Value { return pyjson.Of(r.Rate) },
	}
}

func burst(name string) ruleAttribute {
	return ruleAttribute{
		Name: name, Use: post | put | filterable | sortable, Default: pyjson.Of(0), Convert: resource.ToInt,
		Check: resource.Between(0, math.MaxInt32),
		Set:   func(r *network.RuleRow, v pyjson.Value) { r.Burst, _ = v.Int64() },
		Show:  func(r *rule) pyjson.Value { return pyjson.Of(r.Burst) },
	}
}

func direction(valid ...string) ruleAttribute {
	return ruleAttribute{
		Name: "direction", Use: post | put | filterable | sortable, Default: pyjson.Of("egress"),
		Check: resource.OneOf(valid...),
		Set:   func(r *network.RuleRow, v pyjson.Value) { r.Direction = v.Str() },
		Show:  func(r *rule) pyjson.Value { return pyjson.Of(r.Direction) },
	}
}

// dscpMarks are the marks that rules may have.
var dscpMarks = []int{0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 46, 48, 56}

var dscpMark = ruleAttribute{
	Name: "dscp_mark", Use: post | put | required | filterable | sortable, Convert: resource.ToInt,
	Check: resource.OneOf(dscpMarks...),
	Set:   func(r *network.RuleRow, v pyjson.Value) { r.Rate, _ = v.Int64() },
	Show:  func(r *rule) pyjson.Value { return pyjson.Of(r.Rate) },
}

// rules returns the rules of a type, below their policy.
func (a *API) rules(kind ruleKind) *ruleResource {
	name := string(kind.ruleType) + "_rule"
	policyID := func(r *http.Request) network.ID { return network.ID(httpapi.Param(r, "policy_id")) }
	return &ruleResource{
		API: a.kinds(), Name: name, Plural: name + "s", PolicyName: "policy_" + name,
		Path:     "/v2.0/qos/policies/{policy_id}/" + name + "s",
		Table:    kind.table,
		ID:       func(r *rule) string { return string(r.ID) },
		TargetOf: func(r *rule) resource.Target { return ofPolicy(r.Policy, r.project, r.shared) },
		TargetOfNew: func(ctx context.Context, r *network.RuleRow) (resource.Target, error) {
			p, err := a.policyOf(ctx, r.Policy)
			if kind, _ := fault.Of(err); kind == fault.NotFound { // policy was checked before: see createRules
				err = nil
			}
			return ofPolicy(r.Policy, p.Project, p.Shared), err
		},
		NotFound: func(r *http.Request, id string) error { return qos.RuleNotFound(policyID(r), network.ID(id)) },
		Parent: func(r *http.Request) []network.Match {
			return []network.Match{network.Where(network.ByPolicy, policyID(r))}
		},
		List: func(ctx context.Context, where ...network.Match) ([]rule, error) {
			return a.rulesOf(ctx, kind.ruleType, where)
		},
		StoreFields: map[string]network.Field{"id": network.ByID},
		NewSpec: func(r *http.Request, _ identity.Caller) network.RuleRow {
			row := network.RuleRow{Policy: policyID(r), Type: kind.ruleType}
			if kind.ruleType != network.DSCPMarking {
				row.Direction = network.Egress
			}
			return row
		},
		Create: a.createRules,
		Update: func(ctx context.Context, r *rule, fn func(*network.RuleRow) error) (rule, error) {
			row, err := a.Network.UpdateRule(ctx, r.Policy, r.ID, fn)
			return rule{row, r.project, r.shared}, err
		},
		Delete: func(ctx context.Context, r *rule, _ resource.Condition) error {
			return a.Network.DeleteRule(ctx, r.Policy, r.ID)
		},
	}
}

// ruleRoutes are those of the rules of a type below their policy.
func (a *API) ruleRoutes(kind ruleKind) []httpapi.Route {
	routes := a.rules(kind).Routes()
	for i, r := range routes {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Pattern, "{id}") {
			routes[i].Handle = a.getRule(kind)
		}
	}
	return routes
}

// getRule answers with a rule. It need not be in the policy of the path, as long as
// there is such a policy: Neutron does not check.
func (a *API) getRule(kind ruleKind) httpapi.Handler {
	res, aliases := a.rules(kind), a.aliases(kind)
	return func(w http.ResponseWriter, r *http.Request) error {
		one, err := res.Visible(r)
		if _, code := fault.Of(err); code == qos.CodeRuleNotFound {
			if other, wrong := aliases.Visible(r); wrong == nil {
				one, err = other, nil
			}
		}
		if err != nil {
			return err
		}
		return res.Respond(w, r, http.StatusOK, &one, resource.SetOf(r.URL.Query()["fields"]))
	}
}

// aliases are the rules of a type by their id, without their policy.
func (a *API) aliases(kind ruleKind) *ruleResource {
	res := a.rules(kind)
	name := "alias_" + string(kind.ruleType) + "_rule"
	res.Name, res.Plural, res.PolicyName, res.Path = name, name+"s", name, "/v2.0/qos/"+name+"s"
	res.Create, res.Parent = nil, nil
	res.NotFound = func(_ *http.Request, id string) error { return qos.LoneRuleNotFound(network.ID(id)) }
	res.List = func(ctx context.Context, where ...network.Match) ([]rule, error) {
		rows, err := a.Network.Rules(ctx, "", where...)
		if err != nil || len(rows) != 1 || rows[0].Type != kind.ruleType {
			return nil, err
		}
		p, err := a.policyOf(ctx, rows[0].Policy)
		return []rule{{rows[0], p.Project, p.Shared}}, err
	}
	return res
}

// aliasRoutes are those of the rules by their id: there are no lists of them. Neutron
// has none for limits of packet rates, and no rules of policy for them.
func (a *API) aliasRoutes(kind ruleKind) []httpapi.Route {
	if kind.ruleType == network.PacketRateLimit {
		return nil
	}
	var routes []httpapi.Route
	for _, r := range a.aliases(kind).Routes() {
		if strings.HasSuffix(r.Pattern, "{id}") {
			routes = append(routes, r)
		}
	}
	return routes
}

func (a *API) createRules(ctx context.Context, rows []network.RuleRow) (all []rule, err error) {
	for _, row := range rows {
		if _, err := a.policyOf(ctx, row.Policy); err != nil {
			return nil, err
		}
		if row, err = a.Network.CreateRule(ctx, row); err != nil {
			return nil, err
		}
		all = append(all, rule{RuleRow: row})
	}
	return all, nil
}

// policyOf returns a policy, unless it does not exist for the caller.
func (a *API) policyOf(ctx context.Context, id network.ID) (qos.Policy, error) {
	all, err := a.Network.Policies(ctx, network.Where(network.ByID, id))
	if err == nil && (len(all) == 0 ||
		!a.access().IsPrivileged(ctx) && !resource.OwnedBy(all[0].Project).SharedIf(all[0].Shared).Concerns(ctx)) {
		err = network.NotFound("policy", id)
	}
	if err != nil {
		return qos.Policy{}, err
	}
	return all[0], nil
}

// rulesOf returns the rules of a type that match; the first condition names the
// policy, which must exist.
func (a *API) rulesOf(ctx context.Context, kind network.RuleType, where []network.Match) ([]rule, error) {
	id, _ := where[0].Values[0].(network.ID) // within put it there
	p, err := a.policyOf(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := a.Network.Rules(ctx, id, where[1:]...)
	var some []rule
	for _, row := range rows {
		if row.Type == kind {
			some = append(some, rule{row, p.Project, p.Shared})
		}
	}
	return some, err
}
