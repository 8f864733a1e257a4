// Package host is the agent of a compute host: it reports the host's inventory, reads its list of
// servers from the compute service, has a driver make the host match the list, and reports the
// results. It does not know the wire, which its caller brings along, nor how a server is built,
// which the driver knows.
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

// A Service is the compute service as a host sees it. A failed call is retried.
type Service interface {
	// Report says that the host is alive, what it has, and which servers are there that the
	// service has not listed, sorted. It succeeds when the service has accepted the report.
	Report(ctx context.Context, unknown []string) error
	// Wanted returns the list of the host's servers, once its revision differs from known or some
	// time has passed.
	Wanted(ctx context.Context, known string, wait time.Duration) (hostlist.List, error)
	// Done says how something ended.
	Done(ctx context.Context, results []hostlist.Result) error
}

// A Host is one host. Its fields are set before Run is called.
type Host struct {
	Service Service
	Driver  driver.Driver
	Log     *slog.Logger
	// ReportInterval is how often it reports.
	ReportInterval time.Duration
	// Concurrency is how many servers are worked on at a time.
	Concurrency int

	mu       sync.Mutex
	wanted   map[string]*hostlist.Server // by server; nil before it is known
	working  map[string]bool             // servers
	reported map[string]string           // the last reported event by server
	unknown  []string                    // servers that exist and are not in the list, sorted
	turns    chan struct{}
	accepted chan struct{} // closed once a report was accepted
	again    chan struct{} // receives when the servers must be compared again
	listed   chan struct{} // closed, and another one, when wanted changes
}

const (
	// pollTime is how long the service may delay an answer without changes.
	pollTime = 30 * time.Second
	// tooSoon is the least time between two answers without changes: a service that answers earlier
	// is stopping.
	tooSoon = 5 * time.Second
	// firstPause is the wait after a failure, longer each time up to maxPause.
	firstPause, maxPause = time.Second, 30 * time.Second
	// lookAgain is the interval of checks that servers are as they should be.
	lookAgain = time.Minute
	// retryPause is the delay of a retry for a server that failed, when no event waits for a
	// result.
	retryPause = 5 * time.Second
)

// Run works until ctx ends. Servers stay as they are then.
func (h *Host) Run(ctx context.Context) {
	h.working, h.reported, h.again = map[string]bool{}, map[string]string{}, make(chan struct{}, 1)
	h.accepted, h.listed = make(chan struct{}), make(chan struct{})
	h.turns = make(chan struct{}, max(1, h.Concurrency))
	var all sync.WaitGroup
	all.Go(func() { h.report(ctx) })
	all.Go(func() { h.follow(ctx) })
	h.work(ctx, &all)
	all.Wait()
}

// report says again and again that the host is alive.
func (h *Host) report(ctx context.Context) {
	accept := sync.OnceFunc(func() { close(h.accepted) })
	for pause := firstPause; ctx.Err() == nil; {
		h.mu.Lock()
		unknown := h.unknown
		h.mu.Unlock()
		err := h.Service.Report(ctx, unknown)
		if err != nil {
			h.failed(ctx, "the report to the compute service failed", err)
			rest(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		accept()
		pause = firstPause
		rest(ctx, h.ReportInterval)
	}
}

func (h *Host) failed(ctx context.Context, action string, err error) {
	if ctx.Err() == nil {
		h.Log.Warn(action, "error", err)
	}
}

// rest waits for about so long, not beyond the end of ctx.
func rest(ctx context.Context, about time.Duration) { _ = backoff.Sleep(ctx, roughly(about)) }

func roughly(about time.Duration) time.Duration { return about*3/4 + rand.N(about/4+1) }

// restAsListed is rest before a retry for a server. It ends early when the server is listed
// differently.
func (h *Host) restAsListed(ctx context.Context, id string, want *hostlist.Server) {
	timer := time.NewTimer(roughly(retryPause))
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

// follow reads the list from a service that has accepted a report: another one may have servers of
// another host by the same name, or none.
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
			rest(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		if wants.Revision != known {
			known = wants.Revision
			h.want(wants.Servers)
		} else if early := tooSoon - time.Since(started); early > 0 {
			rest(ctx, 2*early)
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

// trigger triggers a comparison.
func (h *Host) trigger() {
	select {
	case h.again <- struct{}{}:
	default: // it is going to be
	}
}

// work compares, and starts what is to be done, at each trigger.
func (h *Host) work(ctx context.Context, all *sync.WaitGroup) {
	due := time.NewTicker(lookAgain)
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
			all.Go(func() { h.attend(ctx, id) })
		}
	}
}

// find stores and logs the servers that exist and are not in the list, each once. Listed is the
// list before the driver was asked: a server that was destroyed since is no finding.
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

// begin returns the servers that are not in progress and are not as they should be, or whose result
// was not reported. It marks them as in progress.
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
		if untold := want.Event != "" && h.reported[id] != want.Event; untold || len(plan(want, states[id])) > 0 && want.Event == "" {
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

// attend works on a server until it is as it should be, or its failure is reported.
func (h *Host) attend(ctx context.Context, id string) {
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
	case want == nil, want.Deleted, errors.As(err, new(*plugged)): // what is refused is requested again at once, as another event
		rest(ctx, retryPause)
	case want.Event == "":
		h.restAsListed(ctx, id, want)
	}
}

// change changes a server once fewer than the bound are in progress, and returns its entry of the
// list at that time.
func (h *Host) change(ctx context.Context, id string) (*hostlist.Server, error) {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
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
		h.Log.Info("done to a server", "server", id, "what", s.verb, "port", s.port.ID)
	}
	return nil
}

// A plugged is the error of a port that could not be unplugged: the service requests that again.
type plugged struct{ error }

// Unwrap returns the driver's.
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

// reportResult reports the result of an event, until the report succeeds or the entry changes. The
// destruction of a server is retried while the list has it.
func (h *Host) reportResult(ctx context.Context, id string, want *hostlist.Server, err error) {
	event, again := want.Event, err != nil && want.Deleted
	r := hostlist.Result{Server: id, Event: event, Generation: want.Generation, Power: knownPower(want), Everywhere: errors.Is(err, driver.ErrEverywhere)}
	if err != nil {
		r.Error = err.Error()
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := h.Service.Done(ctx, []hostlist.Result{r})
		if err == nil && again {
			return
		}
		if err == nil {
			h.mu.Lock()
			h.reported[id] = event
			h.mu.Unlock()
			return
		}
		h.failed(ctx, "a result could not be reported to the compute service", err)
		rest(ctx, pause)
		if desired := h.wants(id); desired == nil || desired.Event != event {
			return
		}
	}
}
