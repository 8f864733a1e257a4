package sqlstore

import (
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Transactions of several stores must not deadlock, which PostgreSQL takes a second to
// notice. Nearly all rows that they contend for belong to a provider, whose row is locked
// first. So a transaction waits for locks of providers only while it has none, for several in
// the order of their ids. After that it locks with NOWAIT. When a row is locked, the Update
// is rolled back, alone, and runs again in a transaction that begins with the locks of all
// that it requested (lockFirst).
//
// Where the server does not know NOWAIT, the transaction waits, and the server
// notices deadlocks at once.

// lockRow is put behind a SELECT of providers to lock them. It is empty on SQLite, where a
// transaction that writes has the whole file.
func (w *writer) lockRow() string {
	if w.HasLocks() && w.Session().Nowait() {
		return w.Dialect().LockRow + " NOWAIT"
	}
	return w.Dialect().LockRow
}

// lock is each for a SELECT of providers that are to be locked.
func (w *writer) lock(fn func(*sqlconn.Row), query string, args ...any) error {
	found := false
	err := w.Each(func(one *sqlconn.Row) { found = true; fn(one) }, query+w.lockRow(), args...)
	if found {
		w.NoteLocks()
	}
	return err
}

// lockColumns and lockOrder are the SELECT that locks providers by their ids.
const (
	lockColumns = `
SELECT id
FROM resource_providers
WHERE id IN (`
	lockOrder = `)
ORDER BY id`
)

// lockIDs locks providers.
func (w *writer) lockIDs(ids ...int64) error {
	if len(ids) == 0 || w.Dialect().LockRow == "" {
		return nil
	}
	w.locks.IDs = append(w.locks.IDs, ids...)
	args := sqlconn.Padded(ids)
	return w.lock(func(*sqlconn.Row) {}, lockColumns+sqlconn.Marks(len(args))+lockOrder, args...)
}

// lockFirst locks what Updates turned out to need in an earlier run. An error is left in the
// transaction, where the engine looks for it (Tx.Cause).
func lockFirst(t *sqlconn.Tx, locks engine.Locks) {
	_ = (&writer{reader: reader{Tx: t}}).lockAll(locks)
}

// lockAll locks providers. It requests the ids of some first: locks that are found
// by UUID are not taken in the order of the ids.
func (w *writer) lockAll(locks engine.Locks) error {
	ids, err := sqlconn.ListIn(w.Tx, sqlconn.Integer, `
SELECT id
FROM resource_providers
WHERE uuid IN (`, locks.UUIDs, `)`)
	if err != nil {
		return err
	}
	return w.lockIDs(append(ids, locks.IDs...)...)
}
