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
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type (
	securityRuleAttribute = attribute[securityRule, network.SecurityRuleSpec]
	securityRuleResource  = resource[securityRule, network.SecurityRuleSpec]
)

// A securityRule is a rule with whose group it is of.
type securityRule struct {
	network.SecurityRuleRow
	owner string
}

// securityRules are the rules of security groups.
func (a *API) securityRules() *securityRuleResource {
	return &securityRuleResource{
		api: a, name: "security_group_rule", plural: "security_group_rules", path: "/v2.0/security-group-rules",
		table: securityRuleTable(),
		id:    func(r *securityRule) string { return string(r.ID) },
		open:  true,
		target: func(r *securityRule) target {
			return owner(r.Project).with("security_group:tenant_id", r.owner)
		},
		made: func(_ context.Context, s *network.SecurityRuleSpec) (target, error) { return owner(s.Project), nil },
		list: a.listSecurityRules,
		near: func(ctx context.Context, project string) ([]network.Match, error) {
			caller, _ := identity.From(ctx)
			if a.Policy.PossibleForOthers(caller, "get_security_group_rule", "project_id", "tenant_id", "security_group:tenant_id") {
				return nil, nil
			}
			groups, err := a.Network.SecurityGroups(ctx, network.Where(network.ByProject, project))
			ids := make([]network.ID, len(groups))
			for i, g := range groups {
				ids[i] = g.ID
			}
			return []network.Match{network.Where(network.ByProject, project), network.Where(network.ByGroup, ids...)}, err
		},
		where: map[string]network.Field{
			"id": network.ByID, "security_group_id": network.ByGroup, "remote_group_id": network.ByRemoteGroup,
			"project_id": network.ByProject, "tenant_id": network.ByProject,
		},
		start: func(r *http.Request, c identity.Caller) network.SecurityRuleSpec {
			return network.SecurityRuleSpec{
				SecurityRuleRow: network.SecurityRuleRow{
					Common: network.Common{Project: c.ProjectID}, EtherType: network.IPv4, PortMin: -1, PortMax: -1,
				},
				AnyGroup: a.isAdmin(r.Context()),
			}
		},
		create: func(ctx context.Context, specs []network.SecurityRuleSpec) ([]securityRule, error) {
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
		remove: func(ctx context.Context, r *securityRule, only network.Condition) error {
			return a.Network.DeleteSecurityRule(ctx, r.ID, only)
		},
	}
}

// securityRuleRoutes have a PUT as well: it refuses, since nothing of a rule can
// change.
func (a *API) securityRuleRoutes() []httpapi.Route {
	res := a.securityRules()
	return append(res.routes(), httpapi.Route{Method: http.MethodPut, Pattern: res.path + "/{id}", Handle: res.putNothing})
}

// putNothing answers requests to change an object without changeable attributes.
func (res *resource[T, S]) putNothing(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.BoundBody(w, r, maxUnmade); err != nil {
		return err
	}
	if _, _, err := res.bodies(r, false); err != nil {
		return err
	}
	one, err := res.visible(r)
	if err != nil {
		return err
	}
	return res.respond(w, r, http.StatusOK, &one, nil)
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
// checked. The description is kept, and not shown.
func securityRuleTable() []securityRuleAttribute {
	type S = network.SecurityRuleSpec
	of := func(r *securityRule) *network.Common { return &r.Common }
	in := func(s *S) *network.Common { return &s.Common }
	const use = post | filter | sortable
	description := descriptionAttribute(of, in)
	description.use, description.show = post|filter, nil
	description.with = func(wanted []string) func(*securityRule) bool {
		any := setOf(wanted)
		return func(r *securityRule) bool { return any[r.Description] }
	}
	all := []securityRuleAttribute{
		idAttribute[securityRule, S](of),
		{
			name: "security_group_id", use: use | required, check: text(36),
			set:  func(s *S, v pyjson.Value) { s.Group = network.ID(v.Str()) },
			show: func(r *securityRule) pyjson.Value { return valueOf(string(r.Group)) },
		},
		{
			name: "remote_group_id", use: use,
			set:  func(s *S, v pyjson.Value) { s.RemoteGroup = network.ID(textOrNone(v)) },
			show: func(r *securityRule) pyjson.Value { return orNone(r.RemoteGroup) },
		},
		{
			name: "direction", use: use | required, check: oneOf("ingress", "egress"),
			set:  func(s *S, v pyjson.Value) { s.Direction = v.Str() },
			show: func(r *securityRule) pyjson.Value { return valueOf(r.Direction) },
		},
		{
			name: "protocol", use: use, convert: toProtocol,
			set:  func(s *S, v pyjson.Value) { s.Protocol = v.Str() },
			show: func(r *securityRule) pyjson.Value { return orNone(r.Protocol) },
		},
		{
			name: "port_range_min", use: use, convert: toPort,
			set:  func(s *S, v pyjson.Value) { s.PortMin = numberOr(v, -1) },
			show: func(r *securityRule) pyjson.Value { return numberOrNone(r.PortMin) },
		},
		{
			name: "port_range_max", use: use, convert: toPort,
			set:  func(s *S, v pyjson.Value) { s.PortMax = numberOr(v, -1) },
			show: func(r *securityRule) pyjson.Value { return numberOrNone(r.PortMax) },
		},
		{
			name: "ethertype", use: use, usual: valueOf(network.IPv4), convert: toEtherType,
			set:  func(s *S, v pyjson.Value) { s.EtherType = v.Str() },
			show: func(r *securityRule) pyjson.Value { return valueOf(r.EtherType) },
		},
		{
			name: "remote_ip_prefix", use: use, convert: toPrefix,
			set:  func(s *S, v pyjson.Value) { s.RemoteIP = v.Str() },
			show: func(r *securityRule) pyjson.Value { return orNone(r.RemoteIP) },
		},
		ownerAttribute("tenant_id", of, in), description,
		{
			name: "remote_address_group_id", use: use,
			set:  func(s *S, v pyjson.Value) { s.RemoteAddresses = textOrNone(v) },
			show: func(*securityRule) pyjson.Value { return pyjson.Value{} },
		},
		{
			// As a filter it is accepted, and does not filter.
			name: "normalized_cidr", use: filter, with: everything[securityRule],
			show: func(r *securityRule) pyjson.Value { return orNone(normalized(r.RemoteIP)) },
		},
	}
	all = append(all, unsortable(stamps[securityRule, S](of)[4:])...) // they have no tags
	return append(all, ownerAttribute("project_id", of, in))
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
	p, err := network.ParseProtocol(pyjson.Str(v))
	return valueOf(p), err
}

// toPort takes the number of a port.
func toPort(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null {
		return v, nil
	}
	n, ok := whole(v)
	if !ok || n < 0 || n > 65535 {
		return v, newFault("SecurityGroupInvalidPortValue", "Invalid value for port %s", pyjson.Str(v))
	}
	return valueOf(n), nil
}

// toEtherType takes a version of IP in any case.
func toEtherType(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.String {
		for _, version := range []string{network.IPv4, network.IPv6} {
			if strings.EqualFold(version, v.Str()) {
				return valueOf(version), nil
			}
		}
	}
	return v, newFault("SecurityGroupRuleInvalidEtherType", "Security group rule for ethertype '%s' not supported. Allowed values are %s.",
		pyjson.Str(v), pyjson.Str(valueOf([]string{network.IPv4, network.IPv6})))
}

// toPrefix takes an address with the length of its network, or one alone.
func toPrefix(v pyjson.Value) (pyjson.Value, error) {
	if v.Kind() == pyjson.Null || v.Kind() == pyjson.String && v.Str() == "" {
		return pyjson.Value{}, nil
	}
	p, ok := readPrefix(v.Str())
	if v.Kind() != pyjson.String || !ok {
		return v, fault.New(fault.Invalid, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", pyjson.Str(v))
	}
	return valueOf(p.String()), nil
}
