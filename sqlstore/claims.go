package sqlstore

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/placement"
)

// Stamp is the time of the rows that the writer writes.
func (w *writer) Stamp() time.Time { t, _ := unstamp(w.stamp); return t }

// Claimants reads consumers, what they hold, and their owners.
func (w *writer) Claimants(asked []placement.ConsumerRow) ([]placement.Claimant, error) {
	found := newClaimants(asked)
	w.named = w.named.with(asked, w.memory.known(time.Now()))
	uuids := make([]placement.UUID, len(asked))
	for i, a := range asked {
		uuids[i] = a.UUID
	}
	var questions []question
	if q, ok := w.named.question(); ok {
		questions = append(questions, q)
	}
	_ = inList(uuids, func(marks string, args []any) error {
		questions = append(questions, question{statement{claimantColumns + marks + `)`, args}, found.add})
		return nil
	})
	if err := w.ask(questions); err != nil {
		return nil, err
	}
	w.remember(found.list)
	return found.list, nil
}

// remember keeps what consumers hold for WriteClaims, which looks whether it is
// still where it was.
func (w *writer) remember(found []placement.Claimant) {
	if w.held == nil {
		w.held = make(map[placement.UUID][]placement.Hold, len(found))
	}
	for _, c := range found {
		w.held[c.UUID] = c.Holds
	}
}

// ask asks several questions at once.
func (w *writer) ask(questions []question) error {
	if err := w.usable(); err != nil {
		return err
	}
	end := w.tracing(len(questions), func(i int) string { return questions[i].query })
	var err error
	if w.last && w.ses.untouched() { // no statement of this Update was sent
		for _, q := range questions {
			err = cmp.Or(err, w.ses.askFirst(q))
		}
	} else {
		err = w.ses.ask(questions)
	}
	end(err)
	return w.fail(err)
}

// tracing begins to trace so many statements that run together.
func (w *writer) tracing(n int, query func(int) string) (end func(error)) {
	if w.trace == nil {
		return func(error) {}
	}
	ends := make([]func(error), n)
	for i := range ends {
		ends[i] = w.trace(w.ctx, query(i))
	}
	return func(err error) {
		for _, end := range slices.Backward(ends) {
			end(err)
		}
	}
}

// claimantColumns is the beginning of what claimants.add reads. Allocations of no
// consumer are not looked for: they are found when the consumer is made.
const claimantColumns = `
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

// claimants collects consumers in the order they were asked for.
type claimants struct {
	list []placement.Claimant
	at   map[placement.UUID]int
}

func newClaimants(asked []placement.ConsumerRow) *claimants {
	c := &claimants{list: make([]placement.Claimant, len(asked)), at: make(map[placement.UUID]int, len(asked))}
	for i, a := range asked {
		c.list[i].UUID, c.at[a.UUID] = a.UUID, i
	}
	return c
}

// of returns the consumer that a row is about, nil when the row is of another
// spelling, which is noted.
func (c *claimants) of(uuid placement.UUID) *placement.Claimant {
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

// add takes in a row: a consumer, and one of its allocations unless it has none, or
// one of a provider that is not there.
func (c *claimants) add(one *row) {
	who := c.of(one.uuid(1))
	if who == nil {
		return
	}
	who.ID, who.Generation = one.int(0), one.generation(2)
	if one.null(4) {
		return
	}
	who.Holds = append(who.Holds, placement.Hold{
		Provider:     one.int(3),
		ProviderUUID: one.uuid(4),
		Root:         one.int(5),
		Class:        placement.ClassID(one.int(6)),
		Used:         one.int(7),
	})
}

// A mustChange is a statement that changes so many rows, unless something is not
// as it is believed to be.
type mustChange struct {
	statement
	rows int64
	// inBlock is how a statement with an answer is written in a block (block.go);
	// empty for all others.
	inBlock string
}

// anyRows are those of a statement that changes as many as it likes.
const anyRows = -1

// WriteClaims runs the statements of claims, the swaps first.
func (w *writer) WriteClaims(c placement.ClaimRows) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.findOwners(slices.Concat(c.Made, c.Kept)); err != nil {
		return err
	}
	all := append(w.holdStatements(c), w.claimStatements(c)...)
	w.holding = true
	last := w.last && w.ses.blocks // which another connection may not have
	traced := w.tracing(len(all), func(i int) string { return all[i].query })
	w.ses.hold(all, func(err error) {
		traced(err)
		if err != nil {
			w.memory.forget()
		}
	})
	if last {
		return nil
	}
	err := w.ses.sendHeld()
	if err != nil && w.ses.d.duplicate(err) { // a consumer that was made meanwhile
		return placement.ErrStale
	}
	if errors.Is(err, placement.ErrStale) {
		return err
	}
	return w.fail(err)
}

// findOwners finds the ids of all owners of consumers, and makes those that do
// not exist.
func (w *writer) findOwners(consumers []placement.ConsumerRow) error {
	w.named = w.named.with(consumers, w.memory.known(time.Now()))
	if q, ok := w.named.question(); ok {
		if err := w.ask([]question{q}); err != nil {
			return err
		}
	}
	for _, c := range consumers {
		if err := w.named.ensure(w, c); err != nil {
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

func (w *writer) claimStatements(c placement.ClaimRows) []mustChange {
	all := w.riseStatements(c.Providers)
	all = append(all, w.swapStatements(c)...)
	all = append(all, freeStatements(c)...)
	all = append(all, w.madeStatements(c.Made)...)
	return append(all, w.allocationStatements(c.Allocations)...)
}

// riseStatements swap the generations of providers, those that rise by the same
// with each.
func (w *writer) riseStatements(providers []placement.ProviderRise) []mustChange {
	by := make(map[placement.Generation][][]any)
	slices.SortFunc(providers, func(a, b placement.ProviderRise) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range providers {
		by[p.By] = append(by[p.By], []any{p.ID, p.From, p.Root})
	}
	var all []mustChange
	for _, n := range slices.Sorted(maps.Keys(by)) {
		all = append(all, matchStatements(`
