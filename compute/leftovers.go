package compute

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// A unlistedServer is a server that a host has and that is not in its list.
type unlistedServer struct {
	server ID
	host   string // its host, "" for none
}

// destroyDeleted makes a host destroy those of its unlisted servers that are known to have been deleted, and
// returns the others. A server of another database, or one that was created after the backup from
// which this one was restored, is unknown here and may be in use.
func (c *change) destroyDeleted(host string, unknown []ID) (others []unlistedServer, err error) {
	if len(unknown) == 0 {
		return nil, nil
	}
	deleted, err := Rows[DeletedRow](c, Where(ByID, unknown...))
	if err != nil {
		return nil, err
	}
	servers, err := Rows[ServerRow](c, Where(ByID, unknown...))
	if err != nil {
		return nil, err
	}
	known, err := Rows[HostedRow](c, Where(ByHost, host), Where(ByServer, unknown...))
	if err != nil {
		return nil, err
	}
	at := make(map[ID]string, len(servers))
	for _, s := range servers {
		at[s.ID] = s.Host
	}
	isDeleted := make(map[ID]bool, len(deleted))
	for _, g := range deleted {
		isDeleted[g.ID] = true
		if slices.ContainsFunc(known, func(row HostedRow) bool { return row.Server == g.ID }) {
			continue
		}
		if err := c.Insert(&HostedRow{Server: g.ID, Host: host, Wish: WishGone, Event: NewID(), CreatedAt: c.At}); err != nil {
			return nil, err
		}
	}
	for _, id := range unknown {
		if now, is := at[id]; !isDeleted[id] && (!is || now != host) {
			others = append(others, unlistedServer{id, now})
		}
	}
	return others, nil
}

// findings are the servers that hosts have unasked, by host, as they were logged.
type findings struct {
	mu  sync.Mutex
	all map[string][]unlistedServer
}

// found logs the servers that a host has unasked, each once.
func (s *Service) found(ctx context.Context, host string, now []unlistedServer) {
	s.findings.mu.Lock()
	before := s.findings.all[host]
	if s.findings.all[host] = now; len(now) == 0 {
		delete(s.findings.all, host)
	}
	s.findings.mu.Unlock()
	for _, f := range now {
		if !slices.Contains(before, f) {
			s.rules.Log.WarnContext(ctx, "a host has a server that is not in its list: it is not touched", "host", host, "server", f.server, "host_of_server", f.host)
		}
	}
}

// UnknownServers returns how many unlisted servers the hosts have, by their last reports to this
// process.
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
