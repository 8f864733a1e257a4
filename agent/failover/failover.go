// Package failover calls one of several equivalent services.
package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Services are equivalent services. They are tried in order, from the one that answered last. They
// may be used concurrently.
type Services[S any] struct {
	All []S // in the order of the settings; it is set before Do is called

	mu   sync.Mutex // guards last
	last int
}

// Do calls fn with one service after the other until it returns nil, or ctx has ended. The error
// has those of all services that were tried.
func (s *Services[S]) Do(ctx context.Context, fn func(S) error) error {
	s.mu.Lock()
	first := s.last
	s.mu.Unlock()
	var errs []error
	for i := range s.All {
		n := (first + i) % len(s.All)
		err := fn(s.All[n])
		if err == nil {
			s.mu.Lock()
			s.last = n
			s.mu.Unlock()
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if len(s.All) > 1 {
			err = fmt.Errorf("address %d of %d: %w", n+1, len(s.All), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
