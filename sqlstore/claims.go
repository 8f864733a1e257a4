package sqlstore

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Stamp is the time of the rows that the writer writes.
func (w *writer) Stamp() time.Time { t, _ := sqlconn.Unstamp(w.Written()); return t }

// ConsumerStates reads consumers, their allocations, and the ids of their owners.
func (w *writer) ConsumerStates(requested []placement.ConsumerRow) ([]placement.ConsumerState, error) {
	found := newConsumerStates(requested)
	w.named = w.named.with(requested, w.cache.known(time.Now()))
	uuids := make([]placement.UUID, len(requested))
	for i, a := range requested {
		uuids[i] = a.UUID
	}
	var questions []sqlconn.Question
	if q, ok := w.named.question(); ok {
		questions = append(questions, q)
	}
	_ = sqlconn.InList(uuids, func(marks string, args []any) error {
		questions = append(questions, sqlconn.Question{
			Statement: sqlconn.Statement{Query: consumerStateColumns + marks + `)`, Args: args}, Each: found.add,
		})
		return nil
	})
	if err := w.QueryAll(questions); err != nil {
		return nil, err
	}
	return found.list, nil
}

// consumerStateColumns is the beginning of what consumerStates.add reads. Allocations of no
// consumer are not looked for: they are found when the consumer is inserted. LEFT JOIN keeps
// consumers without allocations, and allocations whose provider was deleted.
const consumerStateColumns = `
SELECT
    c.id,
    c.uuid,
    c.generation,
    a.resource_provider_id,
    p.uuid,
    COALESCE(p.root_provider_id, p.id),
    a.resource_class_id,
    a.used
FROM consumers c
LEFT JOIN allocations a ON a.consumer_id = c.uuid
LEFT JOIN resource_providers p ON p.id = a.resource_provider_id
WHERE c.uuid IN (`

// consumerStates collects consumers in the order they were requested.
type consumerStates struct {
	list []placement.ConsumerState
	// at is the place in list by UUID, as it was requested.
	at map[placement.UUID]int
}

func newConsumerStates(requested []placement.ConsumerRow) *consumerStates {
	c := &consumerStates{
		list: make([]placement.ConsumerState, len(requested)), at: make(map[placement.UUID]int, len(requested)),
	}
	for i, a := range requested {
		c.list[i].UUID, c.at[a.UUID] = a.UUID, i
	}
	return c
}

// of returns the consumer that a row is about, nil when the row is of another
// spelling, which is noted.
func (c *consumerStates) of(uuid placement.UUID) *placement.ConsumerState {
	if i, ok := c.at[uuid]; ok {
		return &c.list[i]
	}
	for i := range c.list {
		if strings.EqualFold(string(c.list[i].UUID), string(uuid)) {
			c.list[i].Spelled = true
		}
	}
	return nil
}

// add takes in a row: a consumer, and one of its allocations unless it has none. That of
// a provider that is not there has no UUID and no root.
func (c *consumerStates) add(one *sqlconn.Row) {
	who := c.of(uuid(one, 1))
	if who == nil {
		return
	}
	who.ID, who.Generation = one.Int(0), generation(one, 2)
	if one.Null(3) {
		return
	}
	who.Allocations = append(who.Allocations, placement.AllocatedAmount{
		Provider:     one.Int(3),
		ProviderUUID: uuid(one, 4),
		Root:         one.Int(5),
		Class:        placement.ClassID(one.Int(6)),
		Used:         one.Int(7),
	})
}

// A mustChange is a statement that changes so many rows, unless something is not
// as it is believed to be.
type mustChange struct {
	sqlconn.Statement
	rows int64
}

// anyRows are those of a statement that only reads.
const anyRows = -1

