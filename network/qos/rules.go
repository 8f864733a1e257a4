package qos

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// CreateRule adds a rule to a policy. Faults: QosPolicyNotFound, QoSRulesConflict for a second one
// of a type and direction, QoSRuleParameterConflict for a minimum above a limit,
// QosRuleNotSupported by a port, QosRuleNotSupportedByNetwork by a network that has the policy, and
// NotImplementedError for a guarantee while a server relies on the policy.
func (s *Service) CreateRule(ctx context.Context, row network.RuleRow) (network.RuleRow, error) {
	err := s.db.Update(ctx, func(tx *network.Tx) error {
		p, err := ReadPolicy(tx, row.Policy)
		if err != nil {
			return err
		}
		row.ID = network.NewID()
		if err := cmp.Or(checkRule(p, row), tx.Insert(&row)); err != nil {
			return err
		}
		p.Rules = append(p.Rules, row)
		return rulesChanged(tx, p, row)
	})
	return row, err
}

// rulesChanged raises the revision of a policy and validates its rules for the networks and ports
// that use it.
func rulesChanged(tx *network.Tx, p Policy, row network.RuleRow) error {
	if err := checkUsers(tx, p); err != nil {
		return err
	}
	if hasResources(row) {
		if err := checkNoServer(tx, p.ID); err != nil {
			return err
		}
	}
	tx.Touch(&p.Common)
	return tx.Replace(&p.PolicyRow)
}

// hasResources reports whether a rule has resources in placement.
func hasResources(r network.RuleRow) bool {
	return r.Type == network.MinimumBandwidth || r.Type == network.MinimumPacketRate
}

// checkNoServer refuses to change the guarantees of a policy while a server's port has
// it, or has it from its network: what was allocated would not follow.
func checkNoServer(tx *network.Tx, id network.ID) error {
	ports, err := portsWith(tx, id)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ports, func(p network.PortRow) bool { return network.OwnedByServer(p.DeviceOwner) }) {
		return fault.New(fault.Unsupported, "NotImplementedError",
			"Cannot update QoS policies/rules backed by resources tracked in Placement")
	}
	return nil
}

// portsWith returns the ports that a policy is in effect for.
func portsWith(tx *network.Tx, id network.ID) ([]network.PortRow, error) {
	own, err := network.Rows[network.PortRow](tx, network.Where(network.ByPolicy, id))
	if err != nil {
		return nil, err
	}
	nets, err := network.Rows[network.NetworkRow](tx, network.Where(network.ByPolicy, id))
	if err != nil || len(nets) == 0 {
		return own, err
	}
	inherited, err := network.Rows[network.PortRow](tx,
		network.Where(network.ByNetwork, network.IDs(nets, func(n *network.NetworkRow) network.ID { return n.ID })...))
	for _, p := range inherited {
		if p.Policy == "" {
			own = append(own, p)
		}
	}
	return own, err
}

// UpdateRule changes the direction and the rates of a rule. Faults as CreateRule.
func (s *Service) UpdateRule(
	ctx context.Context, policyID, id network.ID, fn func(*network.RuleRow) error,
) (row network.RuleRow, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		p, i, err := findRule(tx, policyID, id)
		if err != nil {
			return err
		}
		if err := fn(&p.Rules[i]); err != nil {
			return err
		}
		row = p.Rules[i]
		if err := cmp.Or(checkRule(p, row), tx.Replace(&row)); err != nil {
			return err
		}
		return rulesChanged(tx, p, row)
	})
	return row, err
}

// DeleteRule removes a rule. Faults: QosPolicyNotFound, QosRuleNotFound,
// NotImplementedError.
func (s *Service) DeleteRule(ctx context.Context, policyID, id network.ID) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		p, i, err := findRule(tx, policyID, id)
		if err != nil {
			return err
		}
		row := p.Rules[i]
		p.Rules = slices.Delete(p.Rules, i, i+1)
		_, err = tx.Remove(&network.RuleRow{}, network.Where(network.ByID, id))
		return cmp.Or(err, rulesChanged(tx, p, row))
	})
}

// findRule finds a rule in its policy.
func findRule(tx *network.Tx, policyID, id network.ID) (Policy, int, error) {
	p, err := ReadPolicy(tx, policyID)
	if err != nil {
		return p, 0, err
	}
	i := slices.IndexFunc(p.Rules, func(r network.RuleRow) bool { return r.ID == id })
	if i < 0 {
		return p, 0, RuleNotFound(policyID, id)
	}
	return p, i, nil
}

// CodeRuleNotFound is that of a rule that does not exist.
const CodeRuleNotFound fault.Code = "QosRuleNotFound"

// RuleNotFound is the fault of a rule that a policy does not have.
func RuleNotFound(policy, rule network.ID) error {
	return fault.New(fault.NotFound, CodeRuleNotFound, "QoS rule %s for policy %s could not be found.", string(rule),
		string(policy))
}

// LoneRuleNotFound is the fault of a rule that no policy has.
func LoneRuleNotFound(rule network.ID) error { return RuleNotFound("", rule) }

// Rules returns the rules that match. Fault: QosPolicyNotFound when a policy is named
// that does not exist.
func (s *Service) Rules(
	ctx context.Context, policyID network.ID, where ...network.Match,
) (rows []network.RuleRow, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		if policyID != "" {
			if _, err := network.Find[network.PolicyRow](r, "policy", policyID); err != nil {
				return err
			}
			where = append([]network.Match{network.Where(network.ByPolicy, policyID)}, where...)
		}
		rows, err = network.Rows[network.RuleRow](r, where...)
		return err
	})
	return rows, err
}

