package placementapi

import (
	"context"
	"math"
	"math/big"
	"sync"
	"sync/atomic"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A treeText is what candidates say of a tree, ready to be sent: the members of
// provider_summaries for all its providers, as the versions since 1.29 have them.
type treeText struct {
	tree  *snapshot.Tree
	names *snapshot.Names // that the text has
	text  []byte
}

// treeTexts keeps the texts of trees, by slot. A tree that has changed is another one, and
// its text is made when an answer first needs it. It is safe for concurrent use; the zero
// value is empty.
type treeTexts struct {
	growing sync.Mutex
	bySlot  atomic.Pointer[[]atomic.Pointer[treeText]]
}

// of returns the text of a tree of a snapshot. Several answers may make it at the same time;
// all make the same.
func (x *treeTexts) of(w *snapshot.Snapshot, t *snapshot.Tree) []byte {
	kept := &x.slots(w.IndexLimit())[t.Index()]
	if k := kept.Load(); k != nil && k.tree == t && k.names == w.Names() {
		return k.text
	}
	s := summaryWriter{snapshot: w, minor: 29}
	text := httpapi.JSONText(func(j *httpapi.JSON) {
		for _, p := range t.Providers {
			j.Key(string(p.UUID))
			s.write(j, t, p)
		}
	})
	kept.Store(&treeText{t, w.Names(), text})
	return text
}

// slots returns at least n slots. A text that is stored while they grow may be lost.
func (x *treeTexts) slots(n int) []atomic.Pointer[treeText] {
	if s := x.bySlot.Load(); s != nil && len(*s) >= n {
		return *s
	}
	x.growing.Lock()
	defer x.growing.Unlock()
	var old []atomic.Pointer[treeText]
	if s := x.bySlot.Load(); s != nil {
		old = *s
	}
	if len(old) >= n {
		return old
	}
	grown := make([]atomic.Pointer[treeText], n+n/4)
	for i := range old {
		grown[i].Store(old[i].Load())
	}
	x.bySlot.Store(&grown)
	return grown
}

// Prepare makes the texts of all trees, so that the first answers about them cost
// no more than later ones. It takes a few microseconds for each tree, may run
// beside requests, and ends early when ctx does.
func (a *API) Prepare(ctx context.Context) {
	w, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return // requests will be told
	}
	for t := range w.Trees() {
		if ctx.Err() != nil {
			return
		}
		a.texts.of(w, t)
	}
}

// writeCapacity writes a capacity in full, also where a ratio like 3.4e38 makes
// it bigger than any integer type.
func writeCapacity(j *httpapi.JSON, inv placement.Inventory) {
	c := inv.Capacity()
	if c != math.MaxInt64 {
		j.Int(c)
		return
	}
	whole, _ := big.NewFloat(inv.Usable()).Int(nil)
	j.Raw(whole.Append(nil, 10))
}
