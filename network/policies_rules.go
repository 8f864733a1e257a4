package network

import (
	"context"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// CreateRule adds a rule to a policy. Faults: QosPolicyNotFound,
// QoSRulesConflict for a second one of a type and direction,
// QoSRuleParameterConflict for a minimum above a limit, QosRuleNotSupported by a
// port, QosRuleNotSupportedByNetwork by a network that has the policy, and NotImplementedError for a guarantee
// while a server relies on the policy.
func (s *Service) CreateRule(ctx context.Context, row RuleRow) (RuleRow, error) {
	err := s.update(ctx, func(c *change) error {
		p, err := policy(c, row.Policy)
		if err != nil {
			return err
		}
		row.ID = newID()
		if err := firstError(fitsRules(p, row), c.Insert(&row)); err != nil {
			return err
		}
		p.Rules = append(p.Rules, row)
		return c.changedRules(p, row)
	})
	return row, err
}

// changedRules raises the revision of a policy and validates its rules for the networks and ports
// that use it.
func (c *change) changedRules(p Policy, row RuleRow) error {
	if err := c.supportedByAll(p); err != nil {
		return err
	}
	if tracked(row) {
		if err := c.notRelied(p.ID); err != nil {
			return err
		}
	}
	c.touch(&p.Common)
	return c.Replace(&p.PolicyRow)
}

// tracked reports whether a rule has resources in placement.
func tracked(r RuleRow) bool { return r.Type == MinimumBandwidth || r.Type == MinimumPacketRate }

// notRelied refuses to change the guarantees of a policy while a server's port has
// it, or has it from its network: what was allocated would not follow.
func (c *change) notRelied(id ID) error {
	ports, err := c.portsWith(id)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(p PortRow) bool { return ofCompute(p.DeviceOwner) }) {
		return fault.New(fault.Unsupported, "NotImplementedError",
			"Cannot update QoS policies/rules backed by resources tracked in Placement")
	}
	return nil
}

// ofCompute reports whether a port belongs to a server.
func ofCompute(owner string) bool { return strings.HasPrefix(owner, "compute:") }

// portsWith returns the ports that a policy is in effect for.
func (c *change) portsWith(id ID) ([]PortRow, error) {
	own, err := Rows[PortRow](c, Where(ByPolicy, id))
	if err != nil {
		return nil, err
	}
	nets, err := Rows[NetworkRow](c, Where(ByPolicy, id))
	if err != nil || len(nets) == 0 {
		return own, err
	}
	there, err := Rows[PortRow](c, Where(ByNetwork, ids(nets, func(n *NetworkRow) ID { return n.ID })...))
	for _, p := range there {
		if p.Policy == "" {
			own = append(own, p)
		}
	}
	return own, err
}

// UpdateRule changes the direction and the rates of a rule. Faults as CreateRule.
func (s *Service) UpdateRule(ctx context.Context, policyID, id ID, fn func(*RuleRow) error) (row RuleRow, err error) {
	err = s.update(ctx, func(c *change) error {
		p, i, err := c.rule(policyID, id)
		if err != nil {
			return err
		}
		if err := fn(&p.Rules[i]); err != nil {
			return err
		}
		row = p.Rules[i]
		if err := firstError(fitsRules(p, row), c.Replace(&row)); err != nil {
			return err
		}
		return c.changedRules(p, row)
	})
	return row, err
}

// DeleteRule removes a rule. Faults: QosPolicyNotFound, QosRuleNotFound,
// NotImplementedError.
func (s *Service) DeleteRule(ctx context.Context, policyID, id ID) error {
	return s.update(ctx, func(c *change) error {
		p, i, err := c.rule(policyID, id)
		if err != nil {
			return err
		}
		row := p.Rules[i]
		p.Rules = slices.Delete(p.Rules, i, i+1)
		_, err = c.Remove(&RuleRow{}, Where(ByID, id))
		return firstError(err, c.changedRules(p, row))
	})
}

// rule finds a rule in its policy.
func (c *change) rule(policyID, id ID) (Policy, int, error) {
	p, err := policy(c, policyID)
	if err != nil {
		return p, 0, err
	}
	i := slices.IndexFunc(p.Rules, func(r RuleRow) bool { return r.ID == id })
	if i < 0 {
		return p, 0, RuleNotFound(policyID, id)
	}
	return p, i, nil
}

// CodeRuleNotFound is that of a rule that does not exist.
const CodeRuleNotFound fault.Code = "QosRuleNotFound"

// RuleNotFound is the fault of a rule that a policy does not have.
func RuleNotFound(policy, rule ID) error {
	return fault.New(fault.NotFound, CodeRuleNotFound, "QoS rule %s for policy %s could not be found.", string(rule), string(policy))
}

// LoneRuleNotFound is the fault of a rule that there is not in any policy.
func LoneRuleNotFound(rule ID) error { return RuleNotFound("", rule) }

// Rules returns the rules that match. Fault: QosPolicyNotFound when a policy is named
// that does not exist.
func (s *Service) Rules(ctx context.Context, policyID ID, where ...Match) (rows []RuleRow, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		if policyID != "" {
			if _, err := byID[PolicyRow](r, "policy", policyID); err != nil {
				return err
			}
			where = append([]Match{Where(ByPolicy, policyID)}, where...)
		}
		rows, err = Rows[RuleRow](r, where...)
		return err
	})
	return rows, err
}

