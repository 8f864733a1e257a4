package rowtable

import (
	"context"

	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// A NetworkStore keeps the rows of the network service in a database of their own.
// It implements network.Store and is made by OpenNetwork.
type NetworkStore struct{ *rowStore }

var _ network.Store = (*NetworkStore)(nil)

// OpenNetwork opens a database of the network service, making its tables when it
// is empty. One that belongs to something else, placement and OpenStack's own
// Neutron included, or that a newer program made, is an error that says so and is
// left as it is. Of an older one the same is true unless Options.Sync is set.
func OpenNetwork(ctx context.Context, opts engine.Options) (*NetworkStore, error) {
	s := &NetworkStore{
		newRowStore(rowKind{"network", networkTables, migrations.NetworkVersion, migrations.RowsScript}, opts),
	}
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}
