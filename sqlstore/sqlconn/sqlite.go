package sqlconn

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLiteDialect is SQLite as modernc.org/sqlite speaks it.
var SQLiteDialect = &Dialect{
	Name:      "sqlite",
	prepared:  true,
	Precision: time.Microsecond,
	FoldLike:  true,
	// The driver tries the layouts that it knows one after the other on a column of times.
	TimesAsText: true,
	rebind:      func(query string) string { return query },
	Clauses: Clauses{
		Enforce: "PRAGMA foreign_keys = ON",
		// IMMEDIATE takes the write lock at once: a transaction that reads first
		// and writes later would find, too late, that another one came between.
		Begin:     "BEGIN IMMEDIATE",
		BeginRead: "BEGIN DEFERRED",
	},
	Catalog: Catalog{
		hasTable: `
SELECT 1
FROM sqlite_master
WHERE type = 'table' AND name = ?`,
		Tables: `
SELECT name
FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY name`,
	},
	Errors: Errors{
		Exists: func(error) bool { return false },
		Duplicate: func(err error) bool {
			code := sqliteCode(err)
			return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
		},
		Orphan: func(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY },
		Retryable: func(err error) bool {
			code := sqliteCode(err)
			return code == sqlite3.SQLITE_BUSY_SNAPSHOT || code == sqlite3.SQLITE_BUSY_RECOVERY
		},
		Locked:     func(error) bool { return false },
		Full:       func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_FULL },
		Unstorable: func(error) bool { return false }, // texts are Unicode
		ReadOnly:   func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_READONLY },
		// The file is not a connection that could be made again.
		Lost: func(error) bool { return false },
		Unavailable: func(err error) bool {
			if errors.Is(err, sql.ErrConnDone) {
				return true
			}
			switch sqliteCode(err) & 0xff {
			case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
				sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
				return true
			}
			return false
		},
	},
}

// sqliteCode returns the extended result code in err, 0 when there is none.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// SQLiteURI names a file for the driver with the given mode (ro, rw) and
// pragmas.
func SQLiteURI(path, mode string, pragmas ...string) string {
	values := url.Values{"mode": {mode}, "_pragma": pragmas}
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: values.Encode()}
	return uri.String()
}

// WriterPragmas are those of the connection that writes. FULL makes every commit
// durable; the log is cut back so that one big transaction does not keep its
// size for ever; what savepoints need to go back stays in memory.
func WriterPragmas(busy time.Duration) []string {
	return []string{
		BusyPragma(busy),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"wal_autocheckpoint(4000)",
		"journal_size_limit(67108864)",
		"temp_store(MEMORY)",
	}
}

// BusyPragma is the pragma of a connection that waits so long for the locks of others.
func BusyPragma(busy time.Duration) string {
	return fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())
}
