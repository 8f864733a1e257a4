package networkapi

import (
	"context"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

type securityGroupResource = resource[network.SecurityGroup, network.SecurityGroupRow]

// securityGroups are the security groups, to be looked at: each project has one.
func (a *API) securityGroups() *securityGroupResource {
	return &securityGroupResource{
		api: a, name: "security_group", plural: "security_groups", path: "/v2.0/security-groups",
		table:  securityGroupTable(),
		id:     func(g *network.SecurityGroup) string { return string(g.ID) },
		target: func(g *network.SecurityGroup) target { return owner(g.Project) },
		list: func(ctx context.Context, where ...network.Match) ([]network.SecurityGroup, error) {
			caller, _ := identity.From(ctx)
			return a.Network.SecurityGroups(ctx, caller.ProjectID, where...)
		},
		where: map[string]network.Field{"id": network.ByID, "name": network.ByName, "project_id": network.ByProject, "tenant_id": network.ByProject},
	}
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
		{name: "stateful", use: filter, show: func(g *G) pyjson.Value { return valueOf(g.Stateful) }},
		ownerAttribute("tenant_id", of, in), descriptionAttribute(of, in),
		fixed[G, S]("shared", false),
		{name: "security_group_rules", show: func(g *G) pyjson.Value { return array(g.Rules, securityRule) }},
	}
	all = append(all, stamps[G, S](of)...)
	return append(all, ownerAttribute("project_id", of, in))
}

func securityRule(r network.SecurityRuleRow) pyjson.Value {
	return object(
		"id", string(r.ID), "tenant_id", r.Project, "security_group_id", string(r.Group), "ethertype", r.EtherType,
		"direction", r.Direction, "protocol", orNone(r.Protocol),
		"port_range_min", numberOrNone(r.PortMin), "port_range_max", numberOrNone(r.PortMax),
		"remote_ip_prefix", orNone(r.RemoteIP), "remote_address_group_id", nil, "remote_group_id", orNone(r.RemoteGroup),
		"normalized_cidr", orNone(r.RemoteIP), "standard_attr_id", nil, "description", r.Description,
		"tags", []string{}, "created_at", timeOf(r.CreatedAt), "updated_at", timeOf(r.UpdatedAt),
		"revision_number", r.Revision, "project_id", r.Project,
	)
}
