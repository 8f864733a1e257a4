package compute

import (
	"fmt"
	"slices"
)

// The statuses of migrations.
const (
	StatusPreMigrating  = "pre-migrating"  // a host is chosen
	StatusMigrating     = "migrating"      // the source stops the server
	StatusPostMigrating = "post-migrating" // the destination builds it
	StatusFinished      = "finished"       // it waits to be confirmed or reverted
	StatusConfirming    = "confirming"
	StatusConfirmed     = "confirmed"
	StatusReverting     = "reverting"
	StatusReverted      = "reverted"
	StatusError         = "error"
)

// migrationsUnderWay are the statuses of migrations that are not over, and migrationsOver those of
// the others.
var (
	migrationsUnderWay = []string{
		StatusPreMigrating, StatusMigrating, StatusPostMigrating, StatusFinished, StatusConfirming, StatusReverting,
		StatusQueued, StatusPreparing, StatusRunning,
	}
	migrationsOver = []string{
		StatusAccepted, StatusConfirmed, StatusReverted, StatusError, "failed", StatusCompleted, StatusCancelled, StatusDone,
	}
)

// Over reports whether a migration has ended.
func (m MigrationRow) Over() bool { return slices.Contains(migrationsOver, m.Status) }

// SetMigration changes a migration.
func (tx *Tx) SetMigration(id ID, fn func(*MigrationRow)) error {
	row, err := One[MigrationRow](tx, Where(ByID, id))
	if err != nil {
		return err
	}
	fn(&row)
	if !slices.Contains(migrationsUnderWay, row.Status) && !row.Over() { // those are searched for
		return fmt.Errorf("compute: migration %s has the status %q, which is neither under way nor over", id, row.Status)
	}
	row.UpdatedAt = tx.At
	return tx.Replace(&row)
}

// The types of migrations.
const (
	TypeResize   = "resize"
	TypeMigrate  = "migration"
	TypeEvacuate = "evacuation"
	TypeLive     = "live-migration"
)

// Live reports whether the server runs while it moves.
func (m MigrationRow) Live() bool { return m.Type == TypeLive }

// MovesLive reports whether the row is a live migration that is in progress.
func (m MigrationRow) MovesLive() bool {
	return m.Live() && slices.Contains([]string{"queued", "preparing", "running", "post-migrating"}, m.Status)
}

// The statuses of live migrations, besides those of all.
const (
	StatusQueued    = "queued"    // a host is chosen
	StatusPreparing = "preparing" // the destination gets the server's ports, and builds it
	StatusRunning   = "running"   // the source stops it
	StatusCompleted = "completed"
	StatusCancelled = "cancelled"
)

// The statuses of evacuations, besides those of all. One that is done is completed when the source,
// back again, has destroyed the server.
const (
	StatusAccepted = "accepted"
	StatusDone     = "done"
)
