// Package host is the agent of a compute host: it reports what the host has, asks the
// compute service what servers it is to have, works on that with a driver until it is so, and
// says how it went. It is not for the wire, which who starts it brings along, nor for
// what a server is made of, which is the driver's.
package host

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent/driver"
)

// A Service is the compute service as a host sees it. A failed call is made again.
type Service interface {
	// Report says that the host is alive, what it has, and which servers are there that the
	// service has not listed, sorted. ErrNotSynced is among the causes when the report was accepted.
	Report(ctx context.Context, unknown []string) error
	// Wanted returns what the host is to do, once its revision is another one than is
	// known or some time has passed.
	Wanted(ctx context.Context, known string, wait time.Duration) (Wants, error)
	// Done says how something ended.
	Done(ctx context.Context, results []Result) error
}

// ErrNotSynced says that the compute service has accepted a report, and that placement does not
// have what the host has.
var ErrNotSynced = errors.New("placement does not have what the host has")

// Wants is what a host is to do as of a revision, which is never "".
type Wants struct {
	Revision string
	Servers  []Wanted
}

// A Wanted is what is to be of a server, which only goes if it is Gone. A server that the host has
// and that is not wanted is reported and left alone: the host may ask under another name than before,
// or a service that has another database, or an older state of it.
type Wanted struct {
	driver.Server
	Gone  bool
	Event string // that the end of it is to be told of, "" for none
}

// A Result is how something ended that was wanted.
type Result struct {
	Server, Event string
	// Trouble is why it failed, "" when it did not. Everywhere says that it would fail
	// on any host.
	Trouble    string
	Everywhere bool
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
	wanted   map[string]*Wanted // by server; nil before it is known
	working  map[string]bool    // servers
	told     map[string]string  // the event of a server whose end was told
	unknown  []string           // servers that are there and not wanted, sorted
	turns    chan struct{}
	accepted chan struct{} // closed once a report was accepted
	again    chan struct{} // has one when it is to be looked again
}

const (
	// heldBack is how long the service may keep an answer without news.
	heldBack = 30 * time.Second
	// tooSoon is the least time between two answers without news: a service that
	// answers earlier is stopping.
	tooSoon = 5 * time.Second
	// firstPause is the wait after a failure, longer each time up to maxPause.
	firstPause, maxPause = time.Second, 30 * time.Second
	// lookAgain is how often it is looked whether servers are as they should be.
	lookAgain = time.Minute
	// retryPause is how long a server is left alone that could not be made as it should
	// be, when nobody waits to be told.
	retryPause = 5 * time.Second
)

// Run works until ctx ends. Servers stay as they are then.
func (h *Host) Run(ctx context.Context) {
	h.working, h.told, h.again = map[string]bool{}, map[string]string{}, make(chan struct{}, 1)
	h.accepted = make(chan struct{})
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
		if err == nil || errors.Is(err, ErrNotSynced) {
			accept()
		}
		if err != nil {
			h.failed(ctx, "the compute service did not take the report", err)
			rest(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		rest(ctx, h.ReportInterval)
	}
}

func (h *Host) failed(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		h.Log.Warn(what, "error", err)
	}
}

