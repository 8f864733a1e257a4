package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Hypervisor is one with its service and what its servers use.
type Hypervisor struct {
	compute.NodeRow
	Service compute.HostService
	Servers []compute.ServerUse
	Used    Used
}

// Used is how much of a hypervisor its servers have.
type Used struct{ VCPUs, MemoryMB, DiskGB int64 }

// Services returns the compute services in the order of their numbers.
func (s *Service) Services(ctx context.Context) (all []compute.HostService, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = s.db.Rules.HostServices(r)
		return err
	})
	return all, err
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
func (s *Service) ChangeService(ctx context.Context, id compute.ID, ch ServiceChange) (compute.HostService, error) {
	h, err := s.changeService(ctx, id, ch)
	if err != nil || ch.Disabled == nil || s.trees == nil {
		return h, err
	}
	var nodes []compute.NodeRow
	err = s.db.View(ctx, func(r compute.Reader) error {
		nodes, err = compute.Rows[compute.NodeRow](r, compute.Where(compute.ByHost, h.Host))
		return err
	})
	if err != nil {
		return h, err
	}
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), placementTime)
	defer stop()
	for _, n := range nodes {
		if err := inventory.SetDisabled(within, placement.UUID(n.ID), h.Disabled, s.trees.placement); err != nil {
			s.db.Rules.Log.WarnContext(ctx,
				"the trait of a disabled host could not be set in placement; the host's next report retries",
				"host", h.Host, "disabled", h.Disabled, "error", err)
		}
	}
	return h, nil
}

// placementTime bounds how long an answer waits for placement to have a change.
const placementTime = 5 * time.Second

func (s *Service) changeService(ctx context.Context, id compute.ID, ch ServiceChange) (compute.HostService, error) {
	var h compute.HostService
	err := s.db.Update(ctx, func(tx *compute.Tx) error {
		row, err := compute.OneOr[compute.ServiceRow](tx,
			compute.NotFound("ServiceNotFound", "Service %s could not be found.", id), compute.Where(compute.ByID, id))
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
		row.UpdatedAt = tx.At
		if err := tx.Replace(&row); err != nil {
			return err
		}
		zones, err := compute.ZonesByHost(tx, row.Host)
		h = compute.HostService{
			ServiceRow: row, Up: s.db.Rules.Serves(row), Zone: cmp.Or(zones[row.Host], s.db.Rules.Settings.DefaultZone),
		}
		return err
	})
	return h, err
}

// DeleteService removes the service of a host that has no servers, with its
// hypervisors and what placement has of them, and takes the host out of its
// aggregates. Faults: ServiceNotFound, and a conflict while there are servers or
// migrations, or while something is allocated on the host.
func (s *Service) DeleteService(ctx context.Context, id compute.ID) error {
	if err := s.removeTrees(ctx, id); err != nil {
		return err
	}
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		row, err := deletable(tx, id)
		if err != nil {
			return err
		}
		members, err := compute.Rows[compute.MemberRow](tx, compute.Where(compute.ByHost, row.Host))
		if err != nil {
			return err
		}
		for _, m := range members {
			if err := tx.MirrorMembership(m.Aggregate, m.Host, false); err != nil {
				return err
			}
		}
		_, member := tx.Remove(&compute.MemberRow{}, compute.Where(compute.ByHost, row.Host))
		_, node := tx.Remove(&compute.NodeRow{}, compute.Where(compute.ByHost, row.Host))
		_, service := tx.Remove(&compute.ServiceRow{}, compute.Where(compute.ByID, id))
		tx.NotifyHost(row.Host) // its list is refused from now on
		return errors.Join(member, node, service)
	})
}

// deletable is a service whose host is idle.
func deletable(r compute.Reader, id compute.ID) (compute.ServiceRow, error) {
	row, err := compute.OneOr[compute.ServiceRow](r, compute.NotFound("ServiceNotFound", "Service %s not found.", id),
		compute.Where(compute.ByID, id))
	if err != nil {
		return row, err
	}
	return row, compute.IdleHost(r, row.Host)
}

// removeTrees removes the providers of a service's host from placement (E-13). After a failure the
// administrator repeats the deletion.
func (s *Service) removeTrees(ctx context.Context, id compute.ID) error {
	if s.trees == nil {
		return nil
	}
	var nodes []compute.NodeRow
	host := ""
	err := s.db.View(ctx, func(r compute.Reader) error {
		row, err := deletable(r, id)
		if err != nil {
			return err
		}
		host = row.Host
		nodes, err = compute.Rows[compute.NodeRow](r, compute.Where(compute.ByHost, row.Host))
		return err
	})
	if err == nil {
		err = s.servers.ReleaseEvacuated(ctx, host)
	}
	for _, n := range nodes {
		if err == nil {
			s.trees.invalidate(n.Host)
			err = providertree.RemoveAll(ctx, s.trees.placement, placement.UUID(n.ID))
		}
	}
	if errors.Is(err, allocations.ErrInUse) {
		return compute.Conflict("HTTPConflict",
			"Unable to delete compute service: its host has allocations in placement. (%v)", err)
	}
	return err
}

// Hypervisors returns the hypervisors with their servers, in the order of their
// numbers.
func (s *Service) Hypervisors(ctx context.Context) (all []Hypervisor, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = s.hypervisors(r)
		return err
	})
	return all, err
}

func (s *Service) hypervisors(r compute.Reader) ([]Hypervisor, error) {
	nodes, err := compute.Rows[compute.NodeRow](r)
	if err != nil {
		return nil, err
	}
	services, err := s.db.Rules.HostServices(r)
	if err != nil {
		return nil, err
	}
	servers, err := compute.Rows[compute.ServerUse](r)
	if err != nil {
		return nil, err
	}
	byHost := map[string]compute.HostService{}
	for _, h := range services {
		byHost[h.Host] = h
	}
	on := map[[2]string][]compute.ServerUse{}
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
func usedBy(servers []compute.ServerUse) (u Used, err error) {
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

// Zones returns the availability zones of the services: those with one that is enabled first, each
// part in the order of their names.
func (s *Service) Zones(ctx context.Context) (all []compute.Zone, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = s.db.Rules.Zones(r)
		return err
	})
	return all, err
}
