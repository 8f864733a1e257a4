package inprocess

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// ProviderNamed is network.Placement's.
func (p *Placement) ProviderNamed(ctx context.Context, name string) (network.Provider, error) {
	if name == "" { // an empty name would not filter
		return network.Provider{}, fmt.Errorf("%w: none is without a name", allocations.ErrNoProvider)
	}
	all, err := p.list(ctx, snapshot.ProviderFilter{Name: name})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w: none is named %q", allocations.ErrNoProvider, name)
	}
	if err != nil {
		return network.Provider{}, err
	}
	return all[0], nil
}

// ProvidersBelow is network.Placement's.
func (p *Placement) ProvidersBelow(ctx context.Context, root string) ([]network.Provider, error) {
	if err := checkUUID(root); err != nil {
		return nil, err
	}
	all, err := p.list(ctx, snapshot.ProviderFilter{InTree: placement.UUID(root)})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w: none has the UUID %s", allocations.ErrNoProvider, root)
	}
	return all, err
}

// list returns the providers that a filter leaves.
func (p *Placement) list(ctx context.Context, f snapshot.ProviderFilter) ([]network.Provider, error) {
	snapshot, err := p.service.Snapshot(ctx)
	if err != nil {
		return nil, told(err, nil)
	}
	found, err := snapshot.Providers(f)
	if err != nil {
		return nil, told(err, nil)
	}
	all := make([]network.Provider, len(found))
	for i, l := range found {
		all[i] = provider(l.Tree.Info(l.Provider))
	}
	return all, nil
}

func provider(info placement.ProviderInfo) network.Provider {
	return network.Provider{UUID: string(info.UUID), Name: info.Name, Parent: string(info.Parent), Generation: int64(info.Generation)}
}

// maxName bounds the name of a provider, in characters.
const maxName = 200

// EnsureProvider is network.Placement's. One that is so already is not written.
func (p *Placement) EnsureProvider(ctx context.Context, want network.Provider) error {
	if utf8.RuneCountInString(want.Name) > maxName {
		return invalid("the name %.50q… of a provider has more than %d characters", want.Name, maxName)
	}
	if err := checkUUID(want.UUID); err != nil {
		return err
	}
	if want.Parent != "" {
		if err := checkUUID(want.Parent); err != nil {
			return err
		}
	}
	return allocations.Retry(ctx, allocations.Pause, func() error { return told(p.ensureProvider(ctx, want), nil) })
}

// ensureProvider updates the provider, and creates it when there is none with the UUID.
func (p *Placement) ensureProvider(ctx context.Context, want network.Provider) error {
	err := p.update(ctx, want)
	if !isKind(err, fault.NotFound) {
		return err
	}
	_, err = p.service.CreateProvider(ctx, placement.NewProvider{UUID: placement.UUID(want.UUID), Name: want.Name, Parent: placement.UUID(want.Parent)})
	if isKind(err, fault.Conflict) {
		// Another instance created it concurrently, or the name is another provider's: the update
		// shows which.
		if late := p.update(ctx, want); !isKind(late, fault.NotFound) {
			return late
		}
	}
	return err
}

// update sets a provider's name and parent.
func (p *Placement) update(ctx context.Context, want network.Provider) error {
	_, is, tree, err := p.find(ctx, want.UUID)
	if err != nil {
		return err
	}
	if now := provider(tree.Info(is)); now.Name == want.Name && now.Parent == want.Parent {
		return nil
	}
	_, err = p.service.UpdateProvider(ctx, is.UUID, placement.ProviderChange{
		Name: want.Name, SetParent: true, Parent: placement.UUID(want.Parent), Reparent: true,
	})
	return err
}

// find returns a provider in a snapshot that has it if any instance has created it. Fault:
// NotFound.
func (p *Placement) find(ctx context.Context, uuid string) (*snapshot.Snapshot, *snapshot.Provider, *snapshot.Tree, error) {
	snapshot, err := p.service.SnapshotWith(ctx, placement.UUID(uuid))
	if err != nil {
		return nil, nil, nil, err
	}
	is, tree := snapshot.Provider(placement.UUID(uuid))
	if is == nil {
		return nil, nil, nil, placement.ErrNoProvider(placement.UUID(uuid))
	}
	return snapshot, is, tree, nil
}

// RemoveProvider is network.Placement's.
func (p *Placement) RemoveProvider(ctx context.Context, uuid string) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		err := p.service.DeleteProvider(ctx, placement.UUID(uuid))
		if isKind(err, fault.NotFound) {
			return nil
		}
		return told(err, allocations.ErrInUse)
	})
}

// checkUUID refuses what the wire's schemas refuse as a UUID.
func checkUUID(text string) error {
	if _, err := guarantee.ParseUUID(text); err != nil {
		return invalid("%v", err)
	}
	return nil
}
