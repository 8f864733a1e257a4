package ports

import (
	"context"
	"slices"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/rows"
)

// SetPortsUp stores that an agent has plugged ports in on its host, or unplugged them. Ports that
// are not bound to the host are ignored. The subports of a trunk follow its parent. Compute gets
// events of those whose status changes.
func (s *Service) SetPortsUp(ctx context.Context, host string, ids []network.ID, up bool) error {
	return s.setUp(ctx, ids, func(p *network.Port) (bool, bool) { return up, p.Binding.Host == host })
}

// SetPortHosts stores on which host each port is plugged in, "" for none, as reported by the
// program that does so for a driver. A port that the driver has bound to that host becomes ACTIVE,
// and DOWN when it is plugged in nowhere; other ports, and those on another host than they are
// bound to, are unchanged: they are moving. Compute gets events of those whose status changes.
func (s *Service) SetPortHosts(ctx context.Context, driver string, hosts map[network.ID]string) error {
	reported := func(p *network.Port) (up, known bool) {
		host := hosts[p.ID]
		return host != "", p.Binding.Driver == driver && (host == "" || host == p.Binding.Host)
	}
	ids := make([]network.ID, 0, len(hosts))
	for id := range hosts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var changed []network.ID // mostly none, and then no caller should wait for the writer
	err := s.db.View(ctx, func(r network.Reader) error {
		all, err := network.PluggedPorts(r, ids...)
		changed = nil
		for i := range all {
			if up, known := reported(&all[i]); known && all[i].Up() != up {
				changed = append(changed, all[i].ID)
			}
		}
		return err
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	return s.setUp(ctx, changed, reported)
}

// setUp sets the status of ports of which reported knows whether they are up, and sends compute
// events of those that change.
func (s *Service) setUp(ctx context.Context, ids []network.ID, reported func(*network.Port) (up, known bool)) error {
	var changed []network.Port
	err := s.db.Update(ctx, func(tx *network.Tx) error {
		changed = nil
		all, err := network.PluggedPorts(tx, ids...)
		if err != nil {
			return err
		}
		var subports []network.ID
		for _, p := range all {
			up, known := reported(&p)
			if !known || p.Up() == up {
				continue
			}
			from := p
			p.Status = network.PortDown
			if up {
				p.Status = network.PortActive
			}
			tx.Touch(&p.Common)
			if err := tx.Replace(&p.PortRow); err != nil {
				return err
			}
			if err := followParent(tx, from, p); err != nil {
				return err
			}
			if p.DeviceOwner == ownerSubport {
				subports = append(subports, p.ID)
			}
			changed = append(changed, p)
		}
		return subportsReported(tx, subports)
	})
	if err != nil {
		return err
	}
	for _, p := range changed {
		name := vifUnplugged
		if p.Up() {
			name = vifPlugged
		}
		s.events.port(name, p)
	}
	return nil
}

// OnPorts subscribes a function to ports that this service has changed, or may have, from now on:
// it gets their ids, among others. It must not block; it replaces the one before.
func (s *Service) OnPorts(fn func([]network.ID)) {
	s.db.OnNotes(func(n rows.Notes) {
		keys := n.Keys()
		ids := make([]network.ID, len(keys))
		for i, k := range keys {
			ids[i] = network.ID(k)
		}
		fn(ids)
	})
}
