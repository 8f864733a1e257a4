// Package host is the agent of a compute host: it reports the host's inventory, reads its list of
// servers from the compute service, has a driver make the host match the list, and reports the
// results. The requests to the service are its caller's (Service), and how a server is built is the
// driver's.
//
// It destroys only servers that the list marks as deleted. What else it has is reported, and the
// service decides (leftovers.go of package fleet).
package host

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/backoff"
)

// A Service is what a host needs of the compute service. A failed call is retried.
type Service interface {
	// Report reports that the host is alive, its inventory, and its servers that are not in its
	// list, sorted. It succeeds when the service has accepted the report.
	Report(ctx context.Context, unknown []string) error
	// Wanted returns the list of the host's servers as soon as its revision differs from known, or
	// after wait.
	Wanted(ctx context.Context, known string, wait time.Duration) (hostlist.List, error)
	// Done reports the results of events.
	Done(ctx context.Context, results []hostlist.Result) error
}

// A Host is one host. Its fields are set before Run is called.
type Host struct {
	Service Service
	Driver  driver.Driver
	Log     *slog.Logger
	// ReportInterval is the time between two reports.
	ReportInterval time.Duration
	// Concurrency is how many servers are changed at the same time.
	Concurrency int

	mu       sync.Mutex
	wanted   map[string]*hostlist.Server // by server; nil before the first list
	working  map[string]bool             // the servers that have a goroutine
	reported map[string]string           // the last reported event by server
	unknown  []string                    // servers that exist and are not in the list, sorted
	slots    chan struct{}               // one element for each server that is being changed
	accepted chan struct{}               // closed once a report was accepted
	again    chan struct{}               // has an element when the servers must be compared again
	listed   chan struct{}               // closed, and replaced by a new one, when wanted changes
}

const (
	// pollTime is how long the service may delay its answer while nothing changes.
	pollTime = 30 * time.Second
	// minPollInterval is the shortest time after which an unchanged list is a normal answer: a
	// service that answers earlier is stopping, and is polled less often.
	minPollInterval = 5 * time.Second
	// firstPause is the wait after the first failure; it doubles with each further one up to
	// maxPause.
	firstPause, maxPause = time.Second, 30 * time.Second
	// resyncInterval is how often servers are compared with the list while nothing changes.
	resyncInterval = time.Minute
	// retryPause is the wait before another attempt with a server that could not be changed, when
	// the service does not wait for the result.
	retryPause = 5 * time.Second
)

// Run makes the host match its list until ctx ends; its servers keep running then.
func (h *Host) Run(ctx context.Context) {
	h.working, h.reported, h.again = map[string]bool{}, map[string]string{}, make(chan struct{}, 1)
	h.accepted, h.listed = make(chan struct{}), make(chan struct{})
	h.slots = make(chan struct{}, max(1, h.Concurrency))
	var all sync.WaitGroup
	all.Go(func() { h.report(ctx) })
	all.Go(func() { h.follow(ctx) })
	h.work(ctx, &all)
	all.Wait()
}

