package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
)

// consumers returns what the service knows of the consumers of a host's tree: of servers the CPUs
// and the cells of their flavors, two while they are resized, and of migrations those of their
// servers. Others are not in the result.
func (s *Service) consumers(
	ctx context.Context, host string, ids []string,
) (all map[string]inventory.Consumer, err error) {
	all = map[string]inventory.Consumer{}
	byID := make([]compute.ID, len(ids))
	for i, id := range ids {
		byID[i] = compute.ID(id)
	}
	err = s.db.View(ctx, func(r compute.Reader) error {
		migrations, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByID, byID...))
		if err != nil {
			return err
		}
		needed := byID
		for _, m := range migrations {
			needed = append(needed, m.Server)
		}
		rows, err := compute.Rows[compute.ServerRow](r, compute.Where(compute.ByID, needed...))
		if err != nil {
			return err
		}
		moves, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByServer, needed...))
		if err != nil {
			return err
		}
		for _, row := range rows {
			c := inventory.Consumer{
				Label:   fmt.Sprintf("server %s (%s)", row.ID, row.Name),
				Unbuilt: row.LaunchedAt.IsZero() || isArriving(row.ID, host, moves),
			}
			if err := addFlavors(r, row, moves, &c); err != nil {
				return err
			}
			stored, err := row.StoredFlavor()
			if err != nil {
				return err
			}
			assigned, err := assignedOn(r, row.ID, host)
			if err != nil {
				return err
			}
			c.Units = assigned.units()
			flavors := c.Topologies
			c.Topologies = onNodes(flavors, assigned.now)
			if !slices.ContainsFunc(moves, func(m compute.MigrationRow) bool { return m.Server == row.ID && !m.Over() }) {
				c.Devices = s.devicesOf(stored)
			}
			all[string(row.ID)] = c
			for _, m := range migrations {
				if m.Server != row.ID {
					continue
				}
				moved := c
				moved.Label = fmt.Sprintf("migration %s of server %s (%s)", m.ID, row.ID, row.Name)
				moved.Unbuilt = false // it is on the source
				moved.Units, moved.Topologies = assigned.unitsOf(m.ID), onNodes(flavors, assigned.of(m.ID))
				if m.Source == host && (m.Dest != host || c.Unbuilt) {
					moved.Server = string(row.ID)
				}
				former, err := flavorOf(r, m.OldFlavor)
				if err != nil {
					return err
				}
				moved.Devices = s.devicesOf(former)
				all[string(m.ID)] = moved
			}
		}
		return nil
	})
	return all, err
}

// addFlavors adds what the flavor of a server has of CPUs and NUMA cells to it, and what the
// flavors of its moves have that are not over.
func addFlavors(r compute.Reader, row compute.ServerRow, moves []compute.MigrationRow, c *inventory.Consumer) error {
	var image extraspecs.Image
	if len(row.ImageMeta) > 0 {
		if err := json.Unmarshal(row.ImageMeta, &image); err != nil {
			return fmt.Errorf("reading the image of server %s: %w", row.ID, err)
		}
	}
	stored, err := row.StoredFlavor()
	if err != nil {
		return err
	}
	flavors := []extraspecs.Flavor{stored}
	for _, m := range moves {
		if m.Server != row.ID || m.Over() {
			continue
		}
		for _, id := range []compute.ID{m.OldFlavor, m.NewFlavor} {
			other, err := compute.Rows[compute.FlavorRow](r, compute.Where(compute.ByID, id))
			if err != nil {
				return err
			}
			for _, f := range other {
				flavors = append(flavors, extraspecs.Flavor{VCPUs: f.VCPUs, MemoryMB: f.MemoryMB, Specs: f.Specs})
			}
		}
	}
	for _, f := range flavors {
		t, err := extraspecs.Topology(f, image)
		if err != nil {
			continue // an operator changed the flavor since: it says nothing of the server
		}
		cpus := inventory.CPUs{Total: f.VCPUs, Dedicated: t.CPU.Pinned}
		if t.CPU.Policy == extraspecs.Dedicated {
			if t.CPU.Isolate {
				cpus.Total++
			}
			cpus.Dedicated = cpus.Total
		}
		c.CPUs = append(c.CPUs, cpus)
		if cells := cellsOf(t); cells != nil {
			c.Topologies = append(c.Topologies, cells)
		}
	}
	return nil
}

