package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// An ExternalEvent is what another service says of a server.
type ExternalEvent struct {
	Name   string // "network-changed", "network-vif-plugged", …
	Server ID
	Tag    string // the port's id, or what else the event is about, "" for none
	Status string // "completed", "failed" or "in-progress"
	By     Caller // who says so
}

// A Receipt says what becomes of an event.
type Receipt int

// The receipts, of which each has a status of HTTP.
const (
	Accepted Receipt = iota
	NoServer         // 404: there is no such server
	NoTag            // 400: it has to say what it is about
	NoHost           // 422: the server is on no host
)

// The events that something follows from.
const (
	vifDeleted  = "network-vif-deleted"
	vifPrefix   = "network-"
	powerUpdate = "power-update"
)

// withTag are the events that have to say what they are about.
var withTag = []string{vifDeleted, "volume-extended", powerUpdate, "accelerator-request-bound"}

// Receive handles events. Ports of servers are read again; one that was deleted is removed from its
// server, and its host unplugs it. The network service releases its allocation.
func (s *Service) Receive(ctx context.Context, events []ExternalEvent) ([]Receipt, error) {
	receipts := make([]Receipt, len(events))
	changed := map[ID]bool{}
	deleted := map[ID]ID{}
	var powers []ExternalEvent
	err := s.store.View(ctx, func(r Reader) error {
		powers = nil
		for i, e := range events {
			rows, err := Rows[ServerRow](r, Where(ByID, e.Server))
			if err != nil {
				return err
			}
			receipts[i] = receive(e, rows)
			if receipts[i] != Accepted {
				continue
			}
			if e.Name == vifDeleted {
				deleted[ID(e.Tag)] = e.Server
			}
			if e.Name == powerUpdate {
				powers = append(powers, e)
			}
			if strings.HasPrefix(e.Name, vifPrefix) {
				changed[e.Server] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.forgetPorts(ctx, deleted); err != nil {
		return nil, err
	}
	if len(powers) > 0 {
		if err := s.update(ctx, func(c *change) error { return c.seePowers(powers) }); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if ctx.Err() != nil {
			return nil, ctx.Err() // the sender has disconnected, and sends the event again
		}
		if err := s.refreshPorts(ctx, id); err != nil {
			s.rules.Log.WarnContext(ctx, "the ports of a server cannot be read", "server", id, "error", err)
		}
	}
	return receipts, nil
}

func receive(e ExternalEvent, server []ServerRow) Receipt {
	switch {
	case len(server) == 0:
		return NoServer
	case slices.Contains(withTag, e.Name) && e.Tag == "":
		return NoTag
	case server[0].Host == "":
		return NoHost
	}
	return Accepted
}

// powerActions are what a server's power was changed for, by what such events say, and the state in which it
// can have been.
var powerActions = map[string]struct {
	action, state string
	power         Power
}{
	"POWER_ON": {"start", Stopped, ShutDown}, "POWER_OFF": {"stop", Active, Running},
}

// seePowers notes that other services say that they changed the power of servers. Only services that run
// machines do, of which no host here has any, so that such an action fails, as with most drivers of Nova's.
func (c *change) seePowers(events []ExternalEvent) error {
	for _, e := range events {
		means, known := powerActions[e.Tag]
		rows, err := Rows[ServerRow](c, Where(ByID, e.Server))
		if err != nil {
			return err
		}
		if len(rows) == 0 || !known {
			continue
		}
		action, err := c.act(e.By, e.Server, means.action)
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, "compute_power_update", rows[0].Host)
		if err != nil {
			return err
		}
		var why *stepError
		if s := rows[0]; s.State == means.state && s.Power == means.power && s.Task == "" {
			const text = "The host does not let other services change the power of its servers."
			why = &stepError{text: text, details: text}
		}
		if err := c.end(event.ID, why); err != nil {
			return err
		}
	}
	return nil
}

// forgetPorts takes ports from their servers.
func (s *Service) forgetPorts(ctx context.Context, deleted map[ID]ID) error {
	if len(deleted) == 0 {
		return nil
	}
	return s.update(ctx, func(c *change) error {
		for port, server := range deleted {
			rows, err := Rows[PortRow](c, Where(ByPort, port), Where(ByServer, server))
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := c.forgetPort(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// forgetPort takes a port from its server. Its device is the host's to give again when the host has unplugged it.
func (c *change) forgetPort(row PortRow) error {
	if _, err := c.Remove(&PortRow{}, Where(ByPort, row.Port), Where(ByServer, row.Server)); err != nil {
		return err
	}
	var seen Port
	if err := json.Unmarshal(row.Seen, &seen); err != nil {
		return fmt.Errorf("reading port %s: %w", row.Port, err)
	}
	if seen.Slot == "" {
		return nil
	}
	host, hasIt, err := hosted(c, row.Server, seen.Host)
	if err != nil || !hasIt || !host.usable() {
		return err
	}
	host.Event, host.Slots = cmp.Or(host.Event, NewID()), append(host.Slots, seen.Slot)
	return c.Replace(&host)
}

// refreshPorts stores the current state of a server's ports. It does not add or remove ports.
func (s *Service) refreshPorts(ctx context.Context, server ID) error {
	if s.network == nil {
		return absent("network")
	}
	ports, err := s.network.ServerPorts(ctx, server)
	if err != nil {
		return err
	}
	return s.update(ctx, func(c *change) error { return c.seePorts(server, ports) })
}

// seePorts notes how ports are now, those that are known to be the server's.
func (c *change) seePorts(server ID, ports []Port) error {
	rows, err := Rows[PortRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	for _, row := range rows {
		i := slices.IndexFunc(ports, func(p Port) bool { return p.ID == row.Port })
		if i < 0 {
			continue
		}
		before := row
		if err := row.see(ports[i]); err != nil {
			return err
		}
		if reflect.DeepEqual(row, before) {
			continue
		}
		if err := c.Replace(&row); err != nil {
			return err
		}
	}
	return nil
}

// Version returns 4 or 6, 0 for what is no address.
func (a Address) Version() int {
	ip, err := netip.ParseAddr(a.IP)
	switch {
	case err != nil:
		return 0
	case ip.Is4():
		return 4
	}
	return 6
}
