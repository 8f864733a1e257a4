package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/selection"
)

// A Group is a server group with its members that there still are.
type Group struct {
	compute.GroupRow
	Members []compute.ID
}

func noGroup(id compute.ID) error {
	return compute.NotFound("InstanceGroupNotFound", "Instance group %s could not be found.", id)
}

// Groups returns the server groups of a project, or of all when it is empty, in order of creation.
func (s *Service) Groups(ctx context.Context, project string) (all []Group, err error) {
	var where []compute.Match
	if project != "" {
		where = append(where, compute.Where(compute.ByProject, project))
	}
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = groups(r, where...)
		return err
	})
	slices.SortFunc(all, func(a, b Group) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// Group returns a server group. Fault: InstanceGroupNotFound.
func (s *Service) Group(ctx context.Context, id compute.ID) (g Group, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err := groups(r, compute.Where(compute.ByID, id))
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

func groups(r compute.Reader, where ...compute.Match) ([]Group, error) {
	rows, err := compute.Rows[compute.GroupRow](r, where...)
	if err != nil {
		return nil, err
	}
	all, at, names := make([]Group, len(rows)), map[compute.ID]*Group{}, make([]compute.ID, len(rows))
	for i, row := range rows {
		all[i].GroupRow = row
		at[row.ID], names[i] = &all[i], row.ID
	}
	servers, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByGroup, names...))
	for _, s := range servers {
		if s.State != compute.Deleted {
			at[s.Group].Members = append(at[s.Group].Members, s.ID)
		}
	}
	return all, err
}

// CreateGroup makes a server group. Only anti-affine ones may have a rule. Faults:
// ServerGroupLimitExceeded, HTTPBadRequest.
func (s *Service) CreateGroup(ctx context.Context, row compute.GroupRow) (Group, error) {
	if row.MaxPerHost > 0 && row.Policy != selection.AntiAffinity {
		return Group{}, compute.Invalid("HTTPBadRequest", "Only anti-affinity policy supports rules.")
	}
	row.ID = compute.NewID()
	err := s.db.Update(ctx, func(tx *compute.Tx) error {
		err := within(tx, row.Project, row.User, compute.ServerGroups, 1, "ServerGroupLimitExceeded",
			"Quota exceeded, too many server groups.")
		if err != nil {
			return err
		}
		row.CreatedAt = tx.At
		return tx.Insert(&row)
	})
	return Group{GroupRow: row}, err
}

// DeleteGroup removes a server group. Its members are in none any more. Fault:
// InstanceGroupNotFound.
func (s *Service) DeleteGroup(ctx context.Context, id compute.ID) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		members, err := compute.Rows[compute.ServerRow](tx, compute.Where(compute.ByGroup, id))
		if err != nil {
			return err
		}
		for _, m := range members {
			m.Group = ""
			if err := tx.Replace(&m); err != nil {
				return err
			}
		}
		n, err := tx.Remove(&compute.GroupRow{}, compute.Where(compute.ByID, id))
		if err == nil && n == 0 {
			err = noGroup(id)
		}
		return err
	})
}
