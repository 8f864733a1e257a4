package network

import (
	"context"
	"log/slog"
	"time"
)

// events tells compute of servers' ports, in groups and without making callers
// wait. What cannot be told is logged: compute looks for itself now and then.
type events struct {
	compute Compute
	log     *slog.Logger
	queue   chan ServerEvent
}

const (
	// maxEvents is how many may wait.
	maxEvents = 4096
	// eventGroup is how many are told at once.
	eventGroup = 100
	// eventTime bounds the telling of one group.
	eventTime = 30 * time.Second
)

func newEvents(compute Compute, log *slog.Logger) *events {
	return &events{compute: compute, log: log, queue: make(chan ServerEvent, maxEvents)}
}

// port notes an event about a port, if it is a server's.
func (e *events) port(name string, p Port) {
	if e.compute == nil || !ofCompute(p.DeviceOwner) || p.DeviceID == "" {
		return
	}
	event := ServerEvent{Name: name, Server: p.DeviceID, Tag: string(p.ID)}
	if name != "network-changed" {
		event.Status = "completed"
	}
	select {
	case e.queue <- event:
	default:
		e.log.Warn("too many events wait for compute: one is dropped", "event", name, "port", p.ID)
	}
}

// RunEvents tells compute what happens to its servers' ports until ctx ends.
func (s *Service) RunEvents(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.events.queue:
			s.events.tell(ctx, s.events.more(first))
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

func (e *events) tell(ctx context.Context, group []ServerEvent) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	if err := e.compute.Tell(ctx, group); err != nil {
		e.log.WarnContext(ctx, "compute could not be told of ports", "events", len(group), "error", err)
	}
}
