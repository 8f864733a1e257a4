package engine

import (
	"log/slog"
	"time"

	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Memory is the Path of a database that is in memory and ends with its Store.
// It has a single connection, so that Views and Updates run one after the other, and
// a View or Update started inside another one waits for ever.
const Memory = sqlconn.Memory

// Options say which database to open and how. Only Path or Server must be set.
type Options struct {
	// Path is the file of an SQLite database, made when it is not there, or
	// Memory.
	Path string
	// Server is the database on a server. It goes before Path.
	Server *sqlconn.Server
	// Sync allows older schemas to be upgraded; without it they are refused.
	Sync bool
	// Empty begins with an empty database: the content of the file is removed
	// as soon as it is known that no other process uses it. It is for files only.
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
	Progress func(rows, values int64)
	// OwnTables are Berth's own tables on a server; those of the program when zero. Tests have
	// others.
	OwnTables VersionedTables
	// Step, when not nil, is called while the database is opened with what is being done. The text
	// names no server and no user.
	Step func(string)
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
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.OwnTables.Script == nil {
		o.OwnTables = OwnTables()
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
			o.MaxBatch = 16 // they keep their locks until the last is done
		}
	}
	if o.MaxBatchTime <= 0 {
		o.MaxBatchTime = 20 * time.Millisecond
	}
	return o
}

// A Service is what an engine has to know of the service whose rows it keeps.
type Service[N any] struct {
	Schema sqlconn.Schema
	// LockStatement is a statement at the beginning of every transaction that writes,
	// which waits until those of other stores have ended; empty for none.
	LockStatement string
	// WriteLock is a statement that changes nothing and takes the right to write to a file. Empty
	// where no View has a parallel reader.
	WriteLock string
	// TakeLocks begins a transaction whose Updates run once more, with the locks that they turned out
	// to need in earlier runs (Tx.NeedLocks): it takes them, in an order without deadlocks. Nil for
	// nothing.
	TakeLocks func(*sqlconn.Tx, Locks)
	// Encode makes an entry of the change log of what the Updates of a transaction noted for
	// it (Tx.Note): its body for other stores, and what followers of this store get of it. Nil for
	// empty ones. Decode makes what followers get of the body of another store's entry.
	Encode func(notes []N) (body string, note N)
	Decode func(body string) N
	// WritesHaveEntries says that every Update that writes calls Tx.Note. A transaction without any
	// is not committed, and not in the change log.
	WritesHaveEntries bool
	// Watched says that the bodies of entries are read by watchers too (ChangeLog): a body gets a
	// last line with the time of the database, and a store on a file keeps its newest entries of
	// more than one line in memory.
	Watched bool
}
