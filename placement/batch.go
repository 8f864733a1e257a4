package placement

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
)

// Claims and releases that arrive while others are being written wait, and are
// written together: a batch is checked against the picture, and what it writes
// compares and swaps everything that the check relied on. Whatever a batch does
// not write is decided alone, from the rows.

const (
	// maxBatch is how many requests share a batch.
	maxBatch = 64
	// maxWaiting is how many wait for one; more go alone at once, and are
	// held up or refused by the store.
	maxWaiting = 1024
	// maxAhead is how many steps may be ahead of the picture before it is
	// brought up to date for their sake.
	maxAhead = 128
	// maxBatchTime is how long a batch takes in more requests.
	maxBatchTime = 20 * time.Millisecond
	// batchTries is how often a batch is tried when a compare-and-swap misses.
	batchTries = 2
)

// A batchRequest is a claim, or the release of all that its consumer holds.
type batchRequest struct {
	Claim
	ctx     context.Context
	release bool
	done    chan error // nil: written; an alone: to be decided alone
}

// alone says that a request must be decided by itself, after so many tries.
type alone struct{ tries int }

func (a alone) Error() string { return "to be decided alone" }

// batches are the requests that wait and who serves them.
type batches struct {
	mu      sync.Mutex
	waiting []*batchRequest
	serving bool // somebody is

	// The rest belongs to whoever serves: what its own commits made of trees, one after
	// the other, as long as the picture may show the earlier ones.
	ahead map[*Tree]*Tree
}

// ordinary reports whether a claim looks as if a batch could write it: as far as
// the picture tells, nothing about it will be refused.
func (s *Service) ordinary(c Claim) bool {
	plan := newBatchPlan(s.world.Load(), s.store.Shared(), nil)
	lines, ok := plan.lines(c)
	returns := c.Seen == nil || c.Seen.Exists // with what it holds, which counts as free
	return ok && (returns || plan.fits(lines, nil))
}

// together has a request written in a batch. It returns alone for one that must
// be decided by itself. When ctx ends while the request waits, it is not written;
// once its batch is under way, the outcome is waited for.
func (s *Service) together(ctx context.Context, r *batchRequest) error {
	r.ctx, r.done = ctx, make(chan error, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	serve, ok := s.batches.join(r)
	switch {
	case !ok:
		return alone{}
	case serve:
		s.serveOne()
		return <-r.done
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if s.batches.leave(r) {
			return ctx.Err()
		}
	case <-late.C:
		if s.batches.leave(r) {
			return errStoreAway
		}
	}
	return <-r.done
}

// join puts a request in the queue, and says whether whoever brings it is to
// serve, because nobody does. It reports false when the queue is full.
func (b *batches) join(r *batchRequest) (serve, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= maxWaiting {
		return false, false
	}
	b.waiting = append(b.waiting, r)
	serve, b.serving = !b.serving, true
	return serve, true
}

// leave takes a request out of the queue, if it is still there.
func (b *batches) leave(r *batchRequest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiting, r)
	if at >= 0 {
		b.waiting = slices.Delete(b.waiting, at, at+1)
	}
	return at >= 0
}

// A batch is requests that are written together. They are about different
// consumers.
type batch struct {
	members []*batchRequest
	about   map[UUID]bool
}

// take returns the next batch, nil when nothing waits; then nobody serves any
// more.
func (b *batches) take() *batch {
	next := &batch{about: make(map[UUID]bool)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(next)
	b.serving = len(next.members) > 0
	if !b.serving {
		return nil
	}
	return next
}

// more lets requests that came since join a batch and reports whether any did.
func (b *batches) more(to *batch) bool {
	before := len(to.members)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(to)
	return len(to.members) > before
}

// fill moves requests into a batch. Those about a consumer that the batch is
// about already wait for the next.
func (b *batches) fill(to *batch) {
	var rest []*batchRequest
	for i, r := range b.waiting {
		if len(to.members) == maxBatch {
			rest = append(rest, b.waiting[i:]...)
			break
		}
		if to.about[r.Consumer] {
			rest = append(rest, r)
			continue
		}
		to.about[r.Consumer] = true
		to.members = append(to.members, r)
	}
	b.waiting = rest
}

// serveOne writes the batch at the head of the queue, and leaves the others to a
// goroutine of their own.
func (s *Service) serveOne() {
	if b := s.batches.take(); b != nil {
		s.serve(b)
	}
	if s.batches.leaveOff() {
		go s.serveAll()
	}
}

// serveAll writes batches until nothing waits.
func (s *Service) serveAll() {
	for b := s.batches.take(); b != nil; b = s.batches.take() {
		s.serve(b)
	}
}

// leaveOff reports whether requests wait; if not, nobody serves any more.
func (b *batches) leaveOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.serving = len(b.waiting) > 0
	return b.serving
}

// serve writes a batch and tells all of its members.
func (s *Service) serve(b *batch) {
	tries := 0
	done, err := s.tryBatch(b, tries)
	for errors.Is(err, ErrStale) {
		tries++
		s.retried(b)
		if tries >= batchTries {
			break
		}
		// Somebody changed what the batch rests on: the picture may know
		// by now.
		if err = s.follow(b.context()); err == nil {
			done, err = s.tryBatch(b, tries)
		}
	}
	for i, r := range b.members {
		switch kind, _ := fault.Of(err); {
		case err == nil && done.written[i]:
			r.done <- nil
		case err != nil && kind == fault.Unavailable:
			r.done <- err
		default:
			r.done <- alone{tries}
		}
	}
}

