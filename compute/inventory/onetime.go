package inventory

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// unreadOnce are the providers of devices for one use of which it decides what is reserved whether
// they are in use, which was not read.
func (h *Host) unreadOnce(actual providertree.Tree) (ids []placement.UUID) {
	for _, d := range h.Devices {
		cur, exists := named(actual, h.DeviceName(d))
		if i := cur.Inventories[d.Class]; exists && slices.Contains(d.Traits, TraitOneTimeUse) && cur.Used == nil &&
			(i.Reserved < i.Total || i.Total < d.Total) {
			ids = append(ids, cur.ID)
		}
	}
	return ids
}

// ReserveOnce reserves all of those providers of a host's tree that are devices for one use, of
// given names: they were allocated, and nobody else gets them when the allocation ends. It may be
// repeated, and changes nothing else.
func ReserveOnce(ctx context.Context, root placement.UUID, names []string, p providertree.Placement) error {
	return providertree.Retry(ctx, func() error {
		tree, err := p.Tree(ctx, root, func(cur providertree.Provider) bool { return slices.Contains(names, cur.Name) })
		if err != nil {
			return err
		}
		for _, cur := range tree.Providers {
			if !slices.Contains(cur.Traits, TraitOneTimeUse) {
				continue
			}
			before := cur.Inventories
			cur.Inventories = maps.Clone(before)
			for class, i := range cur.Inventories {
				i.Reserved = i.Total
				cur.Inventories[class] = i
			}
			if maps.Equal(before, cur.Inventories) {
				continue
			}
			if _, err := p.SetInventories(ctx, cur); err != nil {
				return err
			}
		}
		return nil
	})
}
