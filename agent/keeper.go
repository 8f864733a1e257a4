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

// A Keeper reads the ports of a host from the network service, has an Enforcer enforce their rates,
// and reports to the network service which ports are plugged in. Its fields are set before Run is
// called.
type Keeper struct {
	Services []Service
	Settings *settings.Settings
	Enforcer Enforcer
	Findings *Findings
	Log      *slog.Logger

	failure string // the last logged error of the Enforcer, "" after a success
}

const (
	// pollTime is how long the network service may delay its answer while nothing changes.
	pollTime = 30 * time.Second
	// minPollInterval is the shortest time after which an unchanged list is a normal answer: a
	// service that answers earlier has too many waiting agents, and is polled less often.
	minPollInterval = 5 * time.Second
	// resyncInterval is how often the rates are compared with the host while nothing changes.
	resyncInterval = time.Minute
	// maxPause bounds the wait after a failure, which doubles with each.
	maxPause = 30 * time.Second
)

// Run enforces the rates of ports until ctx ends. It changes nothing before the network service has
// sent the first list, and leaves the rates in place when it ends.
func (k *Keeper) Run(ctx context.Context) {
	updates := make(chan []portlist.Port)
	var following sync.WaitGroup
	following.Go(func() { k.follow(ctx, updates) })
	defer following.Wait()
	k.keep(ctx, updates)
}

// follow polls the list of the host's ports, and sends each new one to updates.
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
			wait, pause = jitter(2*(minPollInterval-min(time.Since(lastPoll), minPollInterval))), firstPause
		default:
			known, pause = got.Revision, firstPause
			select {
			case updates <- got.Ports:
			case <-ctx.Done():
			}
		}
		_ = backoff.Sleep(ctx, wait) // the loop checks whether ctx has ended
	}
}

// keep enforces the rates when the list changes, when an interface appears or disappears, and when
// a check is due.
func (k *Keeper) keep(ctx context.Context, updates <-chan []portlist.Port) {
	svcs := newServices(k.Services, k.Log)
	var ports []portlist.Port
	known, pause := false, firstPause
	due := time.NewTimer(resyncInterval)
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
			due.Reset(resyncInterval)
		} else {
			due.Reset(jitter(pause))
			pause = min(2*pause, maxPause)
		}
	}
}

// enforce enforces the rates once and reports the plugged-in ports. It returns whether both
// succeeded.
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
		k.Log.Info("changed for a port's rates", "change", line)
	}
	if k.Findings.Set(enforced.Findings) {
		for _, line := range enforced.Findings {
			k.Log.Warn("a rate is not enforced as it should be", "finding", line)
		}
	}
	return k.reportPlugged(ctx, svcs, ports, enforced.Plugged)
}

// failed reports in heartbeats that the rates cannot be read or set, and logs the error unless it
// is the last one that was logged.
func (k *Keeper) failed(err error) {
	k.Findings.Set([]string{err.Error()})
	if k.failure != err.Error() {
		k.failure = err.Error()
		k.Log.Error("the rates of ports cannot be enforced", "error", err)
	}
}

// reportPlugged reports to the network service the ports whose status there differs from whether
// they are plugged in. It returns whether there was nothing to report or the report succeeded.
func (k *Keeper) reportPlugged(
	ctx context.Context, svcs *services, ports []portlist.Port, plugged map[string]bool,
) bool {
	changed := map[string]bool{}
	for _, p := range ports {
		if in, ok := plugged[p.ID]; ok && in != (p.Status == portlist.Active) {
			changed[p.ID] = in
		}
	}
	if len(changed) == 0 {
		return true
	}
	if !svcs.request(ctx, "wiring", func(s Service) error { return s.Wire(ctx, k.Settings.Default.Host, changed) }) {
		return false
	}
	for i := range ports { // so that it is not reported again before the next list has it
		if in, ok := changed[ports[i].ID]; ok {
			ports[i].Status = portlist.Status(in)
			k.Log.Info("link state of a port reported", "port", ports[i].ID, "plugged", in)
		}
	}
	return true
}
