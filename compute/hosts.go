package compute

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A HostService is the compute service of a host, with what follows from its reports.
type HostService struct {
	ServiceRow
	Up   bool
	Zone string
}

// A Hypervisor is one with its service and what its servers use.
type Hypervisor struct {
	NodeRow
	Service HostService
	Servers []ServerUse
	Used    Used
}

// Used is how much of a hypervisor its servers have.
type Used struct{ VCPUs, MemoryMB, DiskGB int64 }

// Services returns the compute services in the order of their numbers.
func (s *Service) Services(ctx context.Context) (all []HostService, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = s.rules.services(r)
		return err
	})
	return all, err
}

func (rules Rules) services(r Reader, where ...Match) ([]HostService, error) {
	rows, err := Rows[ServiceRow](r, where...)
	if err != nil {
		return nil, err
	}
	zones, err := ZonesByHost(r)
	all := make([]HostService, len(rows))
	for i, row := range rows {
		all[i] = HostService{ServiceRow: row, Up: rules.IsUp(row), Zone: cmp.Or(zones[row.Host], rules.Settings.DefaultZone)}
	}
	slices.SortFunc(all, func(a, b HostService) int { return cmp.Compare(a.Number, b.Number) })
	return all, err
}

// IsUp reports whether a service has reported lately. A report from the future was made before the clock was set back, and says nothing
// of now.
func (rules Rules) IsUp(row ServiceRow) bool {
	last := row.ReportedAt
	if last.IsZero() {
		last = row.CreatedAt
	}
	return !row.ForcedDown && rules.Now().Sub(last).Abs() <= rules.Settings.ServiceDownTime
}

// A ServiceChange is an administrator's change of a service; nil changes nothing.
type ServiceChange struct {
	Disabled   *bool
	Reason     *string // for being disabled; goes with it
	ForcedDown *bool
}

// ChangeService changes a service. Placement gets the trait of a disabled host before it returns,
// as in Nova (bug 1805984); a failure is logged, and the host's next report retries. Fault:
// ServiceNotFound.
func (s *Service) ChangeService(ctx context.Context, id ID, ch ServiceChange) (HostService, error) {
	h, err := s.changeService(ctx, id, ch)
	if err != nil || ch.Disabled == nil || s.trees == nil {
		return h, err
	}
	var nodes []NodeRow
	err = s.store.View(ctx, func(r Reader) error {
		nodes, err = Rows[NodeRow](r, Where(ByHost, h.Host))
		return err
	})
	if err != nil {
		return h, err
	}
	told, stop := context.WithTimeout(context.WithoutCancel(ctx), placementTime)
	defer stop()
	for _, n := range nodes {
		if err := inventory.SetDisabled(told, placement.UUID(n.ID), h.Disabled, s.trees.placement); err != nil {
			s.rules.Log.WarnContext(ctx, "the trait of a disabled host could not be set in placement; the host's next report retries",
				"host", h.Host, "disabled", h.Disabled, "error", err)
		}
	}
	return h, nil
}

// placementTime bounds how long an answer waits for placement to have a change.
const placementTime = 5 * time.Second

func (s *Service) changeService(ctx context.Context, id ID, ch ServiceChange) (HostService, error) {
	var h HostService
	err := s.update(ctx, func(c *change) error {
		row, err := OneOr[ServiceRow](c, notFound("ServiceNotFound", "Service %s could not be found.", id), Where(ByID, id))
		if err != nil {
			return err
		}
		if ch.Disabled != nil {
			row.Disabled, row.Reason = *ch.Disabled, ""
		}
		if ch.Reason != nil && row.Disabled {
			row.Reason = *ch.Reason
		}
		if ch.ForcedDown != nil {
			row.ForcedDown = *ch.ForcedDown
		}
		row.UpdatedAt = c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		zones, err := ZonesByHost(c)
		h = HostService{ServiceRow: row, Up: s.rules.IsUp(row), Zone: cmp.Or(zones[row.Host], s.rules.Settings.DefaultZone)}
		return err
	})
	return h, err
}

// DeleteService removes the service of a host that has no servers, with its
// hypervisors and what placement has of them, and takes the host out of its
// aggregates. Faults: ServiceNotFound, and a conflict while there are servers or
// migrations, or while something is allocated on the host.
func (s *Service) DeleteService(ctx context.Context, id ID) error {
	if err := s.removeTrees(ctx, id); err != nil {
		return err
	}
	return s.update(ctx, func(c *change) error {
		row, err := deletable(c, id)
		if err != nil {
			return err
		}
		members, err := Rows[MemberRow](c, Where(ByHost, row.Host))
		if err != nil {
			return err
		}
		for _, m := range members {
			if err := c.MirrorMembership(m.Aggregate, m.Host, false); err != nil {
				return err
			}
		}
		_, member := c.Remove(&MemberRow{}, Where(ByHost, row.Host))
		_, node := c.Remove(&NodeRow{}, Where(ByHost, row.Host))
		_, service := c.Remove(&ServiceRow{}, Where(ByID, id))
		return errors.Join(member, node, service)
	})
}

