package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
)

// hostCommands are what operations have hosts do: the command is stored in the row of the server
// on the host, and the step waits for the event that the host ends. A command has an event of the
// operation's action. They keep nothing of an operation but that event, common.Awaited.
type hostCommands struct{ *job }

// hostIsDown is why a host did not do its part.
const hostIsDown = "its host is down"

// send sends a host a command, as a new event of the operation's action, and waits for it.
func (h hostCommands) send(
	ctx context.Context, host, event string, command func(*compute.ServerRow, *compute.HostedRow),
) error {
	return h.waitAfter(ctx, func(c *Change, row *compute.ServerRow) error {
		begun, err := c.StartEvent(h.shared().Action, event, host)
		if err != nil {
			return err
		}
		h.shared().Awaited = begun.ID
		return c.setDesiredAt(*row, host, func(hosted *compute.HostedRow) {
			command(row, hosted)
			hosted.Event = begun.ID
		})
	})
}

// waitAfter commits an effect that has sent the command to the server's host, and waits for it.
func (h hostCommands) waitAfter(ctx context.Context, sent effect) error {
	return h.saveAndWait(ctx, &h.shared().Awaited, sent)
}

// await returns the event that a host, the server's if it is "", was sent a command for, and a
// *operation.Wait while it may still end it. A host that is down is not waited for, nor is one that
// takes too long: the event has failed then, and has no end.
func (h hostCommands) await(ctx context.Context, host string) (event compute.EventRow, err error) {
	replaced := false
	err = h.view(ctx, func(r compute.Reader) error {
		server, err := compute.One[compute.ServerRow](r, compute.Where(compute.ByID, h.subject))
		if err != nil {
			return err
		}
		if replaced = h.s.kinds.deletes(server, h.op); replaced {
			return nil
		}
		if event, err = compute.One[compute.EventRow](r, compute.Where(compute.ByID, h.shared().Awaited)); err != nil ||
			event.Result != "" {
			return err
		}
		up, err := h.s.rules.HostIsUp(r, cmp.Or(host, server.Host))
		if err != nil {
			return err
		}
		late := h.s.kinds.overdue(h.s.rules, server, h.op)
		switch {
		case late > 0:
			event.Result, event.Details = compute.EventFailed, fmt.Sprintf("it is not built after %.0f seconds", late.Seconds())
			event.Traceback = abortPrefix + event.Details
			return nil
		case !up:
			event.Result, event.Details = compute.EventFailed, hostIsDown
			return nil
		}
		return &operation.Wait{Event: string(event.ID)}
	})
	if replaced {
		err = cmp.Or(h.save(ctx), operation.ErrReplaced)
	}
	return event, err
}

// endAwaited ends the event of a command.
func (h hostCommands) endAwaited(c *Change) error {
	err := c.EndEvent(h.shared().Awaited, nil)
	h.shared().Awaited = ""
	return err
}

// A hostedState is what is known of a server, or of a port of it, that a host is to let go of.
type hostedState struct {
	server compute.ServerRow
	row    compute.HostedRow
	exists bool             // there is a row
	up     bool             // the host is up
	event  compute.EventRow // of the operation, if it has one
	ports  []compute.ServerPort
}

// hostedState reads it. The host is the server's if it is "".
func (h hostCommands) hostedState(ctx context.Context, host string) (state hostedState, err error) {
	err = h.view(ctx, func(r compute.Reader) error {
		if state.server, err = compute.One[compute.ServerRow](r, compute.Where(compute.ByID, h.subject)); err != nil {
			return err
		}
		host := cmp.Or(host, state.server.Host)
		if state.row, state.exists, err = compute.Hosted(r, state.server.ID, host); err != nil || !state.exists {
			return err
		}
		if state.up, err = h.s.rules.HostIsUp(r, host); err != nil {
			return err
		}
		if event := h.shared().Event; event != "" {
			if state.event, err = compute.One[compute.EventRow](r, compute.Where(compute.ByID, event)); err != nil {
				return err
			}
		}
		all, err := compute.PortsOf(r, []compute.ServerRow{state.server})
		state.ports = all[state.server.ID]
		return err
	})
	return state, err
}

// slots are the PCI devices that the host has given to ports.
func (s hostedState) slots(ports ...compute.ServerPort) (slots []string) {
	for _, p := range ports {
		if p.Shown.Host == s.row.Host && p.Shown.Slot != "" {
			slots = append(slots, p.Shown.Slot)
		}
	}
	return slots
}

// allSlots are the PCI devices that the host may have given to the server, before or now.
func (s hostedState) allSlots(before []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(before, s.slots(s.ports...)...))))
}

// destroyAt has a host destroy the server, "" for the server's host. Nothing is given back before
// it has; one that is down does so when it is back, and is not waited for.
func (h hostCommands) destroyAt(ctx context.Context, host string) (next, error) {
	state, err := h.hostedState(ctx, host)
	if err != nil || !state.exists {
		return next{}, err
	}
	// The refusal of the server's host may end the operation. Any other host retries by itself.
	var ends compute.ID
	if h.kind().refused != nil && state.row.Host == state.server.Host {
		ends = h.shared().Event
	}
	if ends != "" && state.event.Result == compute.EventFailed {
		return next{End: true, Change: h.kind().refused(h.job, state.event)}, nil
	}
	if state.row.DesiredState != compute.DesiredAbsent || ends != "" && state.row.Event != ends {
		state.row.Event = cmp.Or(ends, compute.NewID())
		sent := func(c *Change, server *compute.ServerRow) error {
			return c.setDesiredAt(*server, state.row.Host, func(row *compute.HostedRow) {
				row.DesiredState, row.Event, row.Boot = compute.DesiredAbsent, state.row.Event, ""
				row.Slots = state.allSlots(row.Slots)
			})
		}
		if state.up {
			return next{}, h.saveAndWait(ctx, &state.row.Event, sent)
		}
		if err := h.save(ctx, sent); err != nil {
			return next{}, err
		}
	}
	if !state.up {
		return next{}, nil
	}
	return next{}, &operation.Wait{Event: string(state.row.Event)}
}

// abortPrefix is what the details of a build begin with that is not to be tried on
// another host.
const abortPrefix = "BuildAbortException: "
