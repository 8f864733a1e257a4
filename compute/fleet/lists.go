package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/watch"
)

// Wanted is the desired state of a server on a host, and Result the result of an event there.
type (
	Wanted = hostlist.Server
	Result = hostlist.Result
)

// InstanceName returns what hypervisors call a server.
func (s *Service) InstanceName(row compute.ServerRow) string { return s.db.Rules.InstanceName(row) }

// Done stores results of a host: what its servers' operations wait for. It ignores the result of an
// event that has ended or is not the host's any more. Fault: ComputeHostNotFound.
func (s *Service) Done(ctx context.Context, host string, results []Result) error {
	return s.servers.Done(ctx, host, results)
}

// Wanted returns the list of servers of a host in order of creation, followed by those that it must
// destroy. A host that has never reported has none.
func (s *Service) Wanted(ctx context.Context, host string) (all []Wanted, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = s.WantedIn(r, host)
		return err
	})
	return all, err
}

// WantedIn is Wanted in a transaction, or for a long poll.
func (s *Service) WantedIn(r compute.Reader, host string) ([]Wanted, error) {
	if err := compute.Reported(r, host); err != nil {
		return nil, err
	}
	return s.wantedOf(r, host)
}

func (s *Service) wantedOf(r compute.Reader, host string) (all []Wanted, err error) {
	hosted, err := compute.Rows[compute.HostedRow](r, compute.Where(compute.ByHost, host))
	if err != nil || len(hosted) == 0 {
		return nil, err
	}
	slices.SortFunc(hosted, func(a, b compute.HostedRow) int { return cmp.Compare(a.Server, b.Server) })
	hostedBy := make(map[compute.ID]compute.HostedRow, len(hosted))
	var ids []compute.ID
	var deleted []Wanted
	for _, row := range hosted {
		if row.DesiredState == compute.DesiredAbsent {
			deleted = append(deleted, Wanted{
				ID: string(row.Server), Deleted: true, Generation: row.Generation, Event: string(row.Event),
			})
			continue
		}
		hostedBy[row.Server] = row
		ids = append(ids, row.Server)
	}
	if len(ids) == 0 {
		return deleted, nil
	}
	servers, err := compute.Rows[compute.ServerRow](r, compute.Where(compute.ByID, ids...))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(servers, func(a, b compute.ServerRow) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
	})
	ports, err := compute.PortsOf(r, servers)
	if err != nil {
		return nil, err
	}
	for _, row := range servers {
		w, err := wantedServer(row, hostedBy[row.ID], ports[row.ID])
		if err != nil {
			return nil, err
		}
		w.Name = s.db.Rules.InstanceName(row)
		all = append(all, w)
	}
	return append(all, deleted...), nil
}

// wantedServer is the desired state of a server on a host, without the name.
func wantedServer(s compute.ServerRow, row compute.HostedRow, ports []compute.ServerPort) (w Wanted, err error) {
	f, err := s.StoredFlavor()
	w = Wanted{
		ID: string(s.ID), Kept: row.DesiredState == compute.DesiredRetained, Generation: row.Generation,
		Running: row.DesiredState == compute.DesiredRunning || row.DesiredState == compute.DesiredPaused,
		Power:   row.DesiredPower(), Boot: string(row.Boot), Event: string(row.Event), Image: string(s.Image),
		Flavor: hostlist.Flavor(f), Hostname: s.Hostname, Metadata: s.Metadata, KeyName: s.KeyName, KeyData: s.KeyData,
		UserData: s.UserData, ConfigDrive: s.ConfigDrive,
	}
	if err == nil {
		w.Assignment, err = compute.ReadAssignment(row.Assignment)
	}
	if err != nil || w.Kept {
		return w, err
	}
	var shown map[compute.ID]compute.Port
	if len(row.Bound) > 0 && row.Host != s.Host {
		if err := json.Unmarshal(row.Bound, &shown); err != nil {
			return w, fmt.Errorf("reading the ports of server %s on %s: %w", s.ID, row.Host, err)
		}
	}
	for _, p := range ports {
		if p.Unplugged {
			continue
		}
		if bound, ok := shown[p.Port]; ok {
			p.Shown = bound
		}
		w.Ports = append(w.Ports, listedPort(p))
	}
	return w, err
}

// listedPort is the port in the list of a host.
func listedPort(p compute.ServerPort) hostlist.Port {
	shown := p.Shown
	one := hostlist.Port{
		ID: string(shown.ID), Tag: p.Tag, Network: string(shown.Network), MAC: shown.MAC, VNIC: shown.VNIC, VIF: shown.VIF,
		Slot: shown.Slot, PhysicalNetwork: shown.PhysicalNetwork,
	}
	for _, id := range shown.Allocation.Providers() {
		one.Providers = append(one.Providers, id.String())
	}
	for _, a := range shown.Addresses {
		one.Addresses = append(one.Addresses, hostlist.Address{Subnet: string(a.Subnet), IP: a.IP, Prefix: a.Prefix})
	}
	return one
}

// AwaitWanted returns what Wanted does as soon as the revision of that, which is never "", is not
// the known one, and in any case after wait or when the service stops. A host that comes back with
// the revision that it was answered waits for a change, and nothing is read before. Changes by
// other instances are seen within watch.Interval. The error of revision is returned.
func (s *Service) AwaitWanted(
	ctx context.Context, host, known string, wait time.Duration, revision func([]Wanted) (string, error),
) ([]Wanted, error) {
	return watch.AwaitChange(ctx, s.db.Store, &s.polls, watch.Caller{Name: host, State: known}, wait,
		func(r compute.Reader) ([]Wanted, error) { return s.WantedIn(r, host) }, revision)
}
