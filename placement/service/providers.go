package service

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// CreateProvider adds a provider of generation 0. It fails as Invalid when it
// has no name or when the parent is itself or does not exist, and as Conflict
// when name or UUID are taken. The root of a new child is that of its parent, which is locked until
// the end so that it is neither moved nor deleted.
func (s *Service) CreateProvider(ctx context.Context, n placement.NewProvider) (placement.ProviderInfo, error) {
	info := placement.ProviderInfo{UUID: n.UUID, Name: n.Name, Parent: n.Parent, Root: n.UUID, Modified: s.settings.Now()}
	if n.Name == "" {
		return info, invalidProvider(n, "name is required")
	}
	err := s.update(ctx, func(t *tx) error {
		row := placement.ProviderRow{UUID: n.UUID, Name: n.Name}
		if n.Parent != "" {
			parent, err := t.parentFor(n)
			if err != nil {
				return err
			}
			row.Parent, row.Root = parent.ID, parent.Root
		}
		id, err := t.InsertProvider(row)
		if err != nil {
			return duplicateProvider(err, n)
		}
		if row.Root == 0 {
			t.changes.Tree(id)
			return nil
		}
		info.Root, err = t.rootUUID(row.Root)
		return err
	})
	return info, err
}

// invalidProvider refuses to create a provider.
func invalidProvider(n placement.NewProvider, reason string) error {
	return fault.New(fault.Invalid, "",
		"Unable to create resource provider \"%s\", %s: Object action create failed because: %s", n.Name, n.UUID, reason)
}

// parentFor finds the parent of a provider to be created. It is locked together with the root of
// its tree.
func (t *tx) parentFor(n placement.NewProvider) (placement.ProviderRow, error) {
	if n.Parent == n.UUID {
		return placement.ProviderRow{}, invalidProvider(n, "parent provider UUID cannot be same as UUID. "+
			"Please set parent provider UUID to None if there is no parent.")
	}
	parent, err := t.tree(n.Parent)
	if errors.Is(err, placement.ErrNoRow) {
		return placement.ProviderRow{}, invalidProvider(n, "parent provider UUID does not exist.")
	}
	return parent, err
}

// rootUUID returns the UUID of the root with that id.
func (t *tx) rootUUID(root int64) (placement.UUID, error) {
	rows, err := t.ProvidersIn(root)
	for _, r := range rows {
		if r.ID == root {
			return r.UUID, nil
		}
	}
	return "", err
}

// duplicateProvider turns the store's errors for a taken UUID or name into the faults of POST
// /resource_providers. Where both are taken the UUID is reported.
func duplicateProvider(err error, n placement.NewProvider) error {
	switch {
	case errors.Is(err, placement.ErrUUIDTaken):
		return fault.New(fault.Conflict, placement.CodeDuplicateName,
			"Conflicting resource provider uuid: %s already exists.", n.UUID)
	case errors.Is(err, placement.ErrNameTaken):
		return fault.New(fault.Conflict, placement.CodeDuplicateName,
			"Conflicting resource provider name: %s already exists.", n.Name)
	}
	return err
}

// UpdateProvider renames and moves a provider; its generation stays. Modified of
// the result is the time of the change before, zero when there was none. It fails
// as NotFound, as Invalid when the move is not allowed, and as Conflict when
// the name is taken.
func (s *Service) UpdateProvider(
	ctx context.Context, uuid placement.UUID, c placement.ProviderChange,
) (placement.ProviderInfo, error) {
	var info placement.ProviderInfo
	err := s.update(ctx, func(t *tx) error {
		find := t.provider
		if c.SetParent {
			find = t.tree
		}
		row, err := find(uuid)
		if err != nil {
			return orNoProvider(err, uuid)
		}
		move := move{tx: t, row: row, change: c}
		if err := move.plan(); err != nil {
			return err
		}
		move.row.Name = c.Name
		if err := t.UpdateProvider(move.row); err != nil {
			if errors.Is(err, placement.ErrNameTaken) {
				return fault.New(fault.Conflict, placement.CodeDuplicateName,
					"Conflicting resource provider %s already exists.", c.Name)
			}
			return err
		}
		if move.row.Root != row.Root {
			t.changes.Tree(move.row.Root)
			if err := t.SetRoot(move.row.Root, move.subtree()...); err != nil {
				return err
			}
		}
		if info, err = t.info(move.row); err != nil {
			return err
		}
		// Upstream returns when the provider was changed before this, if it
		// ever was.
		info.Modified = time.Time{}
		if row.Updated {
			info.Modified = row.Modified
		}
		return nil
	})
	return info, err
}

