package network

import (
	"context"
	"log/slog"
	"time"
)

// events sends events of servers' ports to compute, in groups and without blocking callers.
// Failures are logged only: the compute service compares the ports of its servers by itself, and repairs what a lost event
// would have changed.
type events struct {
	compute Compute
	of      Events
	log     *slog.Logger
	queue   chan ServerEvent
}

const (
	// maxEvents is how many may wait.
	maxEvents = 4096
	// eventGroup is the number of events in one request.
	eventGroup = 100
	// eventTime bounds the time to deliver one group.
	eventTime = 30 * time.Second
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
	default:
		e.log.Warn("too many events wait for compute: one is dropped", "event", name, "port", p.ID)
	}
}

// RunEvents sends events of servers' ports to compute until ctx ends.
func (s *Service) RunEvents(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.events.queue:
			s.events.send(ctx, s.events.more(first))
		}
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

func (e *events) send(ctx context.Context, group []ServerEvent) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	if err := e.compute.SendEvents(ctx, group); err != nil {
		e.log.WarnContext(ctx, "port events could not be delivered to compute", "events", len(group), "error", err)
	}
}
