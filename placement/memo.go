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