// WriteClaims runs the statements of claims, the swaps first. They go in one round trip where the
// database takes several. A statement that changes another number of rows than expected, and a
// unique value that is taken, are ErrStale: the transaction is rolled back by the caller, so that
// it does no harm that the statements after it ran. The cached ids of owners are dropped then,
// since one of them may be the reason.
func (w *writer) WriteClaims(c placement.ClaimRows) error {
	if err := w.Usable(); err != nil {
		return err
	}
	if err := w.findOwners(slices.Concat(c.Inserts, c.Updates)); err != nil {
		return err
	}
	swaps := w.providerSwaps(c)
	all := slices.Concat(w.lockStatements(swaps), w.swapProviders(swaps), w.claimStatements(c))
	w.NoteLocks()
	texts := make([]sqlconn.Statement, len(all))
	for i := range all {
		texts[i] = all[i].Statement
	}
	end := w.Tracing(len(all), func(i int) string { return all[i].Query })
	counts, err := w.Session().Change(texts)
	end(err)
	switch {
	case err == nil && asExpected(counts, all):
		return nil
	case err == nil || w.Dialect().Duplicate(err): // a consumer that was inserted meanwhile
		err = placement.ErrStale
	default:
		err = w.Fail(err)
	}
	w.cache.invalidate()
	return err
}

// findOwners finds the ids of all owners of consumers, and makes those that do
// not exist.
func (w *writer) findOwners(consumers []placement.ConsumerRow) error {
	w.named = w.named.with(consumers, w.cache.known(time.Now()))
	if q, ok := w.named.question(); ok {
		if err := w.QueryAll([]sqlconn.Question{q}); err != nil {
			return err
		}
	}
	for _, c := range consumers {
		if err := w.named.ensure(w.Tx, c); err != nil {
			return err
		}
	}
	return nil
}

// asExpected reports whether each change met its rows.
func asExpected(counts []int64, all []mustChange) bool {
	for i, c := range all {
		if c.rows != anyRows && counts[i] != c.rows {
			return false
		}
	}
	return true
}

// claimStatements are those about consumers and allocations: consumers that exist, then the
// deletion of allocations, new allocations, and new consumers. They come after the locks of the
// providers.
func (w *writer) claimStatements(c placement.ClaimRows) []mustChange {
	all := append(w.swapStatements(c), deleteAllocations(c)...)
	all = append(all, w.allocationStatements(c.Allocations)...)
	return append(all, w.insertConsumers(c.Inserts)...)
}

// A providerSwap is what claims do to a provider: raise its generation, or rely on it to
// stay in its tree while allocations on it are deleted.
type providerSwap struct {
	id, root int64
	from, by placement.Generation // by 0: of any generation, which stays
}

// providerSwaps are what claims do to providers, in the order of their ids. Where this
// transaction is the only one, all others stay as they are. Providers from which allocations are
// only released are locked, not changed: their generation stays, as upstream's does, and the lock
// keeps them from moving to a tree whose snapshot would not show the release.
func (w *writer) providerSwaps(c placement.ClaimRows) []providerSwap {
	var all []providerSwap
	for _, p := range c.Bumps {
		all = append(all, providerSwap{p.ID, p.Root, p.From, p.By})
	}
	for _, amounts := range c.Released {
		for _, h := range amounts {
			if w.Dialect().Shared && h.Root != 0 {
				all = append(all, providerSwap{id: h.Provider, root: h.Root})
			}
		}
	}
	// Of several on one provider the one that rises is first.
	slices.SortFunc(all, func(a, b providerSwap) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(b.by, a.by), cmp.Compare(a.root, b.root))
	})
	return slices.CompactFunc(all, func(a, b providerSwap) bool { return a.id == b.id && a.root == b.root })
}

// swapProviders are the statements that raise generations of providers, and lock those that
// stay as they are.
func (w *writer) swapProviders(swaps []providerSwap) []mustChange {
	var all []mustChange
	for part := range slices.Chunk(swaps, maxMatches) {
		all = append(all, w.swapSome(part))
	}
	return all
}

