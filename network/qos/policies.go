// Package qos has QoS policies and their rules, and decides which of them a network or a port can
// have. What guarantees need in placement is in package guarantee.
package qos

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Policy is a QoS policy with its rules.
type Policy struct {
	network.PolicyRow
	Rules []network.RuleRow // by type and id
}

// A Service has the rules of QoS policies. Its methods may be called concurrently. Callers check
// permissions before.
type Service struct{ db *network.Database }

// New returns the QoS policies in a database.
func New(db *network.Database) *Service { return &Service{db} }

// Policies returns the QoS policies that match, with their rules.
func (s *Service) Policies(ctx context.Context, where ...network.Match) (all []Policy, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		all, err = policies(r, where...)
		return err
	})
	return all, err
}

func policies(r network.Reader, where ...network.Match) ([]Policy, error) {
	rows, err := network.Rows[network.PolicyRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	rules, err := network.Rows[network.RuleRow](r,
		network.Where(network.ByPolicy, network.IDs(rows, func(p *network.PolicyRow) network.ID { return p.ID })...))
	if err != nil {
		return nil, err
	}
	byPolicy := network.GroupBy(rules, func(r *network.RuleRow) network.ID { return r.Policy })
	all := make([]Policy, len(rows))
	for i, row := range rows {
		all[i] = Policy{row, byPolicy[row.ID]}
	}
	return all, nil
}

// ReadPolicy reads a policy with its rules. Fault: QosPolicyNotFound.
func ReadPolicy(r network.Reader, id network.ID) (Policy, error) {
	all, err := policies(r, network.Where(network.ByID, id))
	if err == nil && len(all) == 0 {
		err = network.NotFound("policy", id)
	}
	if err != nil {
		return Policy{}, err
	}
	return all[0], nil
}

// CreatePolicies creates all of the policies or none. Fault:
// QoSPolicyDefaultAlreadyExists for a second default of a project.
func (s *Service) CreatePolicies(ctx context.Context, rows []network.PolicyRow) (policies []Policy, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		policies = make([]Policy, len(rows))
		for i, row := range rows {
			tx.Fresh(&row.Common)
			if err := cmp.Or(checkDefault(tx, row), tx.Insert(&row)); err != nil {
				return err
			}
			policies[i].PolicyRow = row
		}
		return nil
	})
	return policies, err
}

// checkDefault refuses a second default policy of a project.
func checkDefault(tx *network.Tx, row network.PolicyRow) error {
	if !row.Default {
		return nil
	}
	others, err := network.Rows[network.PolicyRow](tx, network.Where(network.ByProject, row.Project))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(o network.PolicyRow) bool { return o.Default && o.ID != row.ID }) {
		return network.Conflict("QoSPolicyDefaultAlreadyExists", "A default QoS policy exists for project %s.",
			row.Project)
	}
	return nil
}

// DefaultPolicy returns the policy that networks of a project get which name none.
func DefaultPolicy(tx *network.Tx, project string) (network.ID, error) {
	rows, err := network.Rows[network.PolicyRow](tx, network.Where(network.ByProject, project))
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(rows, func(p network.PolicyRow) bool { return p.Default }); i >= 0 {
		return rows[i].ID, nil
	}
	return "", nil
}

// A PolicySpec is a request for a policy.
type PolicySpec struct {
	network.PolicyRow
	// Described is set when the name or the description was requested, which raises the revision
	// even where nothing changes. Sharing does not.
	Described bool
}

// UpdatePolicy changes a policy, not its rules. The function gets the current policy;
// it may run more than once. Faults: QosPolicyNotFound,
// QoSPolicyDefaultAlreadyExists, RbacPolicyInUse when it is not to be shared any
// more and something has it.
func (s *Service) UpdatePolicy(ctx context.Context, id network.ID, fn func(*PolicySpec) error) (p Policy, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		if p, err = ReadPolicy(tx, id); err != nil {
			return err
		}
		spec := PolicySpec{PolicyRow: p.PolicyRow}
		if err := fn(&spec); err != nil {
			return err
		}
		if p.Shared && !spec.Shared {
			if err := checkUnshared(tx, id); err != nil {
				return err
			}
		}
		if spec.Described || spec.Default != p.Default {
			tx.Touch(&spec.Common)
		}
		p.PolicyRow = spec.PolicyRow
		return cmp.Or(checkDefault(tx, p.PolicyRow), tx.Replace(&p.PolicyRow))
	})
	return p, err
}

