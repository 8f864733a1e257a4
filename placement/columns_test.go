package placement_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
)

// mostRoom is more than any stock of the books has.
const mostRoom = 20

// observeRoom returns the biggest amount for which there may be room in each
// tree, where there is any.
func observeRoom(w *placement.Snapshot, class placement.ClassID) map[placement.UUID]int64 {
	room := w.Room(class)
	amounts := make(map[placement.UUID]int64)
	for t := range w.Trees() {
		for amount := int64(1); room.Has(t.Slot(), amount); amount++ {
			amounts[t.Root().UUID] = amount
		}
	}
	for _, amount := range []int64{-1, 0, 1, 4, 9, mostRoom} {
		mustBe(!room.Has(w.Slots()+1000, max(amount, 1)), "no slot, no room")
		for word := range w.Slots()/64 + 2 {
			for _, among := range []uint64{math.MaxUint64, 5} {
				mustBe(room.Word(word, among, amount) == wordOf(room, word, among, amount), "a word is its slots")
			}
		}
	}
	return amounts
}

// wordOf is Room.Word one slot at a time.
func wordOf(r placement.Room, word int, among uint64, amount int64) (set uint64) {
	for bit := range 64 {
		if among&(1<<bit) != 0 && r.Has(word*64+bit, amount) {
			set |= 1 << bit
		}
	}
	return set
}

// mustBeIndexed checks what the indexes say of a tree against the tree.
func mustBeIndexed(w *placement.Snapshot, t *placement.Tree) {
	for _, p := range t.Providers {
		mustBeSet(t, t.Lineage(p.Index), func(q *placement.Provider) bool { return isAbove(t, q, p) })
	}
	for _, n := range w.Classes().List() {
		class := placement.ClassID(n.ID)
		offers := func(p *placement.Provider) bool { return p.Stock(class) != nil }
		mustBeSet(t, t.WithClass(class), offers)
		for amount := int64(1); amount < mostRoom; amount++ {
			mustHaveRoom(w, t, class, amount)
		}
	}
	for _, n := range w.Traits().List() {
		id := placement.TraitID(n.ID)
		mustBeSet(t, t.WithTrait(id), func(p *placement.Provider) bool { return p.HasTrait(id) })
	}
}

// isAbove reports whether a provider is another or above it.
func isAbove(t *placement.Tree, p, other *placement.Provider) bool {
	for p != other && other.Parent >= 0 {
		other = t.Providers[other.Parent]
	}
	return p == other
}

// mustBeSet checks a set of the tree's providers.
func mustBeSet(t *placement.Tree, set []uint64, has func(*placement.Provider) bool) {
	for _, p := range t.Providers {
		in := set != nil && set[p.Index>>6]&(1<<(p.Index&63)) != 0
		mustBe(in == has(p), "a provider is in the sets of what it has")
	}
}

func mustHaveRoom(w *placement.Snapshot, t *placement.Tree, class placement.ClassID, amount int64) {
	room := false
	for _, p := range t.Providers {
		s := p.Stock(class)
		room = room || s != nil && s.Room(amount)
	}
	says := w.Room(class).Has(t.Slot(), amount)
	mustBe(says || !room, "what has room is said to have room")
}

// The numbers where integers, floats and the entries of rooms end.
func TestRoomIsRightAtTheEnds(t *testing.T) {
	const big = math.MaxInt32
	for _, inv := range []placement.Inventory{
		{Total: 10, MaxUnit: 10, AllocationRatio: math.NaN()},
		{Total: 10, MaxUnit: 10, AllocationRatio: math.Inf(1)},
		{Total: 10, MaxUnit: 10, AllocationRatio: math.Inf(-1)},
		{Total: big, MaxUnit: big, AllocationRatio: 3.4e38},
		{Total: big, MaxUnit: math.MaxInt64, AllocationRatio: 3.4e38},
		{Total: 0, Reserved: big, MaxUnit: big, AllocationRatio: 3.4e38},
		{Total: big, MaxUnit: big, AllocationRatio: 1},
		{Total: 1, MaxUnit: 1, AllocationRatio: 0.999999},
		{Total: 3, MaxUnit: 9, AllocationRatio: 1.67},
		{Total: 1 << 53, MaxUnit: 7, AllocationRatio: 1},
		{Total: 10, MaxUnit: -1, AllocationRatio: 1},
	} {
		inv.StepSize = 1
		for _, used := range []int64{0, 1, 4, 5, big - 1, big, 1 << 51, 1<<53 - 1, 1 << 53} {
			t.Run(fmt.Sprintf("%v/%d", inv, used), func(t *testing.T) {
				w := placement.NewSnapshot(nil, nil, placement.TreeRows{
					Providers:   []placement.ProviderRow{{ID: 1, UUID: "a", Name: "a", Root: 1}},
					Inventories: []placement.InventoryRow{{Provider: 1, Class: 1, Used: used, Inventory: inv}},
				}, time.Time{})
				for _, amount := range []int64{1, 2, 5, 6, 7, 10, 11, big - 2, big - 1, big, big + 1} {
					stock := w.Tree(0).Root().Stock(1)
					room, says := stock.Room(amount), w.Room(1).Has(0, amount)
					if room && !says {
						t.Errorf("Room(%d) is %t, the index says %t", amount, room, says)
					}
				}
			})
		}
	}
}

// Snapshots of several pages, of which an edit copies only some.
func TestRoomOverPages(t *testing.T) {
	const hosts = 1000
	var pic placement.TreeRows
	for id := int64(1); id <= hosts; id++ {
		name := fmt.Sprint(id)
		pic.Providers = append(pic.Providers, placement.ProviderRow{ID: id, UUID: placement.UUID(name), Name: name, Root: id})
		pic.Inventories = append(pic.Inventories, placement.InventoryRow{Provider: id, Class: 1, Inventory: placement.Inventory{
			Total: id % 20, MinUnit: 1, MaxUnit: 20, StepSize: 1, AllocationRatio: 1,
		}})
	}
	classes := []placement.Named{{ID: 1, Name: "VCPU"}}
	before := placement.NewSnapshot(classes, nil, pic, time.Time{})
	was := observe(before)
	var part placement.TreeRows
	for _, id := range []int64{300, 301, 999} {
		part.Providers = append(part.Providers, pic.Providers[id-1])
		row := pic.Inventories[id-1]
		row.Used = 1
		part.Inventories = append(part.Inventories, row)
		pic.Inventories[id-1].Used = 1
	}
	after := before.WithTrees([]int64{300, 301, 999}, part, time.Time{})
	if diff := cmp.Diff(observe(placement.NewSnapshot(classes, nil, pic, time.Time{})), observe(after)); diff != "" {
		t.Errorf("the edited snapshot (-new +edited):\n%s", diff)
	}
	if diff := cmp.Diff(was, observe(before)); diff != "" {
		t.Errorf("the older snapshot changed:\n%s", diff)
	}
}
