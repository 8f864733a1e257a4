package catalog

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
)

// maxInt is the largest number that a flavor may have.
const maxInt = 1<<31 - 1

// A FlavorFilter narrows a list of flavors.
type FlavorFilter struct {
	// Public wants those that are, with those that the viewer's project may use,
	// or those that are not; nil wants all.
	Public *bool
	// Usable excludes disabled flavors.
	Usable bool
	// Name is found in the names of flavors; nil finds all.
	Name *regexp.Regexp
	// MinMemoryMB and MinRootGB are the least that a flavor may have.
	MinMemoryMB, MinRootGB int64
}

// Flavors returns the flavors that match a filter, in the order of their ids. Callers other than
// administrators get those only that they may see.
func (s *Service) Flavors(ctx context.Context, v compute.Viewer, f FlavorFilter) (all []compute.FlavorRow, err error) {
	if public := true; !v.Admin {
		f.Public, f.Usable = &public, true
	}
	err = s.db.View(ctx, func(r compute.Reader) error {
		may, err := compute.UsableFlavors(r, v.Project)
		if err != nil {
			return err
		}
		if all, err = compute.Rows[compute.FlavorRow](r); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(row compute.FlavorRow) bool { return !f.passes(row, may[row.ID]) })
		return nil
	})
	return all, err
}

func (f FlavorFilter) passes(row compute.FlavorRow, ours bool) bool {
	switch {
	case f.Usable && row.Disabled, row.MemoryMB < f.MinMemoryMB, row.RootGB < f.MinRootGB,
		f.Name != nil && !f.Name.MatchString(row.Name):
		return false
	case f.Public == nil:
		return true
	case *f.Public:
		return row.Public || ours
	}
	return !row.Public
}

// Flavor returns a flavor. Fault: FlavorNotFound, also when the viewer may not see it.
func (s *Service) Flavor(ctx context.Context, v compute.Viewer, id compute.ID) (row compute.FlavorRow, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		row, err = compute.FlavorFor(r, v, id)
		return err
	})
	return row, err
}

// CreateFlavor makes a flavor. Without an id it gets a random one. Faults: InvalidInput,
// FlavorExists, FlavorIdExists.
func (s *Service) CreateFlavor(ctx context.Context, row compute.FlavorRow) (compute.FlavorRow, error) {
	row.Name, row.ID = strings.TrimSpace(row.Name), cmp.Or(row.ID, compute.NewID())
	if err := checkFlavor(row); err != nil {
		return row, err
	}
	err := s.db.Update(ctx, func(tx *compute.Tx) error {
		row.CreatedAt = tx.At
		for _, other := range []struct {
			where compute.Match
			taken error
		}{
			{
				compute.Where(compute.ByID, row.ID),
				compute.Conflict("FlavorIdExists", "Flavor with ID %s already exists.", row.ID),
			},
			{
				compute.Where(compute.ByName, row.Name),
				compute.Conflict("FlavorExists", "Flavor with name %s already exists.", row.Name),
			},
		} {
			if rows, err := compute.Rows[compute.FlavorRow](tx, other.where); err != nil || len(rows) > 0 {
				return cmp.Or(err, other.taken)
			}
		}
		var err error
		if row.Number, err = tx.NextNumber("flavors"); err != nil {
			return err
		}
		return tx.Insert(&row)
	})
	return row, err
}

// checkFlavor refuses numbers that a flavor cannot have.
func checkFlavor(row compute.FlavorRow) error {
	for _, n := range []struct {
		name         string
		value, least int64
	}{
		{"ram", row.MemoryMB, 1},
		{"vcpus", row.VCPUs, 1},
		{"disk", row.RootGB, 0},
		{"ephemeral", row.EphemeralGB, 0},
		{"swap", row.SwapMB, 0},
	} {
		switch {
		case n.value < n.least:
			return compute.Invalid("InvalidInput", "Invalid input received: %s must be >= %d", n.name, n.least)
		case n.value > maxInt:
			return compute.Invalid("InvalidInput", "Invalid input received: %s must be <= %d", n.name, maxInt)
		}
	}
	const most = 3.40282e+38 // a single-precision float
	if !(row.RxTx > 0 && row.RxTx <= most) {
		return compute.Invalid("InvalidInput",
			"Invalid input received: 'rxtx_factor' argument must be a float between 0 and %g", most)
	}
	return nil
}

// changeFlavor changes a flavor.
func (s *Service) changeFlavor(
	ctx context.Context, id compute.ID, fn func(*compute.FlavorRow) error,
) (row compute.FlavorRow, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		if row, err = compute.OneOr[compute.FlavorRow](tx, compute.NoFlavor(id),
			compute.Where(compute.ByID, id)); err != nil {
			return err
		}
		row.Specs = maps.Clone(row.Specs)
		if err := fn(&row); err != nil {
			return err
		}
		row.UpdatedAt = tx.At
		return tx.Replace(&row)
	})
	return row, err
}

