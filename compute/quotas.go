package compute

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/fault"
)

// The resources that quotas are of.
const (
	Instances          = "instances"
	Cores              = "cores"
	RAM                = "ram" // MB
	KeyPairs           = "key_pairs"
	MetadataItems      = "metadata_items"
	ServerGroups       = "server_groups"
	ServerGroupMembers = "server_group_members"
	InjectedFiles      = "injected_files"
	InjectedBytes      = "injected_file_content_bytes"
	InjectedPath       = "injected_file_path_bytes"

	// Limits of these, which are the network service's, are stored and not enforced.
	FixedIPs           = "fixed_ips"
	FloatingIPs        = "floating_ips"
	SecurityGroups     = "security_groups"
	SecurityGroupRules = "security_group_rules"
)

// Quotas are limits by resource, or what is used; -1 for no limit.
type Quotas map[string]int64

// DefaultQuotas are Nova's.
func DefaultQuotas() Quotas {
	return Quotas{
		Instances: 10, Cores: 20, RAM: 50 << 10, KeyPairs: 100, MetadataItems: 128, ServerGroups: 10, ServerGroupMembers: 10,
		InjectedFiles: 5, InjectedBytes: 10 << 10, InjectedPath: 255,
		FixedIPs: -1, FloatingIPs: -1, SecurityGroups: -1, SecurityGroupRules: -1,
	}
}

// Quotas returns the limits of a project, or of a user in it; with neither, those of
// projects that have none of their own.
func (s *Service) Quotas(ctx context.Context, project, user string) (q Quotas, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		q, err = s.rules.Limits(r, project, user)
		return err
	})
	return q, err
}

// Limits are the configured ones, over which come those of the default class, of the
// project, and of the user.
func (rules Rules) Limits(r Reader, project, user string) (Quotas, error) {
	rows, err := Rows[QuotaRow](r, Where(ByProject, DefaultClass, project))
	q := maps.Clone(rules.Settings.Quotas)
	for _, owner := range []struct{ project, user string }{{DefaultClass, ""}, {project, ""}, {project, user}} {
		for _, row := range rows {
			if row.Project == owner.project && row.User == owner.user {
				q[row.Resource] = row.Limit
			}
		}
	}
	return q, err
}

// Usage returns what a project uses, or a user in it. Keypairs are counted for users
// alone.
func (s *Service) Usage(ctx context.Context, project, user string) (used Quotas, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		used, err = s.rules.Usage(r, project, user)
		return err
	})
	return used, err
}

// Usage is what a project uses, or a user in it.
func (rules Rules) Usage(r Reader, project, user string) (Quotas, error) {
	used, err := rules.ServersUsage(r, project, user)
	if err != nil {
		return nil, err
	}
	groups, err := Rows[GroupRow](r, Where(ByProject, project))
	for _, g := range groups {
		if user == "" || g.User == user {
			used[ServerGroups]++
		}
	}
	return used, err
}

// ServersUsage returns what the servers of a project use, or those of a user in it, as the database adds it up.
func (rules Rules) ServersUsage(r Reader, project, user string) (Quotas, error) {
	used := Quotas{}
	for resource := range rules.Settings.Quotas {
		used[resource] = 0
	}
	where := []Match{Where(ByProject, project)}
	if user != "" {
		where = append(where, Where(ByUser, user))
	}
	var err error
	if used[Instances], err = Count[ServerRow](r, where...); err != nil {
		return nil, err
	}
	if used[Cores], err = r.Sum(&ServerRow{}, VCPUs, where...); err != nil {
		return nil, err
	}
	used[RAM], err = r.Sum(&ServerRow{}, MemoryMB, where...)
	return used, err
}

// SetQuotas changes limits of a project, or of a user in it. Without force, it refuses a limit that
// is below the current usage or the sum of the users' limits, or above what the project has left
// for the user.
func (s *Service) SetQuotas(ctx context.Context, project, user string, limits Quotas, force bool) (q Quotas, err error) {
	err = s.update(ctx, func(c *change) error {
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			if force || project == DefaultClass {
				break
			}
			if err := c.settable(project, user, resource, limits[resource]); err != nil {
				return err
			}
		}
		for _, resource := range slices.Sorted(maps.Keys(limits)) {
			_, err := c.Remove(&QuotaRow{}, Where(ByProject, project), Where(ByUser, user), Where(ByResource, resource))
			if err != nil {
				return err
			}
			row := QuotaRow{Project: project, User: user, Resource: resource, Limit: limits[resource]}
			if err := c.Insert(&row); err != nil {
				return err
			}
		}
		q, err = c.Limits(c, project, user)
		return err
	})
	return q, err
}

// settable refuses a limit that is too low or too high.
func (c *change) settable(project, user, resource string, limit int64) error {
	used, err := c.Usage(c, project, user)
	if err != nil {
		return err
	}
	rows, err := Rows[QuotaRow](c, Where(ByProject, project), Where(ByResource, resource))
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
		return invalid("HTTPBadRequest", "Quota limit %d for %s must be greater than or equal to already used and reserved %d.", limit, resource, least)
	}
	whole, err := c.Limits(c, project, "")
	if err != nil || user == "" || whole[resource] < 0 {
		return err
	}
	if most := whole[resource] - others; limit < 0 || limit > most {
		return invalid("HTTPBadRequest", "Quota limit %d for %s must be less than or equal to %d.", limit, resource, most)
	}
	return nil
}

// ResetQuotas removes the limits that a project, or a user in it, has of its own.
func (s *Service) ResetQuotas(ctx context.Context, project, user string) error {
	where := []Match{Where(ByProject, project)}
	if user != "" {
		where = append(where, Where(ByUser, user))
	}
	return s.update(ctx, func(c *change) error {
		_, err := c.Remove(&QuotaRow{}, where...)
		return err
	})
}

// within refuses to make so many more of a resource.
func (c *change) within(project, user, resource string, more int64, code fault.Code, text string) error {
	for _, u := range []string{"", user} {
		limits, err := c.Limits(c, project, u)
		if err != nil {
			return err
		}
		used, err := c.Usage(c, project, u)
		if err != nil {
			return err
		}
		if most := limits[resource]; most >= 0 && used[resource]+more > most {
			return overQuota(code, "%s", text)
		}
	}
	return nil
}
