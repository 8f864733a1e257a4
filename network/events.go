package network

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
)

// events sends events of servers' ports to compute, in groups and without blocking callers. They wait in memory while
// compute is unavailable. Events that are lost are logged only: the compute service compares the ports of its servers by
// itself, and repairs what a lost event would have changed (decision 38).
type events struct {
	compute  Compute
	of       Events
	log      *slog.Logger
	queue    chan ServerEvent
	overflow atomic.Int64 // events that were dropped since one found room
}

const (
	// maxEvents is how many may wait.
	maxEvents = 4096
	// eventGroup is the number of events in one request.
	eventGroup = 100
	// eventTime bounds the time of one attempt to deliver a group, and lastEventTime that of all when the service stops.
	eventTime     = 30 * time.Second
	lastEventTime = 5 * time.Second
	// The pause after a failed attempt doubles from the first to the longest.
	firstEventPause, longestEventPause = time.Second, 30 * time.Second
)

// Events selects the events that compute gets.
type Events struct {
	Status bool // ports that are plugged in or out
	Data   bool // ports that are changed or removed
}

// The names of events.
const (
	vifPlugged     = "network-vif-plugged"
	vifUnplugged   = "network-vif-unplugged"
	vifDeleted     = "network-vif-deleted"
	networkChanged = "network-changed"
)

func newEvents(compute Compute, of Events, log *slog.Logger) *events {
	return &events{compute: compute, of: of, log: log, queue: make(chan ServerEvent, maxEvents)}
}

// status notes that a port is plugged in or out, if it is not as it was before.
func (e *events) status(p Port, before string) {
	switch {
	case p.wired() && before != PortActive:
		e.port(vifPlugged, p)
	case p.Status == PortDown && before == PortActive:
		e.port(vifUnplugged, p)
	}
}

// wanted reports whether compute gets events of a name.
func (e *events) wanted(name string) bool {
	if name == vifPlugged || name == vifUnplugged {
		return e.of.Status
	}
	return e.of.Data
}

// port notes an event about a port, if it is a server's.
func (e *events) port(name string, p Port) {
	if e.compute == nil || !e.wanted(name) || !ofCompute(p.DeviceOwner) || p.DeviceID == "" {
		return
	}
	event := ServerEvent{Name: name, Server: p.DeviceID, Tag: string(p.ID)}
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

// RunEvents sends events of servers' ports to compute until ctx ends, and then, for a moment, those that wait.
func (s *Service) RunEvents(ctx context.Context) {
	e := s.events
	var group []ServerEvent
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-e.queue:
			if group = e.more(first); e.send(ctx, group) {
				group = nil
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEventTime)
	defer cancel()
	for group != nil || len(e.queue) > 0 {
		if group == nil {
			group = e.more(<-e.queue)
		}
		if !e.send(last, group) {
			e.log.WarnContext(ctx, "port events could not be delivered to compute before the end", "events", len(group)+len(e.queue))
			return
		}
		group = nil
	}
}

// more collects what waits behind an event.
func (e *events) more(first ServerEvent) []ServerEvent {
	group := []ServerEvent{first}
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

// send delivers a group, and waits while compute is unavailable. A group that compute refuses is lost. It reports whether
// the group is done with, which it is not when ctx ended before.
func (e *events) send(ctx context.Context, group []ServerEvent) bool {
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
			e.log.WarnContext(ctx, "compute is unavailable: port events wait for it", "events", len(group), "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}
