package selection

import (
	"math/rand/v2"
	"slices"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/placement"
)

// A Chooser chooses hosts for some servers. It is for one goroutine.
type Chooser struct {
	wanted   Wanted
	settings Settings
	draw     *rand.Rand
	hosts    []*state
	used     map[placement.UUID]map[string]Stock
	taken    []Claim // one of each server that has one
	line     []Claim // for the current server; nil: not computed yet
	last     Claim
	asked    bool     // last is with the caller
	refused  []string // why hosts will not do for it, a line each
	empty    bool     // placement had no candidate at all
}

// A state is a host while servers are being placed.
type state struct {
	Host
	candidates []Candidate
}

// New returns a chooser for servers among the hosts in placement's answer. It ignores hosts that
// the answer does not name.
func New(w Wanted, hosts []Host, a Answer, s Settings) *Chooser {
	c := &Chooser{wanted: w, settings: s, draw: rand.New(rand.NewPCG(s.Seed, 0)), used: map[placement.UUID]map[string]Stock{}, empty: len(a.Candidates) == 0}
	for i, candidates := range a.byHost(hosts) {
		if len(candidates) > 0 {
			h := hosts[i]
			h.Servers = slices.Clone(h.Servers)
			c.hosts = append(c.hosts, &state{h, candidates})
		}
	}
	for id, p := range a.Providers {
		stocks := make(map[string]Stock, len(p.Stocks))
		for class, s := range p.Stocks {
			stocks[class] = s
		}
		c.used[id] = stocks
	}
	if w.Group != nil {
		g := *w.Group
		g.Hosts = slices.Clone(g.Hosts)
		c.wanted.Group = &g
	}
	return c
}

// Done reports whether each server has a claim that was taken.
func (c *Chooser) Done() bool { return len(c.taken) == len(c.wanted.Servers) }

// Server returns the id of the server that Next is about, "" when all are Done.
func (c *Chooser) Server() string {
	if c.Done() {
		return ""
	}
	return c.wanted.Servers[len(c.taken)]
}

// Next returns the claim to try next for the current server: the one before was refused. It returns
// false when there is none left.
func (c *Chooser) Next() (Claim, bool) {
	if c.Done() {
		return Claim{}, false
	}
	if c.asked {
		c.refused = append(c.refused, "host "+c.last.Host+": placement refused the claim of "+c.last.String())
		c.asked = false
	}
	if c.line == nil {
		c.refused = nil
		c.line = c.queue(c.order(), len(c.hosts))
	}
	if len(c.line) == 0 {
		return Claim{}, false
	}
	c.last, c.line, c.asked = c.line[0], c.line[1:], true
	return c.last, true
}

// Refuse says why the claim that Next returned last will not do, when it was not
// placement that did not take it.
func (c *Chooser) Refuse(why string) {
	c.refused = append(c.refused, "host "+c.last.Host+": "+why)
	c.asked = false
}

// Taken says that placement took the claim that Next returned last.
func (c *Chooser) Taken() {
	server := c.Server()
	c.taken = append(c.taken, c.last)
	c.line, c.asked = nil, false
	for provider, classes := range c.last.Amounts {
		for class, n := range classes {
			if s, ok := c.used[placement.UUID(provider)][class]; ok {
				s.Used += n
				c.used[placement.UUID(provider)][class] = s
			}
		}
	}
	for _, h := range c.hosts {
		if h.Name == c.last.Host && h.Node == c.last.Node {
			h.Servers = append(h.Servers, server)
			h.Busy++
		}
	}
	if g := c.wanted.Group; g != nil {
		g.Hosts = append(g.Hosts, c.last.Host)
	}
}

// Claims returns the claims that were taken, in the order of the servers.
func (c *Chooser) Claims() []Claim { return c.taken }

// Alternates returns the claims to try for any of the servers when its host fails to build it: on
// as many other hosts as attempts are left, none of which was taken for another of the servers,
// each with its candidates one after the other.
func (c *Chooser) Alternates() []Claim {
	if c.wanted.Forced {
		return nil
	}
	c.refused = nil
	others := slices.DeleteFunc(c.order(), func(h *state) bool {
		return slices.ContainsFunc(c.taken, func(t Claim) bool { return t.Provider == h.Provider })
	})
	return c.queue(others, c.settings.Attempts-1)
}

// queue returns the claims of hosts, of so many hosts at most.
func (c *Chooser) queue(hosts []*state, most int) []Claim {
	line := []Claim{}
	for _, h := range hosts {
		if most <= 0 {
			break
		}
		n := len(line)
		for _, candidate := range h.candidates {
			if len(line)-n == c.settings.Candidates {
				break
			}
			if c.fits(candidate) {
				line = append(line, Claim{Host: h.Name, Node: h.Node, Provider: h.Provider, Candidate: candidate})
			}
		}
		if len(line) > n {
			most--
		} else {
			c.refuse(h, "the servers before this one leave not enough of it")
		}
	}
	return line
}

// fits reports whether the claims of the servers before leave enough for a candidate.
func (c *Chooser) fits(candidate Candidate) bool {
	for provider, classes := range candidate.Amounts {
		for class, n := range classes {
			if s, ok := c.used[placement.UUID(provider)][class]; ok && s.Used+n > s.Capacity {
				return false
			}
		}
	}
	return true
}

// NoValidHost returns the fault for servers that have no host, with the reasons of the
// hosts that would not do for the current one.
func (c *Chooser) NoValidHost() *request.NoValidHost {
	if c.empty {
		return &request.NoValidHost{}
	}
	return &request.NoValidHost{Reason: "There are not enough hosts available.", Details: slices.Clone(c.refused)}
}