// report sends a report at every interval.
func (h *Host) report(ctx context.Context) {
	accept := sync.OnceFunc(func() { close(h.accepted) })
	for pause := firstPause; ctx.Err() == nil; {
		h.mu.Lock()
		unknown := h.unknown
		h.mu.Unlock()
		err := h.Service.Report(ctx, unknown)
		if err != nil {
			h.failed(ctx, "the report to the compute service failed", err)
			sleep(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		accept()
		pause = firstPause
		sleep(ctx, h.ReportInterval)
	}
}

func (h *Host) failed(ctx context.Context, action string, err error) {
	if ctx.Err() == nil {
		h.Log.Warn(action, "error", err)
	}
}

// sleep waits for a jittered duration, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) { _ = backoff.Sleep(ctx, jitter(d)) }

// jitter returns a random duration between 3/4 of d and d, so that hosts do not send their requests
// at the same time.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/4+1) }

// awaitRetry waits before another attempt with a server, at most until its entry in the list
// changes.
func (h *Host) awaitRetry(ctx context.Context, id string, want *hostlist.Server) {
	timer := time.NewTimer(jitter(retryPause))
	defer timer.Stop()
	for {
		h.mu.Lock()
		desired, listed := h.wanted[id], h.listed
		h.mu.Unlock()
		if !reflect.DeepEqual(desired, want) {
			return
		}
		select {
		case <-listed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// follow polls the list. It begins when a report was accepted: before that the service may have the
// list of another host of the same name, or none.
func (h *Host) follow(ctx context.Context) {
	select {
	case <-h.accepted:
	case <-ctx.Done():
		return
	}
	known := ""
	for pause := firstPause; ctx.Err() == nil; {
		started := time.Now()
		wants, err := h.Service.Wanted(ctx, known, pollTime)
		if err != nil {
			h.failed(ctx, "the list of servers cannot be read from the compute service", err)
			sleep(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		if wants.Revision != known {
			known = wants.Revision
			h.want(wants.Servers)
		} else if early := minPollInterval - time.Since(started); early > 0 {
			sleep(ctx, 2*early)
		}
	}
}

func (h *Host) want(all []hostlist.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = make(map[string]*hostlist.Server, len(all))
	for i := range all {
		h.wanted[all[i].ID] = &all[i]
	}
	close(h.listed)
	h.listed = make(chan struct{})
	h.trigger()
}

// trigger has the servers compared with the list.
func (h *Host) trigger() {
	select {
	case h.again <- struct{}{}:
	default: // a comparison is pending already
	}
}

// work compares the servers with the list, at each trigger and at the resync interval, and starts a
// goroutine for each that differs.
func (h *Host) work(ctx context.Context, all *sync.WaitGroup) {
	due := time.NewTicker(resyncInterval)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.again:
		case <-due.C:
		}
		h.mu.Lock()
		listed := h.wanted
		h.mu.Unlock()
		states, err := h.Driver.Servers(ctx)
		if err != nil {
			h.failed(ctx, "the driver cannot list its servers", err)
			continue
		}
		h.find(states, listed)
		for _, id := range h.begin(states) {
			all.Go(func() { h.reconcile(ctx, id) })
		}
	}
}

// find stores the servers that exist and are not in the list, and logs each once. listed is the
// list from before the driver was queried: a server in it that has left the list since may have
// been destroyed as listed, and is not reported.
func (h *Host) find(states []driver.State, listed map[string]*hostlist.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if listed == nil {
		return
	}
	var unknown []string
	for i := range states {
		if id := states[i].ID; listed[id] == nil && h.wanted[id] == nil {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	for _, id := range unknown {
		if !slices.Contains(h.unknown, id) {
			h.Log.Warn("the host has a server that is not in its list: it is not touched", "server", id)
		}
	}
	h.unknown = unknown
}

// begin returns the servers that differ from their entry or whose result was not reported yet, and
// that have no goroutine. It marks them as having one.
func (h *Host) begin(actual []driver.State) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted == nil {
		return nil
	}
	states := make(map[string]*driver.State, len(actual))
	for i := range actual {
		states[actual[i].ID] = &actual[i]
	}
	for id, want := range h.wanted {
		unreported := want.Event != "" && h.reported[id] != want.Event
		if unreported || len(plan(want, states[id])) > 0 && want.Event == "" {
			ids = append(ids, id)
		}
	}
	for id := range h.reported {
		if h.wanted[id] == nil {
			delete(h.reported, id)
		}
	}
	free := ids[:0]
	for _, id := range ids {
		if !h.working[id] {
			h.working[id] = true
			free = append(free, id)
		}
	}
	return free
}

// reconcile makes a server match its entry and reports the result. After a failure it waits, and
// work starts another attempt.
func (h *Host) reconcile(ctx context.Context, id string) {
	defer func() {
		h.mu.Lock()
		delete(h.working, id)
		h.mu.Unlock()
		h.trigger() // the list may have changed
	}()
	want, err := h.change(ctx, id)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.Log.Warn("a server could not be changed as listed", "server", id, "error", err)
	}
	if want != nil && want.Event != "" {
		h.reportResult(ctx, id, want, err)
	}
	switch {
	case err == nil:
	case want == nil, want.Deleted, errors.As(err, new(*plugged)):
		// The service lists the same again at once, under another event: awaitRetry would not wait.
		sleep(ctx, retryPause)
	case want.Event == "":
		h.awaitRetry(ctx, id, want)
	}
}

// change makes a server match its entry, once fewer than Concurrency are being changed. It returns
// the entry, which may have changed while it waited.
func (h *Host) change(ctx context.Context, id string) (*hostlist.Server, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	want := h.wants(id)
	return want, h.make(ctx, id, want)
}

func (h *Host) wants(id string) *hostlist.Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted[id]
}

// make makes a server match its entry in the list.
func (h *Host) make(ctx context.Context, id string, want *hostlist.Server) error {
	all, err := h.Driver.Servers(ctx)
	if err != nil {
		return err
	}
	var actual *driver.State
	for i := range all {
		if all[i].ID == id {
			actual = &all[i]
		}
	}
	for _, s := range plan(want, actual) {
		if err := h.carryOut(ctx, id, want, s); err != nil {
			return err
		}
		h.Log.Info("server changed as listed", "server", id, "step", s.verb, "port", s.port.ID)
	}
	return nil
}

// A plugged is the error of a port that could not be unplugged. The service lists the unplugging
// again under another event.
type plugged struct{ error }

// Unwrap returns the driver's error.
func (p *plugged) Unwrap() error { return p.error }

func (h *Host) carryOut(ctx context.Context, id string, want *hostlist.Server, s step) error {
	switch s.verb {
	case "build":
		return h.Driver.Build(ctx, *want)
	case "destroy":
		return h.Driver.Destroy(ctx, id)
	case "plug":
		return h.Driver.Plug(ctx, id, s.port)
	case "unplug":
		if err := h.Driver.Unplug(ctx, id, s.port.ID); err != nil {
			return &plugged{err}
		}
		return nil
	case "start":
		return h.Driver.Start(ctx, id, want.Boot)
	case "pause":
		return h.Driver.Pause(ctx, id)
	case "unpause":
		return h.Driver.Unpause(ctx, id)
	case "suspend":
		return h.Driver.Suspend(ctx, id)
	case "resume":
		return h.Driver.Resume(ctx, id)
	}
	return h.Driver.Stop(ctx, id)
}

// reportResult reports the result of an event, until the report succeeds or the entry has another
// event. A failed destruction does not count as reported: it is attempted, and reported, until it
// succeeds or the list has the server no more.
func (h *Host) reportResult(ctx context.Context, id string, want *hostlist.Server, err error) {
	event, retried := want.Event, err != nil && want.Deleted
	r := hostlist.Result{
		Server: id, Event: event, Generation: want.Generation, Power: knownPower(want),
		Everywhere: errors.Is(err, driver.ErrEverywhere),
	}
	if err != nil {
		r.Error = err.Error()
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := h.Service.Done(ctx, []hostlist.Result{r})
		if err == nil && retried {
			return
		}
		if err == nil {
			h.mu.Lock()
			h.reported[id] = event
			h.mu.Unlock()
			return
		}
		h.failed(ctx, "a result could not be reported to the compute service", err)
		sleep(ctx, pause)
		if desired := h.wants(id); desired == nil || desired.Event != event {
			return
		}
	}
}
