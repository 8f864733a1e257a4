package serverports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
)

// Ports change in the network service, which sends an event of each change. An event is lost when
// either service stops at the wrong moment, and no service repeats it. So the ports of each server
// are also compared with those of the network service, once in each interval. Each host has its
// moment in the interval, by its name, and the time up to which hosts were looked at is a row, so
// that one instance looks at each.

const (
	// portChecks is the number of looks in an interval.
	portChecks = 12
	// portServers is the number of servers whose ports one request reads. Python's web servers accept
	// URLs of 8 KiB.
	portServers = 50
	// portsChecked is the counter of the time, in seconds, up to which hosts were looked at.
	portsChecked = "ports_checked"
)

// RunPorts reconciles the ports of servers until ctx ends.
func (s *Service) RunPorts(ctx context.Context) {
	if s.store.Rules.Settings.PortInterval <= 0 || s.network == nil {
		return
	}
	tick := time.NewTicker(max(s.store.Rules.Settings.PortInterval/portChecks, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.ReconcilePorts(ctx); err != nil && ctx.Err() == nil {
			s.store.Rules.Log.WarnContext(ctx,
				"ports of servers cannot be compared with those of the network service; the next interval retries", "error", err)
		}
	}
}

// ReconcilePorts compares the ports of servers with those of the network service, on the hosts that
// are due since the last call in any instance. Ports that were deleted are removed from their
// servers, changes are stored.
func (s *Service) ReconcilePorts(ctx context.Context) error {
	if s.store.Rules.Settings.PortInterval < time.Second || s.network == nil {
		return nil
	}
	hosts, err := s.takeHosts(ctx)
	if err != nil || len(hosts) == 0 {
		return err
	}
	servers, err := s.serversOn(ctx, hosts)
	if err != nil {
		return err
	}
	var failures []error
	for some := range slices.Chunk(servers, portServers) {
		err := s.reconcileServers(ctx, some)
		failures = append(failures, err)
		if kind, _ := fault.Of(err); kind == fault.Unavailable || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}

// takeHosts returns the hosts that are due, which no other instance gets.
func (s *Service) takeHosts(ctx context.Context) (hosts []string, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		hosts, _, err = s.hostsDue(r)
		return err
	})
	if err != nil || len(hosts) == 0 {
		return nil, err // looking writes nothing
	}
	err = s.store.Update(ctx, func(tx *compute.Tx) error {
		var until compute.CounterRow
		if hosts, until, err = s.hostsDue(tx); err != nil || len(hosts) == 0 {
			return err
		}
		if err := tx.Replace(&until); !errors.Is(err, compute.ErrNoRow) {
			return err
		}
		return tx.Insert(&until)
	})
	return hosts, err
}

// hostsDue returns the hosts whose moment was since the time that the counter has, and the counter
// with the time now. After a pause these are all hosts; a counter that is ahead of the clock by
// more than an interval is of a clock that was wrong.
func (s *Service) hostsDue(r compute.Reader) (hosts []string, until compute.CounterRow, err error) {
	now, interval := s.store.Rules.Now().Unix(), int64(s.store.Rules.Settings.PortInterval/time.Second)
	until = compute.CounterRow{Name: portsChecked, Last: now}
	counters, err := compute.Rows[compute.CounterRow](r, compute.Where(compute.ByName, portsChecked))
	if err != nil {
		return nil, until, err
	}
	since := interval
	if len(counters) > 0 && counters[0].Last <= now+interval {
		since = min(since, now-counters[0].Last)
	}
	services, err := compute.Rows[compute.ServiceRow](r)
	if err != nil {
		return nil, until, err
	}
	for _, row := range services {
		moment := fnv.New32a()
		_, _ = moment.Write([]byte(row.Host)) // it does not fail
		if age := (now - int64(moment.Sum32())%interval) % interval; age < since && !slices.Contains(hosts, row.Host) {
			hosts = append(hosts, row.Host)
		}
	}
	return hosts, until, nil
}

// serversOn returns the servers on hosts. It also requests again what the hosts could not unplug.
func (s *Service) serversOn(ctx context.Context, hosts []string) (servers []compute.ID, err error) {
	var refused []compute.HostedRow
	err = s.store.View(ctx, func(r compute.Reader) error {
		rows, err := compute.Rows[compute.HostedRow](r, compute.Where(compute.ByHost, hosts...))
		servers, refused = nil, nil
		for _, row := range rows {
			if row.Usable() {
				servers = append(servers, row.Server)
			}
			if hasRefused(&row) {
				refused = append(refused, row)
			}
		}
		return err
	})
	if err == nil && len(refused) > 0 {
		err = s.store.Update(ctx, func(tx *compute.Tx) error { return requestAgain(tx, refused) })
	}
	return servers, err
}

