package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/extraspecs"
)

// A Server is a server with what belongs to it.
type Server struct {
	ServerRow
	// Made is the flavor at the time of creation.
	Made extraspecs.Flavor
	// Ports are its ports in their order, as they were seen last.
	Ports []ServerPort
	// In is its availability zone, or the requested one while it has no host.
	In string
	// Service is that of its host; it has no Host when the server has none.
	Service HostService
}

// A ServerPort is a port of a server.
type ServerPort struct {
	PortRow
	Shown Port // as the network service showed it last
}

// A Caller is the user who makes a request. The names in JSON are stored.
type Caller struct {
	Project string `json:"project,omitempty"`
	User    string `json:"user,omitempty"`
	Request string `json:"request,omitempty"` // X-OpenStack-Request-ID of the answer
	// Global is the id of the calling service's own request, which it sent as X-OpenStack-Request-ID; "" for none.
	Global string `json:"global,omitempty"`
	Admin  bool   `json:"-"` // may do what a lock forbids
}

// Failure is what ServerRow.Fault says. Its names are not to change.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details,omitempty"` // for administrators
	Created string `json:"created"`           // as RFC 3339 has it
}

// Failure returns why a server is in error, if it has a failure.
func (s ServerRow) Failure() (f Failure, ok bool) {
	return f, len(s.Fault) > 0 && json.Unmarshal(s.Fault, &f) == nil
}

func noServer(id ID) error {
	return notFound("InstanceNotFound", "Instance %s could not be found.", id)
}

// Server returns a server. Fault: InstanceNotFound.
func (s *Service) Server(ctx context.Context, id ID) (one Server, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		one, err = s.rules.server(r, id)
		return err
	})
	return one, err
}

func (rules Rules) server(r Reader, id ID) (Server, error) {
	row, err := OneOr[ServerRow](r, noServer(id), Where(ByID, id))
	if err != nil {
		return Server{}, err
	}
	all, err := rules.complete(r, []ServerRow{row})
	if err != nil {
		return Server{}, err
	}
	return all[0], nil
}

// complete returns servers with what belongs to them: a fixed number of reads,
// whatever the number of servers.
func (rules Rules) complete(r Reader, rows []ServerRow) ([]Server, error) {
	byHost, err := rules.servicesOf(r, rows)
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(r, rows)
	if err != nil {
		return nil, err
	}
	all := make([]Server, len(rows))
	for i, row := range rows {
		one := Server{ServerRow: row, Ports: ports[row.ID], In: rules.inZone(row, byHost), Service: byHost[row.Host]}
		if one.Made, err = row.StoredFlavor(); err != nil {
			return nil, err
		}
		all[i] = one
	}
	return all, nil
}

// inZone returns the zone of a server's host, or the requested one while it has none.
func (rules Rules) inZone(row ServerRow, byHost map[string]HostService) string {
	if row.Host == "" {
		return row.Zone
	}
	return cmp.Or(byHost[row.Host].Zone, rules.Settings.DefaultZone)
}

// servicesOf returns the services of the hosts of servers, by host, and no others: there may
// be thousands.
func (rules Rules) servicesOf(r Reader, servers []ServerRow) (map[string]HostService, error) {
	hosts := map[string]bool{}
	for _, row := range servers {
		if row.Host != "" {
			hosts[row.Host] = true
		}
	}
	byHost := map[string]HostService{}
	if len(hosts) == 0 {
		return byHost, nil
	}
	services, err := rules.HostServices(r, Where(ByHost, slices.Collect(maps.Keys(hosts))...))
	for _, h := range services {
		byHost[h.Host] = h
	}
	return byHost, err
}

// portsOf returns the ports of servers in their order, by server.
func portsOf(r Reader, servers []ServerRow) (map[ID][]ServerPort, error) {
	ids := make([]ID, len(servers))
	for i, s := range servers {
		ids[i] = s.ID
	}
	rows, err := Rows[PortRow](r, Where(ByServer, ids...))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b PortRow) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Port, b.Port)) })
	all := map[ID][]ServerPort{}
	for _, row := range rows {
		p := ServerPort{PortRow: row}
		if err := json.Unmarshal(row.Seen, &p.Shown); err != nil {
			return nil, fmt.Errorf("reading port %s: %w", row.Port, err)
		}
		all[row.Server] = append(all[row.Server], p)
	}
	return all, nil
}

// see notes a port as the network service showed it.
func (p *PortRow) see(port Port) error {
	var err error
	p.Network = port.Network
	p.Seen, err = json.Marshal(port)
	return err
}

// A ServerChange is a change of a server; nil changes nothing.
type ServerChange struct {
	Name, Description, Hostname *string
	AccessIPv4, AccessIPv6      *string
	DiskConfig                  *string
}

// UpdateServer changes a server. Faults: InstanceNotFound, and InstanceExists for a host name that another server has,
// where the settings want names to be unique.
func (s *Service) UpdateServer(ctx context.Context, id ID, ch ServerChange) (Server, error) {
	return s.changeServer(ctx, id, func(c *change, row *ServerRow) error { return c.apply(ch, row) })
}

// apply changes a server's row. Fault: InstanceExists.
func (c *change) apply(ch ServerChange, row *ServerRow) error {
	if ch.Hostname != nil && !strings.EqualFold(*ch.Hostname, row.Hostname) {
		if err := c.checkHostnames(row.Project, *ch.Hostname); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		to   *string
		from *string
	}{
		{&row.Name, ch.Name},
		{&row.Description, ch.Description},
		{&row.Hostname, ch.Hostname},
		{&row.AccessIPv4, ch.AccessIPv4},
		{&row.AccessIPv6, ch.AccessIPv6},
		{&row.DiskConfig, ch.DiskConfig},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return nil
}

// changeServer changes a server's row.
func (s *Service) changeServer(ctx context.Context, id ID, fn func(*change, *ServerRow) error) (one Server, err error) {
	err = s.update(ctx, func(c *change) error {
		row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		if err := fn(c, &row); err != nil {
			return err
		}
		row.UpdatedAt = c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		one, err = c.server(c, id)
		return err
	})
	return one, err
}
