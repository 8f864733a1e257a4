package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/network/portlist"
)

// A Reporter sends the heartbeats of one agent. Its fields are set before Run is called.
type Reporter struct {
	// Services are equivalent: a heartbeat goes to the one that answered last, and after a failure
	// to the next one.
	Services []Service
	// Settings are the settings of the start. Read returns the current settings and the services
	// that they name.
	Settings *settings.Settings
	Read     func() (*settings.Settings, []Service, error)
	// Fingerprint returns the fingerprint of the current settings files.
	Fingerprint func() settings.Fingerprint
	// Observed returns what heartbeats report in addition to the settings. Nil: nothing.
	Observed func() settings.Observed
	// Background runs concurrently with the heartbeats until its context ends. It is stopped and
	// started again when the settings change. Nil: nothing runs.
	Background func(context.Context, *settings.Settings, []Service)
	Log        *slog.Logger

	started  *settings.Settings // of the start
	services *services
	reported string // the last logged error of the synchronization with placement, "" after a success
}

// Run sends heartbeats until ctx ends: at the start, at the report interval, and when the settings
// have changed, which it checks at the watch interval and for each value from reload. With settings
// that cannot be read it goes on with the old ones.
func (r *Reporter) Run(ctx context.Context, reload <-chan struct{}) {
	r.services, r.started = newServices(r.Services, r.Log), r.Settings
	background := r.background(ctx)
	defer func() { background() }()
	start, pause := true, firstPause
	watch := newTicker(r.Settings.Berth.WatchInterval)
	defer watch.stop()
	for {
		wait, ok := r.Settings.Agent.ReportInterval, r.report(ctx, start)
		if ok {
			start, pause = false, firstPause
		} else {
			wait = jitter(pause)
			pause = min(2*pause, max(r.Settings.Agent.ReportInterval, firstPause))
		}
		if r.await(ctx, wait, watch.c, reload) {
			start = true
			background()
			background = r.background(ctx)
			watch.reset(r.Settings.Berth.WatchInterval)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// background starts Background; the returned function stops it and waits until it has returned.
func (r *Reporter) background(ctx context.Context) (end func()) {
	if r.Background == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	set, all := r.Settings, r.services.All
	running.Go(func() { r.Background(ctx, set, all) })
	return func() {
		cancel()
		running.Wait()
	}
}

// await waits until the next heartbeat is due, and reports whether the reason is a change of the
// settings. Without a wait only such a change ends it.
func (r *Reporter) await(
	ctx context.Context, wait time.Duration, watch <-chan time.Time, reload <-chan struct{},
) (changed bool) {
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return false
		case <-reload:
			r.Log.Info("reading the settings again")
		case <-watch:
			if r.Fingerprint() == r.Settings.Fingerprint {
				continue
			}
			r.Log.Info("the settings' files have changed")
		}
		if r.reread() {
			return true
		}
	}
}

// reread reads the settings again and applies them, and reports whether they differ.
func (r *Reporter) reread() bool {
	fingerprint := r.Fingerprint() // before reading, so that a change after it is noticed
	current, all, err := r.Read()
	if err != nil {
		r.Log.Error("the new settings are wrong; the old ones stay in effect", "error", err)
		old := *r.Settings
		old.Fingerprint = fingerprint // so that the same error is not logged at each interval
		r.Settings = &old
		return false
	}
	changes := settings.Changes(r.Settings, current)
	if len(changes) > 0 {
		r.services = newServices(all, r.Log)
	}
	r.Settings = current
	for _, line := range changes {
		r.Log.Info("setting changed", "change", line)
	}
	if names := settings.NeedRestart(settings.Changes(r.started, current),
		settings.LogOptions); len(changes) > 0 && len(names) > 0 {
		r.Log.Warn("some changed settings take effect at the next start", "settings", names)
	}
	return len(changes) > 0
}

// report sends a heartbeat to the first service that accepts it, and reports whether one did.
func (r *Reporter) report(ctx context.Context, start bool) bool {
	var observed settings.Observed
	if r.Observed != nil {
		observed = r.Observed()
	}
	text, err := r.Settings.Configurations(observed)
	if err != nil {
		r.Log.Error("the heartbeat cannot be encoded", "error", err)
		return false
	}
	d := r.Settings.Kind.Driver()
	beat := portlist.Heartbeat{
		Type: d.AgentType, Binary: d.Binary, Host: r.Settings.Default.Host, Zone: r.Settings.Agent.AvailabilityZone,
		Topic:          "N/A", // as of Neutron's agents that receive no RPC (L2_AGENT_TOPIC)
		Configurations: text, Start: start,
	}
	return r.services.request(ctx, "heartbeat", func(s Service) error {
		answer, err := s.Beat(ctx, beat)
		if err == nil {
			r.answered(beat, answer)
		}
		return err
	})
}

// answered logs what an answer means for the host's operator: that heartbeats arrive, and problems
// of the synchronization with placement, each once.
func (r *Reporter) answered(beat portlist.Heartbeat, a portlist.Answer) {
	if beat.Start {
		r.Log.Info("the network service has the agent's heartbeat", "agent_type", beat.Type, "host", beat.Host)
	} else if r.Settings.Agent.LogHeartbeats {
		r.Log.Info("heartbeat", "agent_type", beat.Type, "host", beat.Host)
	}
	switch {
	case a.SyncError != "" && a.SyncError != r.reported:
		r.Log.Error("the agent's devices are not synced to placement", "error", a.SyncError)
	case a.SyncError == "" && r.reported != "":
		r.Log.Info("the agent's devices are in placement")
	}
	r.reported = a.SyncError
}

// A ticker ticks at an interval, never when the interval is zero.
type ticker struct {
	*time.Ticker
	c <-chan time.Time
}

func newTicker(d time.Duration) *ticker {
	t := &ticker{}
	t.reset(d)
	return t
}

func (t *ticker) reset(d time.Duration) {
	t.stop()
	if d > 0 {
		t.Ticker = time.NewTicker(d)
		t.c = t.Ticker.C
	}
}

func (t *ticker) stop() {
	if t.Ticker != nil {
		t.Ticker.Stop()
	}
	t.Ticker, t.c = nil, nil
}
