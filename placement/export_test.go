package placement

// Shape returns the tree's shape.
func (t *Tree) Shape() *Shape { return t.shape }

// Has is Word for one slot.
func (r Room) Has(slot int, amount int64) bool {
	at := slot >> pageBits
	return amount <= 0 || at < len(r.pages) && int64(r.pages[at][slot&(pageSize-1)]) >= min(amount, roomEnd)
}
