package selection

import (
	"math/rand/v2"
	"slices"

	"github.com/berthcloud/berth/compute/request"
)

// A Chooser chooses hosts for some servers. It is for one goroutine.
type Chooser struct {
	wanted   Wanted
	settings Settings
	draw     *rand.Rand
	hosts    []*state
	offer    *Offer
	taken    []Claim // one of each server that has one

	// What follows is about the current server.
	ordered   []*state // the hosts that will do, the best first; nil until Next
	remaining []*state // those of them that were not tried yet
	line      []Claim  // those not tried yet of the host that is being tried
	last      Claim
	requested bool // last is with the caller, and reserved
	// Why hosts will not do for it, a line each: filtered, with too little left, refused.
	filtered, tight, refused []string
}

// A state is a host while servers are being placed. Its Servers and Busy are those of the Host and
// what was Taken; choosers share the Host itself.
type state struct {
	*Host
	Servers    []string
	Busy       int
	candidates []Candidate
	weight     float64
}

// New returns a chooser for servers among the hosts of an offer. It ignores hosts that the offer
// does not name, and does not modify the list.
func New(w Wanted, hosts []Host, o *Offer, s Settings) *Chooser {
	c := &Chooser{wanted: w, settings: s, draw: rand.New(rand.NewPCG(s.Seed, 0)), offer: o}
	states := make([]state, 0, len(hosts))
	for i, candidates := range o.byHost(hosts) {
		if len(candidates) > 0 {
			h := &hosts[i]
			states = append(states, state{
				Host: h, Servers: slices.Clip(h.Servers), Busy: h.Busy, // Taken appends to the list
				candidates: candidates,
			})
		}
	}
	c.hosts = make([]*state, len(states))
	for i := range states {
		c.hosts[i] = &states[i]
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
// false when there is none left. The claim counts as used until another one is requested, or
// Release.
func (c *Chooser) Next() (Claim, bool) {
	if c.Done() {
		return Claim{}, false
	}
	if c.requested {
		c.Refuse("placement refused the claim of " + c.last.String())
	}
	if c.ordered == nil {
		c.ordered = c.order()
		c.remaining = c.ordered
	}
	for {
		for len(c.line) == 0 {
			if len(c.remaining) == 0 {
				return Claim{}, false
			}
			c.line, c.remaining = c.claims(c.remaining[0]), c.remaining[1:]
		}
		c.last, c.line = c.line[0], c.line[1:]
		if c.requested = c.offer.reserve(c.last.Amounts); c.requested {
			return c.last, true
		}
	}
}

// Refuse says why the claim that Next returned last will not do, when it was not
// placement that did not take it.
func (c *Chooser) Refuse(why string) {
	c.refused = append(c.refused, "host "+c.last.Host+": "+why)
	c.Release()
}

// Release takes back the reservation of the claim that Next returned last, unless it was Taken.
func (c *Chooser) Release() {
	if c.requested {
		c.offer.giveBack(c.last.Amounts)
	}
	c.requested = false
}

// Taken says that placement took the claim that Next returned last.
func (c *Chooser) Taken() {
	server := c.Server()
	c.taken = append(c.taken, c.last)
	c.line, c.requested = nil, false
	if !c.Done() {
		c.remaining, c.ordered = nil, nil
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
// each with its candidates one after the other. As in Nova, hosts are weighed again for them only
// when there is more than one server.
func (c *Chooser) Alternates() []Claim {
	if c.wanted.Forced {
		return nil
	}
	ordered := c.ordered
	if ordered == nil || len(c.wanted.Servers) > 1 {
		ordered = c.order()
	}
	others := slices.DeleteFunc(slices.Clone(ordered), func(h *state) bool {
		return slices.ContainsFunc(c.taken, func(t Claim) bool { return t.Provider == h.Provider })
	})
	var all []Claim
	for most := c.settings.Attempts - 1; most > 0 && len(others) > 0; others = others[1:] {
		if claims := c.claims(others[0]); len(claims) > 0 {
			all = append(all, claims...)
			most--
		}
	}
	return all
}

// claims returns the claims of a host, up to the bound, for which there is enough left.
func (c *Chooser) claims(h *state) (all []Claim) {
	c.offer.mu.Lock()
	defer c.offer.mu.Unlock()
	for _, candidate := range h.candidates {
		if len(all) == c.settings.Candidates {
			break
		}
		if c.offer.fits(candidate.Amounts) {
			candidate.Mappings = c.wanted.own(candidate.Mappings)
			all = append(all, Claim{Host: h.Name, Node: h.Node, Provider: h.Provider, Candidate: candidate})
		}
	}
	if len(all) == 0 {
		c.tight = append(c.tight, "host "+h.Name+": the servers before this one leave not enough of it")
	}
	return all
}

// own names the groups as the server does.
func (w *Wanted) own(m request.Mappings) request.Mappings {
	if len(w.Suffixes) == 0 {
		return m
	}
	named := make(request.Mappings, len(m))
	for suffix, providers := range m {
		if name, ok := w.Suffixes[suffix]; ok {
			suffix = name
		}
		named[suffix] = providers
	}
	return named
}

// Nowhere returns whether no host has a candidate but the one that the servers are to leave.
func (c *Chooser) Nowhere() bool {
	return !slices.ContainsFunc(c.hosts, func(h *state) bool { return h.Name != c.wanted.Ignored })
}

// NoValidHost returns the fault for servers that have no host, with the reasons of the
// hosts that would not do for the current one.
func (c *Chooser) NoValidHost() *request.NoValidHost {
	if c.offer.Empty() {
		return &request.NoValidHost{}
	}
	return &request.NoValidHost{
		Reason: "There are not enough hosts available.", Details: slices.Concat(c.filtered, c.tight, c.refused),
	}
}
