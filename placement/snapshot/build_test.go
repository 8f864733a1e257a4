package snapshot_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// allTrees returns the providers of all trees.
func allTrees(s *snapshot.Snapshot) (all [][]*snapshot.Provider) {
	for t := range s.Trees() {
		all = append(all, t.Providers)
	}
	return all
}

// TestTreesOfShuffledRows makes the same trees of the same rows in any order.
func TestTreesOfShuffledRows(t *testing.T) {
	s := clouds.Bandwidth(30, 1)
	classes, traits, rows := s.Rows()
	shuffled := placement.TreeRows{
		Providers: shuffle(rows.Providers), Inventories: shuffle(rows.Inventories),
		Traits: shuffle(rows.Traits), Aggregates: shuffle(rows.Aggregates),
	}
	got := allTrees(snapshot.New(classes, traits, shuffled, time.Time{}))
	if diff := cmp.Diff(allTrees(s.Snapshot()), got, cmpopts.IgnoreUnexported(snapshot.Provider{})); diff != "" {
		t.Errorf("trees of rows in order and of shuffled ones (-want +got):\n%s", diff)
	}
}

func shuffle[T any](rows []T) []T {
	rows = slices.Clone(rows)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// TestTreesShareWhatIsAlike counts the inventories and lists of traits of hosts
// alike, also when each tree was read again.
func TestTreesShareWhatIsAlike(t *testing.T) {
	s := clouds.Bandwidth(30, 1)
	_, _, rows := s.Rows()
	snapshot := s.Snapshot()
	want := copies(snapshot)
	if want.inventories != 4 || want.traits != 8 {
		t.Fatalf("%+v, want 3 kinds of a host's inventories and one of its devices', 6 kinds of devices and 2 of hosts", want)
	}
	for _, p := range rows.Providers {
		if p.Root == p.ID {
			snapshot = snapshot.WithTrees([]int64{p.ID}, treeOf(rows, p.ID), time.Time{})
		}
	}
	if got := copies(snapshot); got != want {
		t.Errorf("%+v when all trees were read again, want %+v", got, want)
	}
}

// kept counts what is in memory once.
type kept struct{ inventories, traits, aggregates int }

func copies(s *snapshot.Snapshot) kept {
	inventories := make(map[*placement.Inventory]bool)
	traits, aggregates := make(map[*placement.TraitID]bool), make(map[*placement.AggregateID]bool)
	for _, tree := range allTrees(s) {
		for _, p := range tree {
			for i := range p.Inventories {
				inventories[p.Inventories[i].Inventory] = true
			}
			if len(p.Traits) > 0 {
				traits[&p.Traits[0]] = true
			}
			if len(p.Aggregates) > 0 {
				aggregates[&p.Aggregates[0]] = true
			}
		}
	}
	return kept{len(inventories), len(traits), len(aggregates)}
}

// TestStamps turns times into stamps and back.
func TestStamps(t *testing.T) {
	for _, at := range []time.Time{
		{},
		time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600)),
	} {
		if got := placement.StampOf(at).Time(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("StampOf(%v).Time() = %v", at, got)
		}
	}
	if got := placement.StampOf(time.Unix(1, 1999)).Time(); got.Nanosecond() != 1000 {
		t.Errorf("a stamp has %d ns, want it cut to the microsecond", got.Nanosecond())
	}
}