// fitsRules validates a rule against the others of its policy.
func fitsRules(p Policy, row RuleRow) error {
	for _, o := range p.Rules {
		if o.ID == row.ID {
			continue
		}
		if o.Type == row.Type && o.Direction == row.Direction {
			return conflict("QoSRulesConflict", "Rule %s conflicts with rule %s which already exists in QoS Policy %s.", row.Type, o.ID, p.ID)
		}
		if o.Type == MinimumPacketRate && row.Type == o.Type && (o.Direction == AnyDirection || row.Direction == AnyDirection) {
			return parameterConflict(p, row.Direction, o, o.Direction)
		}
		if o.Direction == row.Direction && beyond(o, row) {
			return parameterConflict(p, row.Rate, o, o.Rate)
		}
	}
	return nil
}

// beyond reports whether the minimum of one of two rules exceeds the maximum of the other.
func beyond(a, b RuleRow) bool {
	if a.Type == BandwidthLimit {
		a, b = b, a
	}
	return a.Type == MinimumBandwidth && b.Type == BandwidthLimit && a.Rate > b.Rate
}

func parameterConflict(p Policy, value any, o RuleRow, existing any) error {
	return conflict("QoSRuleParameterConflict",
		"Unable to add the rule with value %v to the policy %s as the existing rule of type %s has value %v.", value, p.ID, o.Type, existing)
}

// supportedByAll refuses rules that a port or a network with the policy cannot
// have.
func (c *change) supportedByAll(p Policy) error {
	rows, err := c.portsWith(p.ID)
	if err != nil {
		return err
	}
	all, err := portsOf(c, rows)
	if err != nil {
		return err
	}
	for _, port := range all {
		port.Rules = p.Rules
		if err := c.supports(port); err != nil {
			return err
		}
	}
	nets, err := networks(c, Where(ByPolicy, p.ID))
	for _, n := range nets {
		err = firstError(err, guarantees(n, p.Rules, c.settings.Extensions))
	}
	return err
}

// portsOf are ports with what hangs on them; of no rows there are none.
func portsOf(r Reader, rows []PortRow) ([]Port, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	return ports(r, Where(ByID, ids(rows, func(p *PortRow) ID { return p.ID })...))
}

// guarantees refuses bandwidth guarantees on a network where no driver can give them.
func guarantees(n Network, rules []RuleRow, x guarantee.Extensions) error {
	if guarantee.CheckNetwork(rulesFor(rules), segmentsFor(n.Segments), x) == nil {
		return nil
	}
	return conflict("QosRuleNotSupportedByNetwork", "Rule %s is not supported by network %s", MinimumBandwidth, n.ID)
}

// supports refuses a port whose rules no driver enforces for its VNIC type or, once it is bound,
// for its VIF type; and a bandwidth guarantee on a network without a physical network.
func (c *change) supports(p Port) error {
	for _, r := range p.Rules {
		if !slices.ContainsFunc(c.settings.Drivers, func(d guarantee.Driver) bool { return p.served(d, r) }) {
			return notSupported(r, p)
		}
	}
	if guarantee.CheckNetwork(rulesFor(p.Rules), segmentsFor(p.Network.Segments), c.settings.Extensions) != nil {
		return notSupported(RuleRow{Type: MinimumBandwidth}, p)
	}
	return nil
}

func notSupported(r RuleRow, p Port) error {
	return conflict("QosRuleNotSupported", "Rule %s is not supported by port %s", r.Type, p.ID)
}

// served reports whether a driver enforces a rule for a port.
func (p *Port) served(d guarantee.Driver, r RuleRow) bool {
	if !d.Enforces(guarantee.RuleType(r.Type), r.Direction) {
		return false
	}
	if !p.Binding.bound() {
		return slices.Contains(d.VNICTypes, p.Binding.VNIC)
	}
	return slices.Contains(d.VIFTypes, p.Binding.VIF)
}

// RuleTypes returns the types of rules that all drivers enforce, in any direction;
// with any those that one does, with all whatever there is.
func (rs *rules) RuleTypes(any, all bool) []RuleType {
	var types []RuleType
	for _, t := range []RuleType{BandwidthLimit, DSCPMarking, MinimumBandwidth, MinimumPacketRate, PacketRateLimit} {
		n := 0
		for _, d := range rs.settings.Drivers {
			if len(d.Rules[guarantee.RuleType(t)]) > 0 {
				n++
			}
		}
		if all || any && n > 0 || n > 0 && n == len(rs.settings.Drivers) {
			types = append(types, t)
		}
	}
	return types
}

// Enforcers returns the drivers that enforce a type of rules, sorted by name.
func (rs *rules) Enforcers(t RuleType) []guarantee.Driver {
	var some []guarantee.Driver
	for _, d := range rs.settings.Drivers {
		if len(d.Rules[guarantee.RuleType(t)]) > 0 {
			some = append(some, d)
		}
	}
	slices.SortFunc(some, func(a, b guarantee.Driver) int { return strings.Compare(a.Name, b.Name) })
	return some
}
