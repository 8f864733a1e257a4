package network

import (
	"context"
	"errors"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// A Policy is a QoS policy with its rules.
type Policy struct {
	PolicyRow
	Rules []RuleRow // by type and id
}

// Policies returns the QoS policies that match, with their rules.
func (s *Service) Policies(ctx context.Context, where ...Match) (all []Policy, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = policies(r, where...)
		return err
	})
	return all, err
}

func policies(r Reader, where ...Match) ([]Policy, error) {
	rows, err := Rows[PolicyRow](r, where...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	rules, err := Rows[RuleRow](r, Where(ByPolicy, ids(rows, func(p *PolicyRow) ID { return p.ID })...))
	if err != nil {
		return nil, err
	}
	of := group(rules, func(r *RuleRow) ID { return r.Policy })
	all := make([]Policy, len(rows))
	for i, row := range rows {
		all[i] = Policy{row, of[row.ID]}
	}
	return all, nil
}

func policy(r Reader, id ID) (Policy, error) {
	all, err := policies(r, Where(ByID, id))
	if err == nil && len(all) == 0 {
		err = NotFound("policy", id)
	}
	if err != nil {
		return Policy{}, err
	}
	return all[0], nil
}

// CreatePolicies makes all of the policies or none. Fault:
// QoSPolicyDefaultAlreadyExists for a second default of a project.
func (s *Service) CreatePolicies(ctx context.Context, rows []PolicyRow) (made []Policy, err error) {
	err = s.update(ctx, func(c *change) error {
		made = make([]Policy, len(rows))
		for i, row := range rows {
			c.fresh(&row.Common)
			if err := firstError(c.onlyDefault(row), c.Insert(&row)); err != nil {
				return err
			}
			made[i].PolicyRow = row
		}
		return nil
	})
	return made, err
}

// onlyDefault refuses a second default policy of a project.
func (c *change) onlyDefault(row PolicyRow) error {
	if !row.Default {
		return nil
	}
	others, err := Rows[PolicyRow](c, Where(ByProject, row.Project))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(others, func(o PolicyRow) bool { return o.Default && o.ID != row.ID }) {
		return conflict("QoSPolicyDefaultAlreadyExists", "A default QoS policy exists for project %s.", row.Project)
	}
	return nil
}

// defaultPolicy returns the policy that networks of a project get which name none.
func (c *change) defaultPolicy(project string) (ID, error) {
	rows, err := Rows[PolicyRow](c, Where(ByProject, project))
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(rows, func(p PolicyRow) bool { return p.Default }); i >= 0 {
		return rows[i].ID, nil
	}
	return "", nil
}

// A PolicySpec is what may be said of a policy.
type PolicySpec struct {
	PolicyRow
	// Described says that its name or its description was said, which raises the
	// revision even where nothing changes. That it is shared does not.
	Described bool
}

// UpdatePolicy changes a policy, not its rules. The function gets what it is now;
// it may run more than once. Faults: QosPolicyNotFound,
// QoSPolicyDefaultAlreadyExists, RbacPolicyInUse when it is not to be shared any
// more and something has it.
func (s *Service) UpdatePolicy(ctx context.Context, id ID, fn func(*PolicySpec) error) (p Policy, err error) {
	err = s.update(ctx, func(c *change) error {
		if p, err = policy(c, id); err != nil {
			return err
		}
		spec := PolicySpec{PolicyRow: p.PolicyRow}
		if err := fn(&spec); err != nil {
			return err
		}
		if p.Shared && !spec.Shared {
			if err := c.unsharePolicy(id); err != nil {
				return err
			}
		}
		if spec.Described || spec.Default != p.Default {
			c.touch(&spec.Common)
		}
		p.PolicyRow = spec.PolicyRow
		return firstError(c.onlyDefault(p.PolicyRow), c.Replace(&p.PolicyRow))
	})
	return p, err
}

// DeletePolicy removes a policy with its rules, unless a network or a port has it:
// QosPolicyInUse.
func (s *Service) DeletePolicy(ctx context.Context, id ID, only ...Condition) error {
	return s.update(ctx, func(c *change) error {
		row, err := byID[PolicyRow](c, "policy", id)
		if err != nil {
			return err
		}
		if err := firstError(c.policyFree(id), met(only, &row.Common)); err != nil {
			return err
		}
		_, rules := c.Remove(&RuleRow{}, Where(ByPolicy, id))
		_, policy := c.Remove(&PolicyRow{}, Where(ByID, id))
		return firstError(rules, policy)
	})
}

// A PolicyChoice says by whom a QoS policy, or none, is chosen for a network or a port.
type PolicyChoice struct {
	Made bool // a policy or none was requested, even if it is the current one
	// From is the project whose own and shared policies may be replaced, To that whose policies may
	// be chosen; "" for any.
	From, To string
}

// allowed refuses to replace a policy of another project, and to choose one, which is answered as
// if it did not exist.
func (p PolicyChoice) allowed(r Reader, from, to ID) error {
	if !p.Made {
		return nil
	}
	row, err := One[PolicyRow](r, Where(ByID, from))
	switch {
	case from == "" || errors.Is(err, ErrNoRow):
	case err != nil:
		return err
	case !row.usableBy(p.From):
		return fault.New(fault.Denied, "PolicyRemoveAuthorizationError",
			"Failed to remove provided policy %s because you are not authorized.", string(from))
	}
	if to == "" {
		return nil
	}
	row, err = byID[PolicyRow](r, "policy", to)
	if err == nil && !row.usableBy(p.To) {
		err = NotFound("policy", to)
	}
	return err
}

// usableBy reports whether a project may put the policy to use; "" is any project.
func (p *PolicyRow) usableBy(project string) bool {
	return project == "" || p.Shared || p.Project == project
}

// policyFree refuses a policy that something has.
func (c *change) policyFree(id ID) error {
	kind, by, err := c.userOf(id)
	if err == nil && by != "" {
		err = conflict("QosPolicyInUse", "QoS Policy %s is used by %s %s.", id, kind, by)
	}
	return err
}

// unsharePolicy refuses to unshare a policy that is in use, even by its own project.
func (c *change) unsharePolicy(id ID) error {
	_, by, err := c.userOf(id)
	if err == nil && by != "" {
		err = conflict("RbacPolicyInUse", "RBAC policy on object %s cannot be removed because other objects depend on it.\n"+
			"Details: project_id=*", id)
	}
	return err
}

// userOf returns a network or a port that has a policy, "" when none has.
func (c *change) userOf(policy ID) (kind string, by ID, err error) {
	nets, err := Rows[NetworkRow](c, Where(ByPolicy, policy))
	if err != nil {
		return "", "", err
	}
	if len(nets) > 0 {
		return "network", nets[0].ID, nil
	}
	ports, err := Rows[PortRow](c, Where(ByPolicy, policy))
	if err != nil || len(ports) == 0 {
		return "", "", err
	}
	return "port", ports[0].ID, nil
}
