package network

import "time"

// Rivals in tests are done at once.
func init() { swapPause /= 10 }

// SetClock makes a service use another clock.
func (s *Service) SetClock(now func() time.Time) { s.now = now }