// info describes a row as it is now. It reads the tree again, since parent and root may just have
// changed; Modified is that of the row given.
func (t *tx) info(row placement.ProviderRow) (placement.ProviderInfo, error) {
	info := placement.ProviderInfo{UUID: row.UUID, Name: row.Name, Generation: row.Generation, Modified: row.Modified}
	tree, err := t.ProvidersIn(row.Root)
	for _, r := range tree {
		if r.ID == row.Parent {
			info.Parent = r.UUID
		}
		if r.ID == row.Root {
			info.Root = r.UUID
		}
	}
	return info, err
}

// A move works out the new place of a provider.
type move struct {
	*tx
	row    placement.ProviderRow
	rows   []placement.ProviderRow // of its present tree, when it moves
	change placement.ProviderChange
}

// plan sets parent and root of the row, or says why it may not move.
func (m *move) plan() error {
	if !m.change.SetParent {
		return nil
	}
	if m.change.Parent == "" {
		return m.toRoot()
	}
	// The new parent first: once it is locked, no other transaction moves it below this
	// provider while the tree is looked at.
	parent, err := m.tree(m.change.Parent)
	if errors.Is(err, placement.ErrNoRow) {
		return m.refuse("create", "parent provider UUID does not exist.")
	}
	if err == nil {
		m.rows, err = m.ProvidersIn(m.row.Root)
	}
	if err != nil {
		return err
	}
	if m.row.Parent != 0 && m.row.Parent != parent.ID && !m.change.Reparent {
		return m.refuse("update", "re-parenting a provider is not currently allowed.")
	}
	for _, id := range m.subtree() {
		if id == parent.ID {
			return m.refuse("update", "creating loop in the provider tree is not allowed.")
		}
	}
	m.row.Parent, m.row.Root = parent.ID, parent.Root
	return nil
}

// toRoot plans that the provider becomes the root of what is below it. A root that is to stay one
// is no change.
func (m *move) toRoot() error {
	if m.row.Parent == 0 {
		return nil
	}
	if !m.change.Reparent {
		return m.refuse("update", "un-parenting a provider is not currently allowed.")
	}
	var err error
	m.rows, err = m.ProvidersIn(m.row.Root)
	m.row.Parent, m.row.Root = 0, m.row.ID
	return err
}

// refuse is the fault of a move (400), in the words of upstream's exception.ObjectActionError.
// Upstream says create where the new parent is looked up, in an update as well.
func (m *move) refuse(action, reason string) error {
	return fault.New(fault.Invalid, "", "Unable to save resource provider %s: Object action %s failed because: %s",
		m.row.UUID, action, reason)
}

// subtree lists the ids of the provider and of all that are below it. It is for moves with rows
// only: without them the list has the provider alone.
func (m *move) subtree() []int64 {
	children := make(map[int64][]int64)
	for _, r := range m.rows {
		children[r.Parent] = append(children[r.Parent], r.ID)
	}
	ids := []int64{m.row.ID}
	for i := 0; i < len(ids); i++ {
		ids = append(ids, children[ids[i]]...)
	}
	return ids
}

// DeleteProvider removes a provider with its inventories, traits and aggregate
// links. It fails as NotFound, and as Conflict when the provider has children
// or allocations.
func (s *Service) DeleteProvider(ctx context.Context, uuid placement.UUID) error {
	return s.update(ctx, func(t *tx) error {
		row, err := t.provider(uuid)
		if errors.Is(err, placement.ErrNoRow) {
			return fault.New(fault.NotFound, "", "No resource provider with uuid %s found for delete", uuid)
		}
		if err != nil {
			return err
		}
		if err := t.LockProvider(row.ID); err != nil {
			return err
		}
		if parent, err := t.HasChildren(row.ID); err != nil {
			return err
		} else if parent {
			return fault.New(fault.Conflict, placement.CodeCannotDeleteParent,
				"Unable to delete parent resource provider %s: It has child resource providers.", uuid)
		}
		if allocated, err := t.AllocatedClasses(row.ID); err != nil {
			return err
		} else if len(allocated) > 0 {
			return fault.New(fault.Conflict, placement.CodeProviderInUse,
				"Unable to delete resource provider %s: Resource provider has allocations.", uuid)
		}
		return t.DeleteProvider(row.ID)
	})
}
