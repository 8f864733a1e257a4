package placement

// WaitingClaims returns how many claims and releases wait for a batch.
func (s *Service) WaitingClaims() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return len(s.batches.waiting)
}

// Shape returns the tree's shape.
func (t *Tree) Shape() *Shape { return t.shape }

// Has is Word for one slot.
func (r Room) Has(slot int, amount int64) bool {
	at := slot >> pageBits
	return amount <= 0 || at < len(r.pages) && int64(r.pages[at][slot&(pageSize-1)]) >= min(amount, roomEnd)
}
