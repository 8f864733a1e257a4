// Package engine runs the transactions of a store on its database. It knows connections, the order of
// writes and the change log, and nothing of what is in the tables: what it has to know of a service is a
// [Service].
//
// A store makes an [Engine] with New, opens it, and runs its Views and Updates on it; an operator's program works on a
// database by a [Tool]. From the top down: tool.go; open.go, open_file.go and open_server.go (connections and tables);
// update.go (the writing goroutine) with batch.go (one transaction) and settle.go (a commit without an answer); view.go
// and follow.go (reading, the change log included); engine.go (what all of these share); then queue.go, changelog.go
// and recent.go, which know no Engine.
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
// everything from a big file may take a second connection and the right to write (twin.go).
//
// # Sharing
//
// Several stores may work on the database of a server. Every transaction of each
// appends to the change log (changelog.go) what the service notes of it, and ChangesSince reads
// what the others appended.
package engine

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Memory is the Path of a database that is in memory and ends with its Store.
// It has a single connection, so that Views and Updates run one after the other, and
// a View or Update started inside another one waits for ever.
const Memory = ":memory:"

// Options say which database to open and how. Only Path or Server must be set.
type Options struct {
	// Path is the file of an SQLite database, made when it is not there, or
	// Memory.
	Path string
	// Server is the database on a server. It goes before Path.
	Server *sqlconn.Server
	// Sync allows older schemas to be upgraded; without it they are refused.
	Sync bool
	// Empty begins with an empty database: what the file holds is removed
	// as soon as it is known that nobody else uses it. It is for files only.
	Empty bool
	// Logger gets what was done to the schema, and failing commits. Nil for none.
	Logger *slog.Logger
	// Metrics are called for commits and connections.
	Metrics Metrics
	// BusyTimeout is how long to wait for another program that writes the
	// same file; 5 s when 0.
	BusyTimeout time.Duration
	// Readers is how many Views run at the same time; 4 when 0, on a server
	// 15. IdleReaders of their connections stay open while unused; 5 when 0.
	// ReaderWait is how long a View waits for one, on a server; 30 s when 0.
	Readers     int
	IdleReaders int
	ReaderWait  time.Duration
	// MaxQueue is how many Updates may wait; 1024 when 0. More are refused
	// as Unavailable.
	MaxQueue int
	// MaxBatch is how many Updates may share a commit; 64 when 0, on a server
	// 16.
	MaxBatch int
	// MaxBatchTime is how long a transaction takes in more Updates; 20 ms
	// when 0.
	MaxBatchTime time.Duration
	// RetryTime is how long a View or an Update is tried in all while a server
	// is unavailable or its transactions collide; 20 s when 0.
	RetryTime time.Duration
	// Trace, when not nil, is called for every statement of Views and Updates.
	Trace sqlconn.Trace
	// Progress, when not nil, is called now and then while all rows are read, with how many
	// of how many there are so far.
	Progress func(rows, of int64)
}

// Metrics are called by a Store as things happen. Any may be nil; they must be
// quick and safe for concurrent use.
type Metrics struct {
	// Committed is called after a commit of so many Updates, which took so long from
	// the start of its transaction.
	Committed func(updates int, took time.Duration)
	// CommitFailed is called when a transaction with so many Updates was rolled back.
	CommitFailed func(updates int)
	// QueueFull is called when an Update was refused because MaxQueue others waited.
	QueueFull func()
	// Reconnected is called when a connection to a server was made, the first
	// ones included.
	Reconnected func()
	// Settled is called when a commit without an answer turned out to have
	// taken place or not, Unsettled when this could not be found out within RetryTime.
	Settled   func(committed bool)
	Unsettled func()
}

