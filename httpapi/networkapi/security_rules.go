package networkapi

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/security"
)

type (
	securityRuleAttribute = resource.Attribute[securityRule, security.RuleSpec]
	securityRuleResource  = resource.Resource[securityRule, security.RuleSpec]
)

// A securityRule is a rule with whose group it is of.
type securityRule struct {
	network.SecurityRuleRow
	owner string
}

// securityRules are the rules of security groups.
func (a *API) securityRules() *securityRuleResource {
	return &securityRuleResource{
		API: a.kinds(), Name: "security_group_rule", Plural: "security_group_rules", Path: "/v2.0/security-group-rules",
		Table:      securityRuleTable(),
		ID:         func(r *securityRule) string { return string(r.ID) },
		PolicyOnly: true,
		TargetOf: func(r *securityRule) resource.Target {
			return resource.OwnedBy(r.Project).With("security_group:tenant_id", r.owner)
		},
		TargetOfNew: func(_ context.Context, s *security.RuleSpec) (resource.Target, error) {
			return resource.OwnedBy(s.Project), nil
		},
		List: a.listSecurityRules,
		VisibleTo: func(ctx context.Context, project string) ([]network.Match, error) {
			caller, _ := identity.From(ctx)
			if a.Policy.PossibleForOthers(caller, "get_security_group_rule", "project_id", "tenant_id",
				"security_group:tenant_id") {
				return nil, nil
			}
			groups, err := a.Network.SecurityGroups(ctx, network.Where(network.ByProject, project))
			ids := make([]network.ID, len(groups))
			for i, g := range groups {
				ids[i] = g.ID
			}
			return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByGroup, ids...)}, err
		},
		StoreFields: map[string]network.Field{
			"id": network.ByID, "security_group_id": network.ByGroup, "remote_group_id": network.ByRemoteGroup,
			"project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		NewSpec: func(r *http.Request, c identity.Caller) security.RuleSpec {
			return security.RuleSpec{
				SecurityRuleRow: network.SecurityRuleRow{
					Common: network.Common{Project: c.ProjectID}, EtherType: network.IPv4, PortMin: -1, PortMax: -1,
				},
				AnyGroup: a.access().IsAdmin(r.Context()),
			}
		},
		Create: func(ctx context.Context, specs []security.RuleSpec) ([]securityRule, error) {
			rows, err := a.Network.CreateSecurityRules(ctx, specs)
			if err != nil {
				return nil, err
			}
			all := make([]securityRule, len(rows))
			for i, row := range rows {
				all[i].SecurityRuleRow = row
			}
			return all, nil
		},
		Delete: func(ctx context.Context, r *securityRule, only resource.Condition) error {
			return a.Network.DeleteSecurityRule(ctx, r.ID, unchanged(only))
		},
	}
}

// securityRuleRoutes have a PUT as well: it refuses, since nothing of a rule can
// change.
func (a *API) securityRuleRoutes() []httpapi.Route {
	res := a.securityRules()
	return append(res.Routes(), httpapi.Route{Method: http.MethodPut, Pattern: res.Path + "/{id}", Handle: res.PutNothing})
}

