package serverports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/berthcloud/berth/compute"
)

// A Service keeps the ports of servers as the network service has them. Its methods may be called
// concurrently.
type Service struct {
	store   *compute.Database
	network compute.Network // nil: there are no servers
}

// New returns the ports of the servers in a database. The network service is nil where
// there are no servers.
func New(db *compute.Database, n compute.Network) *Service {
	return &Service{store: db, network: compute.FenceNetwork(n)}
}

// AddPort notes that a port is a server's. Fault: PortInUse.
func AddPort(tx *compute.Tx, row compute.PortRow, p compute.Port) error {
	row.Port = p.ID
	if err := row.Record(p); err != nil {
		return err
	}
	err := tx.Insert(&row)
	if errors.Is(err, compute.ErrTaken) {
		err = compute.PortInUse(p.ID)
	}
	return err
}

// ForgetPorts takes ports from their servers.
func (s *Service) ForgetPorts(ctx context.Context, deleted map[compute.ID]compute.ID) error {
	if len(deleted) == 0 {
		return nil
	}
	return s.store.Update(ctx, func(tx *compute.Tx) error {
		for port, server := range deleted {
			rows, err := compute.Rows[compute.PortRow](tx, compute.Where(compute.ByPort, port),
				compute.Where(compute.ByServer, server))
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := forgetPort(tx, row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// forgetPort takes a port from its server. Its device is the host's to give again when the host has
// unplugged it.
func forgetPort(tx *compute.Tx, row compute.PortRow) error {
	if _, err := tx.Remove(&compute.PortRow{}, compute.Where(compute.ByPort, row.Port),
		compute.Where(compute.ByServer, row.Server)); err != nil {
		return err
	}
	var seen compute.Port
	if err := json.Unmarshal(row.Seen, &seen); err != nil {
		return fmt.Errorf("reading port %s: %w", row.Port, err)
	}
	if seen.Slot == "" {
		return nil
	}
	host, hasIt, err := compute.Hosted(tx, row.Server, seen.Host)
	if err != nil || !hasIt || !host.Usable() {
		return err
	}
	host.Event, host.Slots = cmp.Or(host.Event, compute.NewID()), append(host.Slots, seen.Slot)
	return tx.Replace(&host)
}

// RefreshPorts stores the current state of a server's ports. It does not add or remove ports.
func (s *Service) RefreshPorts(ctx context.Context, server compute.ID) error {
	if s.network == nil {
		return compute.NotConfigured("network")
	}
	ports, err := s.network.ServerPorts(ctx, server)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *compute.Tx) error { return RecordPorts(tx, server, ports) })
}

// RecordPorts notes how ports are now, those that are known to be the server's.
func RecordPorts(tx *compute.Tx, server compute.ID, ports []compute.Port) error {
	rows, err := compute.Rows[compute.PortRow](tx, compute.Where(compute.ByServer, server))
	if err != nil {
		return err
	}
	for _, row := range rows {
		i := slices.IndexFunc(ports, func(p compute.Port) bool { return p.ID == row.Port })
		if i < 0 {
			continue
		}
		before := row
		if err := row.Record(ports[i]); err != nil {
			return err
		}
		if reflect.DeepEqual(row, before) {
			continue
		}
		if err := tx.Replace(&row); err != nil {
			return err
		}
	}
	return nil
}
