package placement

import "sync/atomic"

// A Memo has room for one value that a reader made from something that never
// changes, such as its form in answers, for whoever asks for it next. It is not
// part of what it was made from: what replaces that has an empty one. The values
// must stay good as long as that is there: names of classes and traits may change
// meanwhile (see World.Names). A Memo is safe for concurrent use.
type Memo struct{ value atomic.Value }

// Load returns what was stored last, nil before.
func (m *Memo) Load() any { return m.value.Load() }

// Store keeps a value. All values of the memos of one kind of thing are of one
// type.
func (m *Memo) Store(v any) { m.value.Store(v) }

// BlockSize is how many slots a Block has.
const BlockSize = pageSize

// A Block is the trees of successive slots in a picture of the world: those from
// a multiple of BlockSize on. It is immutable and safe for concurrent use;
// successive pictures share the blocks in which no tree has changed.
type Block struct{ page *page[*Tree] }

// Block returns the block that a slot is in, which must be one of Slots.
func (w *World) Block(slot int) Block { return Block{w.trees.list[slot>>pageBits]} }

// Trees returns the trees in the order of their slots, nil where there is none. It
// must not be changed.
func (b Block) Trees() *[BlockSize]*Tree { return &b.page.items }

// Memo returns the block's memo.
func (b Block) Memo() *Memo { return &b.page.memo }
