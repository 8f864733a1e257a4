package placement

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/changelog"
)

// Errors of the store's writers. Rules turn them into faults for the caller;
// a store returns them as they are or wrapped.
var (
	// ErrStale says that a compare-and-swap found another generation.
	ErrStale = errors.New("placement: generation changed")
	// ErrNameTaken says that a name is in use by another row.
	ErrNameTaken = errors.New("placement: name in use")
	// ErrUUIDTaken says that a UUID is in use by another row.
	ErrUUIDTaken = errors.New("placement: uuid in use")
	// ErrNoRow says that the row to change is not there.
	ErrNoRow = errors.New("placement: no such row")
)

// A Store keeps the placement data. It is safe for concurrent use.
//
// A store's own troubles (a lost connection, a broken file) come back as
// faults of kind Unavailable or as internal errors; driver errors never leave
// it.
type Store interface {
	// View runs fn against one consistent state of the store: it sees
	// every Update that returned before View was called, and none partly.
	// The Reader is good until fn returns and for one goroutine. fn may run
	// more than once: it must not keep anything from an earlier run.
	View(ctx context.Context, fn func(Reader) error) error

	// Read is View for an fn that makes one call of the Reader: of AllocationsOf, AllocationsOn or
	// AllocationsIn, each of which is one statement. On a server it spares the round trips that begin
	// and end a transaction.
	Read(ctx context.Context, fn func(Reader) error) error

	// Update runs fn in one serializable transaction, with now as the time of every row it writes,
	// and commits when fn returns nil; it returns after the commit is durable. Against the Updates
	// of other stores on the same database, fn is safe as far as it relies on rows that it found
	// with Provider or compared and swapped the generation of. When fn returns an error the
	// transaction is rolled back and that error is returned. If two updates collide fn runs again:
	// it must not keep anything from an earlier run. A panic in fn rolls back as well and comes
	// back as an error or goes through to the caller.
	Update(ctx context.Context, now time.Time, fn func(Writer) error) error

	// Group returns a function that is Update for requests of one kind. Those that wait at the same
	// time are written together, in one transaction, and no others of the kind until that is
	// committed: the join of each is called, then write, which returns what becomes of each in that
	// order, as the function of an Update would. A request that it returns an error for must have
	// written nothing, unless all get one. They run on one goroutine and must not wait for the
	// store. Together is Group for requests of a type.
	Group(write func(w Writer) []error) func(ctx context.Context, now time.Time, join func()) error

	// Shared reports whether other programs may write the same database.
	// Then what they committed must be requested before anything is answered
	// from memory.
	Shared() bool

	// ChangeLog is what was committed, as watchers get it: the bodies of entries are what
	// events.Decode reads. Of a store that is not Shared the log begins when it is opened.
	ChangeLog() changelog.Log

	// Follow returns a reader of what this store and others on the same database commit.
	Follow() Follower

	// Others returns a mark that changes whenever something else than this
	// store commits to the database; ok is false when the database does not
	// tell.
	Others(ctx context.Context) (mark int64, ok bool, err error)

	// Usable returns why nothing can be read or written until the store is opened again,
	// as a fault of kind Unavailable, and nil while no such reason is known. It is quick
	// and does not read the database.
	Usable() error

	// Close waits for running transactions and releases the store.
	Close() error
}

// Together returns a function that is Update for requests of one kind, which are written together
// by write (Store.Group).
func Together[R any](
	s Store, write func(Writer, []R) []error,
) func(ctx context.Context, now time.Time, request R) error {
	var requests []R // of one run, on the goroutine of Group's functions
	update := s.Group(func(w Writer) []error {
		joined := requests
		requests = nil
		return write(w, joined)
	})
	return func(ctx context.Context, now time.Time, request R) error {
		return update(ctx, now, func() { requests = append(requests, request) })
	}
}

// A Follower reads the change log of a shared store in steps. It is for one goroutine at a time.
type Follower interface {
	// Next returns what this store and others committed since the last call that succeeded, maybe
	// more; everything the first time. It sees every Update of any of them that returned before it
	// was called. What programs write that do not keep the change log it cannot see: Checksums show
	// that. Of a store that is not shared it returns nothing.
	Next(ctx context.Context) (Changes, error)
}

// A Reader reads the rows of one state of the store. Lists come in the order of their ids unless
// a method says otherwise. Unknown ids and names give ErrNoRow from methods that return
// one row, and an empty list from the others.
type Reader interface {
	CatalogReader
	TreeReader
	ProviderReader
	AllocationReader
}

