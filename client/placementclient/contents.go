package placementclient

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/berthcloud/berth/guarantee"
)

// EnsureTrait is network.Placement's.
func (p *Client) EnsureTrait(ctx context.Context, name string) error {
	return p.put(ctx, "/traits/"+url.PathEscape(name), nil)
}

// wireTraits are the traits of a provider in placement's JSON.
type wireTraits struct {
	Generation *int64   `json:"resource_provider_generation"`
	Traits     []string `json:"traits"`
}

func (w *wireTraits) Valid() bool { return w.Generation != nil }

// SetTraits is network.Placement's. Traits that are so already are not written.
func (p *Client) SetTraits(ctx context.Context, uuid string, traits []string) error {
	want := slices.Compact(slices.Sorted(slices.Values(traits)))
	path := providerPath(uuid) + "/traits"
	return noProvider(swap(ctx, func() error {
		var cur wireTraits
		if err := p.get(ctx, path, &cur); err != nil {
			return err
		}
		slices.Sort(cur.Traits)
		if slices.Equal(cur.Traits, want) {
			return nil
		}
		return p.put(ctx, path, wireTraits{cur.Generation, append([]string{}, want...)}) // never null
	}))
}

// wireInventories are those of a provider in placement's JSON.
type wireInventories struct {
	Generation  *int64                   `json:"resource_provider_generation"`
	Inventories map[string]wireInventory `json:"inventories"`
}

func (w *wireInventories) Valid() bool { return w.Generation != nil && w.Inventories != nil }

type wireInventory struct {
	Total    int64    `json:"total"`
	Reserved *int64   `json:"reserved,omitempty"`
	MinUnit  *int64   `json:"min_unit,omitempty"`
	MaxUnit  *int64   `json:"max_unit,omitempty"`
	StepSize *int64   `json:"step_size,omitempty"`
	Ratio    *float64 `json:"allocation_ratio,omitempty"`
}

// SetInventories implements network.Placement. Equal inventories are not written: placement would
// count that as a change, and concurrent writers of the provider would have to retry.
func (p *Client) SetInventories(ctx context.Context, uuid string, inventories map[string]guarantee.Inventory) error {
	want := make(map[string]wireInventory, len(inventories))
	for class, inv := range inventories {
		want[class] = wireInventory{inv.Total, inv.Reserved, inv.MinUnit, inv.MaxUnit, inv.StepSize, inv.AllocationRatio}
	}
	path := providerPath(uuid) + "/inventories"
	return inUse(noProvider(swap(ctx, func() error {
		var cur wireInventories
		if err := p.get(ctx, path, &cur); err != nil {
			return err
		}
		if maps.EqualFunc(cur.Inventories, want, wireInventory.equal) {
			return nil
		}
		return p.put(ctx, path, wireInventories{cur.Generation, want})
	})))
}

// maxUnit is placement's default of max_unit.
const maxUnit = 2147483647

// equal compares two inventories after placement's defaults are applied.
func (a wireInventory) equal(b wireInventory) bool {
	return a.Total == b.Total && same(a.Reserved, b.Reserved, 0) && same(a.MinUnit, b.MinUnit, 1) &&
		same(a.MaxUnit, b.MaxUnit, maxUnit) && same(a.StepSize, b.StepSize, 1) && same(a.Ratio, b.Ratio, 1)
}

func same[T cmp.Ordered](a, b *T, otherwise T) bool {
	if a == nil {
		a = &otherwise
	}
	if b == nil {
		b = &otherwise
	}
	return *a == *b
}