// WithDefaults fills in what was left zero.
func (o Options) WithDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 4
		if o.Server != nil {
			o.Readers = 15
		}
	}
	if o.IdleReaders <= 0 {
		o.IdleReaders = 5
	}
	if o.ReaderWait <= 0 {
		o.ReaderWait = 30 * time.Second
	}
	if o.RetryTime <= 0 {
		o.RetryTime = 20 * time.Second
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = 1024
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 64
		if o.Server != nil {
			o.MaxBatch = 16 // they hold their locks until the last is done
		}
	}
	if o.MaxBatchTime <= 0 {
		o.MaxBatchTime = 20 * time.Millisecond
	}
	return o
}

// An Engine runs the Views and Updates of a store on its database. It knows
// transactions and nothing of what is in the tables. It is made by New, is safe for concurrent use
// once Open has returned, and must be closed.
type Engine struct {
	opts   Options
	d      *sqlconn.Dialect
	dbs    []*sql.DB      // of files
	dialer sqlconn.Dialer // of servers

	host     atomic.Value // string: the host of the newest connection
	epoch    atomic.Int64 // rises when that changes
	sessions []*sqlconn.Session
	release  func()             // gives up the lock on the file
	files    *sqlconn.OpenFiles // nil of servers and in memory

	// Writer holds the session for Updates, readers those for Views. In
	// memory they are one pool of one session.
	Writer  *sqlconn.Pool
	readers *sqlconn.Pool
	log     changeLog // of what Updates touched, on a server

	service Service
	// written counts the transactions that wrote, the one that is being committed included.
	written atomic.Int64

	mu      sync.Mutex // guards closed
	closed  bool
	queue   *queue
	closing chan struct{} // closed when Close begins
	idle    chan struct{} // closed when the writing goroutine has ended
	done    chan struct{} // closed when Close has ended
	err     error         // of Close; read after done
}

// A Service is what an engine has to know of the service whose rows it keeps.
type Service struct {
	Schema Schema
	// LockStatement is a statement at the beginning of every transaction that writes,
	// which waits until those of other stores have ended; empty for none.
	LockStatement string
	// Still is a statement that changes nothing and takes the right to write to a file. Empty
	// where no View has a twin.
	Still string
	// First begins a transaction whose Updates run once more, with what they noted in earlier
	// runs that they need (Tx.Wants): it takes locks, in an order without deadlocks. Nil for nothing.
	First func(*sqlconn.Tx, []any)
	// Encode makes an entry of the change log of what the Updates of a transaction noted for
	// it (Tx.Entry): its body for other stores, and what this store keeps of it. Nil for empty ones.
	Encode func(noted []any) (body string, own any)
}

// A Schema is how a database gets the tables of a kind of store.
type Schema struct {
	// Look refuses a database that cannot be used. It only reads.
	Look func(context.Context, *sqlconn.Session) error
	// Prepare makes the tables, or brings them to what the program knows.
	Prepare func(context.Context, *sqlconn.Session) error
	Known   sqlconn.Naming
}

// New returns an engine that is not open.
func New(opts Options, kind Service) *Engine {
	if kind.Encode == nil {
		kind.Encode = func([]any) (string, any) { return "", nil }
	}
	return &Engine{opts: opts.WithDefaults(), d: sqlconn.SQLiteDialect, release: func() {}, service: kind}
}

// Options are those of the engine, with the defaults for what was left zero.
func (s *Engine) Options() Options { return s.opts }

// Dialect is what the database disagrees on with others. It is known when the engine is open.
func (s *Engine) Dialect() *sqlconn.Dialect { return s.d }

// Redial has all connections made again before they are used, to the primary if there is another one by now.
func (s *Engine) Redial() { s.epoch.Add(1) }

// Written counts the transactions that wrote, the one that is being committed included.
func (s *Engine) Written() int64 { return s.written.Load() }

