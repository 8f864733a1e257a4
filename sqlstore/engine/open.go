package engine

import (
	"context"
	"fmt"
	"strings"
)

// Open opens the database that the options name and begins to serve.
func (s *Engine[N]) Open(ctx context.Context) error {
	if s.opts.Server != nil {
		if err := s.openServer(ctx); err != nil {
			_ = s.disconnect()
			return fmt.Errorf("opening the database %s on %s: %w",
				s.opts.Server.Database, strings.Join(s.opts.Server.Hosts, ", "), err)
		}
		return nil
	}
	if s.opts.Path == Memory {
		if err := s.openMemory(ctx); err != nil {
			return fmt.Errorf("opening a database in memory: %w", err)
		}
		return nil
	}
	if err := s.openPath(ctx); err != nil {
		return fmt.Errorf("opening the database %s: %w", s.opts.Path, err)
	}
	return nil
}
