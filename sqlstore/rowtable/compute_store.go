package rowtable

import (
	"context"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// A ComputeStore keeps the rows of the compute service in a database of their own.
// It implements compute.Store and is made by OpenCompute.
type ComputeStore struct{ *rowStore }

var _ compute.Store = (*ComputeStore)(nil)

// OpenCompute opens a database of the compute service, making its tables when it is
// empty. One that belongs to something else, OpenStack's own Nova included, or that
// a newer program made, is an error that says so and is left as it is. Of an older
// one the same is true unless Options.Sync is set.
func OpenCompute(ctx context.Context, opts engine.Options) (*ComputeStore, error) {
	s := &ComputeStore{
		newRowStore(rowKind{"compute", computeTables, migrations.ComputeVersion, migrations.RowsScript}, opts),
	}
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}