// A CatalogReader reads resource classes and traits.
type CatalogReader interface {
	// Classes and Traits list the whole catalogs.
	Classes() ([]Named, error)
	Traits() ([]Named, error)
	// ClassInUse reports whether any inventory is of the class.
	ClassInUse(id ClassID) (bool, error)
	// TraitInUse reports whether any provider has the trait.
	TraitInUse(id TraitID) (bool, error)
	// TraitSpellings lists the traits that the store takes for one of the names: in another case,
	// without accents or with spaces behind them, as the store compares texts.
	TraitSpellings(names ...string) ([]string, error)
}

// A TreeReader reads what a Snapshot has: many trees at once.
type TreeReader interface {
	// TreeRows reads whole trees: those with the given root ids, or every
	// tree when roots is nil. Roots that do not exist are left out.
	TreeRows(roots []int64) (TreeRows, error)
	// Checksums sums up the rows that a TreeRows has, for comparing them with
	// it; in no order.
	Checksums() ([]Checksum, error)
	// RootsBetween lists the roots of the providers with ids from one up to,
	// not including, another.
	RootsBetween(from, to int64) ([]int64, error)
}

// A ProviderReader reads single providers and what belongs to them.
type ProviderReader interface {
	// Provider finds a provider by its UUID. A Writer locks it as
	// LockProvider does.
	Provider(uuid UUID) (ProviderRow, error)
	// ProviderSpelling returns the name of the provider that the store takes for one of that name,
	// as TraitSpellings does; ErrNoRow when there is none.
	ProviderSpelling(name string) (string, error)
	// ProvidersIn lists the providers of the tree with that root.
	ProvidersIn(root int64) ([]ProviderRow, error)
	// HasChildren reports whether a provider is the parent of another.
	HasChildren(provider int64) (bool, error)
	// Inventories lists the inventories of the given providers, by provider and
	// class id, each with the sum of its allocations.
	Inventories(providers ...int64) ([]InventoryRow, error)
	// ProviderTraits lists the traits of one provider.
	ProviderTraits(provider int64) ([]TraitID, error)
	// ProviderAggregates lists the aggregates of one provider.
	ProviderAggregates(provider int64) ([]AggregateRow, error)
	// AllocatedClasses lists the classes of which one provider has
	// allocations, whether or not it has inventory of them.
	AllocatedClasses(provider int64) ([]ClassID, error)
}

// An AllocationReader reads consumers and allocations.
type AllocationReader interface {
	// Consumer finds a consumer by its UUID, whether or not it has allocations.
	Consumer(uuid UUID) (ConsumerRow, error)
	// AllocationsOf lists the allocations of one consumer, with the consumer as far as it is
	// kept: the first releases of upstream's service wrote allocations without a row for their
	// consumer, which then has its UUID only. Without allocations it returns the zero value.
	AllocationsOf(consumer UUID) (ConsumerAllocations, error)
	// Consumers lists those of some consumers that are kept, in no order.
	Consumers(uuids ...UUID) ([]ConsumerRow, error)
	// AllocationsIn lists the consumers that have allocations on providers of the tree with that
	// root, each as AllocationsOf has it, by their UUIDs.
	AllocationsIn(root int64) ([]ConsumerAllocations, error)
	// AllocationsOn lists the allocations on the provider with that UUID, and returns the
	// generation that the provider has in the same state.
	AllocationsOn(provider UUID) ([]AllocationRow, Generation, error)
	// ProjectUsage sums the allocations of a project's consumers, of one
	// of its users when user is not empty.
	ProjectUsage(project, user string) (ProjectUsage, error)
}

// A Writer changes rows; its own Reader methods return what it changed.
// Every error leaves the transaction unusable except the ones declared here
// (ErrStale, ErrNameTaken, ErrUUIDTaken, ErrNoRow), after which fn may go on.
// What changes or deletes one row by its id fails with ErrNoRow when it is not
// there.
type Writer interface {
	Reader
	CatalogWriter
	ProviderWriter
	InventoryWriter
	ProviderTraitWriter
	AggregateWriter
	ClaimWriter
	ChangeLogWriter
}

