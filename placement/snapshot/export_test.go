package snapshot

// Shape returns the tree's layout.
func (t *Tree) Layout() *Layout { return t.layout }