// rest waits for about so long, not beyond the end of ctx.
func rest(ctx context.Context, about time.Duration) {
	timer := time.NewTimer(about*3/4 + rand.N(about/4+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// follow learns what is wanted, of a service that has accepted a report: another one may have
// servers of another host by the same name, or none.
func (h *Host) follow(ctx context.Context) {
	select {
	case <-h.accepted:
	case <-ctx.Done():
		return
	}
	known := ""
	for pause := firstPause; ctx.Err() == nil; {
		asked := time.Now()
		wants, err := h.Service.Wanted(ctx, known, heldBack)
		if err != nil {
			h.failed(ctx, "the compute service does not say what it wants", err)
			rest(ctx, pause)
			pause = min(2*pause, maxPause)
			continue
		}
		pause = firstPause
		if wants.Revision != known {
			known = wants.Revision
			h.want(wants.Servers)
		} else if early := tooSoon - time.Since(asked); early > 0 {
			rest(ctx, 2*early)
		}
	}
}

func (h *Host) want(all []Wanted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = make(map[string]*Wanted, len(all))
	for i := range all {
		h.wanted[all[i].ID] = &all[i]
	}
	h.look()
}

// look has it looked again what there is to do.
func (h *Host) look() {
	select {
	case h.again <- struct{}{}:
	default: // it is going to be
	}
}

// work begins with what there is to do whenever that may be something else.
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
		is, err := h.Driver.Servers(ctx)
		if err != nil {
			h.failed(ctx, "it cannot be seen which servers there are", err)
			continue
		}
		h.find(is, listed)
		for _, id := range h.begin(is) {
			all.Go(func() { h.attend(ctx, id) })
		}
	}
}

// find notes and logs the servers that are there and not wanted, each once. Listed is what was wanted
// before it was looked which there are: a server that was destroyed since is no finding.
func (h *Host) find(is []driver.State, listed map[string]*Wanted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if listed == nil {
		return
	}
	var unknown []string
	for i := range is {
		if id := is[i].ID; listed[id] == nil && h.wanted[id] == nil {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	for _, id := range unknown {
		if !slices.Contains(h.unknown, id) {
			h.Log.Warn("a server is here that the compute service does not list: it is left alone", "server", id)
		}
	}
	h.unknown = unknown
}

// begin returns the servers that nobody works on and that are not as they should be, or whose
// end was not told. From now on they are worked on.
func (h *Host) begin(is []driver.State) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted == nil {
		return nil
	}
	states := make(map[string]*driver.State, len(is))
	for i := range is {
		states[is[i].ID] = &is[i]
	}
	for id, want := range h.wanted {
		if untold := want.Event != "" && h.told[id] != want.Event; untold || len(plan(want, states[id])) > 0 && want.Event == "" {
			ids = append(ids, id)
		}
	}
	for id := range h.told {
		if h.wanted[id] == nil {
			delete(h.told, id)
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

// attend works on a server until it is as it should be, or it is told that it cannot be.
func (h *Host) attend(ctx context.Context, id string) {
	defer func() {
		h.mu.Lock()
		delete(h.working, id)
		h.mu.Unlock()
		h.look() // something else may be wanted by now
	}()
	want, err := h.inTurn(ctx, id)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.Log.Warn("a server is not as it should be", "server", id, "error", err)
	}
	if want != nil && want.Event != "" {
		h.tell(ctx, id, want, err)
	}
	if err != nil && (want == nil || want.Event == "" || want.Gone) {
		rest(ctx, retryPause)
	}
}

// inTurn makes a server what is wanted once fewer than the bound are worked on, and
// returns what was wanted then.
func (h *Host) inTurn(ctx context.Context, id string) (*Wanted, error) {
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	want := h.wants(id)
	return want, h.make(ctx, id, want)
}

func (h *Host) wants(id string) *Wanted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted[id]
}

// make makes a server what is wanted.
func (h *Host) make(ctx context.Context, id string, want *Wanted) error {
	all, err := h.Driver.Servers(ctx)
	if err != nil {
		return err
	}
	var is *driver.State
	for i := range all {
		if all[i].ID == id {
			is = &all[i]
		}
	}
	for _, s := range plan(want, is) {
		if err := h.carryOut(ctx, id, want, s); err != nil {
			return err
		}
		h.Log.Info("done to a server", "server", id, "what", s.verb, "port", s.port.ID)
	}
	return nil
}

func (h *Host) carryOut(ctx context.Context, id string, want *Wanted, s step) error {
	switch s.verb {
	case "build":
		return h.Driver.Build(ctx, want.Server)
	case "destroy":
		return h.Driver.Destroy(ctx, id)
	case "plug":
		return h.Driver.Plug(ctx, id, s.port)
	case "unplug":
		return h.Driver.Unplug(ctx, id, s.port.ID)
	case "start":
		return h.Driver.Start(ctx, id, want.Boot)
	}
	return h.Driver.Stop(ctx, id)
}

// tell says how something ended, until that is heard or something else is wanted. What is to be
// destroyed is tried again for as long as that is wanted.
func (h *Host) tell(ctx context.Context, id string, want *Wanted, err error) {
	event, again := want.Event, err != nil && want.Gone
	r := Result{Server: id, Event: event, Everywhere: errors.Is(err, driver.ErrEverywhere)}
	if err != nil {
		r.Trouble = err.Error()
	}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := h.Service.Done(ctx, []Result{r})
		if err == nil && again {
			return
		}
		if err == nil {
			h.mu.Lock()
			h.told[id] = event
			h.mu.Unlock()
			return
		}
		h.failed(ctx, "the compute service did not hear how something ended", err)
		rest(ctx, pause)
		if now := h.wants(id); now == nil || now.Event != event {
			return
		}
	}
}
