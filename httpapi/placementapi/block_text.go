package placementapi

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// A blockText is the texts of the trees of a block, one behind the other, so that
// what an answer says of trees that follow each other there is one piece. Trees that
// are alike are neighbours: an answer is often about those of one zone.
type blockText struct {
	text []byte
	// places are where trees come in the text, by their slots; the rest is in the
	// order of places.
	places [placement.BlockSize]uint8
	trees  [placement.BlockSize]span // where the texts of the trees are
	// named has a bit for each tree whose text begins with a name of nameSize: the
	// quoted UUID of its root.
	named [placement.BlockSize / 64]uint64
}

// A blockMemo is kept with a block: its text when it has one.
type blockMemo struct {
	names *placement.Names // that the text has
	text  atomic.Pointer[blockText]
	// spent is how many texts of its trees were written one by one.
	spent atomic.Int64
}

// memoOf returns the memo of a block for the names of a world.
func memoOf(w *placement.World, b placement.Block) *blockMemo {
	if m, ok := b.Memo().Load().(*blockMemo); ok && m.names == w.Names() {
		return m
	}
	m := &blockMemo{names: w.Names()}
	b.Memo().Store(m)
	return m
}

// wrote notes that an answer wrote so many texts of the block's trees one by one.
// When they were as many as there are trees, the text of the block is made: a block in
// which servers come and go all the time has none, since it would be old before it
// has paid.
func (m *blockMemo) wrote(n int, w *placement.World, b placement.Block) {
	if after := m.spent.Add(int64(n)); after >= placement.BlockSize && after-int64(n) < placement.BlockSize {
		m.build(w, b)
	}
}

// between returns the texts of the trees in the places from one up to, not including,
// another, as members of one object. There must be a tree in each.
func (x *blockText) between(from, to int) []byte {
	return x.text[x.trees[from].from:x.trees[to-1].to]
}

// root returns the quoted UUID of the root of the tree in a slot of the block, nil when it
// is not known.
func (x *blockText) root(slot int) *[nameSize]byte {
	at := x.places[slot]
	if x.named[at/64]&(1<<(at%64)) == 0 {
		return nil
	}
	return (*[nameSize]byte)(x.text[x.trees[at].from:])
}

const (
	// cacheLine is how many bytes a processor fetches from memory at a time.
	cacheLine = 64
	// lookedAt is how much of a text is looked at before it is needed: when the rest
	// follows the processor fetches it by itself.
	lookedAt = 10 * cacheLine
)

// look reads the beginning of the text in a place, so that it is in the processor's cache
// when it is needed. What it returns is of no meaning.
func (x *blockText) look(at int) (sum byte) {
	text := x.trees[at]
	for i := text.from; i < min(text.to, text.from+lookedAt); i += cacheLine {
		sum += x.text[i]
	}
	return sum
}

// build makes the text of the block. The texts of its trees are pieces of it from
// then on.
func (m *blockMemo) build(w *placement.World, b placement.Block) {
	x := new(blockText)
	trees := byLikeness(b)
	texts := make([]treeText, len(trees))
	x.text = httpapi.JSONText(func(j *httpapi.JSON) {
		for at, t := range trees {
			from := nextMember(j)
			if known, ok := t.Memo().Load().(*treeText); ok && known.names == w.Names() {
				j.Raw(known.summaries)
				texts[at] = *known
			} else {
				texts[at] = writeTree(j, w, t)
			}
			x.trees[at] = span{uint32(from), uint32(j.Len())}
		}
	})
	for at, t := range trees {
		texts[at].summaries = x.between(at, at+1)
		t.Memo().Store(&texts[at])
		if len(texts[at].key(0)) == nameSize {
			x.named[at/64] |= 1 << (at % 64)
		}
		x.places[t.Slot()%placement.BlockSize] = uint8(at)
	}
	m.text.Store(x)
}

// byLikeness returns the trees of a block in the order of what queries tell roots apart by:
// their aggregates, their traits.
func byLikeness(b placement.Block) []*placement.Tree {
	var trees []*placement.Tree
	for _, t := range b.Trees() {
		if t != nil {
			trees = append(trees, t)
		}
	}
	slices.SortStableFunc(trees, func(one, other *placement.Tree) int {
		p, q := one.Root(), other.Root()
		return cmp.Or(slices.Compare(p.Aggregates, q.Aggregates), slices.Compare(p.Traits, q.Traits))
	})
	return trees
}

// A blockUse is what an answer knows of a block. It looks once, so that all it says
// is of one text.
type blockUse struct {
	memo *blockMemo
	text *blockText // nil when there is none
}

// blockOf returns the block that a slot is in.
func (c *candidatesAnswer) blockOf(slot int) *blockUse {
	if c.blocks == nil {
		c.blocks = make([]blockUse, (c.world.Slots()+placement.BlockSize-1)/placement.BlockSize)
	}
	u := &c.blocks[slot/placement.BlockSize]
	if u.memo == nil {
		u.memo = memoOf(c.world, c.world.Block(slot))
		u.text = u.memo.text.Load()
	}
	return u
}