UPDATE resource_providers
SET generation = generation + ?, updated_at = ?
WHERE `, `(id = ? AND generation = ? AND root_provider_id + 0 = ?)`, by[n], n, w.stamp)...)
	}
	return all
}

// matchStatements change the rows that match one of many conditions, which must
// be about different rows; lead are the values before theirs. The lists have few
// lengths, so that few statements are prepared: the last condition is repeated.
func matchStatements(head, condition string, values [][]any, lead ...any) []mustChange {
	var all []mustChange
	for part := range slices.Chunk(values, maxMatches) {
		n := powerOfTwo(len(part))
		args := slices.Clone(lead)
		for i := range n {
			args = append(args, part[min(i, len(part)-1)]...)
		}
		query := head + condition + strings.Repeat("\nOR "+condition, n-1)
		all = append(all, mustChange{statement: statement{query, args}, rows: int64(len(part))})
	}
	return all
}

// maxMatches is how many rows one statement matches.
const maxMatches = 64

// swapStatements swap the generations of consumers, in the order of their ids.
func (w *writer) swapStatements(c placement.ClaimRows) []mustChange {
	at := make(map[int64]mustChange, len(c.Kept)+len(c.Gone))
	for _, k := range c.Kept {
		at[k.ID] = w.keptStatement(k)
	}
	for _, g := range c.Gone {
		at[g.ID] = mustChange{statement: statement{`
DELETE FROM consumers
WHERE id = ? AND generation = ?`, []any{g.ID, g.Generation}}, rows: 1}
	}
	var all []mustChange
	for _, id := range slices.Sorted(maps.Keys(at)) {
		all = append(all, at[id])
	}
	return all
}

// keptStatement swaps a consumer's generation and writes its owners.
func (w *writer) keptStatement(c placement.ConsumerRow) mustChange {
	kind, args := "", []any{c.Generation + 1, w.named.projects[c.Project], w.named.users[c.User]}
	if c.Type != "" {
		kind, args = ", consumer_type_id = ?", append(args, w.named.kinds[c.Type])
	}
	return mustChange{statement: statement{`
UPDATE consumers
SET generation = ?, project_id = ?, user_id = ?` + kind + `, updated_at = ?
WHERE id = ? AND generation = ?`, append(args, w.stamp, c.ID, c.Generation)}, rows: 1}
}

// freeStatements remove what consumers hold.
func freeStatements(c placement.ClaimRows) []mustChange {
	var all []mustChange
	// Those that are made hold nothing, unless there are allocations of no
	// consumer.
	var uuids []placement.UUID
	for _, row := range slices.Concat(c.Kept, c.Gone, c.Made) {
		uuids = append(uuids, row.UUID)
	}
	freed := int64(c.Freed)
	_ = inList(uuids, func(marks string, args []any) error {
		all = append(all, mustChange{statement: statement{`
DELETE FROM allocations
WHERE consumer_id IN (` + marks + `)`, args}, rows: freed})
		freed = 0
		return nil
	})
	return all
}

// madeStatements add consumers.
func (w *writer) madeStatements(made []placement.ConsumerRow) []mustChange {
	made = slices.SortedFunc(slices.Values(made), func(a, b placement.ConsumerRow) int { return cmp.Compare(a.UUID, b.UUID) })
	return insertStatements(made, 7, `
INSERT INTO consumers (created_at, updated_at, uuid, project_id, user_id, generation, consumer_type_id)
VALUES `, w.ses.d.onConflict, func(c placement.ConsumerRow) []any {
		return []any{w.stamp, w.stamp, c.UUID, w.named.projects[c.Project], w.named.users[c.User], 1, orNull(w.named.kinds[c.Type])}
	})
}

func (w *writer) allocationStatements(as []placement.AllocationRow) []mustChange {
	return insertStatements(as, 5, `
INSERT INTO allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)
VALUES `, "", func(a placement.AllocationRow) []any {
		return []any{w.stamp, a.Provider, a.Consumer, a.Class, a.Used}
	})
}

// insertStatements add rows of so many values, a number of them with each.
func insertStatements[T any](rows []T, width int, head, tail string, values func(T) []any) []mustChange {
	var all []mustChange
	for len(rows) > 0 {
		n := min(len(rows), insertChunk)
		args := make([]any, 0, n*width)
		for _, r := range rows[:n] {
			args = append(args, values(r)...)
		}
		all = append(all, mustChange{statement: statement{head + tuples(n, width) + tail, args}, rows: int64(n)})
		rows = rows[n:]
	}
	return all
}
