package security

import (
	"context"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/quotas"
)

// CreateSecurityGroups creates all of the groups or none, each with rules that allow all egress.
// Faults: OverQuota, SecurityGroupDefaultAlreadyExists.
func (s *Service) CreateSecurityGroups(
	ctx context.Context, rows []network.SecurityGroupRow,
) (groups []Group, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		groups = make([]Group, len(rows))
		if err := quotas.WithinEach(tx, "security_group", rows,
			func(r *network.SecurityGroupRow) string { return r.Project }); err != nil {
			return err
		}
		for i, row := range rows {
			if row.Name == DefaultGroup {
				return DefaultGroupExists()
			}
			if _, err := DefaultGroupID(tx, row.Project); err != nil {
				return err
			}
			if groups[i], err = newGroup(tx, row, network.Egress); err != nil {
				return err
			}
		}
		return nil
	})
	return groups, err
}

// UpdateSecurityGroup changes a group, not its rules. The function gets the current group; it may
// run more than once. Faults: SecurityGroupNotFound, SecurityGroupCannotUpdateDefault for the name
// of a default group, SecurityGroupDefaultAlreadyExists for the name "default" for another one,
// SecurityGroupInUse when statefulness of a group with ports is changed.
func (s *Service) UpdateSecurityGroup(
	ctx context.Context, id network.ID, fn func(*network.SecurityGroupRow) error,
) (g Group, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if g, err = securityGroup(tx, id); err != nil {
			return err
		}
		next := g.SecurityGroupRow
		if err := fn(&next); err != nil {
			return err
		}
		if next.Stateful != g.Stateful {
			if err := checkGroupUnused(tx, id); err != nil {
				return err
			}
		}
		switch {
		case g.Name == next.Name:
		case g.Name == DefaultGroup:
			return network.Conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
		case next.Name == DefaultGroup:
			return DefaultGroupExists()
		}
		g.SecurityGroupRow = next
		tx.Touch(&g.Common)
		return tx.Replace(&g.SecurityGroupRow)
	})
	return g, err
}

// DefaultGroupExists is the fault of a group that would have the name of the default group.
func DefaultGroupExists() error {
	return network.Conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
}

// securityGroup returns a group with its rules.
func securityGroup(tx *network.Tx, id network.ID) (Group, error) {
	all, err := securityGroups(tx, network.Where(network.ByID, id))
	if err == nil && len(all) == 0 {
		err = network.NotFound("security_group", id)
	}
	if err != nil {
		return Group{}, err
	}
	return all[0], nil
}

// checkGroupUnused refuses a group that a port is in.
func checkGroupUnused(tx *network.Tx, id network.ID) error {
	ports, err := network.Rows[network.PortGroupRow](tx, network.Where(network.ByGroup, id))
	if err == nil && len(ports) > 0 {
		err = network.Conflict("SecurityGroupInUse", "Security Group %s in use.", id)
	}
	return err
}

// DeleteSecurityGroup removes a group with its rules, and rules that name it as the remote group.
// Only an administrator can remove a default group, which is created again when it is needed.
// Faults: SecurityGroupNotFound, SecurityGroupInUse, SecurityGroupCannotRemoveDefault.
func (s *Service) DeleteSecurityGroup(ctx context.Context, id network.ID, admin bool, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.SecurityGroupRow](tx, "security_group", id)
		if err != nil {
			return err
		}
		if err := checkGroupUnused(tx, id); err != nil {
			return err
		}
		if row.Name == DefaultGroup && !admin {
			return network.Conflict("SecurityGroupCannotRemoveDefault",
				"Insufficient rights for removing default security group.")
		}
		if err := network.CheckConditions(only, &row.Common); err != nil {
			return err
		}
		if _, err := tx.Remove(&network.SecurityRuleRow{}, network.Where(network.ByGroup, id)); err != nil {
			return err
		}
		if err := removeRulesAbout(tx, id); err != nil {
			return err
		}
		_, err = tx.Remove(&network.SecurityGroupRow{}, network.Where(network.ByID, id))
		return err
	})
}

// removeRulesAbout removes the rules of other groups that name a group.
func removeRulesAbout(tx *network.Tx, id network.ID) error {
	rules, err := network.Rows[network.SecurityRuleRow](tx, network.Where(network.ByRemoteGroup, id))
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := removeSecurityRule(tx, rule); err != nil {
			return err
		}
	}
	return nil
}
