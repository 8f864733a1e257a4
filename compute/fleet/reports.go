package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// owns reports whether a host may have a new hypervisor of a name.
func owns(r compute.Report, hypervisor string) bool {
	short, _, _ := strings.Cut(hypervisor, ".")
	host, _, _ := strings.Cut(r.Host, ".")
	return r.Hosts == nil || slices.Contains(r.Hosts, hypervisor) ||
		short == host && (hypervisor == short || r.Host == host)
}

// Report stores that a host is alive, and its properties. Its service and its hypervisor are
// created when they are new; a hypervisor of an identified host must be called as it is. It is a
// conflict when the hypervisor's name, or its id under another name, is another host's. Of its
// unlisted servers the host must destroy those that were deleted; the others are logged, once, and
// not touched.
func (s *Service) Report(ctx context.Context, r compute.Report) error {
	var others []unlistedServer
	err := s.db.Update(ctx, func(tx *compute.Tx) error {
		err := reportService(tx, r)
		if err == nil {
			err = reportNode(tx, r)
		}
		if err == nil {
			others, err = destroyDeleted(tx, r.Host, r.Unknown)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.logUnlisted(ctx, r.Host, others)
	return nil
}

func reportService(tx *compute.Tx, r compute.Report) error {
	row, err := compute.One[compute.ServiceRow](tx, compute.Where(compute.ByHost, r.Host))
	if errors.Is(err, compute.ErrNoRow) {
		row = compute.ServiceRow{
			ID: compute.NewID(), Binary: "nova-compute", Host: r.Host, Topic: "compute", Version: r.Version, ReportedAt: tx.At,
			CreatedAt: tx.At,
		}
		if row.Number, err = tx.NextNumber("services"); err != nil {
			return err
		}
		return tx.Insert(&row)
	}
	if err != nil {
		return err
	}
	row.Version, row.ReportedAt = r.Version, tx.At
	return tx.Replace(&row)
}

func reportNode(tx *compute.Tx, r compute.Report) error {
	row, err := compute.One[compute.NodeRow](tx, compute.Where(compute.ByID, r.Node.ID))
	isNew := errors.Is(err, compute.ErrNoRow)
	if err != nil && !isNew {
		return err
	}
	said := r.Node
	said.Host, said.Number, said.Failed, said.Additions, said.CreatedAt, said.UpdatedAt = r.Host, row.Number, row.Failed,
		row.Additions, row.CreatedAt, tx.At
	said.Assignable = row.Assignable
	if r.Inventory != nil {
		if err := said.SetAssignable(r.Inventory); err != nil {
			return err
		}
	}
	if !isNew && row.Host != r.Host {
		return taken(said)
	}
	if isNew && !owns(r, r.Node.Name) {
		return fault.New(fault.Denied, "NodeOfAnotherName",
			"The host %s cannot have the hypervisor %s: it has to be called as the host is, "+
				"or be a name in the host's certificate.", r.Host, r.Node.Name)
	}
	if isNew {
		said.CreatedAt = tx.At
		if said.Number, err = tx.NextNumber("nodes"); err != nil {
			return err
		}
		err = tx.Insert(&said)
	} else {
		err = tx.Replace(&said)
	}
	if errors.Is(err, compute.ErrTaken) {
		err = taken(said)
	}
	return err
}

func taken(n compute.NodeRow) error {
	return compute.Conflict("NodeTaken", "The hypervisor %s (%s) is another host's.", n.Name, n.ID)
}

// refreshTree is how long a tree that was brought into placement is taken to be there still: others
// may change it.
const refreshTree = 5 * time.Minute

// refreshWaiting is the interval for a tree in which something waits: see syncedTree.
const refreshWaiting = 30 * time.Second

// trees are what placement was brought to have of hosts, by host.
type trees struct {
	placement providertree.Placement
	mu        sync.Mutex
	known     map[string]syncedTree
}

// A syncedTree is how the last sync of a host's tree went.
type syncedTree struct {
	has      inventory.Host
	at       time.Time
	warnings []string
	waits    bool     // for allocations to end, or for providers to be created
	unknown  []string // standard traits that placement does not know
	failure  string
}

// ttl is how long the tree is taken to be as it was brought to be.
func (t syncedTree) ttl() time.Duration {
	if t.waits {
		return refreshWaiting
	}
	return refreshTree
}

func newTrees(p providertree.Placement) *trees {
	return &trees{placement: p, known: map[string]syncedTree{}}
}

func (t *trees) of(host string) syncedTree {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[host]
}

// record stores how a sync went, and returns how the one before did.
func (t *trees) record(host string, cur syncedTree) (before syncedTree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.known[host]
	t.known[host] = cur
	return before
}

// invalidate invalidates the tree of a host.
func (t *trees) invalidate(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, host)
}

// SyncTree syncs the tree of a host that has reported to placement, with whether its service is
// disabled. A host that starts may have allocations moved, and does not serve while that is
// refused: see compute.ServiceRow; nor does it while servers have dedicated CPUs that it does not
// report any more, and its tree stays as it is then. The warnings are for the host's operator, also
// of standard traits that the host has not got because placement does not know them. A
// failure is placement's, or a mistake in the host's inventory; the next report retries. A tree
// that is in placement already is not read again for some minutes, unless the host starts.
func (s *Service) SyncTree(
	ctx context.Context, host string, has inventory.Host, starting bool,
) (warnings []string, err error) {
	if s.trees == nil {
		return nil, errors.New("the compute service has no placement service configured")
	}
	service, err := s.service(ctx, host)
	if err != nil {
		return nil, err
	}
	has.Disabled = service.Disabled
	now := s.db.Rules.Now()
	last := s.trees.of(host)
	if !starting && last.failure == "" && now.Sub(last.at) < last.ttl() && reflect.DeepEqual(last.has, has) {
		return last.warnings, nil
	}
	var synced inventory.Synced
	for range syncTries {
		if err = s.checkPinned(ctx, host, compute.ID(has.ID.String())); err != nil {
			break
		}
		var options inventory.SyncOptions
		if options, err = s.syncOptions(ctx, host, has, starting); err != nil {
			return nil, err
		}
		synced, err = has.Sync(ctx, s.trees.placement, options)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, m := range synced.Moves {
			s.db.Rules.Log.Info("allocations moved with the inventory of a host", "host", host, "move", m.String())
		}
		// An administrator's change meanwhile must not be undone until the next report.
		cur, changed := s.service(ctx, host)
		if changed != nil || cur.Disabled == has.Disabled {
			break
		}
		has.Disabled = cur.Disabled
	}
	tree := syncedTree{
		has: has, at: now, warnings: synced.Warnings, waits: len(synced.Warnings) > 0, unknown: synced.Unknown,
	}
	if err != nil {
		tree.failure = err.Error()
		if len(tree.unknown) == 0 {
			tree.unknown = last.unknown // they are not logged again after each failure
		}
	}
	if text := inventory.LeftOut(tree.unknown); text != "" {
		tree.warnings = append(slices.Clone(tree.warnings), text)
	}
	before := s.trees.record(host, tree)
	if tree.failure != "" && tree.failure != before.failure {
		s.db.Rules.Log.Error("the tree of a host could not be synced to placement", "host", host, "error", err)
	}
	if !slices.Equal(tree.warnings, before.warnings) {
		for _, w := range tree.warnings {
			s.db.Rules.Log.Warn(w, "host", host)
		}
	}
	if err == nil {
		err = s.setProviders(ctx, compute.ID(has.ID.String()), synced.Providers)
	}
	refused := service.StartError
	switch {
	case err == nil:
		refused = ""
	case errors.As(err, new(*inventory.StartError)):
		refused = err.Error()
	}
	if refused != service.StartError {
		err = errors.Join(err, s.setStartError(ctx, host, refused))
	}
	return tree.warnings, err
}

// setProviders stores the UUIDs of the providers of a compute node's devices, if others are stored.
func (s *Service) setProviders(ctx context.Context, node compute.ID, providers map[string]placement.UUID) error {
	change := func(r compute.Reader) (row compute.NodeRow, changed bool, err error) {
		if row, err = compute.One[compute.NodeRow](r, compute.Where(compute.ByID, node)); err == nil {
			changed, err = row.SetProviders(providers)
		}
		return row, changed, err
	}
	var changed bool
	err := s.db.View(ctx, func(r compute.Reader) (err error) {
		_, changed, err = change(r)
		return err
	})
	if errors.Is(err, compute.ErrNoRow) {
		return nil // the node has never reported
	}
	if err != nil || !changed {
		return err
	}
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		row, changed, err := change(tx)
		if err != nil || !changed {
			return err
		}
		return tx.Replace(&row)
	})
}

