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

// A treeText is the cached JSON of a tree: the members of provider_summaries for all its providers,
// in the form of the versions since 1.29.
type treeText struct {
	tree  *snapshot.Tree
	names *snapshot.Names // that the text has
	text  []byte
}

// treeTexts is the cache of texts, by the index of the tree. A tree that has changed is another
// object, and its text is made when an answer first needs it. It is safe for concurrent use; the
// zero value is empty.
type treeTexts struct {
	// growing is locked while byIndex gets a longer slice; entries are read and stored without it.
	growing sync.Mutex
	byIndex atomic.Pointer[[]atomic.Pointer[treeText]]
}

// of returns the text of a tree of a snapshot. Several answers may make the same text at the same
// time.
func (x *treeTexts) of(w *snapshot.Snapshot, t *snapshot.Tree) []byte {
	entry := &x.entries(w.IndexLimit())[t.Index()]
	if k := entry.Load(); k != nil && k.tree == t && k.names == w.Names() {
		return k.text
	}
	s := summaryWriter{snapshot: w, minor: 29}
	text := httpapi.JSONText(func(j *httpapi.JSON) {
		for _, p := range t.Providers {
			j.Key(string(p.UUID))
			s.write(j, t, p)
		}
	})
	entry.Store(&treeText{t, w.Names(), text})
	return text
}

// entries returns at least n entries. A text that is stored while they grow may be lost.
func (x *treeTexts) entries(n int) []atomic.Pointer[treeText] {
	if s := x.byIndex.Load(); s != nil && len(*s) >= n {
		return *s
	}
	x.growing.Lock()
	defer x.growing.Unlock()
	var old []atomic.Pointer[treeText]
	if s := x.byIndex.Load(); s != nil {
		old = *s
	}
	if len(old) >= n {
		return old
	}
	grown := make([]atomic.Pointer[treeText], n+n/4)
	for i := range old {
		grown[i].Store(old[i].Load())
	}
	x.byIndex.Store(&grown)
	return grown
}

// Prepare makes the texts of all trees, so that the first answers cost no more than later ones. It
// takes a few microseconds for each tree, may run concurrently with requests, and ends early when
// ctx does.
func (a *API) Prepare(ctx context.Context) {
	w, err := a.Placement.Snapshot(ctx)
	if err != nil {
		return // requests fail with it
	}
	for t := range w.Trees() {
		if ctx.Err() != nil {
			return
		}
		a.texts.of(w, t)
	}
}

// writeCapacity writes a capacity in full: a ratio such as 3.4e38 makes it greater than any integer
// type.
func writeCapacity(j *httpapi.JSON, inv placement.Inventory) {
	c := inv.Capacity()
	if c != math.MaxInt64 {
		j.Int(c)
		return
	}
	whole, _ := big.NewFloat(inv.Usable()).Int(nil)
	j.Raw(whole.Append(nil, 10))
}
