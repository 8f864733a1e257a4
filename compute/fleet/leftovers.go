package fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/berthcloud/berth/compute"
)

// An unlistedServer is a server that a host has and that is not in its list.
type unlistedServer struct {
	server compute.ID
	host   string // its host, "" for none
}

// destroyDeleted makes a host destroy those of its unlisted servers that are known to have been
// deleted, and returns the others. A server of another database, or one that was created after the
// backup from which this one was restored, is unknown here and may be in use.
func destroyDeleted(tx *compute.Tx, host string, unknown []compute.ID) (others []unlistedServer, err error) {
	if len(unknown) == 0 {
		return nil, nil
	}
	deleted, err := compute.Rows[compute.DeletedRow](tx, compute.Where(compute.ByID, unknown...))
	if err != nil {
		return nil, err
	}
	servers, err := compute.Rows[compute.ServerRow](tx, compute.Where(compute.ByID, unknown...))
	if err != nil {
		return nil, err
	}
	known, err := compute.Rows[compute.HostedRow](tx, compute.Where(compute.ByHost, host),
		compute.Where(compute.ByServer, unknown...))
	if err != nil {
		return nil, err
	}
	hostOf := make(map[compute.ID]string, len(servers))
	for _, s := range servers {
		hostOf[s.ID] = s.Host
	}
	isDeleted := make(map[compute.ID]bool, len(deleted))
	for _, g := range deleted {
		isDeleted[g.ID] = true
		if slices.ContainsFunc(known, func(row compute.HostedRow) bool { return row.Server == g.ID }) {
			continue
		}
		if err := tx.Insert(&compute.HostedRow{
			Server: g.ID, Host: host, DesiredState: compute.DesiredAbsent,
			Event: compute.NewID(), CreatedAt: tx.At,
		}); err != nil {
			return nil, err
		}
	}
	for _, id := range unknown {
		if at, known := hostOf[id]; !isDeleted[id] && (!known || at != host) {
			others = append(others, unlistedServer{id, at})
		}
	}
	return others, nil
}

// findings are the unlisted servers of hosts, by host, as they were logged.
type findings struct {
	mu  sync.Mutex
	all map[string][]unlistedServer
}

// logUnlisted logs the unlisted servers of a host, each once.
func (s *Service) logUnlisted(ctx context.Context, host string, cur []unlistedServer) {
	s.findings.mu.Lock()
	before := s.findings.all[host]
	if s.findings.all[host] = cur; len(cur) == 0 {
		delete(s.findings.all, host)
	}
	s.findings.mu.Unlock()
	for _, f := range cur {
		if !slices.Contains(before, f) {
			s.db.Rules.Log.WarnContext(ctx, "a host has a server that is not in its list: it is not touched", "host", host,
				"server", f.server, "host_of_server", f.host)
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