// additions returns what files are stored to have added to the tree of a compute node.
func (s *Service) additions(ctx context.Context, node compute.ID) (added inventory.Additions, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		_, added, err = readAdditions(r, node)
		return err
	})
	return added, err
}

func readAdditions(r compute.Reader, node compute.ID) (row compute.NodeRow, added inventory.Additions, err error) {
	row, err = compute.One[compute.NodeRow](r, compute.Where(compute.ByID, node))
	if err == nil && row.Additions != nil {
		err = json.Unmarshal(row.Additions, &added)
	}
	return row, added, err
}

// changeAdditions changes what files are stored to have added to the tree of a compute node, and
// returns it.
func (s *Service) changeAdditions(
	ctx context.Context, node compute.ID, change func(inventory.Additions) inventory.Additions,
) (added inventory.Additions, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		row, stored, err := readAdditions(tx, node)
		if err != nil {
			return err
		}
		if added = change(stored); added.Equal(stored) {
			return nil
		}
		row.Additions = nil
		if len(added) > 0 {
			if row.Additions, err = json.Marshal(added); err != nil {
				return err
			}
		}
		return tx.Replace(&row)
	})
	return added, err
}

// PreviewTree returns what a host's report would change in placement if the host started, in lines
// for operators. It changes nothing. The error is why the host could not start, or placement's.
func (s *Service) PreviewTree(ctx context.Context, host string, has inventory.Host) ([]string, error) {
	if s.trees == nil {
		return nil, errors.New("the compute service has no placement service configured")
	}
	service, err := s.service(ctx, host)
	if err != nil && !errors.Is(err, compute.ErrNoRow) { // a host that is new has none
		return nil, err
	}
	has.Disabled = service.Disabled
	options, err := s.syncOptions(ctx, host, has, true)
	if err != nil {
		return nil, err
	}
	return has.Preview(ctx, s.trees.placement, options)
}

