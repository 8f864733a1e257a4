package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/fault"
)

// placementCheckEvery is the interval of checks of placement's versions, until it has the one that
// is needed.
const placementCheckEvery = 10 * time.Second

// The minor versions of placement's API 1.x that the services cannot do without.
const (
	networkMinor   = 29 // trees of providers
	computeMinor   = 36 // queries with same_subtree
	physicalsMinor = 39 // a choice of traits: ports that may have any physical network
)

// A placementCheck examines whether placement has the version of its API that a service needs, from
// the start of the service until it has. Placement may start later than the service, and be
// upgraded while it runs: so a version that is missing makes the service not ready, and does not
// end it. A placement that does not answer makes nothing not ready: what is done without it is
// done, and the rest fails as at any other time.
type placementCheck struct {
	supports func(ctx context.Context, minor int) error // of placement's client; nil without placement
	minor    int                                        // what is needed
	purpose  string                                     // what for
	extra    int                                        // what only some requests need, 0 for nothing
	without  string                                     // what is refused without it
	log      *slog.Logger

	missing atomic.Pointer[string] // why the service is not ready, nil when nothing is known to be missing
}

// run checks until placement has the version, or ctx ends.
func (c *placementCheck) run(ctx context.Context) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	repeat(ctx, placementCheckEvery, func() {
		if c.examine(ctx) {
			done()
		}
	})
}

// examine reads placement's versions once, and reports whether the needed one is among them. An
// error is logged when it differs from the one before.
func (c *placementCheck) examine(ctx context.Context) bool {
	err := c.supports(ctx, c.minor)
	previous := c.missing.Load()
	switch {
	case ctx.Err() != nil:
		return true
	case err == nil:
		c.missing.Store(nil)
		if previous != nil {
			c.log.Info("placement has the version of its API that is needed", "before", *previous)
		}
		if c.extra != 0 {
			if err := c.supports(ctx, c.extra); unsupported(err) {
				c.log.Warn(c.without + " is refused: " + err.Error())
			}
		}
		return true
	case unsupported(err):
		text := err.Error() + " for " + c.purpose
		if previous == nil || *previous != text {
			c.missing.Store(&text)
			c.log.Error("placement is too old: "+text, "checked again every", placementCheckEvery)
		}
	}
	return false
}

// ready returns the check of /readyz: next, while no version is known to be missing.
func (c *placementCheck) ready(next func() (bool, string)) func() (bool, string) {
	return func() (bool, string) {
		if text := c.missing.Load(); text != nil {
			return false, *text
		}
		return next()
	}
}

// unsupported reports whether an error says that placement has not the version that is needed.
func unsupported(err error) bool {
	kind, _ := fault.Of(err)
	return err != nil && kind == fault.Unsupported
}
