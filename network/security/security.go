// Package security has security groups and their rules. It filters no traffic, which the agents do,
// and puts no port into a group, which package ports does.
package security

import (
	"context"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/quotas"
)

// A Group is a security group with its rules.
type Group struct {
	network.SecurityGroupRow
	Rules []network.SecurityRuleRow
}

// DefaultGroup is the name of the group that each project has.
const DefaultGroup = "default"

// A Service has the rules of security groups. Its methods may be called concurrently. Callers
// check permissions before.
type Service struct{ db *network.Database }

// New returns the security groups in a database.
func New(db *network.Database) *Service { return &Service{db} }

// SecurityGroups returns the security groups that match, with their rules.
func (s *Service) SecurityGroups(ctx context.Context, where ...network.Match) (all []Group, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = securityGroups(r, where...)
		return err
	})
	return all, err
}

func securityGroups(r network.Reader, where ...network.Match) ([]Group, error) {
	rows, err := network.Rows[network.SecurityGroupRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	rules, err := network.Rows[network.SecurityRuleRow](r, network.Where(network.ByGroup,
		network.IDs(rows, func(g *network.SecurityGroupRow) network.ID { return g.ID })...))
	byGroup := network.GroupBy(rules, func(r *network.SecurityRuleRow) network.ID { return r.Group })
	all := make([]Group, len(rows))
	for i, row := range rows {
		all[i] = Group{row, byGroup[row.ID]}
	}
	return all, err
}

// SecurityRules returns the rules that match, of whichever groups.
func (s *Service) SecurityRules(
	ctx context.Context, where ...network.Match,
) (rows []network.SecurityRuleRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		rows, err = network.Rows[network.SecurityRuleRow](r, where...)
		return err
	})
	return rows, err
}

// EnsureDefaultGroup creates the default group of a project unless it exists. Fault:
// OverQuota when the project may not have so many rules.
func (s *Service) EnsureDefaultGroup(ctx context.Context, project string) error {
	exists := false
	err := s.db.View(ctx, func(r network.Reader) error {
		rows, err := defaultGroups(r, project)
		exists = len(rows) > 0
		return err
	})
	if err != nil || exists {
		return err
	}
	return s.db.Update(ctx, func(tx *network.Tx) error { return EnsureDefaultGroup(tx, project) })
}

func defaultGroups(r network.Reader, project string) ([]network.SecurityGroupRow, error) {
	return network.Rows[network.SecurityGroupRow](r, network.Where(network.ByProject, project),
		network.Where(network.ByName, DefaultGroup))
}

// DefaultGroupID returns the default group of a project, which it creates with
// Neutron's four rules: all out, and in from its own members.
func DefaultGroupID(tx *network.Tx, project string) (network.ID, error) {
	rows, err := defaultGroups(tx, project)
	if err != nil {
		return "", err
	}
	if len(rows) > 0 {
		return rows[0].ID, nil
	}
	g, err := newGroup(tx, network.SecurityGroupRow{
		Common: network.Common{
			Project: project, Name: DefaultGroup,
			Description: "Default security group",
		}, Stateful: true,
	}, network.Ingress, network.Egress)
	return g.ID, err
}

// EnsureDefaultGroup creates the default group of a project unless it exists.
func EnsureDefaultGroup(tx *network.Tx, project string) error {
	_, err := DefaultGroupID(tx, project)
	return err
}

// newGroup adds a group with a rule for each version of IP in each direction: to
// anybody, and from the group's own members.
func newGroup(tx *network.Tx, row network.SecurityGroupRow, directions ...string) (Group, error) {
	versions := []string{network.IPv4, network.IPv6}
	if err := quotas.Within(tx, row.Project, "security_group_rule", len(versions)*len(directions)); err != nil {
		return Group{}, err
	}
	tx.Fresh(&row.Common)
	row.Revision = 1 // Neutron raises it once more while it makes the rules
	g := Group{SecurityGroupRow: row}
	if err := tx.Insert(&g.SecurityGroupRow); err != nil {
		return g, err
	}
	for _, direction := range directions {
		for _, version := range versions {
			rule := network.SecurityRuleRow{
				Common: network.Common{Project: row.Project}, Group: row.ID,
				Direction: direction, EtherType: version, PortMin: -1, PortMax: -1,
			}
			if direction == network.Ingress {
				rule.RemoteGroup = row.ID
			}
			tx.Fresh(&rule.Common)
			if err := tx.Insert(&rule); err != nil {
				return g, err
			}
			g.Rules = append(g.Rules, rule)
		}
	}
	return g, nil
}