// retried tells the observer about the claims of a batch that missed.
func (s *Service) retried(b *batch) {
	for _, r := range b.members {
		if !r.release {
			s.observe(ClaimRetried)
		}
	}
}

// context is the first member's without its end: a batch is everybody's.
func (b *batch) context() context.Context { return context.WithoutCancel(b.members[0].ctx) }

// A writtenBatch is what a transaction made of a batch.
type writtenBatch struct {
	world   *World // that it was checked against
	ask     bool   // for all consumers, also those that need not be read at the first try
	written []bool // by member
	steps   []Step
}

// errNoneWritten says that no member of a batch can be written with it.
var errNoneWritten = errors.New("placement: nothing to write together")

// tryBatch writes what can be written of a batch in one transaction. When it
// returns nil the picture has it, or is sure to have it before it is answered
// from.
func (s *Service) tryBatch(b *batch, try int) (done *writtenBatch, err error) {
	defer recovered(&err) // whoever serves must go on, or all claims would wait
	ctx := b.context()
	err = s.store.Update(ctx, s.settings.Now(), func(w Writer) error {
		done = &writtenBatch{world: s.world.Load(), ask: try > 0}
		return s.writeBatch(w, b, done)
	})
	if err == nil {
		s.show(ctx, done)
	}
	return done, err
}

// show sees to it that the picture has a batch. What is durable is acknowledged
// even if the picture cannot be brought up to date: World then fails until it can.
func (s *Service) show(ctx context.Context, done *writtenBatch) {
	if !s.store.Shared() {
		_ = s.refreshHere(ctx, Changes{Steps: done.steps})
		return
	}
	s.batches.outrun(done)
	s.keepUp(ctx)
}

// writeBatch is the transaction of a batch. Requests that come while it reads or writes
// join it, since a commit costs more than they do; but a shared store may write all of it
// with the commit.
func (s *Service) writeBatch(w Writer, b *batch, done *writtenBatch) error {
	plan := newBatchPlan(done.world, s.store.Shared(), s.batches.ahead)
	for begun := s.settings.Now(); ; {
		if err := s.planMembers(w, plan, b.members[len(done.written):], done); err != nil {
			return err
		}
		late := s.settings.Now().Sub(begun) > maxBatchTime
		if !late && s.batches.more(b) {
			continue
		}
		if err := plan.write(w); err != nil {
			return err
		}
		if late || s.store.Shared() || !s.batches.more(b) {
			break
		}
	}
	if len(plan.trees) == 0 {
		return errNoneWritten
	}
	done.steps = plan.steps(w.Stamp())
	w.Changed(Changes{Steps: done.steps})
	return nil
}

// planMembers adds some members to a plan.
func (s *Service) planMembers(w Writer, plan *batchPlan, members []*batchRequest, done *writtenBatch) error {
	found, err := s.claimants(w, members, done.ask)
	if err != nil {
		return err
	}
	for i, r := range members {
		done.written = append(done.written, plan.add(r, found[i]))
	}
	return nil
}

// claimants reads the consumers of requests, but unless all are asked for not those that a
// client says do not exist: that it is otherwise is found when they are written.
func (s *Service) claimants(w Writer, members []*batchRequest, all bool) ([]Claimant, error) {
	found := make([]Claimant, len(members))
	var asked []ConsumerRow
	var at []int
	for i, r := range members {
		found[i].UUID = r.Consumer
		if !all && r.Seen != nil && !r.Seen.Exists {
			continue
		}
		asked = append(asked, ConsumerRow{UUID: r.Consumer, Project: r.Project, User: r.User, Type: r.Type})
		at = append(at, i)
	}
	if len(asked) == 0 {
		return found, nil
	}
	known, err := w.Claimants(asked)
	for i, k := range known {
		found[at[i]] = k
	}
	return found, err
}

// outrun notes the trees of a batch that the picture does not show yet.
func (b *batches) outrun(done *writtenBatch) {
	if b.ahead == nil {
		b.ahead = make(map[*Tree]*Tree)
	}
	for _, s := range done.steps {
		b.ahead[s.From] = s.To
	}
}

// keepUp forgets the trees that the picture has left behind. When there are many left
// it has the picture brought up to date first.
func (s *Service) keepUp(ctx context.Context) {
	if len(s.batches.ahead) <= maxAhead {
		return
	}
	if s.batches.prune(s.world.Load()); len(s.batches.ahead) > maxAhead {
		_ = s.follow(ctx) // else it is tried again after the next batch
		s.batches.prune(s.world.Load())
	}
}

// prune keeps what comes after the trees of a world, which only goes on from them or
// reads others.
func (b *batches) prune(w *World) {
	kept := make(map[*Tree]*Tree)
	for t := range b.ahead {
		now := w.treeOf(t.Root().ID)
		for later := b.ahead[now]; later != nil && kept[now] == nil; later = b.ahead[now] {
			kept[now] = later
			now = later
		}
	}
	b.ahead = kept
}
