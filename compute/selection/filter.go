package selection

import (
	"fmt"
	"slices"
)

// passes reports whether a host will do for the current server, and why not.
func (c *Chooser) passes(h *state) (bool, string) {
	if h.Name == c.wanted.Ignored {
		return false, "the server is to leave it"
	}
	if why, refused := c.wanted.Refused[h.Name]; refused {
		return false, "it has refused the server: " + why
	}
	if c.wanted.Forced {
		return true, ""
	}
	switch {
	case !h.Enabled:
		return false, "its compute service is disabled"
	case !h.Up:
		return false, "its compute service is down"
	case len(c.wanted.Same) > 0 && !overlap(h.Servers, c.wanted.Same):
		return false, "it has none of the servers of the hint same_host"
	case overlap(h.Servers, c.wanted.Different):
		return false, "it has a server of the hint different_host"
	}
	return c.together(h)
}

// together reports whether the server's group allows it on a host.
func (c *Chooser) together(h *state) (bool, string) {
	g := c.wanted.Group
	if g == nil {
		return true, ""
	}
	switch g.Policy {
	case Affinity:
		if len(g.Hosts) > 0 && !slices.Contains(g.Hosts, h.Name) {
			return false, "other servers of its affinity group are elsewhere"
		}
	case AntiAffinity:
		existing := shared(h.Servers, g.Members)
		if existing >= max(1, g.Most) && !slices.Contains(h.Servers, c.Server()) {
			return false, fmt.Sprintf("it has %d servers of its anti-affinity group already", existing)
		}
	}
	return true, ""
}

// shared is how many ids are in both lists.
func shared(a, b []string) (n int) {
	for _, id := range a {
		if slices.Contains(b, id) {
			n++
		}
	}
	return n
}

func overlap(a, b []string) bool { return shared(a, b) > 0 }
