package servers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/rest"
)

// A move is something done with a server that has ports and runs on one of two hosts.
type move struct {
	begin func(c *cloud, id string) // what comes before, nil for nothing
	do    func(c *cloud, id string)
	want  string // the state of the server, "" for none
	moved bool   // whether it has changed its host since it was booted
	// risky says that the server is in error on a host that dies while it builds it: there is no way
	// back.
	risky bool
	// destroys says that the disk of the server is lost with it.
	destroys bool
	// ends says that it may also be over before its way back is requested: the server has moved then.
	ends bool
}

// moves are those during which something fails.
var moves = map[string]move{
	"Resize":           {do: resize, want: "VERIFY_RESIZE", moved: true},
	"ResizeFails":      {begin: failBuild, do: resize, want: "ACTIVE"},
	"ResizeConfirmed":  {begin: resize, do: confirm, want: "ACTIVE", moved: true},
	"ResizeReverted":   {begin: resize, do: revert, want: "ACTIVE"},
	"ResizeDeleted":    {begin: resize, do: remove, destroys: true},
	"Migrate":          {do: migrate, want: "VERIFY_RESIZE", moved: true},
	"MigrateConfirmed": {begin: inTurnOf(stop, migrate), do: confirm, want: "SHUTOFF", moved: true},
	"MigrateReverted":  {begin: inTurnOf(stop, migrate), do: revert, want: "SHUTOFF"},
	"Live":             {do: live, want: "ACTIVE", moved: true},
	"LivePaused":       {begin: pause, do: live, want: "PAUSED", moved: true},
	"Suspend":          {do: suspend, want: "SUSPENDED"},
	"LiveFails":        {begin: failBuild, do: live, want: "ACTIVE"},
	"LiveAborted":      {do: inTurnOf(live, abort), want: "ACTIVE", ends: true},
	"LiveCompleted":    {do: inTurnOf(live, complete), want: "ACTIVE", moved: true},
	"LiveDeleted":      {do: inTurnOf(live, remove), destroys: true},
	"Evacuate":         {begin: kill, do: evacuate, want: "ACTIVE", moved: true, destroys: true, risky: true},
	"Rebuild":          {do: rebuild, want: "ACTIVE", destroys: true, risky: true},
	"Shelve":           {do: shelve, want: "SHELVED_OFFLOADED", moved: true, destroys: true},
	"Unshelve":         {begin: shelve, do: unshelve, want: "ACTIVE", ends: true, destroys: true},
	"ShelvedDeleted":   {begin: shelve, do: remove, destroys: true},
}

// The requests of moves. Any answer will do, and none.

func resize(c *cloud, id string)   { c.act(id, "resize", rest.Object{"flavorRef": "larger"}) }
func migrate(c *cloud, id string)  { c.act(id, "migrate", nil) }
func confirm(c *cloud, id string)  { c.act(id, "confirmResize", nil) }
func revert(c *cloud, id string)   { c.act(id, "revertResize", nil) }
func stop(c *cloud, id string)     { c.act(id, "os-stop", nil) }
func pause(c *cloud, id string)    { c.act(id, "pause", nil) }
func suspend(c *cloud, id string)  { c.act(id, "suspend", nil) }
func shelve(c *cloud, id string)   { c.act(id, "shelve", nil) }
func unshelve(c *cloud, id string) { c.act(id, "unshelve", nil) }
func evacuate(c *cloud, id string) { c.act(id, "evacuate", rest.Object{}) }
func rebuild(c *cloud, id string)  { c.act(id, "rebuild", rest.Object{"imageRef": fakehosts.Image}) }
func remove(c *cloud, id string)   { c.send("DELETE", "/servers/"+id, nil) }
func live(c *cloud, id string) {
	c.act(id, "os-migrateLive", rest.Object{"host": nil, "block_migration": "auto"})
}

// abort aborts a live migration.
func abort(c *cloud, id string) {
	c.untilAccepted(id, "DELETE", "", nil)
}

// complete completes a live migration that is running.
func complete(c *cloud, id string) {
	c.untilAccepted(id, "POST", "/action", rest.Object{"force_complete": nil})
}

// untilAccepted sends a request about a live migration until it is accepted or the migration is
// over.
func (c *cloud) untilAccepted(id, method, path string, body any) {
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(time.Millisecond) {
		a := c.send("GET", "/os-migrations", nil)
		if a.Status != 200 {
			continue // it is killed, or its request fails
		}
		all := decoded[struct{ Migrations []migration }](c, a).Migrations
		i := slices.IndexFunc(all, func(m migration) bool { return m.Server == id })
		if i < 0 || slices.Contains([]string{"completed", "error", "cancelled"}, all[i].Status) {
			return
		}
		if c.send(method, fmt.Sprintf("/servers/%s/migrations/%d%s", id, all[i].Number, path), body).Status == 202 {
			return
		}
	}
}

