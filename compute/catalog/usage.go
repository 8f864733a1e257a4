package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
)

// A ServerUsage is what a server, which may be deleted, used in a period.
type ServerUsage struct {
	ID           compute.ID
	Project      string
	Name         string
	Flavor       extraspecs.Flavor
	State        string // vm_state, "terminated" of a deleted one
	LaunchedAt   time.Time
	TerminatedAt time.Time     // zero: it is still there
	Used         time.Duration // of the period
	Uptime       time.Duration // since its launch, until now or its end
}

// Terminated is the state of deleted servers.
const Terminated = "terminated"

// A UsageFilter selects usage.
type UsageFilter struct {
	Project    string // "" for all
	Start, End time.Time
	Limit      int
	Marker     compute.ID // the server before the first returned one, "" for none
}

// Usages returns what servers used that there were in a period, by project and id. A marker that is
// no server's is a fault, MarkerNotFound.
func (s *Service) Usages(ctx context.Context, f UsageFilter) (all []ServerUsage, err error) {
	now := s.Now()
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = usages(r, f, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b ServerUsage) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.ID, b.ID))
	})
	if f.Marker != "" {
		at := slices.IndexFunc(all, func(u ServerUsage) bool { return u.ID == f.Marker })
		if at < 0 {
			return nil, compute.Invalid("MarkerNotFound", "Marker %s could not be found.", f.Marker)
		}
		all = all[at+1:]
	}
	return all[:min(len(all), f.Limit)], nil
}

func usages(r compute.Reader, f UsageFilter, now time.Time) (all []ServerUsage, err error) {
	var where []compute.Match
	if f.Project != "" {
		where = append(where, compute.Where(compute.ByProject, f.Project))
	}
	servers, err := compute.Rows[compute.ServerUse](r, where...)
	if err != nil {
		return nil, err
	}
	for _, row := range servers {
		if all, err = f.add(all, compute.DeletedRow{
			ID: row.ID, Project: row.Project, Name: row.Name, Flavor: row.Flavor,
			LaunchedAt: row.LaunchedAt, TerminatedAt: row.TerminatedAt,
		}, row.State, now); err != nil {
			return nil, err
		}
	}
	deleted, err := compute.Rows[compute.DeletedRow](r, where...)
	if err != nil {
		return nil, err
	}
	for _, row := range deleted {
		if all, err = f.add(all, row, Terminated, now); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add adds what a server used, if it was there in the period.
func (f UsageFilter) add(
	all []ServerUsage, row compute.DeletedRow, state string, now time.Time,
) ([]ServerUsage, error) {
	over := !row.TerminatedAt.IsZero()
	if row.LaunchedAt.IsZero() || !row.LaunchedAt.Before(f.End) || over && !row.TerminatedAt.After(f.Start) {
		return all, nil
	}
	flavor, err := compute.ServerRow{ID: row.ID, Flavor: row.Flavor}.StoredFlavor()
	if err != nil {
		return nil, err
	}
	from, until, end := row.LaunchedAt, f.End, now
	if from.Before(f.Start) {
		from = f.Start
	}
	if over {
		if end = row.TerminatedAt; end.Before(until) {
			until = end
		}
		state = Terminated
	}
	return append(all, ServerUsage{
		ID: row.ID, Project: row.Project, Name: row.Name, Flavor: flavor, State: state,
		LaunchedAt: row.LaunchedAt, TerminatedAt: row.TerminatedAt, Used: until.Sub(from), Uptime: end.Sub(row.LaunchedAt),
	}), nil
}
