// Package catalog is what servers are made from and limited by: flavors, key pairs, server groups,
// host aggregates, quotas and usage, with the rules among them. It begins no operation of a server.
//
// mirrors.go brings hosts into placement's aggregates, from rows that stay until it has.
package catalog

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
)

// Placement is what mirrors of host aggregates need of the placement service.
type Placement interface {
	// Group adds a provider to an aggregate, or removes it, as compute.Placement has it.
	Group(ctx context.Context, provider, aggregate compute.ID, member bool) error
}

// A Service has the rules of the catalog. Its methods may be called concurrently. Callers check
// permissions before.
type Service struct {
	db        *compute.Database
	placement Placement // nil: aggregates are not mirrored
}

// New returns the catalog in a database. Without a placement service aggregates are not mirrored.
func New(db *compute.Database, p Placement) *Service { return &Service{db: db, placement: p} }

// Now is the time by the service's clock, in UTC to the microsecond.
func (s *Service) Now() time.Time { return s.db.Rules.Now().UTC().Truncate(time.Microsecond) }
