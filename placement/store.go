package placement

import (
	"context"
	"errors"
	"time"
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

	// Update runs fn in one serializable transaction, with now as the time
	// of every row it writes, and commits when fn returns nil; it returns
	// after the commit is durable. Against the Updates of other stores on the
	// same database, fn is safe as far as it relies on rows that it found with
	// Provider or compared and swapped the generation of. When fn returns an error nothing is kept
	// and that error is returned. If two updates collide fn runs again: it
	// must not keep anything from an earlier run. A panic in fn keeps nothing
	// either and comes back as an error or goes through to the caller.
	Update(ctx context.Context, now time.Time, fn func(Writer) error) error

	// Group returns a function that is Update for requests of one kind. Those that wait
	// at the same time are handed to write together, in one transaction, and no others of
	// the kind until that is committed; write returns what becomes of each, as the function
	// of an Update would. A request that it returns an error for must have written nothing,
	// unless all get one. Write runs on one goroutine and must not wait for the store.
	Group(write func(w Writer, requests []any) []error) func(ctx context.Context, now time.Time, request any) error

	// Shared reports whether other programs may write the same database.
	// Then what they committed must be asked for before anything is answered
	// from memory.
	Shared() bool

	// Changed returns what this store and others on the same database
	// committed since a position, maybe more, and the position after it; from the zero
	// Position everything. It sees every Update of any of them that returned
	// before it was called. What programs write that do not keep the change
	// log it cannot see: Digests tell of that.
	Changed(ctx context.Context, since Position) (Changes, Position, error)

	// Others returns a mark that changes whenever something else than this
	// store commits to the database; ok is false when the database does not
	// tell.
	Others(ctx context.Context) (mark int64, ok bool, err error)

	// Usable returns why nothing can be read or written until the store is opened again,
	// as a fault of kind Unavailable, and nil while no such reason is known. It is quick
	// and does not ask the database.
	Usable() error

	// Close waits for running transactions and releases the store.
	Close() error
}

// A Reader reads rows. Lists come in the order of their ids unless a method
// says otherwise. Unknown ids and names give ErrNoRow from methods that return
// one row, and an empty list from the others.
type Reader interface {
	// Classes and Traits list the whole catalogs.
	Classes() ([]Named, error)
	Traits() ([]Named, error)

	// TreeRows reads whole trees: those with the given root ids, or every
	// tree when roots is nil. Roots that do not exist are left out.
	TreeRows(roots []int64) (TreeRows, error)

	// Digests sums up the rows that a TreeRows has, for comparing them with
	// it; in no order.
	Digests() ([]Digest, error)
	// RootsBetween lists the roots of the providers with ids from one up to,
	// not including, another.
	RootsBetween(from, to int64) ([]int64, error)

	// Provider finds a provider by its UUID. A Writer holds it for its
	// transaction: other stores wait with theirs.
	Provider(uuid UUID) (ProviderRow, error)
	// ProvidersIn lists the providers of the tree with that root.
	ProvidersIn(root int64) ([]ProviderRow, error)
	// Inventories lists what the given providers offer, by provider and
	// class id, each with the sum of its allocations.
	Inventories(providers ...int64) ([]InventoryRow, error)
	// ProviderTraits lists the traits of one provider.
	ProviderTraits(provider int64) ([]TraitID, error)
	// ProviderAggregates lists the aggregates of one provider.
	ProviderAggregates(provider int64) ([]AggregateRow, error)
	// AllocatedClasses lists the classes of which one provider has
	// allocations, whether or not it has inventory of them.
	AllocatedClasses(provider int64) ([]ClassID, error)
	// HasChildren reports whether a provider is the parent of another.
	HasChildren(provider int64) (bool, error)

	// Consumer finds a consumer by its UUID.
	Consumer(uuid UUID) (ConsumerRow, error)
	// AllocationsOf lists what one consumer holds.
	AllocationsOf(consumer UUID) ([]AllocationRow, error)
	// AllocationsOn lists what is held on one provider.
	AllocationsOn(provider int64) ([]AllocationRow, error)
	// Holding reads what one consumer holds and the consumer, in one statement.
	// It is empty when the consumer holds nothing or is not kept.
	Holding(consumer UUID) (Holding, error)
	// HeldOn lists what is held on the provider with that UUID, and says which
	// generation the provider is of, in one statement.
	HeldOn(provider UUID) ([]AllocationRow, Generation, error)
	// ProjectUsage sums the allocations of a project's consumers, of one
	// of its users when user is not empty.
	ProjectUsage(project, user string) (ProjectUsage, error)

	// ClassInUse reports whether any inventory is of the class.
	ClassInUse(id ClassID) (bool, error)
	// TraitInUse reports whether any provider has the trait.
	TraitInUse(id TraitID) (bool, error)
}

