package servers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// An ExternalEvent is what another service says of a server.
type ExternalEvent struct {
	Name   string // "network-changed", "network-vif-plugged", …
	Server compute.ID
	Tag    string         // the port's id, or what else the event is about, "" for none
	Status string         // "completed", "failed" or "in-progress"
	By     compute.Caller // who says so
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
	changed := map[compute.ID]bool{}
	deleted := map[compute.ID]compute.ID{}
	var powers []ExternalEvent
	err := s.store.View(ctx, func(r compute.Reader) error {
		powers = nil
		for i, e := range events {
			rows, err := compute.Rows[compute.ServerRow](r, compute.Where(compute.ByID, e.Server))
			if err != nil {
				return err
			}
			receipts[i] = receive(e, rows)
			if receipts[i] != Accepted {
				continue
			}
			if e.Name == vifDeleted {
				deleted[compute.ID(e.Tag)] = e.Server
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
	if err := s.ports.ForgetPorts(ctx, deleted); err != nil {
		return nil, err
	}
	if len(powers) > 0 {
		if err := s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
			return recordPowerEvents(c, powers)
		}); err != nil {
			return nil, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		if ctx.Err() != nil {
			return nil, ctx.Err() // the sender has disconnected, and sends the event again
		}
		if err := s.ports.RefreshPorts(ctx, id); err != nil {
			s.rules.Log.WarnContext(ctx, "the ports of a server cannot be read", "server", id, "error", err)
		}
	}
	return receipts, nil
}

func receive(e ExternalEvent, server []compute.ServerRow) Receipt {
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

// powerActions are what a server's power was changed for, by what such events say, and the state in
// which it can have been.
var powerActions = map[string]struct {
	action, state string
	power         compute.Power
}{
	"POWER_ON": {"start", compute.Stopped, compute.ShutDown}, "POWER_OFF": {"stop", compute.Active, compute.Running},
}

// recordPowerEvents notes that other services say that they changed the power of servers. Only
// services that run machines do, of which no host here has any, so that such an action fails, as
// with most drivers of Nova's.
func recordPowerEvents(c *lifecycle.Change, events []ExternalEvent) error {
	for _, e := range events {
		means, known := powerActions[e.Tag]
		rows, err := compute.Rows[compute.ServerRow](c, compute.Where(compute.ByID, e.Server))
		if err != nil {
			return err
		}
		if len(rows) == 0 || !known {
			continue
		}
		action, err := c.RecordAction(e.By, e.Server, means.action)
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, "compute_power_update", rows[0].Host)
		if err != nil {
			return err
		}
		var why *compute.StepError
		if s := rows[0]; s.State == means.state && s.Power == means.power && s.Task == "" {
			const text = "The host does not let other services change the power of its servers."
			why = &compute.StepError{Text: text, Details: text}
		}
		if err := c.EndEvent(event.ID, why); err != nil {
			return err
		}
	}
	return nil
}
