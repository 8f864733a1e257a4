package compute

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthcloud/berth/compute/selection"
)

// A Group is a server group with its members that there still are.
type Group struct {
	GroupRow
	Members []ID
}

func noGroup(id ID) error {
	return notFound("InstanceGroupNotFound", "Instance group %s could not be found.", id)
}

// Groups returns the server groups of a project, or of all when it is empty, in order of creation.
func (s *Service) Groups(ctx context.Context, project string) (all []Group, err error) {
	var where []Match
	if project != "" {
		where = append(where, Where(ByProject, project))
	}
	err = s.store.View(ctx, func(r Reader) error {
		all, err = groups(r, where...)
		return err
	})
	slices.SortFunc(all, func(a, b Group) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// Group returns a server group. Fault: InstanceGroupNotFound.
func (s *Service) Group(ctx context.Context, id ID) (g Group, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err := groups(r, Where(ByID, id))
		if err == nil && len(all) == 0 {
			err = noGroup(id)
		}
		if err == nil {
			g = all[0]
		}
		return err
	})
	return g, err
}

func groups(r Reader, where ...Match) ([]Group, error) {
	rows, err := Rows[GroupRow](r, where...)
	if err != nil {
		return nil, err
	}
	all, at, names := make([]Group, len(rows)), map[ID]*Group{}, make([]ID, len(rows))
	for i, row := range rows {
		all[i].GroupRow = row
		at[row.ID], names[i] = &all[i], row.ID
	}
	servers, err := Rows[ServerSummary](r, Where(ByGroup, names...))
	for _, s := range servers {
		if s.State != Deleted {
			at[s.Group].Members = append(at[s.Group].Members, s.ID)
		}
	}
	return all, err
}

// CreateGroup makes a server group. Only anti-affine ones may have a rule. Faults:
// ServerGroupLimitExceeded, HTTPBadRequest.
func (s *Service) CreateGroup(ctx context.Context, row GroupRow) (Group, error) {
	if row.MaxPerHost > 0 && row.Policy != selection.AntiAffinity {
		return Group{}, invalid("HTTPBadRequest", "Only anti-affinity policy supports rules.")
	}
	row.ID = NewID()
	err := s.update(ctx, func(c *change) error {
		err := c.within(row.Project, row.User, ServerGroups, 1, "ServerGroupLimitExceeded", "Quota exceeded, too many server groups.")
		if err != nil {
			return err
		}
		row.CreatedAt = c.At
		return c.Insert(&row)
	})
	return Group{GroupRow: row}, err
}

// DeleteGroup removes a server group. Its members are in none any more. Fault:
// InstanceGroupNotFound.
func (s *Service) DeleteGroup(ctx context.Context, id ID) error {
	return s.update(ctx, func(c *change) error {
		members, err := Rows[ServerRow](c, Where(ByGroup, id))
		if err != nil {
			return err
		}
		for _, m := range members {
			m.Group = ""
			if err := c.Replace(&m); err != nil {
				return err
			}
		}
		n, err := c.Remove(&GroupRow{}, Where(ByID, id))
		if err == nil && n == 0 {
			err = noGroup(id)
		}
		return err
	})
}
