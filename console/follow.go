package console

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/overview"
)

// A state is a reading with its table of hosts. It does not change once the follower has it.
type state struct {
	reading *Reading
	table   *overview.Table
	// number grows with each table that is not as the one before, and changes are what is different
	// from that. The first is the time in microseconds, so that a page that comes back does not take
	// the state of a console that has started again for its own.
	number  int64
	changes []Change
	// index has the records of the reading, by what they are called, and findings what the audit finds
	// in them. Both are computed when they are called for the first time.
	index    func() *index.Index
	findings func() Findings
}

func newState(r *Reading, t *overview.Table, number int64) *state {
	s := &state{reading: r, table: t, number: number}
	s.index = sync.OnceValue(func() *index.Index { return index.New(r.Cloud) })
	s.findings = sync.OnceValue(func() Findings { return check(s) })
	return s
}

// errStopped is the error of a console that reads no more.
var errStopped = fault.New(fault.Unavailable, "", "the console is stopping")

// errUnchanged is the error of a wait that ends without a change.
var errUnchanged = errors.New("nothing has changed")

// retained is how many states a page may be behind and still get the rows that have changed only.
const retained = 8

// A follower reads the source again and again, while a page waits for changes or requests a
// current state. It may be used by several goroutines.
type follower struct {
	source Source
	log    *slog.Logger

	mu      sync.Mutex
	states  []*state // the newest last; retained ones at most
	err     error    // of the last reading
	read    time.Time
	reading bool          // one is under way
	slow    error         // why the reading under way counts as an outage, nil before it does
	changed chan struct{} // closed and replaced when there is another table or outage
	ended   chan struct{} // closed and replaced after each reading
	waiting int           // pages that wait for changes
	wanted  chan struct{} // has an element when a reading is wanted at once
	stopped chan struct{} // closed when run has ended

	took time.Duration // of the last reading but the first; for the goroutine that reads
}

func newFollower(s Source, log *slog.Logger) *follower {
	return &follower{
		source: s, log: log,
		changed: make(chan struct{}), ended: make(chan struct{}), wanted: make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
}

// run reads until ctx ends: after each interval while pages wait, and when a state is requested and
// the last is older than that.
func (f *follower) run(ctx context.Context) {
	defer close(f.stopped)
	timer := time.NewTicker(f.source.Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wanted:
		case <-timer.C:
			f.mu.Lock()
			idle := f.waiting == 0
			f.mu.Unlock()
			if idle {
				continue
			}
		}
		f.refresh(ctx)
		timer.Reset(f.source.Interval)
	}
}

// patience is how long a reading may take before pages get the state of before: twice the time of
// the last one, within bounds.
func (f *follower) patience() time.Duration {
	return min(max(2*f.took, leastPatience), mostPatience)
}

const (
	leastPatience = 3 * time.Second
	mostPatience  = 30 * time.Second
)

// outage returns why the newest state is not the cloud's of now, nil when it is. The caller has
// locked mu.
func (f *follower) outage() error {
	if f.err != nil {
		return f.err
	}
	return f.slow
}

// delayed notes that the reading under way takes too long.
func (f *follower) delayed(begin time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.states) == 0 || f.err != nil {
		return // nothing to show meanwhile, or pages know already
	}
	f.slow = fault.New(fault.Unavailable, "", "there is no answer to the requests since %s",
		begin.UTC().Format(time.TimeOnly+" MST"))
	f.announce()
}

// announce wakes those that wait for a change. The caller has locked mu.
func (f *follower) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// readSource reads the source, and calls delayed when that takes long. It returns after that has.
func (f *follower) readSource(ctx context.Context) (*Reading, error) {
	begin := time.Now()
	f.mu.Lock()
	f.reading = true
	f.mu.Unlock()
	noted := make(chan struct{})
	timer := time.AfterFunc(f.patience(), func() {
		defer close(noted)
		f.delayed(begin)
	})
	reading, err := f.source.Read(ctx)
	if !timer.Stop() {
		<-noted
	}
	if err == nil && f.last() != nil { // the first reading takes longer than others
		f.took = time.Since(begin)
	}
	return reading, err
}

