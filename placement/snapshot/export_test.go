package snapshot

// Shape returns the tree's shape.
func (t *Tree) Shape() *Shape { return t.shape }
