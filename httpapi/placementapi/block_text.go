package placementapi

import (
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

// A blockText is the texts of the trees of a block, one behind the other, so that
// what an answer says of trees whose slots follow each other is one piece.
type blockText struct {
	names *placement.Names          // that the text has
	text  []byte                    // empty when there is none yet
	trees [placement.BlockSize]span // where the texts of the trees are
	// roots are the quoted UUIDs of the trees' roots, nothing where there is no
	// tree or the UUID has another length.
	roots [placement.BlockSize][nameSize]byte
}

// noBlockText is the text of a block that was asked for once.
var noBlockText = &blockText{}

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

// blockTextOf returns the text of a block as the world has it. It is made for
// whoever asks for the second time: of a block in which servers come and go all the
// time it would be old before it is used.
func blockTextOf(w *placement.World, b placement.Block) *blockText {
	switch x, _ := b.Memo().Load().(*blockText); {
	case x == nil:
		b.Memo().Store(noBlockText)
		return noBlockText
	case x.names == w.Names():
		return x
	}
	return newBlockText(w, b)
}

// newBlockText makes the text of a block and keeps it; the trees' own texts are
// pieces of it from then on.
func newBlockText(w *placement.World, b placement.Block) *blockText {
	x := &blockText{names: w.Names()}
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
	b.Memo().Store(x)
	return x
}

// blockOf returns the text of the block that a slot is in; it has nothing in it
// when there is none yet. An answer asks for it once.
func (c *candidatesAnswer) blockOf(slot int) *blockText {
	if c.blocks == nil {
		c.blocks = make([]*blockText, (c.world.Slots()+placement.BlockSize-1)/placement.BlockSize)
	}
	x := &c.blocks[slot/placement.BlockSize]
	if *x == nil {
		*x = blockTextOf(c.world, c.world.Block(slot))
	}
	return *x
}
