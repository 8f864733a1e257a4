package network

import (
	"context"
)

// A SecurityGroupRow is a set of rules about traffic. Each project has one of the
// name "default".
type SecurityGroupRow struct {
	Common
	Stateful bool
}

// A PortGroupRow says that a port is in a security group.
type PortGroupRow struct{ Port, Group ID }

// A SecurityRuleRow is a rule of a security group. Zero values mean any.
type SecurityRuleRow struct {
	Common
	Group       ID
	Direction   string
	EtherType   string // "IPv4" or "IPv6"
	Protocol    string // a name or a number, as it was given
	PortMin     int    // -1 for none; of ICMP the type
	PortMax     int    // -1 for none; of ICMP the code
	RemoteIP    string // an address with the length of its network
	RemoteGroup ID
}

// A SecurityGroup is a security group with its rules.
type SecurityGroup struct {
	SecurityGroupRow
	Rules []SecurityRuleRow
}

// DefaultGroup is the name of the group that each project has.
const DefaultGroup = "default"

// SecurityGroups returns the security groups that match, with their rules.
func (s *Service) SecurityGroups(ctx context.Context, where ...Match) (all []SecurityGroup, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = securityGroups(r, where...)
		return err
	})
	return all, err
}

func securityGroups(r Reader, where ...Match) ([]SecurityGroup, error) {
	rows, err := Rows[SecurityGroupRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	rules, err := Rows[SecurityRuleRow](r, Where(ByGroup, ids(rows, func(g *SecurityGroupRow) ID { return g.ID })...))
	of := group(rules, func(r *SecurityRuleRow) ID { return r.Group })
	all := make([]SecurityGroup, len(rows))
	for i, row := range rows {
		all[i] = SecurityGroup{row, of[row.ID]}
	}
	return all, err
}

// SecurityRules returns the rules that match, of whichever groups.
func (s *Service) SecurityRules(ctx context.Context, where ...Match) (rows []SecurityRuleRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err = Rows[SecurityRuleRow](r, where...)
		return err
	})
	return rows, err
}

// EnsureDefaultGroup makes the default group of a project unless it is there. Fault:
// OverQuota when the project may not have so many rules.
func (s *Service) EnsureDefaultGroup(ctx context.Context, project string) error {
	there := false
	err := s.store.View(ctx, func(r Reader) error {
		rows, err := defaultGroups(r, project)
		there = len(rows) > 0
		return err
	})
	if err != nil || there {
		return err
	}
	return s.update(ctx, func(c *change) error { return c.ensureDefaultGroup(project) })
}

func defaultGroups(r Reader, project string) ([]SecurityGroupRow, error) {
	return Rows[SecurityGroupRow](r, Where(ByProject, project), Where(ByName, DefaultGroup))
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
	g, err := c.newGroup(SecurityGroupRow{
		Common: Common{Project: project, Name: DefaultGroup, Description: "Default security group"}, Stateful: true,
	}, Ingress, Egress)
	return g.ID, err
}

// ensureDefaultGroup makes the default group of a project unless it is there.
func (c *change) ensureDefaultGroup(project string) error {
	_, err := c.defaultGroup(project)
	return err
}

// newGroup adds a group with a rule for each version of IP in each direction: to
// anybody, and from the group's own members.
func (c *change) newGroup(row SecurityGroupRow, directions ...string) (SecurityGroup, error) {
	versions := []string{IPv4, IPv6}
	if err := c.within(row.Project, "security_group_rule", len(versions)*len(directions)); err != nil {
		return SecurityGroup{}, err
	}
	c.fresh(&row.Common)
	row.Revision = 1 // Neutron raises it once more while it makes the rules
	g := SecurityGroup{SecurityGroupRow: row}
	if err := c.Insert(&g.SecurityGroupRow); err != nil {
		return g, err
	}
	for _, direction := range directions {
		for _, version := range versions {
			rule := SecurityRuleRow{Common: Common{Project: row.Project}, Group: row.ID, Direction: direction, EtherType: version, PortMin: -1, PortMax: -1}
			if direction == Ingress {
				rule.RemoteGroup = row.ID
			}
			c.fresh(&rule.Common)
			if err := c.Insert(&rule); err != nil {
				return g, err
			}
			g.Rules = append(g.Rules, rule)
		}
	}
	return g, nil
}
