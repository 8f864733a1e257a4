package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestFailingPeers makes a peer service fail from each of the service's requests to it on, in
// each of some ways, until the service has no further retries. After the peer service's recovery
// the state is repaired. A sample has one of the ways for each scenario, and
// every third request.
func TestFailingPeers(t *testing.T) {
	t.Parallel()
	var names []string
	kinds := []string{late, refused, unavailable}
	for i, s := range []string{"Boot", "Attach", "Delete", "Detach"} {
		for k := range kinds {
			names = append(names, s+kinds[(i+k)%len(kinds)])
		}
	}
	names = sweep.Sample(t, names, len(kinds))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(kindOf(a), kindOf(b)) })
	atOnce(t, names, func(t *testing.T, name string) {
		kind, n := kindOf(name), berths(t)
		if kind == late {
			n.patience = 1
		}
		c := newCloudWith(t, 2, n)
		for _, to := range []string{"placement", "network"} {
			first, step := sweep.Every(t, 3)
			number := 1 + first
			for c.bears(scenarios[strings.TrimSuffix(name, kind)], number, trouble{to, kind}) {
				number += step
			}
			t.Logf("%s failed from every %d. request before the %d. on", to, step, number)
		}
	})
}

// kindOf is the kind of the trouble that a test is about.
func kindOf(name string) string {
	for _, kind := range []string{late, refused, lands, slow} {
		if strings.HasSuffix(name, kind) {
			return kind
		}
	}
	return unavailable
}

// bears runs a scenario while a peer service fails from some request on. It reports whether there
// was such a request.
func (c *cloud) bears(s scenario, number int, t trouble) (met bool) {
	c.Helper()
	c.clear()
	do, look := s(c)
	c.ways.failFrom(number, t)
	do()
	c.halted()
	met = c.ways.heal()
	c.ways.landing.Wait()
	c.toPlaces.reopen(c)
	c.toNets.reopen(c)
	c.lapse()
	c.wake()
	c.rests()
	c.agreesTwice()
	if t.kind == slow || !met && t.kind != late && t.kind != lands { // of those that are impatient any request may fail
		look()
	}
	if c.Failed() {
		c.Fatalf("that was trouble from request %d to %s on: %t", number, t.to, met)
	}
	return met
}

// halted waits until no operation is under way, or all of them are paused.
func (c *cloud) halted() {
	c.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		var n int
		err := c.rows.QueryRowContext(context.Background(),
			"SELECT count(*) FROM operations WHERE worker NOT IN ('', 'unanswered') OR lease IS NULL").Scan(&n)
		if err == nil && n == 0 {
			return
		}
		if time.Now().After(end) {
			c.Errorf("%d operations are neither over nor put off, %v: %s", n, err, c.underWay())
			return
		}
	}
}

// meanwhile are changes of a port that a server is booted with.
var meanwhile = map[string]func(c *cloud, port string){
	"MorePromised": func(c *cloud, port string) { c.change(port, c.policy(2*rate)) },
	"LessPromised": func(c *cloud, port string) { c.change(port, c.policy(rate/2)) },
	"NoPolicy":     func(c *cloud, port string) { c.change(port, nil) },
	"Deleted":      func(c *cloud, port string) { c.nets.Must(c, 204, "DELETE", "/v2.0/ports/"+port, nil) },
}

// change sets another policy of a port, as soon as there is no concurrent change.
func (c *cloud) change(port string, policy any) {
	c.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		a, err := c.nets.Do("PUT", "/v2.0/ports/"+port, rest.Object{"port": rest.Object{"qos_policy_id": policy}})
		if err == nil && a.Status == 200 {
			return
		}
		if err != nil || a.Status != 409 || time.Now().After(end) {
			c.Errorf("changing port %s: %d %s, %v", port, a.Status, a.Body, err)
			return
		}
	}
}

// TestPortsChangeMeanwhile changes a port, or deletes it, at each request for booting a server with
// it. A sample has two of the four changes.
func TestPortsChangeMeanwhile(t *testing.T) {
	t.Parallel()
	names := sweep.Sample(t, []string{"MorePromised", "LessPromised", "NoPolicy", "Deleted"}, 2)
	atOnce(t, names, func(t *testing.T, name string) {
		c := newCloud(t, 2)
		for number, met := 1, true; met; number++ {
			c.clear()
			p := c.newPort(rate)
			met = c.halts("", number, true, func() { c.send("POST", "/servers", c.wish(1, "", p)) }, func(h *halt, _ string) {
				meanwhile[name](c, p)
				h.goOn <- true
			})
			c.agrees()
			if c.Failed() {
				t.Fatalf("that was at request %d: %s", number, fmt.Sprint(c.vms()))
			}
		}
	})
}

// TestDyingHosts has hosts end while they build a server: it is rebuilt on another one, and is in
// error when there is none. When they are restarted they remove what they had begun.
func TestDyingHosts(t *testing.T) {
	t.Parallel()
	c := newCloud(t, 2)
	building, dead := make(chan string), make(chan struct{})
	c.failing(func(host, verb, _ string) error {
		if verb == "build" && dead != nil {
			building <- host
			<-dead
			return fmt.Errorf("%s has died", host)
		}
		return nil
	})
	p := c.newPort(rate)
	id := c.boot(1, "", p)
	for range c.hosts {
		c.dies(<-building, dead)
	}
	c.rests()
	if got := c.vms(); len(got) != 1 || got[0].ID != id || got[0].Status != "ERROR" ||
		!strings.HasPrefix(got[0].Fault.Message, "Exceeded maximum number of retries.") {
		t.Errorf("both hosts died with the server: %+v", got)
	}
	c.failing(nil)
	for _, h := range c.hosts {
		c.run(h)
	}
	c.agrees()
	c.clear()
}

// dies ends a host, which never reports the result of its work.
func (c *cloud) dies(host string, dead chan struct{}) {
	c.Helper()
	c.running[host].end()
	dead <- struct{}{}
	<-c.running[host].ended
	delete(c.running, host)
}
