package engine

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// schemaTries is how often to look whether another instance, started at the same
// moment, has made the tables.
const schemaTries = 8

// wholeSchema is a schema with Berth's own tables, which every database on a server has.
func wholeSchema(schema sqlconn.Schema, opts Options) sqlconn.Schema {
	if opts.Server == nil {
		return schema
	}
	whole := schema
	whole.Prepare = func(ctx context.Context, ses *sqlconn.Session) error {
		return amongRivals(ctx, func() error {
			version, err := ownVersion(ses.Tx(ctx), opts, schema.Known)
			if err != nil {
				return err
			}
			if err := schema.Prepare(ctx, ses); err != nil {
				return err
			}
			return prepareOwn(ctx, ses, version, opts, schema.Known)
		})
	}
	return whole
}

// amongRivals prepares tables that other instances may be preparing at the same time. After an
// error that they can be the cause of it prepares again, schemaTries times at most, whatever error
// follows: tables appear meanwhile. It returns the last error.
func amongRivals(ctx context.Context, prepare func() error) error {
	rivals := false
	return retry(ctx, time.Hour, schemaTries, func() (retryable bool, err error) {
		err = prepare()
		kind, _ := fault.Of(err)
		rivals = rivals || errors.Is(err, ErrCreating) || errors.As(err, new(Foreign)) ||
			err != nil && kind == fault.Unavailable
		return err != nil && rivals, err
	})
}

// ErrCreating says that a statement that makes tables failed, maybe because
// another instance was faster.
var ErrCreating = errors.New("the tables could not be made")

// A Foreign error says why a database is not one of the store's kind, unless its tables are
// being made right now.
type Foreign string

// Error is the reason.
func (f Foreign) Error() string { return string(f) }

// ownVersion returns the version of Berth's own tables on a server, 0 when there are none or
// another instance has begun to make them: their version is what is written last. Tables of a newer
// program are an error, and those of an older one unless Options.Sync is set. It only reads.
func ownVersion(r *sqlconn.Tx, opts Options, known sqlconn.Naming) (int, error) {
	at, err := OwnVersion(r)
	tables := opts.OwnTables
	switch {
	case err != nil:
		return 0, err
	case int(at) > tables.Version:
		return 0, tables.Newer(int(at), "upgrade all instances, or run `berth db uninstall` while none runs")
	case at > 0 && int(at) < tables.Version && !opts.Sync:
		return 0, tables.Older(int(at),
			"allow the upgrade ("+known.Allow+"); instances of an older program may run meanwhile")
	}
	return int(at), nil
}

// prepareOwn makes Berth's own tables, or upgrades them from a version. A unique version lets one
// of several instances that make them together win; the others look again.
func prepareOwn(ctx context.Context, ses *sqlconn.Session, version int, opts Options, known sqlconn.Naming) error {
	tables, t, d := opts.OwnTables, ses.Tx(ctx), ses.Dialect()
	if version == 0 {
		return tables.Upgrade(t, 0, opts, known) // no transaction: it would take two more round trips
	}
	if version == tables.Version {
		return nil
	}
	if err := ses.Do(d.Begin); err != nil {
		return d.Translate("upgrading the berth_ tables", err)
	}
	err := tables.Upgrade(t, version, opts, known)
	if err == nil {
		err = d.Translate("upgrading the berth_ tables", ses.Do("COMMIT"))
	}
	if err != nil {
		_ = ses.Do("ROLLBACK")
	}
	return err
}

// OwnVersion returns the version of the berth_ tables on a server (migrations.OwnVersion is the
// newest), 0 when there are none.
func OwnVersion(r *sqlconn.Tx) (int64, error) {
	existing, err := r.HasTable("berth_version")
	if err != nil || !existing {
		return 0, err
	}
	return sqlconn.First(r, sqlconn.Integer, `SELECT COALESCE(MAX(version), 0) FROM berth_version`)
}