// swapSome is one statement for some swaps. It matches a provider by its id, a range of generations
// and its root. The root is compared as an expression, which no index can answer: rows are to be
// found, and locked, by their ids.
func (w *writer) swapSome(swaps []providerSwap) mustChange {
	var rises, values [][]any
	for _, s := range swaps {
		least, most := s.from, s.from
		if s.by == 0 {
			most = math.MaxInt32
		} else {
			rises = append(rises, []any{s.id, s.by})
		}
		values = append(values, []any{s.id, least, most, s.root})
	}
	// The number of WHEN is a power of two, the last one repeated, as that of the conditions is.
	const head, same = `
UPDATE resource_providers
SET `, `(id = ? AND generation BETWEEN ? AND ? AND root_provider_id + 0 = ?)`
	set, args := `generation = generation`, []any(nil)
	if n := sqlconn.PowerOfTwo(len(rises)); n > 0 {
		var ids []any
		for i := range n {
			rise := rises[min(i, len(rises)-1)]
			args, ids = append(args, rise...), append(ids, rise[0])
		}
		set = `generation = generation + CASE id` + strings.Repeat(` WHEN ? THEN ?`, n) + ` ELSE 0 END,
    updated_at = CASE WHEN id IN (` + sqlconn.Marks(n) + `) THEN ? ELSE updated_at END`
		args = append(append(args, ids...), w.Written())
	}
	one := matchStatements(head+set+`
WHERE `, same, values, args...)[0]
	if len(swaps) > 1 {
		one.Query += w.Dialect().InOrder
	}
	return one
}

// matchStatements change the rows that match one of many conditions, which must
// be about different rows; lead are the values before theirs. The lists have few
// lengths, so that few statements are prepared: the last condition is repeated.
func matchStatements(head, condition string, values [][]any, lead ...any) []mustChange {
	var all []mustChange
	for part := range slices.Chunk(values, maxMatches) {
		n := sqlconn.PowerOfTwo(len(part))
		args := slices.Clone(lead)
		for i := range n {
			args = append(args, part[min(i, len(part)-1)]...)
		}
		query := head + condition + strings.Repeat("\nOR "+condition, n-1)
		all = append(all, mustChange{Statement: sqlconn.Statement{Query: query, Args: args}, rows: int64(len(part))})
	}
	return all
}

// maxMatches is how many rows one statement matches.
const maxMatches = 64

// swapStatements swap the generations of consumers, each in the order of their ids. An
// id that was read before may be another consumer's by now.
func (w *writer) swapStatements(c placement.ClaimRows) []mustChange {
	byID := func(a, b placement.ConsumerRow) int { return cmp.Compare(a.ID, b.ID) }
	var all []mustChange
	for _, k := range slices.SortedFunc(slices.Values(c.Updates), byID) {
		all = append(all, w.updateConsumer(k))
	}
	var deletes [][]any
	for _, g := range slices.SortedFunc(slices.Values(c.Deletes), byID) {
		deletes = append(deletes, []any{g.ID, g.UUID, g.Generation})
	}
	return append(all, matchStatements(`
DELETE FROM consumers
WHERE `, `(id = ? AND COALESCE(uuid, '') = ? AND generation = ?)`, deletes)...)
}

// updateConsumer swaps a consumer's generation and writes its owners. The type stays when the claim
// has none (microversions before 1.38).
func (w *writer) updateConsumer(c placement.ConsumerRow) mustChange {
	kind, args := "", []any{c.Generation + 1, w.named.projects[c.Project], w.named.users[c.User]}
	if c.Type != "" {
		kind, args = ", consumer_type_id = ?", append(args, w.named.types[c.Type])
	}
	return mustChange{Statement: sqlconn.Statement{Query: `
UPDATE consumers
SET generation = ?, project_id = ?, user_id = ?` + kind + `, updated_at = ?
WHERE id = ? AND uuid = ? AND generation = ?`, Args: append(args, w.Written(), c.ID, c.UUID, c.Generation)}, rows: 1}
}

