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
	// Error is the error message, "" for success. Everywhere says that it would fail on any host.
	Error      string
	Everywhere bool
}

// Wanted returns the list of servers of a host in order of creation, followed by the leftovers that
// it must destroy. A host that has never reported has none.
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
	all, err := s.wantedOf(r, host)
	if err != nil {
		return nil, err
	}
	return withLeftovers(r, host, all)
}

func (s *Service) wantedOf(r Reader, host string) ([]Wanted, error) {
	servers, err := Rows[ServerRow](r, Where(ByHost, host))
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	slices.SortFunc(servers, func(a, b ServerRow) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID)) })
	ids := make([]ID, len(servers))
	for i, row := range servers {
		ids[i] = row.ID
	}
	operations, err := Rows[OperationRow](r, Where(ByServer, ids...))
	if err != nil {
		return nil, err
	}
	under := map[ID]OperationRow{}
	for _, op := range operations {
		under[op.Server] = op
	}
	ports, err := portsOf(r, servers)
	if err != nil {
		return nil, err
	}
	var all []Wanted
	for _, row := range servers {
		w, ok, err := row.wanted(under[row.ID], ports[row.ID])
		if err != nil {
			return nil, err
		}
		if ok {
			w.Name = s.InstanceName(row)
			all = append(all, w)
		}
	}
	return all, nil
}

// withLeftovers adds the leftovers of a host to its list.
func withLeftovers(r Reader, host string, all []Wanted) ([]Wanted, error) {
	rows, err := Rows[LeftoverRow](r, Where(ByHost, host))
	if err != nil || len(rows) == 0 {
		return all, err
	}
	own := make(map[ID]bool, len(all))
	for _, w := range all {
		own[w.Server] = true
	}
	slices.SortFunc(rows, func(a, b LeftoverRow) int { return cmp.Compare(a.ID, b.ID) })
	for _, row := range rows {
		if !own[row.Server] {
			all = append(all, Wanted{Server: row.Server, Deleted: true, Event: row.ID})
		}
	}
	return all, nil
}

// wanted is the desired state of a server on its host, without the name, and whether it is in the
// list.
func (s ServerRow) wanted(op OperationRow, ports []ServerPort) (Wanted, bool, error) {
	w := Wanted{
		Server: s.ID, Running: s.State != Stopped && s.Power != ShutDown, Image: s.Image,
		Hostname: s.Hostname, Metadata: s.Metadata, KeyName: s.KeyName, KeyData: s.KeyData, UserData: s.UserData, ConfigDrive: s.ConfigDrive,
	}
	var b body
	var err error
	if w.Flavor, err = s.flavor(); err != nil {
		return w, false, err
	}
	if op.Kind != "" {
		if b, err = op.body(); err != nil {
			return w, false, err
		}
	}
	atHost := op.Step == stepHost
	if atHost {
		w.Event = b.Event
	}
	switch op.Kind {
	case boot:
		w.Running = true
		if !atHost {
			return w, false, nil
		}
	case remove:
		w.Deleted = true
		if !atHost {
			return w, false, nil
		}
	case power:
		if w.Running = b.Verb != "stop"; b.Verb == "reboot" {
			w.Boot = b.Event
		}
	}
	for _, p := range ports {
		if p.Port != b.Port || op.Kind == attach && atHost {
			w.Ports = append(w.Ports, WantedPort{Tag: p.Tag, Port: p.Shown})
		}
	}
	return w, true, nil
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

func (c *change) hostDid(host string, r Result) error {
	if left, err := c.destroyed(host, r); left || err != nil {
		return err
	}
	servers, err := Rows[ServerRow](c, Where(ByID, r.Server), Where(ByHost, host))
	if err != nil || len(servers) == 0 {
		return err
	}
	under, err := Rows[OperationRow](c, Where(ByServer, r.Server))
	if err != nil || len(under) == 0 || under[0].Step != stepHost {
		return err
	}
	b, err := under[0].body()
	if err != nil || b.Event != r.Event {
		return err
	}
	if r.Error == "" {
		return c.answered(r.Event)
	}
	t := stepError{text: r.Error, details: r.Error}
	if r.Everywhere {
		t.details = abortPrefix + t.details
	}
	return c.end(r.Event, &t)
}
