package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
)

// Quotas returns the limits of a project, or of a user in it; with neither, those of
// projects that have none of their own.
func (s *Service) Quotas(ctx context.Context, project, user string) (q compute.Quotas, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		q, err = s.db.Rules.Limits(r, project, user)
		return err
	})
	return q, err
}

// Usage returns what a project uses, or a user in it. Keypairs are counted for users
// alone.
func (s *Service) Usage(ctx context.Context, project, user string) (used compute.Quotas, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		used, err = usage(s.db.Rules, r, project, user)
		return err
	})
	return used, err
}

func usage(rules compute.Rules, r compute.Reader, project, user string) (compute.Quotas, error) {
	used, err := rules.ServersUsage(r, project, user)
	if err != nil {
		return nil, err
	}
	groups, err := compute.Rows[compute.GroupRow](r, compute.Where(compute.ByProject, project))
	for _, g := range groups {
		if user == "" || g.User == user {
			used[compute.ServerGroups]++
		}
	}
	return used, err
}

// SetQuotas changes limits of a project, or of a user in it. Without force, it refuses a limit that
// is below the current usage or the sum of the users' limits, or above what the project has left
// for the user.
func (s *Service) SetQuotas(
	ctx context.Context, project, user string, limits compute.Quotas, force bool,
) (q compute.Quotas, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			if force || project == compute.DefaultClass {
				break
			}
			if err := settable(tx, project, user, resource, limits[resource]); err != nil {
				return err
			}
		}
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			_, err := tx.Remove(&compute.QuotaRow{}, compute.Where(compute.ByProject, project),
				compute.Where(compute.ByUser, user), compute.Where(compute.ByResource, resource))
			if err != nil {
				return err
			}
			row := compute.QuotaRow{Project: project, User: user, Resource: resource, Limit: limits[resource]}
			if err := tx.Insert(&row); err != nil {
				return err
			}
		}
		q, err = tx.Limits(tx, project, user)
		return err
	})
	return q, err
}

// settable refuses a limit that is too low or too high.
func settable(tx *compute.Tx, project, user, resource string, limit int64) error {
	used, err := usage(tx.Rules, tx, project, user)
	if err != nil {
		return err
	}
	rows, err := compute.Rows[compute.QuotaRow](tx, compute.Where(compute.ByProject, project),
		compute.Where(compute.ByResource, resource))
	if err != nil {
		return err
	}
	users, others := int64(0), int64(0)
	for _, row := range rows {
		if row.User != "" {
			users += max(0, row.Limit)
		}
		if row.User != "" && row.User != user {
			others += max(0, row.Limit)
		}
	}
	least := used[resource]
	if user == "" {
		least = max(least, users)
	}
	if limit >= 0 && limit < least {
		return compute.Invalid("HTTPBadRequest",
			"Quota limit %d for %s must be greater than or equal to already used and reserved %d.", limit, resource, least)
	}
	whole, err := tx.Limits(tx, project, "")
	if err != nil || user == "" || whole[resource] < 0 {
		return err
	}
	if most := whole[resource] - others; limit < 0 || limit > most {
		return compute.Invalid("HTTPBadRequest", "Quota limit %d for %s must be less than or equal to %d.", limit,
			resource, most)
	}
	return nil
}

// ResetQuotas removes the limits that a project, or a user in it, has of its own.
func (s *Service) ResetQuotas(ctx context.Context, project, user string) error {
	where := []compute.Match{compute.Where(compute.ByProject, project)}
	if user != "" {
		where = append(where, compute.Where(compute.ByUser, user))
	}
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		_, err := tx.Remove(&compute.QuotaRow{}, where...)
		return err
	})
}

// within refuses to make so many more of a resource.
func within(tx *compute.Tx, project, user, resource string, more int64, code fault.Code, text string) error {
	for _, u := range []string{"", user} {
		limits, err := tx.Limits(tx, project, u)
		if err != nil {
			return err
		}
		used, err := usage(tx.Rules, tx, project, u)
		if err != nil {
			return err
		}
		if most := limits[resource]; most >= 0 && used[resource]+more > most {
			return compute.OverQuota(code, "%s", text)
		}
	}
	return nil
}
