package tracking

import (
	"reflect"

	"github.com/berthcloud/berth/network"
)

// Report queues a sync of an agent. It returns at once. A newer report of the same agent replaces
// the waiting one, at its place in the queue. The service reports on a heartbeat of an agent that
// is new, has just started or is not synced: while a sync fails, each heartbeat is a retry.
func (t *Tracker) Report(r Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.agents[r.Agent]
	if a == nil {
		a = &agent{}
		t.agents[r.Agent] = a
	}
	if a.waiting != nil {
		r.Started = r.Started || a.waiting.Started
	} else if !a.running {
		t.push(r.Agent)
	}
	a.waiting = &r
}

// Waiting returns how many agents wait for their sync, those aside that are being
// synced.
func (t *Tracker) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
}

// push puts an agent at the end of the queue. The caller has the lock.
func (t *Tracker) push(id network.ID) {
	t.queue = append(t.queue, id)
	t.nudge()
}

// nudge wakes a worker, unless one is about to wake already.
func (t *Tracker) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take returns the next report, nil when none waits. A worker that leaves reports in the queue
// wakes the next worker.
func (t *Tracker) take() *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.queue = nil // gives the memory of a rush back
		return nil
	}
	id := t.queue[0]
	t.queue = t.queue[1:]
	if len(t.queue) > 0 {
		t.nudge()
	}
	a := t.agents[id]
	r := a.waiting
	a.waiting, a.running = nil, true
	return r
}

// finish ends the sync of an agent. A report that arrived during the sync is queued, unless it is
// equal to the one that was synced.
func (t *Tracker) finish(r *Report, result network.SyncResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.agents[r.Agent]
	a.running = false
	next := a.waiting
	if next == nil || result.Failure == "" && !next.Started && reflect.DeepEqual(next.State, r.State) {
		delete(t.agents, r.Agent)
		return
	}
	t.push(r.Agent)
}