// start begins to serve on the given sessions. Without readers, Views share the
// writer.
func (s *Engine) start(writer *sqlconn.Session, readers []*sqlconn.Session) {
	s.queue = newQueue(s.opts.MaxQueue)
	s.closing, s.idle, s.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.Writer = sqlconn.NewPool([]*sqlconn.Session{writer}, 1, 0, s.closing)
	s.readers = s.Writer
	switch {
	case s.d.Shared:
		s.readers = sqlconn.NewPool(readers, s.opts.IdleReaders, s.opts.ReaderWait, s.closing)
	case len(readers) > 0:
		s.readers = sqlconn.NewPool(readers, len(readers), 0, s.closing)
	}
	go s.write()
}

// View runs fn in a transaction that only reads and sees one consistent state, again after a collision or the loss of
// a connection until Options.RetryTime is over. It returns the error of fn, or an Unavailable fault when there is no
// connection or the engine is closed. A panic in fn goes through to the caller.
func (s *Engine) View(ctx context.Context, fn func(*sqlconn.Tx) error) error {
	until := time.Now().Add(s.opts.RetryTime)
	for n := 1; ; n++ {
		again, err := s.viewOnce(ctx, fn)
		if !again || time.Now().After(until) || sleep(ctx, backoff(n)) != nil {
			return err
		}
	}
}

// viewOnce runs fn once and says whether it should run again, after an error that
// another try may not meet.
func (s *Engine) viewOnce(ctx context.Context, fn func(*sqlconn.Tx) error) (again bool, err error) {
	if err := s.files.Check(); err != nil {
		return false, err
	}
	ses, err := s.readers.Borrow(ctx)
	if err != nil {
		return false, err
	}
	defer s.readers.GiveBack(ses)
	if err := s.begin(ctx, ses, s.d.BeginRead); err != nil {
		return s.again(err), s.d.Translate("beginning to read", err)
	}
	t := &sqlconn.Tx{Session: ses, Context: ctx, Trace: s.opts.Trace, Second: s.twin}
	defer func() {
		t.Over = true
		if end := ses.Do("ROLLBACK"); end != nil && err == nil {
			again, err = s.again(end), s.d.Translate("ending to read", end)
		}
	}()
	err = fn(t)
	return err != nil && t.Cause != nil && s.again(t.Cause), err
}

// begin starts a transaction. A connection that has been idle may have been
// closed by the server meanwhile; then it is made again.
func (s *Engine) begin(ctx context.Context, ses *sqlconn.Session, statement string) error {
	start := time.Now()
	for {
		if err := ses.Connect(ctx); err != nil {
			return err
		}
		err := ses.Do(statement)
		if err == nil || !ses.Dead || ses.Fresh(start) {
			return err
		}
	}
}

// again reports whether what failed with a driver's error may succeed when it is
// tried again.
func (s *Engine) again(err error) bool {
	if s.d.Retryable(err) {
		return true
	}
	return s.d.Shared && !s.isClosing() && (s.d.Lost(err) || s.d.Unavailable(err) || s.d.Duplicate(err))
}

func (s *Engine) isClosing() bool {
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
func (s *Engine) Usable() error { return s.files.Known() }

// Close waits for queued Updates and running Views, and releases the file. What
// comes later is refused as Unavailable. Further calls wait for the first.
func (s *Engine) Close() error {
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

// shut takes all sessions back and closes them.
func (s *Engine) shut() error {
	s.readers.Drain()
	if s.Writer != s.readers {
		s.Writer.Drain()
	}
	err := s.disconnect()
	s.release()
	return err
}

// disconnect closes what connect opened, the last first: the writer goes after
// the readers and, being the last on the file, folds the log into it.
func (s *Engine) disconnect() error {
	for _, ses := range s.sessions {
		ses.Close()
	}
	var first error
	for _, db := range slices.Backward(s.dbs) {
		if err := db.Close(); err != nil && first == nil {
			first = s.d.Translate("closing the database", err)
		}
	}
	if s.dialer != nil {
		if err := s.dialer.Close(); err != nil && first == nil {
			first = s.d.Translate("closing the database", err)
		}
	}
	s.sessions, s.dbs = nil, nil
	return first
}
