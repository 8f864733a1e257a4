package placementapi

import (
	"sync/atomic"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// A blockText is the texts of the trees of a block, one behind the other, so that
// what an answer says of trees whose slots follow each other is one piece.
type blockText struct {
	text  []byte
	trees [placement.BlockSize]span // where the texts of the trees are
	// roots are the quoted UUIDs of the trees' roots, nothing where there is no
	// tree or the UUID has another length.
	roots [placement.BlockSize][nameSize]byte
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

// between returns the texts of the trees in the slots of the block from one up to,
// not including, another, as members of one object. There must be a tree in each.
func (x *blockText) between(from, to int) []byte {
	return x.text[x.trees[from].from:x.trees[to-1].to]
}

// root returns the quoted UUID of a tree's root, nil when it is not known.
func (x *blockText) root(at int) *[nameSize]byte {
	if x.roots[at][0] == 0 {
		return nil
	}
	return &x.roots[at]
}

const (
	// cacheLine is how many bytes a processor fetches from memory at a time.
	cacheLine = 64
	// lookedAt is how much of a text is looked at before it is needed: when the rest
	// follows the processor fetches it by itself.
	lookedAt = 10 * cacheLine
)

// look reads the beginning of a tree's text, so that it is in the processor's cache
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
	texts := make([]treeText, placement.BlockSize)
	x.text = httpapi.JSONText(func(j *httpapi.JSON) {
		for i, t := range b.Trees() {
			if t == nil {
				continue
			}
			from := nextMember(j)
			if known, ok := t.Memo().Load().(*treeText); ok && known.names == w.Names() {
				j.Raw(known.summaries)
				texts[i] = *known
			} else {
				texts[i] = writeTree(j, w, t)
			}
			x.trees[i] = span{uint32(from), uint32(j.Len())}
		}
	})
	for i, t := range b.Trees() {
		if t == nil {
			continue
		}
		texts[i].summaries = x.between(i, i+1)
		t.Memo().Store(&texts[i])
		if root := texts[i].key(0); len(root) == nameSize {
			copy(x.roots[i][:], root)
		}
	}
	m.text.Store(x)
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
