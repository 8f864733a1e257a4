package ports

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// theServer is the server whose ports are changed.
const theServer = "5e57b85f-b017-419a-8745-9c406e149f9e"

// A request is what makes a change.
type request struct {
	method, path string
	body         any
}

func (r request) send(i *instance) (rest.Answer, error) { return i.Do(r.method, r.path, r.body) }

// must sends a request that has to succeed.
func (c *cloud) must(r request) {
	c.Helper()
	c.requests[0].Must(c, 200, r.method, r.path, r.body)
}

// changes are changes of a server's allocations: each creates its objects, and returns the request.
var changes = map[string]func(c *cloud) request{
	"PortUp":      func(c *cloud) request { return c.portChange(1000, 2000) },
	"PortDown":    func(c *cloud) request { return c.portChange(2000, 1000) },
	"NetworkUp":   func(c *cloud) request { return c.networkChange(1000, 2000) },
	"NetworkDown": func(c *cloud) request { return c.networkChange(2000, 1000) },
	"Remove": func(c *cloud) request {
		return request{"DELETE", "/v2.0/ports/" + c.bound(theServer, c.policy(1000)).ID, nil}
	},
	"Bind": func(c *cloud) request {
		p := c.newPort(c.policy(1000))
		c.claim(theServer, p, c.hosts[0], 50) // more was promised since
		return p.binding(theServer, c.hosts[0])
	},
}

// portChange has a bound port change its policy.
func (c *cloud) portChange(from, to int) request {
	p := c.bound(theServer, c.policy(from))
	return request{"PUT", "/v2.0/ports/" + p.ID, rest.Object{"port": rest.Object{"qos_policy_id": c.policy(to)}}}
}

// networkChange has a network change its policy, on which a server has two ports.
func (c *cloud) networkChange(from, to int) request {
	change := func(kbps int) request {
		return request{
			"PUT", "/v2.0/networks/" + c.network, rest.Object{"network": rest.Object{"qos_policy_id": c.policy(kbps)}},
		}
	}
	c.must(change(from))
	c.bound(theServer, "")
	c.bound(theServer, "")
	return change(to)
}

// TestKilledChanges kills the service at each of its requests to placement, before the request
// arrives and before the answer returns, for each kind of change. After a restart it repairs the
// state, and the change can be made. A sample has half of the kinds on SQLite, and one on
// database servers.
func TestKilledChanges(t *testing.T) {
	onEach(t, func(t *testing.T, kind server.DatabaseKind) {
		all := newCloud(t, kind, 1, nil)
		names := slices.Sorted(maps.Keys(changes))
		if kind == server.SQLite {
			names = sweep.Sample(t, names, 2)
		} else {
			names = sweep.Sample(t, names, len(names))
		}
		for _, name := range names {
			prepare := changes[name]
			t.Run(name, func(t *testing.T) {
				c := all.in(t)
				for number := 1; c.survives(prepare, number, false); number++ {
					if kind == server.SQLite {
						c.survives(prepare, number, true)
					}
				}
			})
		}
	})
}

// survives makes a change during which the service is killed at one of its requests to placement.
// It reports whether there was such a request.
func (c *cloud) survives(prepare func(*cloud) request, number int, after bool) (killed bool) {
	c.Helper()
	c.clear()
	r := prepare(c)
	c.agrees()
	var answer rest.Answer
	var err error
	killed = c.kills(number, after, func() { answer, err = r.send(c.requests[0]) })
	if killed {
		c.agrees()
		answer, err = r.send(c.requests[0])
	}
	made := err == nil &&
		(answer.Status/100 == 2 || killed && r.method == http.MethodDelete && answer.Status == http.StatusNotFound)
	if !made {
		c.Errorf("%s %s, killed at request %d (%t: %t): %d %s, %v", r.method, r.path, number, after, killed, answer.Status,
			answer.Body, err)
	}
	if !killed && number == 1 {
		c.Error("placement got no request")
	}
	c.agrees()
	if c.Failed() {
		c.Fatalf("that was killed at request %d (%t)", number, after)
	}
	return killed
}

// kills calls do, during which the first instance is killed and restarted, at one of its requests
// to placement. It reports whether there was such a request.
func (c *cloud) kills(number int, after bool, do func()) (killed bool) {
	c.Helper()
	c.way.haltAt(number, after)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		c.way.haltAt(0, false)
		return false
	case <-c.way.halts:
	}
	c.requests[0].Kill()
	c.way.goOn <- struct{}{}
	<-done
	c.requests[0].Restart()
	return true
}

// TestKilledSyncs kills the service at each of its requests that sync agents' devices to placement:
// of a new host, and then of other devices there. A sample has every third request.
func TestKilledSyncs(t *testing.T) {
	onEach(t, func(t *testing.T, kind server.DatabaseKind) {
		c := newCloud(t, kind, 1, nil)
		first, step := sweep.Every(t, 3)
		if kind != server.SQLite {
			first, step = 0, 7
		}
		for number, killed := 1+first, true; killed; number += step {
			name := rest.UUID("ff", number)
			c.places.Must(t, 200, "POST", "/resource_providers", rest.Object{"name": name})
			killed = c.kills(number, true, func() {
				c.requests[0].syncs(name, "br-a", "br-b")
				c.requests[0].syncs(name, "br-b", "br-c")
			})
			c.reports[name] = []string{"br-b", "br-c"}
			c.settles()
			delete(c.reports, name)
			agent := name + ":Open vSwitch agent"
			if diff := cmp.Diff([]string{name, agent, agent + ":br-b", agent + ":br-c"}, c.tree(name)); diff != "" {
				t.Errorf("killed at request %d: the providers are (-want +got):\n%s", number, diff)
			}
			if !killed && number == 1 {
				t.Error("placement got no request")
			}
		}
	})
}

// syncs reports an agent and waits until it is in placement, or the service has ended.
func (i *instance) syncs(host string, bridges ...string) {
	i.beat(host, bridges)
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if synced, err := i.synced(); synced || err != nil {
			return
		}
	}
}
