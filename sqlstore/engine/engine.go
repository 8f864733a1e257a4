// Package engine runs the transactions of a store on its database. It knows connections, the order
// of writes and the change log, and nothing of what is in the tables: what it has to know of a
// service is a [Service].
//
// A store makes an [Engine] with New, opens it, and runs its Views and Updates on it; an operator's
// program works on a database by a [Tool]. Both stand on a [sqlconn.Database], which has the
// connections. From the top down: tool.go and open.go; own_tables.go and versioned.go (tables of
// Berth's design); update.go (the writing goroutine) with batch.go (one transaction) and settle.go
// (a commit without an answer); view.go (reading); log.go (the change log); engine.go (what all of
// these share); then queue.go, which knows no Engine.
//
// # Writing
//
// One goroutine owns the connection that writes. Concurrent Updates wait in a
// bounded queue; the goroutine puts those it finds there into one transaction,
// each behind a savepoint, and commits for all of them:
//
//	queue: A B C  ->  BEGIN  A ok  B refused, rolled back  C ok  COMMIT  ->  answer A, B, C
//
// No caller is answered before the commit is durable, not even B's: what B was
// refused for may be A's change. When the transaction is lost its members run
// again one by one, so that none fails because of another. On a server this goes
// on until their time is up, and a commit that was not answered is looked up in
// the change log before anything is done again. Requests of a [Group] that wait
// at the same time are one member: one function writes them together.
//
// # Reading
//
// Views run side by side on connections of their own, each in a read
// transaction, and neither wait for the writer nor delay it. But one that reads
// everything from a big file may take a second connection and the write lock (parallel.go).
//
// # Sharing
//
// Several stores may work on the database of a server. Every transaction of each
// appends to the change log (sqlstore/logtable) what the service notes of it, and a follower reads
// what the others appended. The log of a file is in memory (changelog.Memory).
package engine

import (
	"sync"
	"sync/atomic"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// An Engine runs the Views and Updates of a store on its database. It knows
// transactions and nothing of what is in the tables. It is made by New, is safe for concurrent use
// once Open has returned, and must be closed. N is what an Update notes of its changes.
type Engine[N any] struct {
	// opts have their defaults; opts, d and service do not change after Open.
	opts Options
	db   *sqlconn.Database
	d    *sqlconn.Dialect // of db

	// Writer has the session for Updates, readers those for Views. In
	// memory they are one pool of one session.
	Writer  *sqlconn.Pool
	readers *sqlconn.Pool
	table   *logtable.Table[N] // the change log on a server, else nil
	memory  *changelog.Memory  // and that of a file, for watchers

	// unwritable is why writes fail, nil while they succeed as far as it is known.
	unwritable atomic.Pointer[string]

	service Service[N]

	mu      sync.Mutex // guards closed
	closed  bool
	queue   *queue[N]
	closing chan struct{} // closed when Close begins
	idle    chan struct{} // closed when the writing goroutine has ended
	done    chan struct{} // closed when Close has ended
	err     error         // of Close; read after done
}

// New returns an engine that is not open.
func New[N any](opts Options, kind Service[N]) *Engine[N] {
	if kind.Encode == nil {
		kind.Encode = func([]N) (body string, note N) { return "", note }
		kind.Decode = func(string) (note N) { return note }
	}
	opts = opts.WithDefaults()
	db := sqlconn.NewDatabase(opts.source())
	return &Engine[N]{opts: opts, db: db, d: db.Dialect(), service: kind, memory: changelog.NewMemory()}
}

// Options are those of the engine, with the defaults for what was left zero.
func (s *Engine[N]) Options() Options { return s.opts }

// Dialect is what the database disagrees on with others. It is known when the tables are prepared.
func (s *Engine[N]) Dialect() *sqlconn.Dialect { return s.db.Dialect() }

// retryable reports whether what failed with a driver's error may succeed when it is
// tried again.
func (s *Engine[N]) retryable(err error) bool {
	if s.d.Retryable(err) {
		return true
	}
	return s.d.Shared && !s.isClosing() && (s.d.Lost(err) || s.d.Unavailable(err) || s.d.Duplicate(err))
}

// isClosing reports whether Close has begun. What is tried again must end then.
func (s *Engine[N]) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Usable returns an Unavailable fault with ErrFileLost in its chain when the store is known to
// have lost its file, else nil. It touches neither the database nor the file, which is looked
// for every second and with each Update.
func (s *Engine[N]) Usable() error { return s.db.Files().Known() }

// Close waits for queued Updates and running Views, and releases the file. What
// comes later is refused as Unavailable. Further calls wait for the first.
func (s *Engine[N]) Close() error {
	s.mu.Lock()
	first := !s.closed
	if first {
		s.closed = true
		close(s.closing)
		s.queue.close()
	}
	s.mu.Unlock()
	if first {
		<-s.idle
		s.err = s.shut()
		close(s.done)
	}
	<-s.done
	return s.err
}

// shut takes all sessions back and closes them. It waits for Views that are running: their sessions
// come back when they end.
func (s *Engine[N]) shut() error {
	s.readers.Drain()
	if s.Writer != s.readers {
		s.Writer.Drain()
	}
	return s.db.Close()
}
