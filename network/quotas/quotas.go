// Package quotas has the limits of projects: what they are, what is in use, and whether more of a
// resource may be created.
package quotas

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// A Service has the limits of projects. Its methods may be called concurrently. Callers check
// permissions before.
type Service struct{ db *network.Database }

// New returns the limits in a database.
func New(db *network.Database) *Service { return &Service{db} }

// Quotas returns the limits of a project.
func (s *Service) Quotas(ctx context.Context, project string) (q network.Quotas, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		q, err = limitsOf(s.db.Rules, r, project)
		return err
	})
	return q, err
}

func limitsOf(rules network.Rules, r network.Reader, project string) (network.Quotas, error) {
	rows, err := network.Rows[network.QuotaRow](r, network.Where(network.ByProject, project))
	q := maps.Clone(rules.Settings.Quotas)
	for _, row := range rows {
		q[row.Resource] = row.Limit
	}
	return q, err
}

// OwnQuotas returns the limits of all projects that have some of their own.
func (s *Service) OwnQuotas(ctx context.Context) (all map[string]network.Quotas, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		rows, err := network.Rows[network.QuotaRow](r)
		all = make(map[string]network.Quotas)
		for _, row := range rows {
			if all[row.Project] == nil {
				all[row.Project] = maps.Clone(s.db.Rules.Settings.Quotas)
			}
			all[row.Project][row.Resource] = row.Limit
		}
		return err
	})
	return all, err
}

// SetQuotas changes limits of a project. With check, one below what is in use is
// refused.
func (s *Service) SetQuotas(
	ctx context.Context, project string, limits network.Quotas, check bool,
) (q network.Quotas, err error) {
	err = s.db.Update(ctx, func(tx *network.Tx) error {
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			if check {
				if err := checkLimit(tx, project, resource, limits[resource]); err != nil {
					return err
				}
			}
			_, removed := tx.Remove(&network.QuotaRow{}, network.Where(network.ByProject, project),
				network.Where(network.ByResource, resource))
			row := network.QuotaRow{Project: project, Resource: resource, Limit: limits[resource]}
			if err := cmp.Or(removed, tx.Insert(&row)); err != nil {
				return err
			}
		}
		q, err = limitsOf(tx.Rules, tx, project)
		return err
	})
	return q, err
}

func checkLimit(tx *network.Tx, project, resource string, limit int64) error {
	used, err := usage(tx, project, resource)
	if err == nil && limit >= 0 && used > limit {
		err = network.Invalid("HTTPBadRequest",
			"Quota limit %d for %s must be greater than or equal to already used %d", limit, resource, used)
	}
	return err
}

// ResetQuotas sets the limits of a project to the defaults. Fault:
// TenantQuotaNotFound when it has no others.
func (s *Service) ResetQuotas(ctx context.Context, project string) error {
	return s.db.Update(ctx, func(tx *network.Tx) error {
		n, err := tx.Remove(&network.QuotaRow{}, network.Where(network.ByProject, project))
		if err == nil && n == 0 {
			err = fault.New(fault.NotFound, "TenantQuotaNotFound", "Quota for tenant %s could not be found.", project)
		}
		return err
	})
}

// Usage returns how many of each resource a project has.
func (s *Service) Usage(ctx context.Context, project string) (used network.Quotas, err error) {
	err = s.db.View(ctx, func(r network.Reader) error {
		used = network.Quotas{}
		for resource := range s.db.Rules.Settings.Quotas {
			if used[resource], err = usage(r, project, resource); err != nil {
				return err
			}
		}
		return nil
	})
	return used, err
}

func usage(r network.Reader, project, resource string) (int64, error) {
	here := network.Where(network.ByProject, project)
	switch resource {
	case "network":
		return network.Count[network.NetworkRow](r, here)
	case "subnet":
		return network.Count[network.SubnetRow](r, here)
	case "port":
		return network.Count[network.PortRow](r, here)
	case "trunk":
		return network.Count[network.TrunkRow](r, here)
	case "security_group":
		return network.Count[network.SecurityGroupRow](r, here)
	case "security_group_rule":
		return network.Count[network.SecurityRuleRow](r, here)
	}
	return 0, nil
}

// Within refuses to create more of a resource for a project than its quota allows.
func Within(tx *network.Tx, project, resource string, more int) error {
	q, err := limitsOf(tx.Rules, tx, project)
	if err != nil || q[resource] < 0 {
		return err
	}
	used, err := usage(tx, project, resource)
	if err == nil && used+int64(more) > q[resource] {
		err = network.Conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource)
	}
	return err
}

// WithinEach is within for objects of several projects.
func WithinEach[S any](tx *network.Tx, resource string, specs []S, project func(*S) string) error {
	by := map[string]int{}
	for i := range specs {
		by[project(&specs[i])]++
	}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if err := Within(tx, p, resource, by[p]); err != nil {
			return err
		}
	}
	return nil
}

// DefaultQuotas returns the limits of projects that have none of their own.
func (s *Service) DefaultQuotas() network.Quotas { return maps.Clone(s.db.Rules.Settings.Quotas) }
