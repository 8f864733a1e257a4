package security

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/quotas"
)

// A RuleSpec is a request for a rule of a security group.
type RuleSpec struct {
	network.SecurityRuleRow
	// RemoteAddresses names a group of addresses, of which there are none.
	RemoteAddresses string
	// AnyGroup allows that the rule's group, and its remote group, are of
	// another project.
	AnyGroup bool
}

// CreateSecurityRules adds all of the rules or none; they must be of one group and
// project. Rules are checked as Neutron does, in its order. Faults:
// OverQuota, SecurityGroupNotFound, SecurityGroupRuleExists, and several of kind
// Invalid.
func (s *Service) CreateSecurityRules(
	ctx context.Context, specs []RuleSpec,
) (rules []network.SecurityRuleRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if err := quotas.WithinEach(tx, "security_group_rule", specs,
			func(s *RuleSpec) string { return s.Project }); err != nil {
			return err
		}
		rules, err = createSecurityRules(tx, slices.Clone(specs))
		return err
	})
	return rules, err
}

func createSecurityRules(tx *network.Tx, specs []RuleSpec) ([]network.SecurityRuleRow, error) {
	if err := checkOneGroup(specs); err != nil {
		return nil, err
	}
	for i := range specs {
		if err := cmp.Or(specs[i].check(), checkGroups(tx, specs[i])); err != nil {
			return nil, err
		}
	}
	group, err := securityGroup(tx, specs[0].Group)
	if err != nil {
		return nil, err
	}
	if err := checkNewRules(specs, group.Rules); err != nil {
		return nil, err
	}
	rules := make([]network.SecurityRuleRow, len(specs))
	for i, spec := range specs {
		tx.Fresh(&spec.Common)
		if err := tx.Insert(&spec.SecurityRuleRow); err != nil {
			return nil, err
		}
		tx.Touch(&group.Common)
		rules[i] = spec.SecurityRuleRow
	}
	return rules, tx.Replace(&group.SecurityGroupRow)
}

// checkOneGroup refuses rules of several groups or projects at once.
func checkOneGroup(specs []RuleSpec) error {
	for _, s := range specs[1:] {
		switch {
		case s.Group != specs[0].Group:
			return network.Invalid("SecurityGroupNotSingleGroupRules",
				"Only allowed to update rules for one security profile at a time")
		case s.Project != specs[0].Project:
			return network.Invalid("SecurityGroupRulesNotSingleTenant",
				"Multiple tenant_ids in bulk security group rule create not allowed")
		}
	}
	return nil
}

// checkGroups refuses a rule of a group that its project does not have, or that names
// one.
func checkGroups(tx *network.Tx, spec RuleSpec) error {
	if err := checkGroup(tx, spec, spec.RemoteGroup); err != nil {
		return err
	}
	if spec.RemoteAddresses != "" {
		return fault.New(fault.NotFound, "AddressGroupNotFound", "Address group %s could not be found.",
			spec.RemoteAddresses)
	}
	return checkGroup(tx, spec, spec.Group)
}

func checkGroup(tx *network.Tx, spec RuleSpec, id network.ID) error {
	if id == "" {
		return nil
	}
	row, err := network.One[network.SecurityGroupRow](tx, network.Where(network.ByID, id))
	if errors.Is(err, network.ErrNoRow) || err == nil && row.Project != spec.Project && !spec.AnyGroup {
		return network.NotFound("security_group", id)
	}
	return err
}

// checkNewRules refuses a rule that is there already, or twice in a request.
func checkNewRules(specs []RuleSpec, existing []network.SecurityRuleRow) error {
	keys := map[ruleKey]bool{}
	for i := range specs {
		key := keyOf(specs[i].SecurityRuleRow)
		if keys[key] {
			return network.Conflict("DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.")
		}
		keys[key] = true
	}
	for i := range existing {
		if keys[keyOf(existing[i])] {
			return network.Conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.",
				existing[i].ID)
		}
	}
	return nil
}

// A ruleKey is what two rules of a group must not both have.
type ruleKey struct {
	direction, etherType, protocol, remoteIP string
	portMin, portMax                         int
	remoteGroup                              network.ID
}

func keyOf(r network.SecurityRuleRow) ruleKey {
	k := ruleKey{r.Direction, r.EtherType, r.Protocol, r.RemoteIP, r.PortMin, r.PortMax, r.RemoteGroup}
	if r.EtherType == network.IPv6 {
		k.protocol = ipv6Protocol(k.protocol)
	}
	k.protocol = namedProtocol(k.protocol)
	if r.RemoteIP == "0.0.0.0/0" || r.RemoteIP == "::/0" {
		k.remoteIP = ""
	}
	return k
}

// DeleteSecurityRule removes a rule. Fault: SecurityGroupRuleNotFound.
func (s *Service) DeleteSecurityRule(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		rule, err := network.Find[network.SecurityRuleRow](tx, "security_group_rule", id)
		if err := cmp.Or(err, network.CheckConditions(only, &rule.Common)); err != nil {
			return err
		}
		return removeSecurityRule(tx, rule)
	})
}

// removeSecurityRule removes a rule from its group.
func removeSecurityRule(tx *network.Tx, rule network.SecurityRuleRow) error {
	group, err := network.Find[network.SecurityGroupRow](tx, "security_group", rule.Group)
	if err != nil {
		return err
	}
	if _, err := tx.Remove(&rule, network.Where(network.ByID, rule.ID)); err != nil {
		return err
	}
	tx.Touch(&group.Common)
	return tx.Replace(&group)
}
