package network

import "context"

// CreateSecurityGroups creates all of the groups or none, each with rules that allow all egress.
// Faults: OverQuota, SecurityGroupDefaultAlreadyExists.
func (s *Service) CreateSecurityGroups(ctx context.Context, rows []SecurityGroupRow) (made []SecurityGroup, err error) {
	err = s.update(ctx, func(c *change) error {
		made = make([]SecurityGroup, len(rows))
		if err := withinEach(c, "security_group", rows, func(r *SecurityGroupRow) string { return r.Project }); err != nil {
			return err
		}
		for i, row := range rows {
			if row.Name == DefaultGroup {
				return DefaultGroupExists()
			}
			if _, err := c.defaultGroup(row.Project); err != nil {
				return err
			}
			if made[i], err = c.newGroup(row, Egress); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// UpdateSecurityGroup changes a group, not its rules. The function gets the current group; it may
// run more than once. Faults: SecurityGroupNotFound, SecurityGroupCannotUpdateDefault for the name
// of a default group, SecurityGroupDefaultAlreadyExists for the name "default" for another one,
// SecurityGroupInUse when statefulness of a group with ports is changed.
func (s *Service) UpdateSecurityGroup(ctx context.Context, id ID, fn func(*SecurityGroupRow) error) (g SecurityGroup, err error) {
	err = s.update(ctx, func(c *change) error {
		if g, err = c.securityGroup(id); err != nil {
			return err
		}
		next := g.SecurityGroupRow
		if err := fn(&next); err != nil {
			return err
		}
		if next.Stateful != g.Stateful {
			if err := c.groupFree(id); err != nil {
				return err
			}
		}
		switch {
		case g.Name == next.Name:
		case g.Name == DefaultGroup:
			return conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
		case next.Name == DefaultGroup:
			return DefaultGroupExists()
		}
		g.SecurityGroupRow = next
		c.touch(&g.Common)
		return c.Replace(&g.SecurityGroupRow)
	})
	return g, err
}

// DefaultGroupExists is the fault of a group that would have the name of the default group.
func DefaultGroupExists() error {
	return conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
}

// securityGroup returns a group with its rules.
func (c *change) securityGroup(id ID) (SecurityGroup, error) {
	all, err := securityGroups(c, Where(ByID, id))
	if err == nil && len(all) == 0 {
		err = NotFound("security_group", id)
	}
	if err != nil {
		return SecurityGroup{}, err
	}
	return all[0], nil
}

// groupFree refuses a group that a port is in.
func (c *change) groupFree(id ID) error {
	ports, err := Rows[PortGroupRow](c, Where(ByGroup, id))
	if err == nil && len(ports) > 0 {
		err = conflict("SecurityGroupInUse", "Security Group %s in use.", id)
	}
	return err
}

// DeleteSecurityGroup removes a group with its rules, and rules that name it as the remote group.
// Only an administrator can remove a default group, which is created again when it is needed.
// Faults: SecurityGroupNotFound, SecurityGroupInUse, SecurityGroupCannotRemoveDefault.
func (s *Service) DeleteSecurityGroup(ctx context.Context, id ID, admin bool, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[SecurityGroupRow](c, "security_group", id)
		if err != nil {
			return err
		}
		if err := c.groupFree(id); err != nil {
			return err
		}
		if row.Name == DefaultGroup && !admin {
			return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
		}
		if err := met(only, &row.Common); err != nil {
			return err
		}
		if _, err := c.Remove(&SecurityRuleRow{}, Where(ByGroup, id)); err != nil {
			return err
		}
		if err := c.forgetGroup(id); err != nil {
			return err
		}
		_, err = c.Remove(&SecurityGroupRow{}, Where(ByID, id))
		return err
	})
}

// forgetGroup removes the rules of other groups that name a group.
func (c *change) forgetGroup(id ID) error {
	rules, err := Rows[SecurityRuleRow](c, Where(ByRemoteGroup, id))
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := c.removeSecurityRule(rule); err != nil {
			return err
		}
	}
	return nil
}
