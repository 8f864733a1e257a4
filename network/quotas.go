package network

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// Quotas are the limits of a project, by resource; -1 for none.
type Quotas map[string]int64

// DefaultQuotas are Neutron's.
func DefaultQuotas() Quotas {
	return Quotas{
		"network": 100, "subnet": 100, "port": 500, "security_group": 10, "security_group_rule": 100,
		"trunk": -1, "subnetpool": -1, "rbac_policy": 10,
	}
}

// A QuotaRow is a limit that differs from the default.
type QuotaRow struct {
	Project  string
	Resource string // "port", "network", …
	Limit    int64  // -1 for none
}

// Quotas returns the limits of a project.
func (s *Service) Quotas(ctx context.Context, project string) (q Quotas, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		q, err = s.quotas(r, project)
		return err
	})
	return q, err
}

func (rs *rules) quotas(r Reader, project string) (Quotas, error) {
	rows, err := Rows[QuotaRow](r, Where(ByProject, project))
	q := maps.Clone(rs.settings.Quotas)
	for _, row := range rows {
		q[row.Resource] = row.Limit
	}
	return q, err
}

// OwnQuotas returns the limits of all projects that have some of their own.
func (s *Service) OwnQuotas(ctx context.Context) (all map[string]Quotas, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[QuotaRow](r)
		all = make(map[string]Quotas)
		for _, row := range rows {
			if all[row.Project] == nil {
				all[row.Project] = maps.Clone(s.settings.Quotas)
			}
			all[row.Project][row.Resource] = row.Limit
		}
		return err
	})
	return all, err
}

// SetQuotas changes limits of a project. With check, one below what is in use is
// refused.
func (s *Service) SetQuotas(ctx context.Context, project string, limits Quotas, check bool) (q Quotas, err error) {
	err = s.update(ctx, func(c *change) error {
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			if check {
				if err := c.enough(project, resource, limits[resource]); err != nil {
					return err
				}
			}
			_, gone := c.Remove(&QuotaRow{}, Where(ByProject, project), Where(ByResource, resource))
			row := QuotaRow{Project: project, Resource: resource, Limit: limits[resource]}
			if err := firstError(gone, c.Insert(&row)); err != nil {
				return err
			}
		}
		q, err = c.quotas(c, project)
		return err
	})
	return q, err
}

func (c *change) enough(project, resource string, limit int64) error {
	used, err := usage(c, project, resource)
	if err == nil && limit >= 0 && used > limit {
		err = invalid("HTTPBadRequest", "Quota limit %d for %s must be greater than or equal to already used %d", limit, resource, used)
	}
	return err
}

// ResetQuotas gives a project the default limits again. Fault:
// TenantQuotaNotFound when it has no others.
func (s *Service) ResetQuotas(ctx context.Context, project string) error {
	return s.update(ctx, func(c *change) error {
		n, err := c.Remove(&QuotaRow{}, Where(ByProject, project))
		if err == nil && n == 0 {
			err = fault.New(fault.NotFound, "TenantQuotaNotFound", "Quota for tenant %s could not be found.", project)
		}
		return err
	})
}

// Usage returns how many of each resource a project has.
func (s *Service) Usage(ctx context.Context, project string) (used Quotas, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		used = Quotas{}
		for resource := range s.settings.Quotas {
			if used[resource], err = usage(r, project, resource); err != nil {
				return err
			}
		}
		return nil
	})
	return used, err
}

func usage(r Reader, project, resource string) (int64, error) {
	here := Where(ByProject, project)
	switch resource {
	case "network":
		return Count[NetworkRow](r, here)
	case "subnet":
		return Count[SubnetRow](r, here)
	case "port":
		return Count[PortRow](r, here)
	case "trunk":
		return Count[TrunkRow](r, here)
	case "security_group":
		return Count[SecurityGroupRow](r, here)
	case "security_group_rule":
		return Count[SecurityRuleRow](r, here)
	}
	return 0, nil
}

// within refuses to create more of a resource for a project than its quota allows.
func (c *change) within(project, resource string, more int) error {
	q, err := c.quotas(c, project)
	if err != nil || q[resource] < 0 {
		return err
	}
	used, err := usage(c, project, resource)
	if err == nil && used+int64(more) > q[resource] {
		err = conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource)
	}
	return err
}

// withinEach is within for objects of several projects.
func withinEach[S any](c *change, resource string, specs []S, project func(*S) string) error {
	by := map[string]int{}
	for i := range specs {
		by[project(&specs[i])]++
	}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if err := c.within(p, resource, by[p]); err != nil {
			return err
		}
	}
	return nil
}

// DefaultQuotas returns the limits of projects that have none of their own.
func (rs *rules) DefaultQuotas() Quotas { return maps.Clone(rs.settings.Quotas) }