// syncOptions are those of a host's sync.
func (s *Service) syncOptions(
	ctx context.Context, host string, has inventory.Host, starting bool,
) (o inventory.SyncOptions, err error) {
	node := compute.ID(has.ID.String())
	o = inventory.SyncOptions{
		Starting: starting,
		Remember: func(
			ctx context.Context, change func(inventory.Additions) inventory.Additions,
		) (inventory.Additions, error) {
			return s.changeAdditions(ctx, node, change)
		},
		Consumers: func(ctx context.Context, ids []string) (map[string]inventory.Consumer, error) {
			return s.consumers(ctx, host, ids)
		},
	}
	if o.Added, err = s.additions(ctx, node); errors.Is(err, compute.ErrNoRow) {
		err = nil // the node has never reported
	}
	return o, err
}

// setStartError stores why a host that starts cannot serve, "" when it can.
func (s *Service) setStartError(ctx context.Context, host, why string) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		row, err := compute.One[compute.ServiceRow](tx, compute.Where(compute.ByHost, host))
		if err != nil {
			return err
		}
		row.StartError = why
		return tx.Replace(&row)
	})
}

// syncTries bounds how often a tree is synced again that an administrator changes meanwhile.
const syncTries = 3

// service returns the service of a host.
func (s *Service) service(ctx context.Context, host string) (row compute.ServiceRow, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		row, err = compute.One[compute.ServiceRow](r, compute.Where(compute.ByHost, host))
		return err
	})
	return row, err
}
