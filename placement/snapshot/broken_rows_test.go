package snapshot_test

import (
	"testing"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// TestTreesOfBrokenRows builds snapshots of rows that are no trees, as others may
// leave behind: each provider must still lead to its root.
func TestTreesOfBrokenRows(t *testing.T) {
	for _, broken := range []struct {
		name string
		rows []placement.ProviderRow
	}{
		{"parent in another tree", []placement.ProviderRow{
			{ID: 1, UUID: "a0", Name: "a0", Root: 1},
			{ID: 2, UUID: "a1", Name: "a1", Parent: 1, Root: 1},
			{ID: 3, UUID: "a2", Name: "a2", Parent: 2, Root: 1},
			{ID: 4, UUID: "b0", Name: "b0", Root: 4},
			{ID: 5, UUID: "b1", Name: "b1", Parent: 3, Root: 4},
		}},
		{"parent that is gone", []placement.ProviderRow{
			{ID: 1, UUID: "a0", Name: "a0", Root: 1},
			{ID: 2, UUID: "a1", Name: "a1", Parent: 9, Root: 1},
		}},
		{"two below each other", []placement.ProviderRow{
			{ID: 1, UUID: "a0", Name: "a0", Root: 1},
			{ID: 2, UUID: "a1", Name: "a1", Parent: 3, Root: 1},
			{ID: 3, UUID: "a2", Name: "a2", Parent: 2, Root: 1},
		}},
		{"below itself", []placement.ProviderRow{
			{ID: 1, UUID: "a0", Name: "a0", Root: 1},
			{ID: 2, UUID: "a1", Name: "a1", Parent: 2, Root: 1},
		}},
	} {
		t.Run(broken.name, func(t *testing.T) {
			s := snapshot.New(nil, nil, placement.TreeRows{Providers: broken.rows}, time.Unix(0, 0))
			s.Checksums()
			for tree := range s.Trees() {
				for _, p := range tree.Providers {
					tree.Info(p)
					leadsToRoot(t, tree, p)
				}
			}
		})
	}
}

func leadsToRoot(t *testing.T, tree *snapshot.Tree, p *snapshot.Provider) {
	t.Helper()
	at := p
	for range tree.Providers {
		if at.Parent >= 0 {
			at = tree.Providers[at.Parent]
		}
	}
	if at != tree.Root() {
		t.Errorf("%s does not lead to its root", p.UUID)
	}
}