// A CatalogWriter changes resource classes and traits.
type CatalogWriter interface {
	// InsertTrait and InsertClass fail with ErrNameTaken. A class gets the
	// given id; when another class has it InsertClass fails with ErrStale.
	InsertTrait(name string) (TraitID, error)
	InsertClass(id ClassID, name string) error
	// InsertCatalogs adds classes with their ids, and traits, in few statements. When another
	// service adds one of them at the same time the Update runs again from its start.
	InsertCatalogs(classes []Named, traits []string) error
	// RenameClass fails with ErrNameTaken.
	RenameClass(id ClassID, name string) error
	DeleteTrait(id TraitID) error
	DeleteClass(id ClassID) error
	// LockClasses keeps other stores' transactions from deleting the classes
	// until this one ends. It fails with ErrNoRow when one does not exist.
	LockClasses(ids ...ClassID) error
}

// A ProviderWriter changes providers and the trees that they are in.
type ProviderWriter interface {
	// LockProvider keeps other stores' transactions from changing the provider, or
	// deleting it, until this one ends; one that does not exist is no error.
	LockProvider(provider int64) error
	// LockProviders finds the providers with those UUIDs and locks them, in the order of
	// their ids; those that do not exist are left out.
	LockProviders(uuids ...UUID) ([]ProviderRow, error)
	// InsertProvider adds a provider of generation 0 and returns its id.
	// Parent and Root are ids; Root 0 makes it a root of its own. It fails
	// with ErrUUIDTaken or ErrNameTaken (the UUID is checked first).
	InsertProvider(p ProviderRow) (int64, error)
	// UpdateProvider writes name, parent and root of the provider p.ID,
	// not its generation. It fails with ErrNameTaken or ErrNoRow.
	UpdateProvider(p ProviderRow) error
	// BumpProvider raises a provider's generation by one if it is from, and
	// fails with ErrStale if it is not.
	BumpProvider(provider int64, from Generation) error
	// SetRoot moves the given providers under another root.
	SetRoot(root int64, providers ...int64) error
	// DeleteProvider removes a provider and its inventories, traits and
	// aggregate links.
	DeleteProvider(provider int64) error
}

// An InventoryWriter changes the inventories of providers.
type InventoryWriter interface {
	// InsertInventory fails with ErrNameTaken when the provider has
	// inventory of the class; UpdateInventory with ErrNoRow when not.
	InsertInventory(provider int64, class ClassID, inv Inventory) error
	UpdateInventory(provider int64, class ClassID, inv Inventory) error
	// DeleteInventories removes the provider's inventory of the classes and
	// returns how many there were.
	DeleteInventories(provider int64, classes ...ClassID) (int, error)
}

// A ProviderTraitWriter changes which traits providers have.
type ProviderTraitWriter interface {
	// AddProviderTraits leaves traits that the provider has alone, and fails
	// with ErrNoRow when a trait does not exist.
	AddProviderTraits(provider int64, traits ...TraitID) error
	RemoveProviderTraits(provider int64, traits ...TraitID) error
}

// An AggregateWriter changes which aggregates providers are members of.
type AggregateWriter interface {
	// AddProviderAggregates links a provider to aggregates, making those
	// that do not exist and leaving links that are there alone.
	AddProviderAggregates(provider int64, aggregates ...UUID) error
	RemoveProviderAggregates(provider int64, aggregates ...AggregateID) error
}

// A ClaimWriter reads and writes what many claims
// need at once, in as few round trips as the database allows.
type ClaimWriter interface {
	// ConsumerStates reads consumers with their allocations, in the order requested. It
	// locks nothing: WriteClaims fails when they are not like that any more. Of what
	// is requested, UUID, Project, User and Type count. Allocations of a consumer that
	// does not exist are not looked for: WriteClaims finds them.
	ConsumerStates(expected []ConsumerRow) ([]ConsumerState, error)
	// WriteClaims writes all of c, with the owners that do not exist yet. It fails
	// with ErrStale when anything is not as c says it is, a consumer to be made or
	// its allocations being there included; in a Shared store c may be from before
	// the Update. Some of c may be written when it fails, so that the function of the
	// Update must fail as well. It locks all their providers, those released included, in
	// the order of ids.
	WriteClaims(c ClaimRows) error
	// Stamp is the time of the rows that this Update writes, as it will be
	// read back.
	Stamp() time.Time
}

// A ChangeLogWriter notes what an Update changes.
type ChangeLogWriter interface {
	// Changed adds to what other stores read in the change log once this Update is
	// committed.
	Changed(c Changes)
	// OnCommit has fn called when what this Update wrote is durable, and before it
	// returns. fn must be quick, and is called on the goroutine of Group's functions.
	OnCommit(fn func())
}