// deleteAllocations deletes all allocations of consumers.
func deleteAllocations(c placement.ClaimRows) []mustChange {
	var all []mustChange
	// Those that are inserted have none, unless there are allocations without a
	// consumer.
	var uuids []placement.UUID
	for _, row := range slices.Concat(c.Updates, c.Deletes, c.Inserts) {
		uuids = append(uuids, row.UUID)
	}
	for uuid := range c.Released {
		uuids = append(uuids, uuid)
	}
	_ = sqlconn.InList(uuids, func(marks string, args []any) error {
		var deleted int64
		for i, uuid := range args {
			if i == 0 || uuid != args[i-1] { // the last one is repeated
				deleted += int64(len(c.Released[uuid.(placement.UUID)]))
			}
		}
		all = append(all, mustChange{Statement: sqlconn.Statement{Query: `
DELETE FROM allocations
WHERE consumer_id IN (` + marks + `)`, Args: args}, rows: deleted})
		return nil
	})
	return all
}

// insertConsumers add consumers, in the order of their UUIDs. They begin at generation 1, as
// upstream's do after their first allocations. The order keeps transactions that insert the same
// consumers from a deadlock.
func (w *writer) insertConsumers(inserts []placement.ConsumerRow) []mustChange {
	inserts = slices.SortedFunc(slices.Values(inserts), func(a, b placement.ConsumerRow) int {
		return cmp.Compare(a.UUID, b.UUID)
	})
	return insertStatements(inserts, 7, `
INSERT INTO consumers (created_at, updated_at, uuid, project_id, user_id, generation, consumer_type_id)
VALUES `, w.Dialect().OnConflict, func(c placement.ConsumerRow) []any {
		return []any{
			w.Written(), w.Written(), c.UUID, w.named.projects[c.Project], w.named.users[c.User], 1,
			orNull(w.named.types[c.Type]),
		}
	})
}

// allocationStatements add allocations in the order of the claims. Upstream's table has no foreign
// keys: what keeps a provider from being deleted meanwhile is its lock.
func (w *writer) allocationStatements(as []placement.AllocationRow) []mustChange {
	return insertStatements(as, 5, `
INSERT INTO allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)
VALUES `, "", func(a placement.AllocationRow) []any {
		return []any{w.Written(), a.Provider, a.Consumer, a.Class, a.Used}
	})
}

// insertChunk is how many rows go into one INSERT; a claim has fewer.
const insertChunk = 32

// insertStatements add rows of so many values, a number of them with each. The tail goes behind
// each statement, such as the clause for a unique value that is taken.
func insertStatements[T any](rows []T, width int, head, tail string, values func(T) []any) []mustChange {
	var all []mustChange
	for len(rows) > 0 {
		n := min(len(rows), insertChunk)
		args := make([]any, 0, n*width)
		for _, r := range rows[:n] {
			args = append(args, values(r)...)
		}
		all = append(all, mustChange{
			Statement: sqlconn.Statement{Query: head + sqlconn.Tuples(n, width) + tail, Args: args}, rows: int64(n),
		})
		rows = rows[n:]
	}
	return all
}

// lockStatements lock the providers of claims, given in the order of their ids, where the
// statements that swap them do not: those must be in that order, and must not wait for
// what may be waited for. The answer of the SELECT is not looked at: a row that is missing is found
// by the swap.
func (w *writer) lockStatements(swaps []providerSwap) []mustChange {
	if w.Dialect().LockRow == "" || len(swaps) == 0 {
		return nil
	}
	ids := make([]int64, len(swaps))
	for i, s := range swaps {
		ids[i] = s.id
	}
	w.locks.IDs = append(w.locks.IDs, ids...)
	if !w.HasLocks() && (len(ids) <= 1 || w.Dialect().InOrder != "") {
		return nil
	}
	args := sqlconn.Padded(ids)
	return []mustChange{{
		Statement: sqlconn.Statement{Query: lockColumns + sqlconn.Marks(len(args)) + lockOrder + w.lockRow(), Args: args},
		rows:      anyRows,
	}}
}
