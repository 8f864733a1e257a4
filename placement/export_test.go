package placement

// WaitingClaims returns how many claims and releases wait for a batch.
func (s *Service) WaitingClaims() int {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	return len(s.batches.waiting)
}
