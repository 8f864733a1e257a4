package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/internal/backoff"
	"github.com/berthcloud/berth/network/portlist"
)

// A Keeper has an Enforcer enforce the rules of the host's ports, and reports to the network
// service which are plugged in. Its fields are set before Run is called.
type Keeper struct {
	Services []Service
	Settings *settings.Settings
	Enforcer Enforcer
	Findings *Findings
	Log      *slog.Logger

	failure string // the last one of the Enforcer that was logged
}

const (
	// pollTime is how long the network service may delay an answer without changes.
	pollTime = 30 * time.Second
	// tooSoon is the least time between two answers without changes: an earlier one says that the
	// service has too many waiting agents.
	tooSoon = 5 * time.Second
	// lookAgain is the interval of checks that the rates are still set.
	lookAgain = time.Minute
	// maxPause bounds the wait after failures.
	maxPause = 30 * time.Second
)

// Run keeps ports until ctx ends. Until the network service has said which there are,
// everything stays as it is. What is set stays when it ends.
func (k *Keeper) Run(ctx context.Context) {
	updates := make(chan []portlist.Port)
	var following sync.WaitGroup
	following.Go(func() { k.follow(ctx, updates) })
	defer following.Wait()
	k.keep(ctx, updates)
}

// follow passes on the ports of the host whenever they are others.
func (k *Keeper) follow(ctx context.Context, updates chan<- []portlist.Port) {
	from := newServices(k.Services, k.Log)
	host, driver := k.Settings.Default.Host, k.Settings.Kind.Driver().Name
	known, pause := "", firstPause
	for ctx.Err() == nil {
		var got portlist.List
		lastPoll := time.Now()
		wait := time.Duration(0)
		switch {
		case !from.request(ctx, "ports", func(s Service) (err error) {
			got, err = s.Ports(ctx, host, driver, known, pollTime)
			return err
		}):
			wait = jitter(pause)
			pause = min(2*pause, maxPause)
		case got.Revision == known:
			wait, pause = jitter(2*(tooSoon-min(time.Since(lastPoll), tooSoon))), firstPause
		default:
			known, pause = got.Revision, firstPause
			select {
			case updates <- got.Ports:
			case <-ctx.Done():
			}
		}
		_ = backoff.Sleep(ctx, wait) // the loop sees that ctx has ended
	}
}

// keep enforces the rules whenever the ports change, something was plugged in, or a check is due.
func (k *Keeper) keep(ctx context.Context, updates <-chan []portlist.Port) {
	svcs := newServices(k.Services, k.Log)
	var ports []portlist.Port
	known, pause := false, firstPause
	due := time.NewTimer(lookAgain)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case ports = <-updates:
			known = true
		case <-k.Enforcer.Changed():
		case <-due.C:
		}
		if !known {
			continue
		}
		if k.enforce(ctx, svcs, ports) {
			pause = firstPause
			due.Reset(lookAgain)
		} else {
			due.Reset(jitter(pause))
			pause = min(2*pause, maxPause)
		}
	}
}

// enforce is one round, and reports whether all of it succeeded.
func (k *Keeper) enforce(ctx context.Context, svcs *services, ports []portlist.Port) bool {
	enforced, err := k.Enforcer.Enforce(ctx, ports)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		k.failed(err)
		return false
	}
	if k.failure != "" {
		k.Log.Info("the rates of ports can be enforced again")
		k.failure = ""
	}
	for _, line := range enforced.Did {
		k.Log.Info("set for a port's rates", "change", line)
	}
	if k.Findings.Set(enforced.Findings) {
		for _, line := range enforced.Findings {
			k.Log.Warn("a rate is not enforced as it should be", "finding", line)
		}
	}
	return k.reportPlugged(ctx, svcs, ports, enforced.Plugged)
}

// failed notes that nothing can be seen or set, and logs it once.
func (k *Keeper) failed(err error) {
	k.Findings.Set([]string{err.Error()})
	if k.failure != err.Error() {
		k.failure = err.Error()
		k.Log.Error("the rates of ports cannot be enforced", "error", err)
	}
}

// reportPlugged reports to the network service which ports are plugged in or unplugged and differ
// from what it has.
func (k *Keeper) reportPlugged(ctx context.Context, svcs *services, ports []portlist.Port, plugged map[string]bool) bool {
	wrong := map[string]bool{}
	for _, p := range ports {
		if immediately, ok := plugged[p.ID]; ok && immediately != (p.Status == portlist.Active) {
			wrong[p.ID] = immediately
		}
	}
	if len(wrong) == 0 {
		return true
	}
	if !svcs.request(ctx, "wiring", func(s Service) error { return s.Wire(ctx, k.Settings.Default.Host, wrong) }) {
		return false
	}
	for i := range ports { // until the network service says so itself
		if immediately, ok := wrong[ports[i].ID]; ok {
			ports[i].Status = portlist.Status(immediately)
			k.Log.Info("a port's plug", "port", ports[i].ID, "plugged", immediately)
		}
	}
	return true
}