// checkRule validates a rule against the others of its policy.
func checkRule(p Policy, row network.RuleRow) error {
	for _, o := range p.Rules {
		if o.ID == row.ID {
			continue
		}
		if o.Type == row.Type && o.Direction == row.Direction {
			return network.Conflict("QoSRulesConflict",
				"Rule %s conflicts with rule %s which already exists in QoS Policy %s.", row.Type, o.ID, p.ID)
		}
		if o.Type == network.MinimumPacketRate && row.Type == o.Type &&
			(o.Direction == network.AnyDirection || row.Direction == network.AnyDirection) {
			return parameterConflict(p, row.Direction, o, o.Direction)
		}
		if o.Direction == row.Direction && exceedsLimit(o, row) {
			return parameterConflict(p, row.Rate, o, o.Rate)
		}
	}
	return nil
}

// exceedsLimit reports whether the minimum of one of two rules exceeds the maximum of the other.
func exceedsLimit(a, b network.RuleRow) bool {
	if a.Type == network.BandwidthLimit {
		a, b = b, a
	}
	return a.Type == network.MinimumBandwidth && b.Type == network.BandwidthLimit && a.Rate > b.Rate
}

func parameterConflict(p Policy, value any, o network.RuleRow, existing any) error {
	return network.Conflict("QoSRuleParameterConflict",
		"Unable to add the rule with value %v to the policy %s as the existing rule of type %s has value %v.",
		value, p.ID, o.Type, existing)
}

// checkUsers refuses rules that a port or a network with the policy cannot
// have.
func checkUsers(tx *network.Tx, p Policy) error {
	rows, err := portsWith(tx, p.ID)
	if err != nil {
		return err
	}
	all, err := portsOf(tx, rows)
	if err != nil {
		return err
	}
	for _, port := range all {
		port.Rules = p.Rules
		if err := CheckPort(tx, port); err != nil {
			return err
		}
	}
	nets, err := network.Networks(tx, network.Where(network.ByPolicy, p.ID))
	for _, n := range nets {
		err = cmp.Or(err, CheckNetwork(n, p.Rules, tx.Settings.Extensions))
	}
	return err
}

// portsOf are ports with what belongs to them; of no rows there are none.
func portsOf(r network.Reader, rows []network.PortRow) ([]network.Port, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	return network.Ports(r,
		network.Where(network.ByID, network.IDs(rows, func(p *network.PortRow) network.ID { return p.ID })...))
}

// CheckNetwork refuses bandwidth guarantees on a network where no driver can enforce them.
func CheckNetwork(n network.Network, rules []network.RuleRow, x guarantee.Extensions) error {
	if guarantee.CheckNetwork(network.GuaranteeRules(rules), network.GuaranteeSegments(n.Segments), x) == nil {
		return nil
	}
	return network.Conflict("QosRuleNotSupportedByNetwork", "Rule %s is not supported by network %s",
		network.MinimumBandwidth, n.ID)
}

// CheckPort refuses a port whose rules no driver enforces for its VNIC type or, once it is bound,
// for its VIF type; and a bandwidth guarantee on a network without a physical network.
func CheckPort(tx *network.Tx, p network.Port) error {
	for _, r := range p.Rules {
		if !slices.ContainsFunc(tx.Settings.Drivers, func(d guarantee.Driver) bool { return enforces(&p, d, r) }) {
			return notSupported(r, p)
		}
	}
	if guarantee.CheckNetwork(network.GuaranteeRules(p.Rules), network.GuaranteeSegments(p.Network.Segments),
		tx.Settings.Extensions) != nil {
		return notSupported(network.RuleRow{Type: network.MinimumBandwidth}, p)
	}
	return nil
}

func notSupported(r network.RuleRow, p network.Port) error {
	return network.Conflict("QosRuleNotSupported", "Rule %s is not supported by port %s", r.Type, p.ID)
}

// enforces reports whether a driver enforces a rule for a port.
func enforces(p *network.Port, d guarantee.Driver, r network.RuleRow) bool {
	if !d.Enforces(guarantee.RuleType(r.Type), r.Direction) {
		return false
	}
	if !p.Binding.Bound() {
		return slices.Contains(d.VNICTypes, p.Binding.VNIC)
	}
	return slices.Contains(d.VIFTypes, p.Binding.VIF)
}

// RuleTypes returns the types of rules that all drivers enforce, in any direction; with some those
// that at least one driver enforces, with all every type.
func (s *Service) RuleTypes(some, all bool) []network.RuleType {
	var types []network.RuleType
	for _, t := range []network.RuleType{
		network.BandwidthLimit, network.DSCPMarking, network.MinimumBandwidth,
		network.MinimumPacketRate, network.PacketRateLimit,
	} {
		n := 0
		for _, d := range s.db.Rules.Settings.Drivers {
			if len(d.Rules[guarantee.RuleType(t)]) > 0 {
				n++
			}
		}
		if all || some && n > 0 || n > 0 && n == len(s.db.Rules.Settings.Drivers) {
			types = append(types, t)
		}
	}
	return types
}

// Enforcers returns the drivers that enforce a type of rules, sorted by name.
func (s *Service) Enforcers(t network.RuleType) []guarantee.Driver {
	var enforcing []guarantee.Driver
	for _, d := range s.db.Rules.Settings.Drivers {
		if len(d.Rules[guarantee.RuleType(t)]) > 0 {
			enforcing = append(enforcing, d)
		}
	}
	slices.SortFunc(enforcing, func(a, b guarantee.Driver) int { return strings.Compare(a.Name, b.Name) })
	return enforcing
}
