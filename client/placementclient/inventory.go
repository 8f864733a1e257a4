package placementclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

var _ providertree.Placement = (*Compute)(nil)

// Tree is that of providertree.Placement. The generations were read before the rest: a concurrent
// change makes the next write fail.
func (c *Compute) Tree(ctx context.Context, root placement.UUID) (t providertree.Tree, err error) {
	all, err := c.placement.list(ctx, "in_tree", string(root))
	for _, p := range all {
		cur := providertree.Provider{ID: placement.UUID(p.UUID), Name: p.Name, Parent: placement.UUID(p.Parent), Generation: p.Generation}
		if cur.Inventories, err = c.inventories(ctx, p.UUID); err != nil {
			return t, err
		}
		var traits wireTraits
		if err := c.placement.get(ctx, providerPath(p.UUID)+"/traits", &traits); err != nil {
			return t, asConcurrentChange(err)
		}
		cur.Traits = traits.Traits
		t.Providers = append(t.Providers, cur)
	}
	if err != nil || len(all) == 0 {
		return t, err
	}
	t.SharedDisk, err = c.sharedDisk(ctx, string(root), all)
	return t, err
}

func (c *Compute) inventories(ctx context.Context, provider string) (map[string]placement.Inventory, error) {
	var wire wireInventories
	if err := c.placement.get(ctx, providerPath(provider)+"/inventories", &wire); err != nil {
		return nil, asConcurrentChange(err)
	}
	all := make(map[string]placement.Inventory, len(wire.Inventories))
	for class, w := range wire.Inventories {
		all[class] = placement.Inventory{
			Total: w.Total, Reserved: or(w.Reserved, 0), MinUnit: or(w.MinUnit, 1), MaxUnit: or(w.MaxUnit, maxUnit),
			StepSize: or(w.StepSize, 1), AllocationRatio: or(w.Ratio, 1),
		}
	}
	return all, nil
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// sharedDisk reports whether a provider outside of a tree shares its disk with the root.
func (c *Compute) sharedDisk(ctx context.Context, root string, tree []network.Provider) (bool, error) {
	var in wireAggregates
	if err := c.placement.get(ctx, providerPath(root)+"/aggregates", &in); err != nil || len(in.Aggregates) == 0 {
		return false, asConcurrentChange(err)
	}
	var sharing wireProviders
	query := url.Values{"member_of": {"in:" + strings.Join(in.Aggregates, ",")}, "required": {placement.SharesViaAggregate}}
	if err := c.placement.get(ctx, "/resource_providers?"+query.Encode(), &sharing); err != nil {
		return false, err
	}
	for _, p := range sharing.Providers {
		if slices.ContainsFunc(tree, func(own network.Provider) bool { return own.UUID == p.UUID }) {
			continue
		}
		all, err := c.inventories(ctx, p.UUID)
		if _, ok := all[inventory.DiskGB]; ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Used is providertree.Placement's.
func (c *Compute) Used(ctx context.Context, id placement.UUID) (map[string]int64, error) {
	var wire wireUsages
	if err := c.placement.get(ctx, providerPath(string(id))+"/usages", &wire); err != nil {
		return nil, asConcurrentChange(err)
	}
	return wire.Usages, nil
}

// wireUsages are those of a provider in placement's JSON.
type wireUsages struct {
	Usages map[string]int64 `json:"usages"`
}

func (w *wireUsages) Valid() bool { return w.Usages != nil }

// EnsureNames is providertree.Placement's.
func (c *Compute) EnsureNames(ctx context.Context, classes, traits []string) error {
	for _, name := range classes {
		if err := c.placement.put(ctx, "/resource_classes/"+url.PathEscape(name), nil); err != nil {
			return err
		}
	}
	for _, name := range traits {
		if err := c.placement.EnsureTrait(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *wireProvider) Valid() bool { return w.UUID != "" }

// Create is providertree.Placement's.
func (c *Compute) Create(ctx context.Context, p providertree.Provider) (int64, error) {
	body := wireProvider{UUID: string(p.ID), Name: p.Name}
	if p.Parent != "" {
		body.Parent = (*string)(&p.Parent)
	}
	var made wireProvider
	err := c.placement.call(ctx, reparent, client.Request{Method: http.MethodPost, Path: "/resource_providers", Body: body}, &made)
	if r := client.Refused(err, http.StatusConflict); r != nil {
		if c.placement.get(ctx, providerPath(string(p.ID)), &made) == nil {
			return 0, client.Known(r, allocations.ErrGeneration)
		} // else the name is another's
	}
	return made.Generation, err
}

// Remove is providertree.Placement's.
func (c *Compute) Remove(ctx context.Context, id placement.UUID) error {
	return c.placement.RemoveProvider(ctx, string(id))
}

// SetInventories is providertree.Placement's.
func (c *Compute) SetInventories(ctx context.Context, p providertree.Provider) (int64, error) {
	body := wireInventories{&p.Generation, make(map[string]wireInventory, len(p.Inventories))}
	for class, i := range p.Inventories {
		body.Inventories[class] = wireInventory{i.Total, &i.Reserved, &i.MinUnit, &i.MaxUnit, &i.StepSize, &i.AllocationRatio}
	}
	var now wireInventories
	err := c.set(ctx, p, "/inventories", body, &now)
	return or(now.Generation, 0), err
}

// SetTraits is providertree.Placement's.
func (c *Compute) SetTraits(ctx context.Context, p providertree.Provider) (int64, error) {
	var now wireTraits
	err := c.set(ctx, p, "/traits", wireTraits{&p.Generation, append([]string{}, p.Traits...)}, &now)
	return or(now.Generation, 0), err
}

func (c *Compute) set(ctx context.Context, p providertree.Provider, what string, body any, now client.Document) error {
	q := client.Request{Method: http.MethodPut, Path: providerPath(string(p.ID)) + what, Body: body}
	err := c.placement.call(ctx, reparent, q, now)
	switch r := client.Refused(err, http.StatusConflict); {
	case r != nil && r.Code == codeConcurrent:
		return client.Known(r, allocations.ErrGeneration)
	case r != nil:
		return client.Known(r, allocations.ErrInUse)
	}
	return asConcurrentChange(err)
}

// asConcurrentChange turns the error for a removed provider into that for a concurrent change.
func asConcurrentChange(err error) error {
	if r := client.Refused(err, http.StatusNotFound); r != nil {
		return client.Known(r, allocations.ErrGeneration)
	}
	return err
}
