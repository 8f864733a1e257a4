package network

import (
	"context"
	"slices"
)

// A SecurityGroup is a security group with its rules.
type SecurityGroup struct {
	SecurityGroupRow
	Rules []SecurityRuleRow
}

// defaultGroup is the name of the group that each project has.
const defaultGroup = "default"

// SecurityGroups returns the security groups that match, with their rules. That of
// the project which asks is made when it is not there yet; "" for none.
func (s *Service) SecurityGroups(ctx context.Context, project string, where ...Match) (all []SecurityGroup, err error) {
	if project != "" {
		if err := s.ensureGroup(ctx, project); err != nil {
			return nil, err
		}
	}
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[SecurityGroupRow](r, where...)
		if err != nil || len(rows) == 0 {
			return err
		}
		rules, err := Rows[SecurityRuleRow](r, Where(ByGroup, ids(rows, func(g *SecurityGroupRow) ID { return g.ID })...))
		of := group(rules, func(r *SecurityRuleRow) ID { return r.Group })
		all = make([]SecurityGroup, len(rows))
		for i, row := range rows {
			all[i] = SecurityGroup{row, of[row.ID]}
		}
		return err
	})
	return all, err
}

// ensureGroup makes the default group of a project unless it is there.
func (s *Service) ensureGroup(ctx context.Context, project string) error {
	there := false
	err := s.store.View(ctx, func(r Reader) error {
		rows, err := defaultGroups(r, project)
		there = len(rows) > 0
		return err
	})
	if err != nil || there {
		return err
	}
	return s.update(ctx, func(c *change) error {
		_, err := c.defaultGroup(project)
		return err
	})
}

func defaultGroups(r Reader, project string) ([]SecurityGroupRow, error) {
	return Rows[SecurityGroupRow](r, Where(ByProject, project), Where(ByName, defaultGroup))
}

// defaultGroup returns the default group of a project, which it makes with
// Neutron's four rules: all out, and in from its own members.
func (c *change) defaultGroup(project string) (ID, error) {
	rows, err := defaultGroups(c, project)
	if err != nil {
		return "", err
	}
	if len(rows) > 0 {
		return rows[0].ID, nil
	}
	g := SecurityGroupRow{Common: Common{Project: project, Name: defaultGroup, Description: "Default security group"}, Stateful: true}
	c.fresh(&g.Common)
	g.Revision = 1
	if err := c.Insert(&g); err != nil {
		return "", err
	}
	for _, version := range []string{"IPv4", "IPv6"} {
		for direction, remote := range map[string]ID{Egress: "", Ingress: g.ID} {
			rule := SecurityRuleRow{
				Common: Common{Project: project}, Group: g.ID, Direction: direction, EtherType: version,
				PortMin: -1, PortMax: -1, RemoteGroup: remote,
			}
			c.fresh(&rule.Common)
			if err := c.Insert(&rule); err != nil {
				return "", err
			}
		}
	}
	return g.ID, nil
}

// groups gives a port the default group of its project when nothing was said of
// groups, and refuses those that are not there. Ports that are not secured, and
// those of the network itself, have none.
func (c *change) groups(p *PortRow, any bool) error {
	if any {
		if !p.PortSecurity || slices.Contains([]string{"network:dhcp", "network:router_interface", "network:router_gateway"}, p.DeviceOwner) {
			return nil
		}
		id, err := c.defaultGroup(p.Project)
		p.SecurityGroups = []ID{id}
		return err
	}
	if len(p.SecurityGroups) == 0 {
		return nil
	}
	rows, err := Rows[SecurityGroupRow](c, Where(ByID, p.SecurityGroups...))
	if err != nil {
		return err
	}
	for _, id := range p.SecurityGroups {
		if !slices.ContainsFunc(rows, func(g SecurityGroupRow) bool { return g.ID == id }) {
			return NotFound("security_group", id)
		}
	}
	return nil
}
