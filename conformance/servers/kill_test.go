package servers

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
)

func decoded[T any](c *cloud, a rest.Answer) (v T) {
	c.Helper()
	if err := json.Unmarshal(a.Body, &v); err != nil {
		c.Fatalf("%v: %s", err, a.Body)
	}
	return v
}

func same[T any](c *cloud, what string, want, got T) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// atOnce runs a subtest for each of some names, a few at the same time: they wait more than
// they work.
func atOnce(t *testing.T, names []string, test func(t *testing.T, name string)) {
	t.Helper()
	places := make(chan struct{}, 10)
	var all sync.WaitGroup
	defer all.Wait()
	for _, name := range names {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			t.Run(name, func(t *testing.T) { test(t, name) })
		})
	}
}

// TestKilledService kills the service at each of its requests to placement and to the network
// service, before the request arrives and before the answer returns, in each scenario; the long
// ones repeat parts of others. A sample has every sixth request. After a restart it repairs the
// state as soon as it may continue its operations.
func TestKilledService(t *testing.T) {
	t.Parallel()
	atOnce(t, slices.Sorted(maps.Keys(scenarios)), func(t *testing.T, name string) {
		c := newCloud(t, 2)
		first, step := sweep.Every(t, 6)
		number, long := 1+first, name == "Several" || name == "Reschedule"
		for c.survives(scenarios[name], number, long && number/step%2 == 0) {
			if !long {
				c.survives(scenarios[name], number, true)
			}
			number += step
		}
		if number == 1 {
			t.Error("no peer service got a request")
		}
		t.Logf("killed at every %d. request before the %d.", step, number)
	})
}

// survives runs a scenario, during which the service is killed at one of its requests. It reports
// whether there was such a request.
func (c *cloud) survives(s scenario, number int, after bool) (killed bool) {
	c.Helper()
	c.clear()
	do, look := s(c)
	killed = c.kills(number, after, do)
	c.agreesTwice()
	if !killed {
		look()
	}
	if c.Failed() {
		c.Fatalf("that was killed at request %d (%t): %t", number, after, killed)
	}
	return killed
}

// kills calls do, during which the service is killed and restarted, at one of its requests. It
// reports whether there was such a request. It returns when no operation is under way.
func (c *cloud) kills(number int, after bool, do func()) (killed bool) {
	c.Helper()
	return c.halts("", number, after, do, func(h *halt, _ string) {
		c.compute.Kill()
		h.goOn <- false
		c.lapse()
		c.compute.Restart()
	})
}

// halts calls do, and another function when that is at one of the requests to a peer service, ""
// for any, with the service that sends it, which then continues. It reports whether there was such
// a request, and returns when no operation is under way.
func (c *cloud) halts(to string, number int, after bool, do func(), meanwhile func(h *halt, from string)) (met bool) {
	c.Helper()
	h := c.ways.haltAt(to, number, after)
	defer c.ways.haltNever()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
		c.rests()
	}()
	select {
	case <-done:
		return false
	case from := <-h.came:
		meanwhile(h, from)
	}
	<-done
	return true
}

// TestKilledServiceTakesOver kills the service amid boots, and restarts it on the same database: it
// continues them without waiting for the leases of the killed run. Those last a minute, and are
// renewed every quarter of it, so that more of them is left than the test's time-out.
func TestKilledServiceTakesOver(t *testing.T) {
	t.Parallel()
	c := newCloud(t, 2)
	for _, number := range []int{5, 8, 12} { // of the requests to peer services
		h := c.ways.haltAt("", number, true)
		c.boot(3, "")
		select {
		case <-h.came:
		case <-time.After(soon):
			c.Fatal("no peer service got so many requests")
		}
		c.compute.Kill()
		h.goOn <- false
		c.ways.haltNever()
		if c.underWay() == "" {
			c.Errorf("killed at request %d: nothing is under way", number)
		}
		c.compute.Restart()
		c.rests()
		c.agrees()
		c.are("ACTIVE", "ACTIVE", "ACTIVE")
		c.clear()
	}
}
