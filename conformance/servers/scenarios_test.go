package servers

import (
	"errors"
	"sync"

	"github.com/berthcloud/berth/internal/rest"
)

// A scenario is an operation on servers. It creates the objects that it needs, and returns a
// function that executes the operation, and one that checks its result.
type scenario func(c *cloud) (do, look func())

// rate is the guarantee of the scenarios' ports, in kbit/s.
const rate = 1000

// scenarios are the operations during which something fails.
var scenarios = map[string]scenario{
	"Boot": func(c *cloud) (do, look func()) {
		p := c.newPort(rate)
		return func() { c.send("POST", "/servers", c.wish(1, "", p)) }, func() { c.are("ACTIVE") }
	},
	"Several": func(c *cloud) (do, look func()) {
		return func() { c.send("POST", "/servers", c.wish(3, "")) }, func() { c.are("ACTIVE", "ACTIVE", "ACTIVE") }
	},
	"Reschedule": func(c *cloud) (do, look func()) {
		p := c.newPort(rate)
		c.failFirst()
		return func() { c.send("POST", "/servers", c.wish(1, "", p)) }, func() { c.are("ACTIVE") }
	},
	"Delete": func(c *cloud) (do, look func()) {
		id := c.booted("", c.newPort(rate))
		return func() { c.send("DELETE", "/servers/"+id, nil) }, func() { c.are() }
	},
	"Attach": func(c *cloud) (do, look func()) {
		id, p := c.booted(""), c.newPort(rate)
		return func() { c.attach(id, rest.Object{"port_id": p}) }, func() { c.has(id, 2) }
	},
	"AttachNetwork": func(c *cloud) (do, look func()) {
		id := c.booted("")
		return func() { c.attach(id, rest.Object{"net_id": c.network}) }, func() { c.has(id, 2) }
	},
	"Detach": func(c *cloud) (do, look func()) {
		p := c.newPort(rate)
		id := c.booted("", p)
		return func() { c.send("DELETE", "/servers/"+id+"/os-interface/"+p, nil) }, func() { c.has(id, 1) }
	},
	"DetachOwn": func(c *cloud) (do, look func()) {
		id := c.booted("", c.newPort(rate))
		own := ""
		for _, p := range c.ports() {
			if !c.given[p.ID] {
				own = p.ID
			}
		}
		return func() { c.send("DELETE", "/servers/"+id+"/os-interface/"+own, nil) }, func() { c.has(id, 1) }
	},
	"DeleteWhileItIsBuilt": func(c *cloud) (do, look func()) {
		p := c.newPort(rate)
		return func() {
			c.send("POST", "/servers", c.wish(1, "", p))
			for _, v := range c.listed() {
				c.send("DELETE", "/servers/"+v.ID, nil)
			}
		}, func() { c.are() }
	},
}

// booted boots a server until it is active, and the only one. With a short time-out the service may
// need more than one attempt.
func (c *cloud) booted(ports ...string) string {
	c.Helper()
	for range 3 {
		id := c.boot(1, ports...)
		c.rests()
		if all := c.vms(); len(all) == 1 && all[0].Status == "ACTIVE" {
			return id
		}
		c.send("DELETE", "/servers/"+id, nil)
		c.rests()
	}
	c.Fatal("no server can be booted")
	return ""
}

func (c *cloud) attach(server string, what rest.Object) rest.Answer {
	return c.send("POST", "/servers/"+server+"/os-interface", rest.Object{"interfaceAttachment": what})
}

// failFirst makes the first host that builds a server fail, and no other.
func (c *cloud) failFirst() {
	var mu sync.Mutex
	first := ""
	c.failing(func(host, verb, _ string) error {
		if verb != "build" {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if first == "" {
			first = host
		}
		if host == first {
			return errors.New("it cannot")
		}
		return nil
	})
}

// failing sets a function that returns the error of hosts' work, nil for none.
func (c *cloud) failing(how func(host, verb, server string) error) {
	if how == nil {
		c.fails.Store(nil)
		return
	}
	c.fails.Store(&how)
}

// listed are the servers, none when the service does not answer.
func (c *cloud) listed() (all []vm) {
	a := c.send("GET", "/servers/detail?all_tenants=1", nil)
	if a.Status != 200 {
		return nil
	}
	return decoded[struct{ Servers []vm }](c, a).Servers
}

// are reports an error unless the servers have these states.
func (c *cloud) are(want ...string) {
	c.Helper()
	var got []string
	for _, v := range c.vms() {
		got = append(got, v.Status)
		if v.Fault.Message != "" && len(want) > 0 && want[0] != "ERROR" {
			c.Errorf("server %s: %s\n%s", v.ID, v.Fault.Message, v.Fault.Details)
		}
	}
	same(c, "the states of servers", want, got)
}

// has reports an error unless a server has want ports.
func (c *cloud) has(server string, want int) {
	c.Helper()
	n := 0
	for _, p := range c.ports() {
		if p.Device == server {
			n++
		}
	}
	same(c, "the number of ports", want, n)
}