// flavorOf returns a flavor of the catalogue, one without extra specs when it was deleted.
func flavorOf(r compute.Reader, id compute.ID) (f extraspecs.Flavor, err error) {
	row, err := compute.One[compute.FlavorRow](r, compute.Where(compute.ByID, id))
	if errors.Is(err, compute.ErrNoRow) {
		return f, nil
	}
	return extraspecs.Flavor{VCPUs: row.VCPUs, MemoryMB: row.MemoryMB, Specs: row.Specs}, err
}

// devicesOf counts the PCI devices that a flavor requests by aliases, by class. An alias that is
// not defined any more says nothing.
func (s *Service) devicesOf(f extraspecs.Flavor) map[string]int64 {
	settings := s.db.Rules.Settings.Requests
	all, err := request.PCIDevices(f, settings)
	if err != nil || len(all) == 0 {
		return nil
	}
	classes := map[string]int64{}
	for _, d := range all {
		classes[settings.PCI[d.Alias].Class]++
	}
	return classes
}

// cellsOf are the cells of a topology, nil when it has none.
func cellsOf(t extraspecs.NUMA) (cells []inventory.Cell) {
	size := max(t.PageKB, 0)
	switch t.PageKB {
	case extraspecs.LargePages:
		size = inventory.LargePages
	case extraspecs.AnyPages:
		size = inventory.AnyPages
	}
	for i, c := range t.Cells {
		shared, dedicated := c.Shared.Len(), c.Dedicated.Len()
		if i == 0 && t.CPU.Isolate {
			dedicated++ // the emulator's
		}
		cells = append(cells, inventory.Cell{
			CPUs: inventory.CPUs{Total: shared + dedicated, Dedicated: dedicated}, MemoryMB: c.MemoryMB, PageKB: size,
		})
	}
	return cells
}

// isArriving reports whether a server moves to a host that has not built it yet.
func isArriving(server compute.ID, host string, moves []compute.MigrationRow) bool {
	built := []string{compute.StatusFinished, compute.StatusConfirming, compute.StatusReverting}
	return slices.ContainsFunc(moves, func(m compute.MigrationRow) bool {
		return m.Server == server && m.Dest == host && !m.Over() && !slices.Contains(built, m.Status)
	})
}

// An assignedUnits is what a server is assigned of a host.
type assignedUnits struct {
	now    *compute.Assignment                // nil for nothing
	former map[compute.ID]*compute.Assignment // of resizes on the host, by migration
}

// assignedOn reads it.
func assignedOn(r compute.Reader, server compute.ID, host string) (a assignedUnits, err error) {
	row, _, err := compute.Hosted(r, server, host)
	if err != nil {
		return a, err
	}
	if a.now, err = compute.ReadAssignment(row.Assignment); err != nil {
		return a, fmt.Errorf("server %s on %s: %w", server, host, err)
	}
	migrations, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByServer, server))
	a.former = map[compute.ID]*compute.Assignment{}
	for _, m := range migrations {
		if m.Source != host || m.Dest != host || m.Over() {
			continue
		}
		both, err := m.Assignments()
		if err != nil {
			return a, err
		}
		if len(both) > 0 {
			a.former[m.ID] = &both[0]
		}
	}
	return a, err
}

// units are the units of devices that the server has.
func (a assignedUnits) units() []inventory.Unit { return compute.Units(a.now) }

// of is what one of its migrations has: what it may come back to.
func (a assignedUnits) of(migration compute.ID) *compute.Assignment {
	if former, onHost := a.former[migration]; onHost {
		return former
	}
	return a.now
}

// unitsOf are the units of devices of one of its migrations.
func (a assignedUnits) unitsOf(migration compute.ID) []inventory.Unit {
	return compute.Units(a.of(migration))
}

// onNodes are topologies with the nodes of the host that their cells were assigned.
func onNodes(topologies [][]inventory.Cell, a *compute.Assignment) [][]inventory.Cell {
	if a == nil {
		return topologies
	}
	all := make([][]inventory.Cell, len(topologies))
	for i, cells := range topologies {
		if all[i] = slices.Clone(cells); len(cells) != len(a.Cells) {
			continue
		}
		for k := range cells {
			all[i][k].Node = &a.Cells[k].Node
		}
	}
	return all
}