// refresh reads once.
func (f *follower) refresh(ctx context.Context) {
	reading, err := f.readSource(ctx)
	if ctx.Err() != nil {
		return
	}
	var next *state
	if err == nil {
		switch last := f.last(); {
		case last == nil:
			next = newState(reading, overview.New(reading.Snapshot, reading.Cloud.Compute, nil),
				time.Now().UnixMicro())
			f.logged(ctx) // what was before is of no interest
		case last.reading == reading: // nothing has changed
		default:
			next = newState(reading, overview.New(reading.Snapshot, reading.Cloud.Compute, last.table), last.number)
			next.changes = last.changes
			if c := next.table.Since(last.table); !c.Empty() {
				next.number++
				if next.changes = f.logged(ctx); len(next.changes) == 0 {
					next.changes = changesBetween(last, next, c)
				}
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	differs := (err == nil) != (f.outage() == nil)
	if err != nil && f.err == nil {
		f.log.Warn("the cloud cannot be read; the console shows what it was before", "error", err.Error())
	} else if err == nil && f.err != nil {
		f.log.Info("the cloud can be read again")
	}
	f.err, f.slow, f.read, f.reading = err, nil, time.Now(), false
	if next != nil {
		n := len(f.states)
		switch {
		case n == 0 || f.states[n-1].number != next.number:
			f.states = append(f.states, next)
			differs = true
		default:
			f.states[n-1] = next
		}
		if len(f.states) > retained {
			f.states = f.states[1:]
		}
	}
	close(f.ended)
	f.ended = make(chan struct{})
	if differs {
		f.announce()
	}
}

// logged returns the changes since the state before that the source's log has, none where readings
// have to be compared.
func (f *follower) logged(ctx context.Context) []Change {
	if f.source.Changes == nil {
		return nil
	}
	list, complete, err := f.source.Changes(ctx)
	if err != nil && ctx.Err() == nil {
		f.log.Warn("the log of changes cannot be read; the console compares what is used", "error", err.Error())
	}
	if err != nil || !complete {
		return nil
	}
	return list
}

// last returns the newest state, nil before the first reading.
func (f *follower) last() *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.states) == 0 {
		return nil
	}
	return f.states[len(f.states)-1]
}

// current returns a state that is not older than two intervals, or the newest there is when the
// cloud cannot be read. It waits for a reading when it needs one, but not for a cloud that does not
// answer: streams have said then that the newest state is old. Of a first reading that takes long
// the error is a firstReading.
func (f *follower) current(ctx context.Context) (*state, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var late <-chan time.Time
	if len(f.states) == 0 {
		late = time.After(firstWait)
	}
	for waited := false; ; waited = true {
		n, fresh := len(f.states), waited || time.Since(f.read) < 2*f.source.Interval
		if !fresh && !f.reading {
			select {
			case f.wanted <- struct{}{}:
			default: // one is wanted already
			}
		}
		switch {
		case n > 0 && (fresh || f.outage() != nil):
			return f.states[n-1], nil
		case fresh:
			return nil, fault.New(fault.Unavailable, "", "the cloud cannot be read: %v", f.err)
		}
		ended, changed := f.ended, f.changed
		f.mu.Unlock()
		err := error(nil)
		select {
		case <-ended:
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-f.stopped:
			err = errStopped
		case <-late:
			err = f.firstReading()
		}
		f.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// firstWait is how long a request waits for the first reading, at most.
const firstWait = 2 * time.Second

// A firstReading is the error of a request while the cloud is read for the first time: how far that
// is, for people. The request can be repeated.
type firstReading string

// Error returns the text.
func (e firstReading) Error() string { return string(e) }

func (f *follower) firstReading() error {
	text := "The cloud is being read for the first time"
	if f.source.Progress != nil {
		if subject, done, total := f.source.Progress(); subject != "" {
			text += ": " + subject + ", " + grouped(done) + " of " + grouped(total)
		}
	}
	return firstReading(text + ".")
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// after waits until there is another state than number, or another error than failed says, and
// returns the state with that number, nil when it is not retained, the later ones in their order,
// and the error of the last reading. Readings go on while it waits. The error is errStopped when
// the follower or the server stops, and errUnchanged when ctx ends before.
func (f *follower) after(
	ctx context.Context, stopping <-chan struct{}, number int64, failed bool,
) (old *state, later []*state, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting++
	defer func() { f.waiting-- }()
	for {
		n := len(f.states)
		if n > 0 && f.states[n-1].number != number || (f.outage() != nil) != failed {
			for i, s := range f.states {
				if s.number == number {
					old, later = s, slices.Clone(f.states[i+1:])
				}
			}
			return old, later, f.outage()
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			f.mu.Lock()
			return nil, nil, errUnchanged
		case <-f.stopped:
			f.mu.Lock()
			return nil, nil, errStopped
		case <-stopping:
			f.mu.Lock()
			return nil, nil, errStopped
		}
		f.mu.Lock()
	}
}
