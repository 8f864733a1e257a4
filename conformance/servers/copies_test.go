package servers

import (
	"fmt"
	"sync"
)

// Copies are the servers' disks on hosts. The one that is left of a server is not to be destroyed,
// unless its loss was requested.
type copies struct {
	mu    sync.Mutex
	of    map[string]map[string]bool // hosts with a copy, by server that is looked at
	wrong []string
}

// keep begins to look at a server, which is on a host.
func (c *copies) keep(server, host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]map[string]bool{}
	}
	c.of[server] = map[string]bool{host: true}
}

// give ends that: what the server has may be lost.
func (c *copies) give(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, server)
}

// did notes what a host is about to do with a server.
func (c *copies) did(host, verb, server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.of[server]
	switch {
	case all == nil:
	case verb == "build":
		all[host] = true
	case verb == "destroy":
		if delete(all, host); len(all) == 0 {
			c.wrong = append(c.wrong,
				fmt.Sprintf("%s destroyed the last copy of server %s, which was not requested", host, server))
		}
	}
}

// complaints returns what was destroyed.
func (c *copies) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}