// deletable is a service whose host is idle.
func deletable(r Reader, id ID) (ServiceRow, error) {
	row, err := OneOr[ServiceRow](r, notFound("ServiceNotFound", "Service %s not found.", id), Where(ByID, id))
	if err != nil {
		return row, err
	}
	return row, idle(r, row.Host)
}

// removeTrees removes the providers of a service's host from placement (E-13). After a failure the
// administrator repeats the deletion.
func (s *Service) removeTrees(ctx context.Context, id ID) error {
	if s.trees == nil {
		return nil
	}
	var nodes []NodeRow
	var evacuated []MigrationRow
	err := s.store.View(ctx, func(r Reader) error {
		row, err := deletable(r, id)
		if err != nil {
			return err
		}
		if evacuated, err = s.evacuatedFrom(r, row.Host); err != nil {
			return err
		}
		nodes, err = Rows[NodeRow](r, Where(ByHost, row.Host))
		return err
	})
	for _, m := range evacuated {
		if err == nil {
			err = s.releaseEvacuated(ctx, m)
		}
	}
	for _, n := range nodes {
		if err == nil {
			s.trees.invalidate(n.Host)
			err = providertree.RemoveAll(ctx, s.trees.placement, placement.UUID(n.ID))
		}
	}
	if errors.Is(err, allocations.ErrInUse) {
		return conflict("HTTPConflict", "Unable to delete compute service: its host has allocations in placement. (%v)", err)
	}
	return err
}

// idle refuses a host that has servers, or that some move from or to.
func idle(r Reader, host string) error {
	servers, err := Count[ServerRow](r, Where(ByHost, host))
	if err == nil && servers > 0 {
		err = conflict("HTTPConflict", "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")
	}
	if err != nil {
		return err
	}
	moves, err := Rows[MigrationRow](r, Where(ByStatus, migrationsUnderWay...))
	for _, m := range moves {
		if m.Source == host || m.Dest == host {
			return conflict("HTTPConflict", "Unable to delete compute service that has in-progress migrations. "+
				"Complete the migrations or delete the instances first.")
		}
	}
	return err
}

// Hypervisors returns the hypervisors with their servers, in the order of their
// numbers.
func (s *Service) Hypervisors(ctx context.Context) (all []Hypervisor, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = s.hypervisors(r)
		return err
	})
	return all, err
}

func (s *Service) hypervisors(r Reader) ([]Hypervisor, error) {
	nodes, err := Rows[NodeRow](r)
	if err != nil {
		return nil, err
	}
	services, err := s.rules.services(r)
	if err != nil {
		return nil, err
	}
	servers, err := Rows[ServerUse](r)
	if err != nil {
		return nil, err
	}
	byHost := map[string]HostService{}
	for _, h := range services {
		byHost[h.Host] = h
	}
	on := map[[2]string][]ServerUse{}
	for _, row := range servers {
		at := [2]string{row.Host, row.Node}
		on[at] = append(on[at], row)
	}
	all := make([]Hypervisor, len(nodes))
	for i, n := range nodes {
		all[i] = Hypervisor{NodeRow: n, Service: byHost[n.Host], Servers: on[[2]string{n.Host, n.Name}]}
		if all[i].Used, err = usedBy(all[i].Servers); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Hypervisor) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// usedBy adds up what servers have.
func usedBy(servers []ServerUse) (u Used, err error) {
	for _, row := range servers {
		f, err := row.StoredFlavor()
		if err != nil {
			return u, err
		}
		u.VCPUs += f.VCPUs
		u.MemoryMB += f.MemoryMB
		u.DiskGB += f.RootGB + f.EphemeralGB
	}
	return u, nil
}

// A Zone is an availability zone.
type Zone struct {
	Name      string
	Available bool
	Services  []HostService // that are enabled, when it is available
}

// Zones returns the availability zones of the services: those with one that is enabled
// first, each part in the order of their names.
func (s *Service) Zones(ctx context.Context) ([]Zone, error) {
	services, err := s.Services(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string]*Zone{}
	for _, h := range services {
		if by[h.Zone] == nil {
			by[h.Zone] = &Zone{Name: h.Zone}
		}
		if z := by[h.Zone]; !h.Disabled {
			z.Available, z.Services = true, append(z.Services, h)
		}
	}
	var all []Zone
	for _, available := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(by)) {
			if by[name].Available == available {
				all = append(all, *by[name])
			}
		}
	}
	return all, nil
}

// LastSeen returns the time of a service's last report, or of its creation if it never reported.
func (h HostService) LastSeen() time.Time {
	if h.ReportedAt.IsZero() {
		return h.CreatedAt
	}
	return h.ReportedAt
}
