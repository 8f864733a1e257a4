package network

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// A SecurityRuleSpec is what may be said of a rule of a security group.
type SecurityRuleSpec struct {
	SecurityRuleRow
	// RemoteAddresses names a group of addresses, of which there are none.
	RemoteAddresses string
	// AnyGroup says that the rule's group, and the one that it names, may be of
	// another project.
	AnyGroup bool
}

// CreateSecurityRules adds all of the rules or none; they must be of one group and
// project. What a rule says is checked as Neutron does, in its order. Faults:
// OverQuota, SecurityGroupNotFound, SecurityGroupRuleExists, and several of kind
// Invalid.
func (s *Service) CreateSecurityRules(ctx context.Context, specs []SecurityRuleSpec) (made []SecurityRuleRow, err error) {
	err = s.update(ctx, func(c *change) error {
		if err := withinEach(c, "security_group_rule", specs, func(s *SecurityRuleSpec) string { return s.Project }); err != nil {
			return err
		}
		made, err = c.createSecurityRules(slices.Clone(specs))
		return err
	})
	return made, err
}

func (c *change) createSecurityRules(specs []SecurityRuleSpec) ([]SecurityRuleRow, error) {
	if err := ofOneGroup(specs); err != nil {
		return nil, err
	}
	for i := range specs {
		if err := firstError(specs[i].check(), c.groupsOf(specs[i])); err != nil {
			return nil, err
		}
	}
	group, err := c.securityGroup(specs[0].Group)
	if err != nil {
		return nil, err
	}
	if err := newRules(specs, group.Rules); err != nil {
		return nil, err
	}
	made := make([]SecurityRuleRow, len(specs))
	for i, spec := range specs {
		c.fresh(&spec.Common)
		if err := c.Insert(&spec.SecurityRuleRow); err != nil {
			return nil, err
		}
		c.touch(&group.Common)
		made[i] = spec.SecurityRuleRow
	}
	return made, c.Replace(&group.SecurityGroupRow)
}

// ofOneGroup refuses rules of several groups or projects at once.
func ofOneGroup(specs []SecurityRuleSpec) error {
	for _, s := range specs[1:] {
		switch {
		case s.Group != specs[0].Group:
			return invalid("SecurityGroupNotSingleGroupRules", "Only allowed to update rules for one security profile at a time")
		case s.Project != specs[0].Project:
			return invalid("SecurityGroupRulesNotSingleTenant", "Multiple tenant_ids in bulk security group rule create not allowed")
		}
	}
	return nil
}

// groupsOf refuses a rule of a group that its project does not have, or that names
// one.
func (c *change) groupsOf(spec SecurityRuleSpec) error {
	if err := c.hasGroup(spec, spec.RemoteGroup); err != nil {
		return err
	}
	if spec.RemoteAddresses != "" {
		return fault.New(fault.NotFound, "AddressGroupNotFound", "Address group %s could not be found.", spec.RemoteAddresses)
	}
	return c.hasGroup(spec, spec.Group)
}

func (c *change) hasGroup(spec SecurityRuleSpec, id ID) error {
	if id == "" {
		return nil
	}
	row, err := One[SecurityGroupRow](c, Where(ByID, id))
	if errors.Is(err, ErrNoRow) || err == nil && row.Project != spec.Project && !spec.AnyGroup {
		return NotFound("security_group", id)
	}
	return err
}

// newRules refuses a rule that is there already, or twice in a request.
func newRules(specs []SecurityRuleSpec, there []SecurityRuleRow) error {
	keys := map[ruleKey]bool{}
	for i := range specs {
		key := keyOf(specs[i].SecurityRuleRow)
		if keys[key] {
			return conflict("DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.")
		}
		keys[key] = true
	}
	for i := range there {
		if keys[keyOf(there[i])] {
			return conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", there[i].ID)
		}
	}
	return nil
}

// A ruleKey is what two rules of a group must not both have.
type ruleKey struct {
	direction, etherType, protocol, remoteIP string
	portMin, portMax                         int
	remoteGroup                              ID
}

func keyOf(r SecurityRuleRow) ruleKey {
	k := ruleKey{r.Direction, r.EtherType, r.Protocol, r.RemoteIP, r.PortMin, r.PortMax, r.RemoteGroup}
	if r.EtherType == IPv6 {
		k.protocol = ofIPv6(k.protocol)
	}
	k.protocol = namedProtocol(k.protocol)
	if r.RemoteIP == "0.0.0.0/0" || r.RemoteIP == "::/0" {
		k.remoteIP = ""
	}
	return k
}

// DeleteSecurityRule removes a rule. Fault: SecurityGroupRuleNotFound.
func (s *Service) DeleteSecurityRule(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		rule, err := byID[SecurityRuleRow](c, "security_group_rule", id)
		if err := firstError(err, met(only, &rule.Common)); err != nil {
			return err
		}
		return c.removeSecurityRule(rule)
	})
}

// removeSecurityRule takes a rule from its group.
func (c *change) removeSecurityRule(rule SecurityRuleRow) error {
	group, err := byID[SecurityGroupRow](c, "security_group", rule.Group)
	if err != nil {
		return err
	}
	if _, err := c.Remove(&rule, Where(ByID, rule.ID)); err != nil {
		return err
	}
	c.touch(&group.Common)
	return c.Replace(&group)
}