// listSecurityRules returns the rules that match, with whose groups they are of.
func (a *API) listSecurityRules(ctx context.Context, where ...network.Match) ([]securityRule, error) {
	if err := a.ensureDefaultGroup(ctx, where); err != nil {
		return nil, err
	}
	rows, err := a.Network.SecurityRules(ctx, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var ids []network.ID
	for _, row := range rows {
		ids = append(ids, row.Group)
	}
	slices.Sort(ids)
	groups, err := a.Network.SecurityGroups(ctx, network.Where(network.ByID, slices.Compact(ids)...))
	if err != nil {
		return nil, err
	}
	owners := make(map[network.ID]string, len(groups))
	for _, g := range groups {
		owners[g.ID] = g.Project
	}
	all := make([]securityRule, len(rows))
	for i, row := range rows {
		all[i] = securityRule{row, owners[row.Group]}
	}
	return all, nil
}

// securityRuleTable are the attributes of rules, in the order in which they are
// checked. The description is stored, and not shown.
func securityRuleTable() []securityRuleAttribute {
	type S = security.RuleSpec
	common := func(r *securityRule) *network.Common { return &r.Common }
	spec := func(s *S) *network.Common { return &s.Common }
	const use = post | filterable | sortable
	description := descriptionAttribute(common, spec)
	description.Use, description.Show = post|filterable, nil
	description.Filter = func(values []string) func(*securityRule) bool {
		valid := resource.SetOf(values)
		return func(r *securityRule) bool { return valid[r.Description] }
	}
	all := []securityRuleAttribute{
		idAttribute[securityRule, S](common),
		{
			Name: "security_group_id", Use: use | required, Check: resource.MaxLength(36),
			Set:  func(s *S, v pyjson.Value) { s.Group = network.ID(v.Str()) },
			Show: func(r *securityRule) pyjson.Value { return pyjson.Of(string(r.Group)) },
		},
		{
			Name: "remote_group_id", Use: use,
			Set:  func(s *S, v pyjson.Value) { s.RemoteGroup = network.ID(textOrNone(v)) },
			Show: func(r *securityRule) pyjson.Value { return resource.TextOrNull(r.RemoteGroup) },
		},
		{
			Name: "direction", Use: use | required, Check: resource.OneOf("ingress", "egress"),
			Set:  func(s *S, v pyjson.Value) { s.Direction = v.Str() },
			Show: func(r *securityRule) pyjson.Value { return pyjson.Of(r.Direction) },
		},
		{
			Name: "protocol", Use: use, Convert: toProtocol,
			Set:  func(s *S, v pyjson.Value) { s.Protocol = v.Str() },
			Show: func(r *securityRule) pyjson.Value { return resource.TextOrNull(r.Protocol) },
		},
		{
			Name: "port_range_min", Use: use, Convert: toPort,
			Set:  func(s *S, v pyjson.Value) { s.PortMin = numberOr(v, -1) },
			Show: func(r *securityRule) pyjson.Value { return numberOrNone(r.PortMin) },
		},
		{
			Name: "port_range_max", Use: use, Convert: toPort,
			Set:  func(s *S, v pyjson.Value) { s.PortMax = numberOr(v, -1) },
			Show: func(r *securityRule) pyjson.Value { return numberOrNone(r.PortMax) },
		},
		{
			Name: "ethertype", Use: use, Default: pyjson.Of(network.IPv4), Convert: toEtherType,
			Set:  func(s *S, v pyjson.Value) { s.EtherType = v.Str() },
			Show: func(r *securityRule) pyjson.Value { return pyjson.Of(r.EtherType) },
		},
		{
			Name: "remote_ip_prefix", Use: use, Convert: toPrefix,
			Set:  func(s *S, v pyjson.Value) { s.RemoteIP = v.Str() },
			Show: func(r *securityRule) pyjson.Value { return resource.TextOrNull(r.RemoteIP) },
		},
		ownerAttribute("tenant_id", common, spec), description,
		{
			Name: "remote_address_group_id", Use: use,
			Set:  func(s *S, v pyjson.Value) { s.RemoteAddresses = textOrNone(v) },
			Show: func(*securityRule) pyjson.Value { return pyjson.Value{} },
		},
		{
			// As a filter it is accepted, and does not filter.
			Name: "normalized_cidr", Use: filterable, Filter: resource.AcceptAll[securityRule],
			Show: func(r *securityRule) pyjson.Value { return resource.TextOrNull(normalized(r.RemoteIP)) },
		},
	}
	all = append(all, unsortable(stamps[securityRule, S](common)[4:])...) // they have no tags
	return append(all, ownerAttribute("project_id", common, spec))
}

// textOrNone is what names another object, as a text, and "" for nothing.
func textOrNone(v pyjson.Value) string {
	if v.Kind() == pyjson.Null {
		return ""
	}
	return pyjson.Str(v)
}

// numberOr is a number, and another one for null.
func numberOr(v pyjson.Value, none int) int {
	if n, ok := v.Int64(); ok && v.Kind() == pyjson.Int {
		return int(n)
	}
	return none
}

// normalized is the network of an address with a length, "" for none.
func normalized(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	return p.Masked().String()
}

// toProtocol takes the name or the number of a protocol, as a text or as a number.
func toProtocol(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return v, nil
	}
	p, err := security.ParseProtocol(pyjson.Str(v))
	return pyjson.Of(p), err
}

// toPort takes the number of a port.
func toPort(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return v, nil
	}
	n, ok := resource.ParseInt(v)
	if !ok || n < 0 || n > 65535 {
		return v, resource.NewFault("SecurityGroupInvalidPortValue", "Invalid value for port %s", pyjson.Str(v))
	}
	return pyjson.Of(n), nil
}

// toEtherType takes a version of IP in any case.
func toEtherType(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.String {
		for _, version := range []string{network.IPv4, network.IPv6} {
			if strings.EqualFold(version, v.Str()) {
				return pyjson.Of(version), nil
			}
		}
	}
	return v, resource.NewFault("SecurityGroupRuleInvalidEtherType",
		"Security group rule for ethertype '%s' not supported. Allowed values are %s.",
		pyjson.Str(v), pyjson.Str(pyjson.Of([]string{network.IPv4, network.IPv6})))
}

// toPrefix takes an address with the length of its network, or a single address.
func toPrefix(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null || v.Kind() == pyjson.String && v.Str() == "" {
		return pyjson.Value{}, nil
	}
	p, ok := readPrefix(v.Str())
	if v.Kind() != pyjson.String || !ok {
		return v, fault.New(fault.Invalid, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", pyjson.Str(v))
	}
	return pyjson.Of(p.String()), nil
}