// kill has the host of a server die.
func kill(c *cloud, id string) {
	for _, v := range c.vms() {
		if v.ID == id {
			c.stops(v.At())
		}
	}
}

// inTurnOf does two things, the second when the server has been stopped if that is the first.
func inTurnOf(first, second func(*cloud, string)) func(*cloud, string) {
	return func(c *cloud, id string) {
		first(c, id)
		for end := time.Now().Add(soon); c.isIn(id, "powering-off"); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				c.Errorf("server %s does not stop", id)
				return
			}
		}
		second(c, id)
	}
}

// isIn reports whether a server has a task.
func (c *cloud) isIn(id, task string) bool {
	return slices.ContainsFunc(c.listed(), func(v vm) bool { return v.ID == id && v.Task != nil && *v.Task == task })
}

// act requests an action on a server.
func (c *cloud) act(id, action string, how any) {
	c.send("POST", "/servers/"+id+"/action", rest.Object{action: how})
}

// failBuild makes the next build of a host fail.
func failBuild(c *cloud, _ string) {
	var failed atomic.Bool
	c.failing(func(_, verb, _ string) error {
		if verb == "build" && failed.CompareAndSwap(false, true) {
			return errors.New("it cannot be built")
		}
		return nil
	})
}

// The ports of servers that are moved.
var portSets = map[string]func(c *cloud) []string{
	"Normal": func(c *cloud) []string { return []string{c.newPort(rate)} },
	"Direct": func(c *cloud) []string { return []string{c.newPortOf("direct", rate)} },
	"Plain":  func(c *cloud) []string { return []string{c.newPortOf("normal", 0), ""} },
	"All": func(c *cloud) []string {
		return []string{
			"", c.newPortOf("direct", rate), c.newPort(rate), c.newPortOf("normal", 0), c.newPortOf("direct", rate),
		}
	},
}

// with is the scenario of a move of a server that has ports.
func (m move) with(ports func(*cloud) []string) scenario {
	return func(c *cloud) (do, look func()) {
		id := c.booted(ports(c)...)
		c.delayed[id] = c.allocated(id)
		from := c.vms()[0].At()
		if !m.destroys {
			c.copies.keep(id, from)
		}
		if m.begin != nil {
			m.begin(c, id)
			c.rests()
		}
		do = func() { m.do(c, id) }
		return do, func() {
			if m.want == "" {
				c.are()
				return
			}
			c.are(m.want)
			v := c.vms()[0]
			if moved := v.At() != from; moved != m.moved && (!m.ends || !moved) {
				c.Errorf("server %s is on %q, it was on %q", id, v.At(), from)
			}
		}
	}
}

// A variant is a move of a server with some ports, during which something fails that concerns a
// peer service.
type variant struct{ move, ports, to string }

func (v variant) String() string { return v.move + v.ports + " " + v.to }

func (v variant) scenario() scenario { return moves[v.move].with(portSets[v.ports]) }

// variants are all of them, the ports of the peer services in the list being different.
func variants() (all []variant) {
	sets := slices.Sorted(maps.Keys(portSets))
	for shift := range sets {
		for i, name := range slices.Sorted(maps.Keys(moves)) {
			all = append(all, variant{move: name, ports: sets[(i+shift)%len(sets)]})
		}
	}
	return all
}

// stops has a host die, which is known.
func (c *cloud) stops(host string) {
	c.Helper()
	c.running[host].end()
	<-c.running[host].ended
	delete(c.running, host)
	c.forceDown(host, true)
}

// forceDown says that a host is down, or that it may be up.
func (c *cloud) forceDown(host string, down bool) {
	c.Helper()
	var all struct {
		Services []struct{ ID, Host string }
	}
	c.address.Read(c, "/os-services", &all)
	for _, s := range all.Services {
		if s.Host == host {
			c.address.Must(c, 200, "PUT", "/os-services/"+s.ID, rest.Object{"forced_down": down})
		}
	}
}

// revives has all hosts run that do not, and reports whether there were some.
func (c *cloud) revives() (some bool) {
	c.Helper()
	for _, h := range c.hosts {
		if !c.lives(h.Name) {
			c.forceDown(h.Name, false)
			c.run(h)
			if err := c.services.Beat(c.Context(), h); err != nil {
				c.Error(err)
			}
			some = true
		}
	}
	return some
}

// agreesTwice compares the records while hosts are dead, and when they are back.
func (c *cloud) agreesTwice() {
	c.Helper()
	c.failing(nil)
	c.agrees()
	if c.revives() {
		c.agrees()
	}
}
