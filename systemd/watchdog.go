package systemd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// WatchdogInterval returns the time-out of the service manager's watchdog; 0 for none.
func WatchdogInterval() (time.Duration, error) {
	d, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("reading WATCHDOG_USEC: %w", err)
	}
	return d, nil
}

// Watch resets the watchdog until ctx ends, every third of the interval and only while alive
// returns nil: when it returns an error, or does not return, there is no reset. The error is passed
// to failed, once for each round without a reset. The context of alive ends well before its round
// does, so that a check that respects it never counts as stuck. One alive runs at a time, in a
// goroutine of its own that Watch abandons when it is stuck.
func (n *Notifier) Watch(
	ctx context.Context, interval time.Duration, alive func(context.Context) error, failed func(error),
) {
	round := max(interval/3, time.Millisecond)
	tick := time.NewTicker(round)
	defer tick.Stop()
	answers := make(chan error, 1)
	started := false
	for {
		if !started {
			started = true
			go func() { answers <- bounded(ctx, round/2, alive) }()
		}
		select {
		case <-ctx.Done():
			return
		case err := <-answers:
			started = false
			n.report(err, failed)
		case <-tick.C:
			failed(errStuck)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func bounded(ctx context.Context, limit time.Duration, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return alive(ctx)
}

var errStuck = errors.New("the check of the service does not come back")

func (n *Notifier) report(err error, failed func(error)) {
	if err == nil {
		err = n.alive()
	}
	if err != nil {
		failed(err)
	}
}
