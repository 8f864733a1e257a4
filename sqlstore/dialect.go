package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/fault"
)

// A dialect is everything that the databases do not agree on. Statements are
// whole when they get here: a dialect rewrites nothing in them but the marks
// for values.
type dialect struct {
	// name is the folder of the schema in migrations.
	name string
	// rebind turns ? into the marks of the database.
	rebind func(query string) string
	// begin starts a serializable transaction, beginRead one that reads one
	// consistent picture.
	begin, beginRead string
	// onConflict is put behind an INSERT that may meet a unique value, where
	// the error would make the transaction unusable.
	onConflict string
	// insertedID returns the id of the row that was just inserted.
	insertedID func(s *session, r sql.Result) (int64, error)
	// hasTable asks whether a table is there, tables whether any is.
	hasTable, tables string
	// duplicate recognises that a unique key was taken, retryable a
	// collision after which the transaction may run again, and away that
	// the database cannot be used now.
	duplicate, retryable, away func(error) bool
}

// translate turns a driver's error into one that may leave the package: the
// driver's text stays, for the log, but nothing of its types.
func (d *dialect) translate(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errOver):
		return err
	case d.away(err), d.retryable(err), errors.Is(err, sql.ErrConnDone):
		return fmt.Errorf("%s: %v: %w", doing, err,
			fault.New(fault.Unavailable, CodeAway, "The database is not available now. Please try again."))
	default:
		return fmt.Errorf("%s: %v", doing, err)
	}
}
