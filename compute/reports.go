package compute

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement/providertree"
)

// A Report is what a host says of itself, and its JSON. Services and hosts may be of different releases: members are added, not
// changed.
type Report struct {
	Host    string  `json:"host"`
	Version int     `json:"version"` // of its service
	Node    NodeRow `json:"node"`
	// Inventory is for KeepTree, with the id and the name of the Node. Nil: the host does not say.
	Inventory *inventory.Host `json:"inventory,omitempty"`
	// Unknown are the servers that it has and that were not in its last list.
	Unknown []ID `json:"unknown_servers,omitempty"`
	// Hosts are the names that the sender has proved to have. A new hypervisor has one of them, or that of the host but for the
	// domain. Nil: that is not checked.
	Hosts []string `json:"-"`
}

// owns reports whether a host may have a new hypervisor of a name.
func (r Report) owns(hypervisor string) bool {
	short, _, _ := strings.Cut(hypervisor, ".")
	host, _, _ := strings.Cut(r.Host, ".")
	return r.Hosts == nil || slices.Contains(r.Hosts, hypervisor) || short == host && (hypervisor == short || r.Host == host)
}

// Report stores that a host is alive, and its properties. Its service and its hypervisor are
// created when they are new; a hypervisor of an identified host must be called as it is. It is a conflict when the hypervisor's name, or its id under another
// name, is another host's. Of its unlisted servers the host must destroy those that were deleted;
// the others are logged, once, and not touched.
func (s *Service) Report(ctx context.Context, r Report) error {
	var others []unlistedServer
	err := s.update(ctx, func(c *change) error {
		err := c.reportService(r)
		if err == nil {
			err = c.reportNode(r)
		}
		if err == nil {
			others, err = c.destroyDeleted(r.Host, r.Unknown)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.found(ctx, r.Host, others)
	return nil
}

func (c *change) reportService(r Report) error {
	row, err := One[ServiceRow](c, Where(ByHost, r.Host))
	if errors.Is(err, ErrNoRow) {
		row = ServiceRow{ID: NewID(), Binary: "nova-compute", Host: r.Host, Topic: "compute", Version: r.Version, ReportedAt: c.At, CreatedAt: c.At}
		if row.Number, err = c.NextNumber("services"); err != nil {
			return err
		}
		return c.Insert(&row)
	}
	if err != nil {
		return err
	}
	row.Version, row.ReportedAt = r.Version, c.At
	return c.Replace(&row)
}

func (c *change) reportNode(r Report) error {
	row, err := One[NodeRow](c, Where(ByID, r.Node.ID))
	isNew := errors.Is(err, ErrNoRow)
	if err != nil && !isNew {
		return err
	}
	said := r.Node
	said.Host, said.Number, said.Failed, said.CreatedAt, said.UpdatedAt = r.Host, row.Number, row.Failed, row.CreatedAt, c.At
	if !isNew && row.Host != r.Host {
		return taken(said)
	}
	if isNew && !r.owns(r.Node.Name) {
		return fault.New(fault.Denied, "NodeOfAnotherName", "The host %s cannot have the hypervisor %s: it has to be called as the host is, "+
			"or be a name in the host's certificate.", r.Host, r.Node.Name)
	}
	if isNew {
		said.CreatedAt = c.At
		if said.Number, err = c.NextNumber("nodes"); err != nil {
			return err
		}
		err = c.Insert(&said)
	} else {
		err = c.Replace(&said)
	}
	if errors.Is(err, ErrTaken) {
		err = taken(said)
	}
	return err
}

func taken(n NodeRow) error {
	return conflict("NodeTaken", "The hypervisor %s (%s) is another host's.", n.Name, n.ID)
}

// refreshTree is how long a tree that was brought into placement is taken to be there still: others
// may change it.
const refreshTree = 5 * time.Minute

// refreshWaiting is the interval for a tree with warnings that something waits: for allocations to
// end, or for providers to be created.
const refreshWaiting = 30 * time.Second

// trees are what placement was brought to have of hosts, by host.
type trees struct {
	placement providertree.Placement
	mu        sync.Mutex
	known     map[string]keptTree
}

// A keptTree is how the last sync of a host's tree went.
type keptTree struct {
	has      inventory.Host
	at       time.Time
	warnings []string
	failure  string
}

// lasts is how long the tree is taken to be as it was brought to be.
func (k keptTree) lasts() time.Duration {
	if len(k.warnings) > 0 {
		return refreshWaiting
	}
	return refreshTree
}

func newTrees(p providertree.Placement) *trees {
	return &trees{placement: p, known: map[string]keptTree{}}
}

func (t *trees) of(host string) keptTree {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[host]
}

// keep notes how a sync went, and reports what was so before.
func (t *trees) keep(host string, now keptTree) (before keptTree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.known[host]
	t.known[host] = now
	return before
}

// invalidate invalidates the tree of a host.
func (t *trees) invalidate(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, host)
}

// KeepTree syncs the tree of a host that has reported to placement, with whether its service is
// disabled. The warnings are for the host's operator. A failure is placement's, or a mistake in the
// host's inventory; the next report retries. A tree that is in placement already is not read again
// for some minutes.
func (s *Service) KeepTree(ctx context.Context, host string, has inventory.Host) (warnings []string, err error) {
	if s.trees == nil {
		return nil, errors.New("the compute service has no placement service configured")
	}
	if has.Disabled, err = s.disabled(ctx, host); err != nil {
		return nil, err
	}
	now := s.rules.Now()
	if is := s.trees.of(host); is.failure == "" && now.Sub(is.at) < is.lasts() && reflect.DeepEqual(is.has, has) {
		return is.warnings, nil
	}
	for range keepTries {
		warnings, err = has.Sync(ctx, s.trees.placement)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// An administrator's change meanwhile must not be undone until the next report.
		disabled, changed := s.disabled(ctx, host)
		if changed != nil || disabled == has.Disabled {
			break
		}
		has.Disabled = disabled
	}
	kept := keptTree{has: has, at: now, warnings: warnings}
	if err != nil {
		kept.failure = err.Error()
	}
	before := s.trees.keep(host, kept)
	if kept.failure != "" && kept.failure != before.failure {
		s.rules.Log.Error("the tree of a host could not be synced to placement", "host", host, "error", err)
	}
	if !slices.Equal(warnings, before.warnings) {
		for _, w := range warnings {
			s.rules.Log.Warn(w, "host", host)
		}
	}
	return warnings, err
}

// keepTries bounds how often a tree is synced again that an administrator changes meanwhile.
const keepTries = 3

// disabled reports whether the service of a host is.
func (s *Service) disabled(ctx context.Context, host string) (is bool, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		row, err := One[ServiceRow](r, Where(ByHost, host))
		is = row.Disabled
		return err
	})
	return is, err
}