// DescribeFlavor sets a flavor's description. Fault: FlavorNotFound.
func (s *Service) DescribeFlavor(ctx context.Context, id compute.ID, text string) (compute.FlavorRow, error) {
	return s.changeFlavor(ctx, id, func(row *compute.FlavorRow) error {
		row.Description = text
		return nil
	})
}

// DeleteFlavor deletes a flavor. Servers keep their copy. Fault: FlavorNotFound.
func (s *Service) DeleteFlavor(ctx context.Context, id compute.ID) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		if _, err := tx.Remove(&compute.FlavorAccessRow{}, compute.Where(compute.ByFlavor, id)); err != nil {
			return err
		}
		n, err := tx.Remove(&compute.FlavorRow{}, compute.Where(compute.ByID, id))
		if err == nil && n == 0 {
			err = compute.NoFlavor(id)
		}
		return err
	})
}

// CheckExtraSpec refuses what extraspecs.Validate does: names of Nova's namespaces that Nova does
// not know, and values that a name cannot have.
func CheckExtraSpec(name, value string) error { return extraspecs.Validate(name, value) }

// SetExtraSpecs adds extra specs to a flavor's, or replaces them, whatever they mean. Fault:
// FlavorNotFound.
func (s *Service) SetExtraSpecs(
	ctx context.Context, id compute.ID, specs map[string]string,
) (compute.FlavorRow, error) {
	return s.changeFlavor(ctx, id, func(row *compute.FlavorRow) error {
		if row.Specs == nil {
			row.Specs = map[string]string{}
		}
		maps.Copy(row.Specs, specs)
		return nil
	})
}

// NoExtraSpec returns the fault of a flavor that lacks an extra spec.
func NoExtraSpec(id compute.ID, name string) error {
	return compute.NotFound("FlavorExtraSpecsNotFound", "Flavor %s has no extra specs with key %s.", id, name)
}

// DeleteExtraSpec removes an extra spec. Faults: FlavorNotFound,
// FlavorExtraSpecsNotFound.
func (s *Service) DeleteExtraSpec(ctx context.Context, id compute.ID, name string) error {
	_, err := s.changeFlavor(ctx, id, func(row *compute.FlavorRow) error {
		if _, ok := row.Specs[name]; !ok {
			return NoExtraSpec(id, name)
		}
		delete(row.Specs, name)
		return nil
	})
	return err
}

// FlavorAccess returns the projects that may use a flavor that is not public. Faults:
// FlavorNotFound, also for one that is public or that the viewer may not see.
func (s *Service) FlavorAccess(ctx context.Context, v compute.Viewer, id compute.ID) (projects []string, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		row, err := compute.FlavorFor(r, v, id)
		if err == nil && row.Public {
			err = compute.NotFound("FlavorNotFound", "Access list not available for public flavors.")
		}
		if err != nil {
			return err
		}
		projects, err = accessTo(r, id)
		return err
	})
	return projects, err
}

func accessTo(r compute.Reader, id compute.ID) ([]string, error) {
	rows, err := compute.Rows[compute.FlavorAccessRow](r, compute.Where(compute.ByFlavor, id))
	projects := make([]string, len(rows))
	for i, a := range rows {
		projects[i] = a.Project
	}
	return projects, err
}

// AllowFlavor grants a project access to a flavor, and returns all projects with access. With
// strict, a public flavor is a conflict. Faults: FlavorNotFound, FlavorAccessExists.
func (s *Service) AllowFlavor(
	ctx context.Context, id compute.ID, project string, strict bool,
) (projects []string, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		row, err := compute.OneOr[compute.FlavorRow](tx, compute.NoFlavor(id), compute.Where(compute.ByID, id))
		if err == nil && row.Public && strict {
			err = compute.Conflict("FlavorIsPublic", "Can not add access to a public flavor.")
		}
		if err != nil {
			return err
		}
		have, err := accessTo(tx, id)
		switch {
		case err != nil:
			return err
		case slices.Contains(have, project):
			return compute.Conflict("FlavorAccessExists",
				"Flavor access already exists for flavor %s and project %s combination.", id, project)
		}
		if err := tx.Insert(&compute.FlavorAccessRow{Flavor: id, Project: project}); err != nil {
			return err
		}
		projects, err = accessTo(tx, id)
		return err
	})
	return projects, err
}

// DenyFlavor revokes a project's access to a flavor, and returns the remaining projects. Faults:
// FlavorNotFound, FlavorAccessNotFound.
func (s *Service) DenyFlavor(ctx context.Context, id compute.ID, project string) (projects []string, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		if _, err := compute.OneOr[compute.FlavorRow](tx, compute.NoFlavor(id), compute.Where(compute.ByID, id)); err != nil {
			return err
		}
		n, err := tx.Remove(&compute.FlavorAccessRow{}, compute.Where(compute.ByFlavor, id),
			compute.Where(compute.ByProject, project))
		switch {
		case err != nil:
			return err
		case n == 0:
			return compute.NotFound("FlavorAccessNotFound", "Flavor access not found for %s / %s combination.", id, project)
		}
		projects, err = accessTo(tx, id)
		return err
	})
	return projects, err
}