// A Writer changes rows; what it changed is seen by its own Reader methods.
// Every error leaves the transaction unusable except the ones declared here
// (ErrStale, ErrNameTaken, ErrUUIDTaken, ErrNoRow), after which fn may go on.
// What changes or deletes one row by its id fails with ErrNoRow when it is not
// there.
type Writer interface {
	Reader
	ClaimWriter

	// InsertProvider adds a provider of generation 0 and returns its id.
	// Parent and Root are ids; Root 0 makes it a root of its own. It fails
	// with ErrUUIDTaken or ErrNameTaken (the UUID is looked at first).
	InsertProvider(p ProviderRow) (int64, error)
	// Providers lists the providers with those UUIDs and holds them as Provider does.
	Providers(uuids ...UUID) ([]ProviderRow, error)
	// UpdateProvider writes name, parent and root of the provider p.ID,
	// not its generation. It fails with ErrNameTaken or ErrNoRow.
	UpdateProvider(p ProviderRow) error
	// Hold keeps other stores' transactions from changing the provider, or
	// deleting it, until this one ends; one that does not exist is no error.
	Hold(provider int64) error
	// SetRoot moves the given providers under another root.
	SetRoot(root int64, providers ...int64) error
	// DeleteProvider removes a provider and its inventories, traits and
	// aggregate links.
	DeleteProvider(provider int64) error
	// BumpProvider raises a provider's generation by one if it is from, and
	// fails with ErrStale if it is not.
	BumpProvider(provider int64, from Generation) error

	// InsertInventory fails with ErrNameTaken when the provider has
	// inventory of the class; UpdateInventory with ErrNoRow when not.
	InsertInventory(provider int64, class ClassID, inv Inventory) error
	UpdateInventory(provider int64, class ClassID, inv Inventory) error
	// DeleteInventories removes the provider's inventory of the classes and
	// returns how many there were.
	DeleteInventories(provider int64, classes ...ClassID) (int, error)

	// AddProviderTraits leaves traits that the provider has alone, and fails
	// with ErrNoRow when a trait does not exist.
	AddProviderTraits(provider int64, traits ...TraitID) error
	RemoveProviderTraits(provider int64, traits ...TraitID) error
	// AddProviderAggregates links a provider to aggregates, making those
	// that do not exist and leaving links that are there alone.
	AddProviderAggregates(provider int64, aggregates ...UUID) error
	RemoveProviderAggregates(provider int64, aggregates ...AggregateID) error

	// HoldClasses keeps other stores' transactions from deleting the classes
	// until this one ends. It fails with ErrNoRow when one does not exist.
	HoldClasses(ids ...ClassID) error

	// InsertTrait and InsertClass fail with ErrNameTaken. A class gets the
	// given id; when another class has it InsertClass fails with ErrStale.
	InsertTrait(name string) (TraitID, error)
	DeleteTrait(id TraitID) error
	InsertClass(id ClassID, name string) error
	RenameClass(id ClassID, name string) error
	DeleteClass(id ClassID) error

	// InsertConsumer adds a consumer of generation 0 together with its
	// project, user and type where they do not exist yet. It fails with
	// ErrUUIDTaken.
	InsertConsumer(c ConsumerRow) (int64, error)
	// UpdateConsumer writes project, user and type of the consumer c.ID.
	UpdateConsumer(c ConsumerRow) error
	// BumpConsumer raises a consumer's generation by one if it is from, and
	// fails with ErrStale if it is not.
	BumpConsumer(consumer int64, from Generation) error
	// DeleteConsumer removes a consumer if its generation is from, and fails
	// with ErrStale if it is not.
	DeleteConsumer(consumer int64, from Generation) error

	// DeleteAllocations removes all that a consumer holds and returns how
	// many rows there were.
	DeleteAllocations(consumer UUID) (int, error)
	InsertAllocations(as ...AllocationRow) error

	// Changed adds to what other stores are told of this Update when it is
	// committed.
	Changed(c Changes)
	// OnCommit has fn called when what this Update wrote is durable, and before it
	// returns. fn must be quick, and is called on the goroutine of Group's functions.
	OnCommit(fn func())
}

// A TreeRows is the rows of whole trees.
type TreeRows struct {
	Providers   []ProviderRow
	Inventories []InventoryRow
	Traits      []ProviderTraitRow
	Aggregates  []AggregateRow
	// FoldCase says that the store takes upper and lower case for the same
	// when it compares names and UUIDs: MySQL does, unless it is told not to.
	FoldCase bool
	// FoldLike says that it does so when it looks for names by a pattern:
	// PostgreSQL does not.
	FoldLike bool
}

// A ProviderRow is a resource provider as the store keeps it.
type ProviderRow struct {
	ID         int64
	UUID       UUID
	Name       string
	Generation Generation
	// Parent and Root are provider ids. Parent is 0 for a root, whose Root
	// is its own id.
	Parent, Root int64
	Modified     time.Time
	// Updated says that Modified is the time of a change and not of the
	// creation. A root counts as changed at once: upstream writes its root
	// in a second step. It is ignored when written.
	Updated bool
}

// An InventoryRow is what one provider offers of one class and how much of it
// is allocated.
type InventoryRow struct {
	Provider int64
	Class    ClassID
	Inventory
	Used     int64
	Modified time.Time
}

// A ProviderTraitRow says that a provider has a trait.
type ProviderTraitRow struct {
	Provider int64
	Trait    TraitID
}

// An AggregateRow says that a provider is a member of an aggregate.
type AggregateRow struct {
	Provider int64
	ID       AggregateID
	UUID     UUID
}

// A ConsumerRow is a consumer as the store keeps it. Project and User are the
// identity service's ids; Type is the name of its consumer type, empty when it
// has none (consumers from before microversion 1.38).
type ConsumerRow struct {
	ID         int64
	UUID       UUID
	Project    string
	User       string
	Type       string
	Generation Generation
}

// An AllocationRow is what a consumer holds of one class on one provider.
// ProviderUUID, ProviderGeneration, ConsumerGeneration and Modified are filled
// in when read and ignored when written.
type AllocationRow struct {
	Provider           int64
	ProviderUUID       UUID
	ProviderGeneration Generation
	Consumer           UUID
	ConsumerGeneration Generation
	Class              ClassID
	Used               int64
	Modified           time.Time
}

// A ProjectUsage is what the consumers of a project, or of one of its users,
// hold.
type ProjectUsage struct {
	Rows []UsageRow
	// Consumers counts the consumers that hold something by their type;
	// the key is empty for those without one.
	Consumers map[string]int64
}

// A UsageRow is the sum of one class over the consumers of one type (empty
// for consumers without one).
type UsageRow struct {
	Class ClassID
	Type  string
	Used  int64
}
