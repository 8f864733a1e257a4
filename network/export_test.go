package network

import "time"

// SetClock makes a service use another clock.
func (s *Service) SetClock(now func() time.Time) { s.now = now }