// DeletePolicy removes a policy with its rules, unless a network or a port has it:
// QosPolicyInUse.
func (s *Service) DeletePolicy(ctx context.Context, id network.ID, only ...network.Condition) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		row, err := network.Find[network.PolicyRow](tx, "policy", id)
		if err != nil {
			return err
		}
		if err := cmp.Or(checkUnused(tx, id), network.CheckConditions(only, &row.Common)); err != nil {
			return err
		}
		_, rules := tx.Remove(&network.RuleRow{}, network.Where(network.ByPolicy, id))
		_, policy := tx.Remove(&network.PolicyRow{}, network.Where(network.ByID, id))
		return cmp.Or(rules, policy)
	})
}

// A Choice says by whom a QoS policy, or none, is chosen for a network or a port.
type Choice struct {
	Made bool // a policy or none was requested, even if it is the current one
	// From is the project whose own and shared policies may be replaced, To that whose policies may
	// be chosen; "" for any.
	From, To string
}

// Check refuses to replace a policy of another project, and to choose one, which is answered as
// if it did not exist.
func (p Choice) Check(r network.Reader, from, to network.ID) error {
	if !p.Made {
		return nil
	}
	row, err := network.One[network.PolicyRow](r, network.Where(network.ByID, from))
	switch {
	case from == "" || errors.Is(err, network.ErrNoRow):
	case err != nil:
		return err
	case !usableBy(&row, p.From):
		return fault.New(fault.Denied, "PolicyRemoveAuthorizationError",
			"Failed to remove provided policy %s because you are not authorized.", string(from))
	}
	if to == "" {
		return nil
	}
	row, err = network.Find[network.PolicyRow](r, "policy", to)
	if err == nil && !usableBy(&row, p.To) {
		err = network.NotFound("policy", to)
	}
	return err
}

// usableBy reports whether a project may put the policy to use; "" is any project.
func usableBy(p *network.PolicyRow, project string) bool {
	return project == "" || p.Shared || p.Project == project
}

// checkUnused refuses a policy that something has.
func checkUnused(tx *network.Tx, id network.ID) error {
	kind, by, err := usedBy(tx, id)
	if err == nil && by != "" {
		err = network.Conflict("QosPolicyInUse", "QoS Policy %s is used by %s %s.", id, kind, by)
	}
	return err
}

// checkUnshared refuses to unshare a policy that is in use, even by its own project.
func checkUnshared(tx *network.Tx, id network.ID) error {
	_, by, err := usedBy(tx, id)
	if err == nil && by != "" {
		err = network.Conflict("RbacPolicyInUse",
			"RBAC policy on object %s cannot be removed because other objects depend on it.\n"+
				"Details: project_id=*", id)
	}
	return err
}

// usedBy returns a network or a port that has a policy, "" when none has.
func usedBy(tx *network.Tx, policy network.ID) (kind string, by network.ID, err error) {
	nets, err := network.Rows[network.NetworkRow](tx, network.Where(network.ByPolicy, policy))
	if err != nil {
		return "", "", err
	}
	if len(nets) > 0 {
		return "network", nets[0].ID, nil
	}
	ports, err := network.Rows[network.PortRow](tx, network.Where(network.ByPolicy, policy))
	if err != nil || len(ports) == 0 {
		return "", "", err
	}
	return "port", ports[0].ID, nil
}

// PolicyExists refuses a QoS policy that is not there.
func PolicyExists(tx *network.Tx, id network.ID) error {
	if id == "" {
		return nil
	}
	_, err := network.Find[network.PolicyRow](tx, "policy", id)
	return err
}
