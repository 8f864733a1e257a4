package ports

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
)

// events sends events of servers' ports to compute, in groups and without blocking callers. They
// wait in memory while compute is unavailable. Events that are lost are logged only: the compute
// service compares the ports of its servers by itself, and repairs what a lost event would have
// changed (decision 38).
type events struct {
	compute   network.Compute
	selection network.Events
	log       *slog.Logger
	queue     chan network.ServerEvent
	overflow  atomic.Int64 // events that were dropped since one found room
}

const (
	// maxEvents is the most events that may wait.
	maxEvents = 4096
	// eventGroup is the number of events in one request.
	eventGroup = 100
	// eventTime bounds the time of one attempt to deliver a group, and lastEventTime that of all
	// when the service stops.
	eventTime     = 30 * time.Second
	lastEventTime = 5 * time.Second
	// The pause after a failed attempt doubles from the first to the longest.
	firstEventPause, longestEventPause = time.Second, 30 * time.Second
)

// The names of events.
const (
	vifPlugged     = "network-vif-plugged"
	vifUnplugged   = "network-vif-unplugged"
	vifDeleted     = "network-vif-deleted"
	networkChanged = "network-changed"
)

func newEvents(compute network.Compute, selection network.Events, log *slog.Logger) *events {
	return &events{compute: compute, selection: selection, log: log, queue: make(chan network.ServerEvent, maxEvents)}
}

// status queues the event that a port was plugged in or out, if its status has changed.
func (e *events) status(p network.Port, before string) {
	switch {
	case p.Up() && before != network.PortActive:
		e.port(vifPlugged, p)
	case p.Status == network.PortDown && before == network.PortActive:
		e.port(vifUnplugged, p)
	}
}

// selected reports whether compute gets events of a name.
func (e *events) selected(name string) bool {
	if name == vifPlugged || name == vifUnplugged {
		return e.selection.Status
	}
	return e.selection.Data
}

// port queues an event about a port of a server.
func (e *events) port(name string, p network.Port) {
	if e.compute == nil || !e.selected(name) || !network.OwnedByServer(p.DeviceOwner) || p.DeviceID == "" {
		return
	}
	event := network.ServerEvent{Name: name, Server: p.DeviceID, Tag: string(p.ID)}
	if name != networkChanged {
		event.Status = "completed"
	}
	select {
	case e.queue <- event:
		if n := e.overflow.Swap(0); n > 0 {
			e.log.Warn("events were dropped because too many waited for compute", "events", n)
		}
	default:
		if e.overflow.Add(1) == 1 {
			e.log.Warn("too many events wait for compute: events are dropped", "event", name, "port", p.ID)
		}
	}
}

// RunEvents sends events of servers' ports to compute until ctx ends, and then, for a moment, those
// that wait.
func (s *Service) RunEvents(ctx context.Context) {
	e := s.events
	var group []network.ServerEvent
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-e.queue:
			if group = e.collect(first); e.send(ctx, group) {
				group = nil
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEventTime)
	defer cancel()
	for group != nil || len(e.queue) > 0 {
		if group == nil {
			group = e.collect(<-e.queue)
		}
		if !e.send(last, group) {
			e.log.WarnContext(ctx, "port events could not be delivered to compute before the end", "events",
				len(group)+len(e.queue))
			return
		}
		group = nil
	}
}

// collect returns an event with those that wait after it, as many as fit in a request.
func (e *events) collect(first network.ServerEvent) []network.ServerEvent {
	group := []network.ServerEvent{first}
	for len(group) < eventGroup {
		select {
		case next := <-e.queue:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// send delivers a group, and waits while compute is unavailable. A group that compute refuses is
// lost. It reports whether the group is done: delivered or refused, and not when ctx ended before.
func (e *events) send(ctx context.Context, group []network.ServerEvent) bool {
	for pause := firstEventPause; ; pause = min(2*pause, longestEventPause) {
		attempt, cancel := context.WithTimeout(ctx, eventTime)
		err := e.compute.SendEvents(attempt, group)
		cancel()
		kind, _ := fault.Of(err)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case kind != fault.Unavailable:
			e.log.WarnContext(ctx, "port events could not be delivered to compute", "events", len(group), "error", err)
			return true
		case pause == firstEventPause:
			e.log.WarnContext(ctx, "compute is unavailable: port events wait for it", "events", len(group), "error",
				err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}
