package fleet

import (
	"context"

	"github.com/berthcloud/berth/compute/inventory"
)

// Consumers returns what is known of the consumers of a host's tree.
func (s *Service) Consumers(ctx context.Context, host string, ids []string) (map[string]inventory.Consumer, error) {
	return s.consumers(ctx, host, ids)
}
