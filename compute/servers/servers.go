package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// A Server is a server with what belongs to it.
type Server struct {
	compute.ServerRow
	// Made is the flavor at the time of creation.
	Made extraspecs.Flavor
	// Ports are its ports in their order, as they were seen last.
	Ports []compute.ServerPort
	// In is its availability zone, or the requested one while it has no host.
	In string
	// Service is that of its host; it has no Host when the server has none.
	Service compute.HostService
}

// Server returns a server. Fault: InstanceNotFound.
func (s *Service) Server(ctx context.Context, id compute.ID) (one Server, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		one, err = readServer(s.rules, r, id)
		return err
	})
	return one, err
}

// Cells returns the NUMA cells that a server has on its host, nil for none.
func (s *Service) Cells(ctx context.Context, server compute.ServerRow) (cells []compute.Cell, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, _, err := compute.Hosted(r, server.ID, server.Host)
		if err != nil {
			return err
		}
		a, err := compute.ReadAssignment(row.Assignment)
		if a != nil {
			cells = a.Cells
		}
		return err
	})
	return cells, err
}

func readServer(rules compute.Rules, r compute.Reader, id compute.ID) (Server, error) {
	row, err := compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return Server{}, err
	}
	all, err := completeServers(rules, r, []compute.ServerRow{row})
	if err != nil {
		return Server{}, err
	}
	return all[0], nil
}

// completeServers returns servers with what belongs to them: a fixed number of reads,
// whatever the number of servers.
func completeServers(rules compute.Rules, r compute.Reader, rows []compute.ServerRow) ([]Server, error) {
	byHost, err := servicesOf(rules, r, rows)
	if err != nil {
		return nil, err
	}
	ports, err := compute.PortsOf(r, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Server, len(rows))
	for i, row := range rows {
		one := Server{ServerRow: row, Ports: ports[row.ID], In: inZone(rules, row, byHost), Service: byHost[row.Host]}
		if one.Made, err = row.StoredFlavor(); err != nil {
			return nil, err
		}
		all[i] = one
	}
	return all, nil
}

// inZone returns the zone of a server's host, or the requested one while it has none.
func inZone(rules compute.Rules, row compute.ServerRow, byHost map[string]compute.HostService) string {
	if row.Host == "" {
		return row.Zone
	}
	return cmp.Or(byHost[row.Host].Zone, rules.Settings.DefaultZone)
}

// servicesOf returns the services of the hosts of servers, by host, and no others: there may
// be thousands.
func servicesOf(
	rules compute.Rules, r compute.Reader, servers []compute.ServerRow,
) (map[string]compute.HostService, error) {
	hosts := map[string]bool{}
	for _, row := range servers {
		if row.Host != "" {
			hosts[row.Host] = true
		}
	}
	byHost := map[string]compute.HostService{}
	if len(hosts) == 0 {
		return byHost, nil
	}
	services, err := rules.HostServices(r, compute.Where(compute.ByHost, slices.Collect(maps.Keys(hosts))...))
	for _, h := range services {
		byHost[h.Host] = h
	}
	return byHost, err
}

// A ServerChange is a change of a server; nil changes nothing.
type ServerChange struct {
	Name, Description, Hostname *string
	AccessIPv4, AccessIPv6      *string
	DiskConfig                  *string
	// PinnedZone is the availability zone that its host has to be in: "" for any, or the one that it
	// is in.
	PinnedZone *string
}

// UpdateServer changes a server. Faults: InstanceNotFound, and InstanceExists for a host name that
// another server has, where the settings want names to be unique, and HTTPConflict for a zone that
// it cannot be pinned to.
func (s *Service) UpdateServer(ctx context.Context, id compute.ID, ch ServerChange) (Server, error) {
	return s.changeServer(ctx, id, func(c *lifecycle.Change, row *compute.ServerRow) error {
		return applyChange(c, ch, row)
	})
}

// checkPin refuses to pin a server to another zone than the one that it is pinned to or, of one
// that is not, the one that it is in (Nova's ServersController.update). Fault: HTTPConflict.
func checkPin(c *lifecycle.Change, row compute.ServerRow, zone string) error {
	switch {
	case zone == "" || zone == row.Zone:
		return nil
	case row.Zone != "":
		return compute.Conflict("HTTPConflict",
			"Cannot change pinned availability zone directly. Unpin first by setting pinned_availability_zone to null.")
	}
	byHost, err := servicesOf(c.Tx.Rules, c, []compute.ServerRow{row})
	if err != nil {
		return err
	}
	if in := inZone(c.Tx.Rules, row, byHost); in != zone {
		return compute.Conflict("HTTPConflict",
			"Server can only be pinned to its current availability zone '%s', but '%s' was requested.", in, zone)
	}
	return nil
}

// applyChange changes a server's row. Faults: InstanceExists, HTTPConflict.
func applyChange(c *lifecycle.Change, ch ServerChange, row *compute.ServerRow) error {
	if ch.PinnedZone != nil {
		if err := checkPin(c, *row, *ch.PinnedZone); err != nil {
			return err
		}
	}
	if ch.Hostname != nil && !strings.EqualFold(*ch.Hostname, row.Hostname) {
		if err := checkHostnames(c, row.Project, *ch.Hostname); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		to   *string
		from *string
	}{
		{&row.Name, ch.Name},
		{&row.Description, ch.Description},
		{&row.Hostname, ch.Hostname},
		{&row.AccessIPv4, ch.AccessIPv4},
		{&row.AccessIPv6, ch.AccessIPv6},
		{&row.DiskConfig, ch.DiskConfig},
		{&row.Zone, ch.PinnedZone},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return nil
}

// changeServer changes a server's row.
func (s *Service) changeServer(
	ctx context.Context, id compute.ID, fn func(*lifecycle.Change, *compute.ServerRow) error,
) (one Server, err error) {
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
		if err != nil {
			return err
		}
		if err := fn(c, &row); err != nil {
			return err
		}
		row.UpdatedAt = c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		one, err = readServer(c.Tx.Rules, c, id)
		return err
	})
	return one, err
}
