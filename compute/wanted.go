package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// Wanted is the desired state of a server on a host, and Result the result of an event there.
type (
	Wanted = hostlist.Server
	Result = hostlist.Result
)

// Wanted returns the list of servers of a host in order of creation, followed by those that it must destroy. A
// host that has never reported has none.
func (s *Service) Wanted(ctx context.Context, host string) (all []Wanted, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = s.wantedAt(r, host)
		return err
	})
	return all, err
}

func (s *Service) wantedAt(r Reader, host string) ([]Wanted, error) {
	if err := reported(r, host); err != nil {
		return nil, err
	}
	return s.wantedOf(r, host)
}

func (s *Service) wantedOf(r Reader, host string) (all []Wanted, err error) {
	hosted, err := Rows[HostedRow](r, Where(ByHost, host))
	if err != nil || len(hosted) == 0 {
		return nil, err
	}
	slices.SortFunc(hosted, func(a, b HostedRow) int { return cmp.Compare(a.Server, b.Server) })
	wishes := make(map[ID]HostedRow, len(hosted))
	var ids []ID
	var gone []Wanted
	for _, row := range hosted {
		if row.Wish == WishGone {
			gone = append(gone, Wanted{ID: string(row.Server), Deleted: true, Generation: row.Generation, Event: string(row.Event)})
			continue
		}
		wishes[row.Server] = row
		ids = append(ids, row.Server)
	}
	if len(ids) == 0 {
		return gone, nil
	}
	servers, err := Rows[ServerRow](r, Where(ByID, ids...))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(servers, func(a, b ServerRow) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID)) })
	ports, err := portsOf(r, servers)
	if err != nil {
		return nil, err
	}
	for _, row := range servers {
		w, err := row.wanted(wishes[row.ID], ports[row.ID])
		if err != nil {
			return nil, err
		}
		w.Name = s.InstanceName(row)
		all = append(all, w)
	}
	return append(all, gone...), nil
}

// wanted is the desired state of a server on a host, without the name.
func (s ServerRow) wanted(is HostedRow, ports []ServerPort) (w Wanted, err error) {
	f, err := s.StoredFlavor()
	w = Wanted{
		ID: string(s.ID), Kept: is.Wish == WishKept, Generation: is.Generation, Running: is.Wish == WishRunning || is.Wish == WishPaused, Power: is.listedPower(),
		Boot: string(is.Boot), Event: string(is.Event),
		Image: string(s.Image), Flavor: hostlist.Flavor(f), Hostname: s.Hostname, Metadata: s.Metadata,
		KeyName: s.KeyName, KeyData: s.KeyData, UserData: s.UserData, ConfigDrive: s.ConfigDrive,
	}
	if err != nil || w.Kept {
		return w, err
	}
	var there map[ID]Port
	if len(is.Bound) > 0 && is.Host != s.Host {
		if err := json.Unmarshal(is.Bound, &there); err != nil {
			return w, fmt.Errorf("reading the ports of server %s on %s: %w", s.ID, is.Host, err)
		}
	}
	for _, p := range ports {
		if p.Unplugged {
			continue
		}
		if bound, ok := there[p.Port]; ok {
			p.Shown = bound
		}
		w.Ports = append(w.Ports, p.listed())
	}
	return w, err
}

// listed is the port in the list of a host.
func (p ServerPort) listed() hostlist.Port {
	is := p.Shown
	one := hostlist.Port{
		ID: string(is.ID), Tag: p.Tag, Network: string(is.Network), MAC: is.MAC, VNIC: is.VNIC, VIF: is.VIF, Slot: is.Slot, PhysicalNetwork: is.PhysicalNetwork,
	}
	for _, id := range is.Allocation.Providers() {
		one.Providers = append(one.Providers, id.String())
	}
	for _, a := range is.Addresses {
		one.Addresses = append(one.Addresses, hostlist.Address{Subnet: string(a.Subnet), IP: a.IP, Prefix: a.Prefix})
	}
	return one
}

// AwaitWanted returns what Wanted does as soon as that differs from what the caller has, and in any
// case after wait or when the service stops. Changes by other instances are seen within
// watch.Interval.
func (s *Service) AwaitWanted(ctx context.Context, host string, wait time.Duration, changed func([]Wanted) bool) ([]Wanted, error) {
	return watch.Await(ctx, s.store.Store, wait, func(r Reader) ([]Wanted, error) { return s.wantedAt(r, host) }, changed)
}

// RunWatches wakes hosts that wait when other instances change their lists, and has hosts that others change read
// again, until ctx ends. It looks whenever due has a value, which should be every watch.Interval.
func (s *Service) RunWatches(ctx context.Context, due <-chan time.Time) {
	s.store.RunFollow(ctx, due, func(n rows.Notes) { s.cached.invalidate(touchedBy(n)) }, s.rules.Log)
}

// EndWatches answers all hosts that wait, now and later, so that a service that stops need
// not wait for them. It may be called more than once.
func (s *Service) EndWatches() { s.store.End() }

// Done stores results of a host. It ignores the result of an event that has ended or is not the
// host's any more.
func (s *Service) Done(ctx context.Context, host string, results []Result) error {
	if len(results) == 0 {
		return nil
	}
	err := s.update(ctx, func(c *change) error {
		if err := reported(c, host); err != nil {
			return err
		}
		for _, r := range results {
			if err := c.hostDid(host, r); err != nil {
				return err
			}
		}
		return nil
	})
	s.wake()
	return err
}