// reconcileServers compares the ports of servers with which nothing is under way: operations read
// and store the ports themselves.
func (s *Service) reconcileServers(ctx context.Context, servers []compute.ID) error {
	var rows []compute.PortRow
	err := s.store.View(ctx, func(r compute.Reader) (err error) {
		rows, err = portsAtRest(r, servers)
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	servers = nil
	for _, row := range rows {
		if !slices.Contains(servers, row.Server) {
			servers = append(servers, row.Server)
		}
	}
	ports, err := s.network.ServerPorts(ctx, servers...)
	if err != nil {
		return err
	}
	shown := make(map[compute.ID]compute.Port, len(ports))
	for _, p := range ports {
		shown[p.ID] = p
	}
	changed := map[compute.ID]compute.PortRow{}
	deleted := map[compute.ID]compute.ID{}
	var failures []error // of single ports: the others are compared all the same
	for _, row := range rows {
		p, ok := shown[row.Port]
		if !ok {
			absent, err := s.isDeleted(ctx, row)
			if kind, _ := fault.Of(err); kind == fault.Unavailable || ctx.Err() != nil {
				return errors.Join(append(failures, err)...)
			}
			failures = append(failures, err)
			if absent {
				deleted[row.Port] = row.Server
			}
			continue
		}
		before := row
		if err := row.Record(p); err != nil {
			failures = append(failures, err)
			continue
		}
		if p.Server == string(row.Server) && !reflect.DeepEqual(row, before) {
			changed[row.Port] = row
		}
	}
	if len(changed)+len(deleted) == 0 {
		return errors.Join(failures...)
	}
	err = s.store.Update(ctx, func(tx *compute.Tx) error {
		now, err := portsAtRest(tx, servers)
		if err != nil {
			return err
		}
		for _, before := range rows {
			if !slices.ContainsFunc(now, func(row compute.PortRow) bool { return reflect.DeepEqual(row, before) }) {
				continue // what was stored since is newer
			}
			if row, ok := changed[before.Port]; ok {
				if err := tx.Replace(&row); err != nil {
					return err
				}
			}
			if _, ok := deleted[before.Port]; ok {
				s.store.Rules.Log.InfoContext(ctx, "a port was deleted, and no event said so: it is removed from its server",
					"port", before.Port, "server", before.Server)
				if err := forgetPort(tx, before); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return errors.Join(append(failures, err)...)
}

// hasRefused reports whether the host could not unplug devices of ports that were deleted: no
// operation requests it again.
func hasRefused(h *compute.HostedRow) bool {
	return h.Usable() && h.Event == "" && h.Refused != "" && len(h.Slots) > 0
}

// requestAgain requests of hosts what they could not do for servers with which nothing is under
// way.
func requestAgain(tx *compute.Tx, refused []compute.HostedRow) error {
	for _, before := range refused {
		row, ok, err := compute.Hosted(tx, before.Server, before.Host)
		if err != nil {
			return err
		}
		operations, err := compute.Rows[compute.OperationRow](tx, compute.Where(compute.ByServer, row.Server))
		if err != nil {
			return err
		}
		if !ok || !hasRefused(&row) || len(operations) > 0 {
			continue
		}
		row.Event = compute.NewID()
		if err := tx.Replace(&row); err != nil {
			return err
		}
	}
	return nil
}

// portsAtRest are the ports of those servers that have no operation.
func portsAtRest(r compute.Reader, servers []compute.ID) ([]compute.PortRow, error) {
	operations, err := compute.Rows[compute.OperationRow](r, compute.Where(compute.ByServer, servers...))
	if err != nil {
		return nil, err
	}
	rows, err := compute.Rows[compute.PortRow](r, compute.Where(compute.ByServer, servers...))
	return slices.DeleteFunc(rows, func(row compute.PortRow) bool {
		return slices.ContainsFunc(operations, func(op compute.OperationRow) bool { return op.Server == row.Server })
	}), err
}

// isDeleted reports whether a port that a list does not have was deleted. To a service that may see
// its own project's objects only, the ports of others look deleted as well: the answer counts if it
// may see the quota of the port's project.
func (s *Service) isDeleted(ctx context.Context, row compute.PortRow) (bool, error) {
	_, err := s.network.Port(ctx, row.Port)
	if !errors.Is(err, compute.ErrNoPort) {
		return false, err
	}
	var seen compute.Port
	if err := json.Unmarshal(row.Seen, &seen); err != nil {
		return false, fmt.Errorf("reading port %s: %w", row.Port, err)
	}
	// a refusal is Unavailable as well, and says nothing of other ports
	if _, err := s.network.FreePorts(ctx, seen.Project); err != nil {
		return false, fmt.Errorf("port %s is not found, but the network service does not show the quota of its "+
			"project either: %v", row.Port, err)
	}
	return true, nil
}
