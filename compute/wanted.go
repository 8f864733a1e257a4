package compute

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/rows"
	"github.com/berthcloud/berth/watch"
)

// A Wanted is the desired state of a server on a host: it must be as this says or, if Deleted, be
// destroyed. A host must not touch a server that is not in its list.
type Wanted struct {
	Server  ID
	Name    string // what hypervisors call it
	Deleted bool
	// Kept says that the host stops it, unplugs its ports and keeps the rest of it. It is not built if the
	// host does not have it.
	Kept bool
	// Generation is that of the server that the host is to have: one of another generation is destroyed, and
	// built again.
	Generation int64
	// Running says whether it must run. Boot, unless empty, is a start that it must have had: with
	// a new one it is restarted.
	Running bool
	Boot    ID
	Flavor  extraspecs.Flavor
	Image   ID
	// Ports are its ports, in their order.
	Ports []WantedPort
	// The server gets these as its metadata.
	Hostname    string
	Metadata    map[string]string
	KeyName     string
	KeyData     string
	UserData    string // base64
	ConfigDrive bool
	// Event is the event whose result the host must report, "" for none.
	Event ID
}

// A WantedPort is a port of a wanted server.
type WantedPort struct {
	Tag string
	Port
}

// A Result is the result of an event on a host.
type Result struct {
	Server ID
	Event  ID
	// Generation is that of the server as it was listed; 0 if the host does not know generations.
	Generation int64
	// Error is the error message, "" for success. Everywhere says that it would fail on any host.
	Error      string
	Everywhere bool
}

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
			gone = append(gone, Wanted{Server: row.Server, Deleted: true, Event: row.Event})
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
	w = Wanted{
		Server: s.ID, Kept: is.Wish == WishKept, Generation: is.Generation, Running: is.Wish == WishRunning, Boot: is.Boot, Event: is.Event, Image: s.Image,
		Hostname: s.Hostname, Metadata: s.Metadata, KeyName: s.KeyName, KeyData: s.KeyData, UserData: s.UserData, ConfigDrive: s.ConfigDrive,
	}
	for _, p := range ports {
		if !p.Unplugged && !w.Kept {
			w.Ports = append(w.Ports, WantedPort{Tag: p.Tag, Port: p.Shown})
		}
	}
	w.Flavor, err = s.flavor()
	return w, err
}

// AwaitWanted returns what Wanted does as soon as that differs from what the caller has, and in any
// case after wait or when the service stops. Changes by other instances are seen within
// watch.Interval.
func (s *Service) AwaitWanted(ctx context.Context, host string, wait time.Duration, changed func([]Wanted) bool) ([]Wanted, error) {
	return watch.Await(ctx, s.store, wait, func(r Reader) ([]Wanted, error) { return s.wantedAt(r, host) }, changed)
}

// RunWatches wakes hosts that wait when other instances change their lists, and has hosts that others change read
// again, until ctx ends. It looks whenever due has a value, which should be every watch.Interval.
func (s *Service) RunWatches(ctx context.Context, due <-chan time.Time) {
	s.store.RunFollow(ctx, due, func(n rows.Notes) { s.cached.invalidate(touchedBy(n)) }, s.log)
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
	s.hosts.notify(host)
	s.wake()
	return err
}
