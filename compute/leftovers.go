package compute

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// leaveAt notes that a host is to destroy what it has of a server that it is not to have any more.
// A host that says that it is done, or a build of the same server there, ends that.
func (c *change) leaveAt(host string, server ID) error {
	if host == "" {
		return nil
	}
	there, err := Rows[LeftoverRow](c, Where(ByServer, server), Where(ByHost, host))
	if err != nil || len(there) > 0 {
		return err
	}
	return c.Insert(&LeftoverRow{ID: newID(), Server: server, Host: host, CreatedAt: c.at})
}

// destroyed takes notice that a host has destroyed a leftover, and reports whether the result was
// that of one. A host that fails tries again, without being told to.
func (c *change) destroyed(host string, r Result) (bool, error) {
	rows, err := Rows[LeftoverRow](c, Where(ByID, r.Event), Where(ByHost, host), Where(ByServer, r.Server))
	if err != nil || len(rows) == 0 || r.Trouble != "" {
		return len(rows) > 0, err
	}
	_, err = c.Remove(&LeftoverRow{}, Where(ByID, r.Event))
	return true, err
}

// A foundServer is a server that a host has without being asked to.
type foundServer struct {
	server ID
	host   string // that is to have it, "" for none
}

// reap has a host destroy those of the servers that it has unasked which are known to have been
// deleted, and returns the others. Nothing is known of a server that another database has, or
// that was made after the backup from which this one comes: it may be in use.
func (c *change) reap(host string, unknown []ID) (others []foundServer, err error) {
	if len(unknown) == 0 {
		return nil, nil
	}
	deleted, err := Rows[GoneRow](c, Where(ByID, unknown...))
	if err != nil {
		return nil, err
	}
	servers, err := Rows[ServerRow](c, Where(ByID, unknown...))
	if err != nil {
		return nil, err
	}
	at := make(map[ID]string, len(servers))
	for _, s := range servers {
		at[s.ID] = s.Host
	}
	gone := make(map[ID]bool, len(deleted))
	for _, g := range deleted {
		gone[g.ID] = true
		if err := c.leaveAt(host, g.ID); err != nil {
			return nil, err
		}
	}
	for _, id := range unknown {
		if now, is := at[id]; !gone[id] && (!is || now != host) {
			others = append(others, foundServer{id, now})
		}
	}
	return others, nil
}

// findings are the servers that hosts have unasked, by host, as they were logged.
type findings struct {
	mu  sync.Mutex
	all map[string][]foundServer
}

// found logs the servers that a host has unasked, each once.
func (s *Service) found(ctx context.Context, host string, now []foundServer) {
	s.findings.mu.Lock()
	before := s.findings.all[host]
	if s.findings.all[host] = now; len(now) == 0 {
		delete(s.findings.all, host)
	}
	s.findings.mu.Unlock()
	for _, f := range now {
		if !slices.Contains(before, f) {
			s.log.WarnContext(ctx, "a host has a server that it is not asked to have: it is left alone", "host", host, "server", f.server, "host_of_server", f.host)
		}
	}
}

// UnknownServers returns how many servers the hosts have that nobody asked them to have, as they
// said to this process last.
func (s *Service) UnknownServers() (n int) {
	s.findings.mu.Lock()
	defer s.findings.mu.Unlock()
	for _, all := range s.findings.all {
		n += len(all)
	}
	return n
}

// reported refuses a host that has never reported: it may have been renamed, or ask the compute
// service of another cloud.
func reported(r Reader, host string) error {
	_, err := One[ServiceRow](r, Where(ByHost, host))
	if errors.Is(err, ErrNoRow) {
		return notFound("ComputeHostNotFound", "Compute host %s could not be found.", host)
	}
	return err
}
