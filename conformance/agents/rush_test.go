package agents

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
)

// TestRush starts a thousand agents at once, fewer where a commit takes longer, or the number in
// the environment variable BERTH_TEST_AGENTS. Each costs placement a bounded number of requests,
// once: none when the network service restarts, and no writes when the agents do.
func TestRush(t *testing.T) {
	for kind, agents := range map[server.DatabaseKind]int{server.SQLite: 1000, server.MariaDB: 200} {
		if n := os.Getenv("BERTH_TEST_AGENTS"); n != "" {
			var err error
			if agents, err = strconv.Atoi(n); err != nil {
				t.Fatalf("BERTH_TEST_AGENTS: %v", err)
			}
		}
		t.Run(string(kind), func(t *testing.T) { testRush(t, newCrowd(t, agents, kind)) })
	}
}

func testRush(t *testing.T, c *crowd) {
	const (
		first  = 18 // requests for a host with an agent and two devices that are new
		again  = 8  // for one that exists
		shared = 20 // for all together: versions of the API; four traits, by each of four that are the first
	)
	idle, before := c.memory(c.networkA), c.requests()
	begin := time.Now()
	c.report(true)
	reported := time.Since(begin)
	c.awaits(2 * time.Minute)
	took, cost := time.Since(begin), c.requests().less(before)
	t.Logf("%d agents: reported in %.1f s, complete after %.1f s, %d requests to placement (%d that write); "+
		"the network service has %d MB, %d before; placement %d MB", c.hosts, reported.Seconds(), took.Seconds(), cost.all,
		cost.writes,
		c.memory(c.networkA), idle, c.memory(c.placesAt))
	c.complete("2", "br-a", "br-b")
	for _, network := range []string{"PHYSNET0", "PHYSNET1"} {
		if n := c.promising(network); n != c.hosts {
			t.Errorf("%d devices can promise something on %s, want %d", n, network, c.hosts)
		}
	}
	if cost.all > first*c.hosts+shared {
		t.Errorf("placement got %d requests of each agent, want %d", cost.all/c.hosts, first)
	}

	costs := func(what string, most tally, do func()) {
		t.Helper()
		before := c.requests()
		do()
		if cost := c.requests().less(before); cost.all > most.all || cost.writes > most.writes {
			t.Errorf("%s costs placement %d requests, %d of which write; want %d and %d", what, cost.all, cost.writes, most.all,
				most.writes)
		}
	}
	costs("a heartbeat of each agent", tally{}, func() { c.report(false) })
	costs("a new start of the network service", tally{all: 1}, func() { // it reads placement's versions
		c.networks.Restart()
		c.report(false)
	})
	costs("a new start of each agent", tally{again*c.hosts + shared, shared}, func() {
		c.report(true)
		c.awaits(2 * time.Minute)
	})
	c.places.Restart() // its counters restart
	costs("a new start of placement", tally{}, func() { c.report(false) })
	c.complete("2", "br-a", "br-b")
}

// TestRushWithUpstream has the distribution's Placement in place of ours.
func TestRushWithUpstream(t *testing.T) {
	c := &crowd{TB: t, hosts: 20, places: server.StartUpstream(t, server.Options{})}
	c.networks = server.StartNetwork(t, c.places.URL(), server.Options{})
	c.connect()
	for _, bridges := range [][]string{{"br-a", "br-b"}, {"br-b", "br-c"}} {
		c.report(true, bridges...)
		c.beats(bridges...)
		c.complete("", bridges...)
	}
}

// beats has all agents report until they are in placement.
func (c *crowd) beats(bridges ...string) {
	c.Helper()
	for end := time.Now().Add(2 * time.Minute); c.synced() < c.hosts; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			c.Fatalf("%d of %d agents are in placement", c.synced(), c.hosts)
		}
		c.each(func(i int) {
			_, _ = c.try(c.networks.URL(), http.MethodPost, "/berth/v1/heartbeats", heartbeat(i, false, bridges...))
		})
	}
}

// TestKilledServices ends placement, and then the network service, in the middle of a rush. The
// next heartbeats complete the interrupted syncs, whatever was lost.
func TestKilledServices(t *testing.T) {
	c := newCrowd(t, 60, server.SQLite)
	for i, kill := range []*server.Server{c.places, c.networks, c.places, c.networks} {
		bridges := []string{"br-x", fmt.Sprint("br-", i)}
		c.report(false, bridges...)
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			if n := c.synced(); 0 < n && n < c.hosts {
				break // some are through and some are not
			}
		}
		kill.Kill()
		c.each(func(i int) {
			_, _ = c.try(c.networks.URL(), http.MethodPost, "/berth/v1/heartbeats", heartbeat(i, false, bridges...))
		})
		kill.Restart()
		c.beats(bridges...)
		c.complete("", bridges...)
	}
}
