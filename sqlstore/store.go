// Package sqlstore keeps Berth's stores in an SQL database. It has rows and
// statements only: rules, and the picture of the world that reads are answered
// from, belong to the packages that declare the stores.
//
// There is one set of statements. What databases disagree on is a dialect
// value; SQLite is the one that is wired.
//
// # Writing
//
// One goroutine owns the connection that writes. Concurrent Updates wait in a
// bounded queue; the goroutine puts those it finds there into one transaction,
// each behind a savepoint, and commits for all of them:
//
//	queue: A B C  ->  BEGIN  A ok  B refused, rolled back  C ok  COMMIT  ->  tell A, B, C
//
// Nobody is told anything before the commit is durable, not even B: what B was
// refused for may be A's doing. When the transaction is lost its members run
// again one by one, so that none fails for another's sake.
//
// # Reading
//
// Views run side by side on connections of their own, each in a read
// transaction, and neither wait for the writer nor hold it up.
package sqlstore

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// Memory is the Path of a database that is in memory and ends with its Store.
// It has a single connection, so that there Views and Updates take turns, and
// a View or Update started inside another one waits for ever.
const Memory = ":memory:"

// Options say which database to open and how. Only Path must be set.
type Options struct {
	// Path is the file of an SQLite database, made when it is not there, or
	// Memory.
	Path string
	// Sync allows older schemas to be upgraded; without it they are refused.
	Sync bool
	// Empty begins with an empty database: what the file holds is removed
	// as soon as it is known that nobody else uses it.
	Empty bool
	// Logger hears what was done to the schema and of failing commits. Nil
	// for silence.
	Logger *slog.Logger
	// Metrics hears of commits.
	Metrics Metrics
	// BusyTimeout is how long to wait for another program that writes the
	// same file; 5 s when 0.
	BusyTimeout time.Duration
	// Readers is how many Views run at the same time; 4 when 0.
	Readers int
	// MaxQueue is how many Updates may wait; 1024 when 0. More are refused
	// as Unavailable.
	MaxQueue int
	// MaxBatch is how many Updates may share a commit; 64 when 0.
	MaxBatch int
	// MaxBatchTime is how long a transaction takes in more Updates; 20 ms
	// when 0.
	MaxBatchTime time.Duration
}

// Metrics are called by a Store as things happen. Any may be nil; they must be
// quick and safe for concurrent use.
type Metrics struct {
	// Committed says that a commit of so many Updates took so long, from
	// the start of its transaction.
	Committed func(updates int, took time.Duration)
	// CommitFailed says that a transaction with so many Updates was lost.
	CommitFailed func(updates int)
	// QueueFull says that an Update was refused.
	QueueFull func()
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = 1024
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 64
	}
	if o.MaxBatchTime <= 0 {
		o.MaxBatchTime = 20 * time.Millisecond
	}
	return o
}

// The codes of the faults that a Store raises itself, all Unavailable.
const (
	// CodeBusy says that too many Updates wait already.
	CodeBusy fault.Code = "berth.store_busy"
	// CodeAway says that the database cannot be used now.
	CodeAway fault.Code = "berth.store_away"
)

// A Store keeps placement's world in a database. It implements
// placement.Store and is made by Open.
type Store struct {
	opts     Options
	d        *dialect
	dbs      []*sql.DB
	sessions []*session
	release  func() // gives up the lock on the file

	// writer holds the connection for Updates, readers those for Views: the
	// channels own what is not in use. In memory they are one channel.
	writer  chan *session
	readers chan *session

	mu      sync.RWMutex // guards closed, and queue against being closed
	closed  bool
	queue   chan *job
	closing chan struct{} // closed when Close begins
	idle    chan struct{} // closed when the writing goroutine has ended
	done    chan struct{} // closed when Close has ended
	err     error         // of Close; read after done
}

var _ placement.Store = (*Store)(nil)

// start begins to serve on the given connections.
func (s *Store) start(writer *session, readers []*session) {
	s.readers = make(chan *session, max(len(readers), 1))
	for _, r := range readers {
		s.readers <- r
	}
	s.writer = s.readers
	if len(readers) > 0 {
		s.writer = make(chan *session, 1)
	}
	s.writer <- writer
	s.queue = make(chan *job, s.opts.MaxQueue)
	s.closing, s.idle, s.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go s.write()
}

// View runs fn against one consistent picture of the store. A panic in fn goes
// through to the caller.
func (s *Store) View(ctx context.Context, fn func(placement.Reader) error) (err error) {
	ses, err := s.borrow(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers <- ses }()
	if err := ses.do(ses.d.beginRead); err != nil {
		return s.d.translate("beginning to read", err)
	}
	r := &reader{ses: ses, ctx: ctx}
	defer func() {
		r.over = true
		if end := ses.do("ROLLBACK"); end != nil && err == nil {
			err = s.d.translate("ending to read", end)
		}
	}()
	return fn(r)
}

// borrow waits for a connection to read on.
func (s *Store) borrow(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.isClosing() {
		return nil, errClosed()
	}
	select {
	case ses := <-s.readers:
		return ses, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closing:
		return nil, errClosed()
	}
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// errClosed is what a closed store answers.
func errClosed() error {
	return fault.New(fault.Unavailable, CodeAway, "The database is shut down.")
}

// Close waits for queued Updates and running Views, and releases the file. What
// comes later is refused as Unavailable. Further calls wait for the first.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	if first {
		s.closed = true
		close(s.closing)
		close(s.queue)
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

// shut takes all connections back and closes them.
func (s *Store) shut() error {
	for range cap(s.readers) {
		<-s.readers
	}
	if s.writer != s.readers {
		<-s.writer
	}
	err := s.disconnect()
	s.release()
	return err
}

// disconnect closes what connect opened, the last first: the writer goes after
// the readers and, being the last on the file, folds the log into it.
func (s *Store) disconnect() error {
	for _, ses := range s.sessions {
		ses.close()
	}
	var first error
	for _, db := range slices.Backward(s.dbs) {
		if err := db.Close(); err != nil && first == nil {
			first = s.d.translate("closing the database", err)
		}
	}
	s.sessions, s.dbs = nil, nil
	return first
}
