package snapshot_test

import (
	"testing"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// TestSnapshotFoldsCaseAsItsStoreDoes looks things up in another spelling.
func TestSnapshotFoldsCaseAsItsStoreDoes(t *testing.T) {
	rows := placement.TreeRows{
		Providers:  []placement.ProviderRow{{ID: 1, UUID: "Ab", Name: "Host", Root: 1}},
		Aggregates: []placement.AggregateRow{{Provider: 1, ID: 7, UUID: "aGG"}},
	}
	for _, fold := range []bool{false, true} {
		rows.FoldCase = fold
		s := snapshot.New(nil, nil, rows, time.Time{})
		s = s.WithTrees([]int64{1}, rows, time.Time{})
		p, _ := s.Provider("aB")
		q, _ := s.ProviderNamed("hOST")
		_, agg := s.Aggregate("AGG")
		if p != nil != fold || q != nil != fold || agg != fold {
			t.Errorf("FoldCase %v: by UUID %v, by name %v, aggregate %v", fold, p, q, agg)
		}
		if p, _ := s.Provider("Ab"); p == nil || p.UUID != "Ab" {
			t.Errorf("FoldCase %v: in its own spelling: %v", fold, p)
		}
		if s = s.WithTrees([]int64{1}, placement.TreeRows{FoldCase: fold}, time.Time{}); s.Len() != 0 {
			t.Errorf("FoldCase %v: %d providers are left", fold, s.Len())
		}
		if p, _ := s.Provider("Ab"); p != nil {
			t.Errorf("FoldCase %v: it is found after it went: %v", fold, p)
		}
	}
}
