package placementapi

import (
	"context"
	"math"
	"math/big"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// A treeText is what candidates say of a tree, ready to be sent: the members of
// provider_summaries for all its providers, as the versions since 1.29 have them. It
// is made when an answer first needs it and kept with the tree, which is another one
// after every change.
type treeText struct {
	names *placement.Names // that the text has
	text  []byte
}

// textOf returns the text of a tree as the world has it. Several answers may
// make it at the same time; all make the same.
func textOf(w *placement.World, t *placement.Tree) []byte {
	if x, ok := t.Memo().Load().(*treeText); ok && x.names == w.Names() {
		return x.text
	}
	s := summaryWriter{world: w, minor: 29}
	text := httpapi.JSONText(func(j *httpapi.JSON) {
		for _, p := range t.Providers {
			j.Key(string(p.UUID))
			s.write(j, t, p)
		}
	})
	t.Memo().Store(&treeText{w.Names(), text})
	return text
}

// Prepare makes the texts of all trees, so that the first answers about them cost
// no more than later ones. It takes a few microseconds for each tree, may run
// beside requests, and ends early when ctx does.
func (a *API) Prepare(ctx context.Context) {
	w, err := a.Placement.World(ctx)
	if err != nil {
		return // requests will be told
	}
	prepare(ctx, w)
}

func prepare(ctx context.Context, w *placement.World) {
	for t := range w.Trees() {
		if ctx.Err() != nil {
			return
		}
		textOf(w, t)
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
