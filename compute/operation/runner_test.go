package operation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/internal/logtest"
)

// A change is what a step writes: a word.
type change = string

// A store has one operation, and what was written with it.
type store struct {
	mu      sync.Mutex // guards what follows, which the renewal of leases uses concurrently with the steps
	there   bool
	kind    string
	cursor  operation.Cursor
	worker  string
	lease   time.Time // until then the worker has it, or it is not due
	awaits  bool
	written []change
	commits int
	dieAt   int // the commit that does not take place, nor any after it; 0 for none
	workers int
	done    []string // what is in force of what the steps did
	log     []string // what they were called for
}

var errDied = errors.New("the process has ended")

// A job is the operation as one worker has it.
type job struct {
	s      *store
	name   string
	cursor operation.Cursor
	lost   bool
	// deferred are the changes that the next commit writes.
	deferred []change
}

func (j *job) Kind() string             { return j.s.kind }
func (j *job) Cursor() operation.Cursor { return j.cursor }
func (j *job) LogValue() slog.Value     { return slog.GroupValue(slog.String("operation", j.name)) }

func (j *job) Lost() bool {
	j.s.mu.Lock()
	defer j.s.mu.Unlock()
	return j.lost
}

func (j *job) write(fn func()) error {
	j.s.mu.Lock()
	defer j.s.mu.Unlock()
	if j.s.commits++; j.s.dieAt > 0 && j.s.commits >= j.s.dieAt {
		return errDied
	}
	if j.s.worker != j.name || !j.s.there {
		j.lost = true
		return operation.ErrLost
	}
	fn()
	return nil
}

func (j *job) Defer(to operation.Cursor, changes ...change) {
	j.cursor, j.deferred = to, append(j.deferred, changes...)
}

func (j *job) Commit(_ context.Context, to operation.Cursor, changes ...change) error {
	return j.write(func() {
		j.s.cursor, j.cursor, j.s.lease = to, to, time.Now().Add(leaseTime)
		j.s.written = append(append(j.s.written, j.deferred...), changes...)
		j.deferred = nil
	})
}

func (j *job) End(_ context.Context, changes ...change) error {
	return j.write(func() {
		j.s.there = false
		j.s.written = append(j.s.written, changes...)
	})
}

func (j *job) Renew(context.Context) error {
	return j.write(func() { j.s.lease = time.Now().Add(leaseTime) })
}

func (j *job) Release(_ context.Context, cause error) error {
	return j.write(func() {
		j.s.worker, j.s.lease = "", time.Time{}
		if j.s.awaits = errors.As(cause, new(*operation.Wait)); !j.s.awaits {
			j.s.lease = time.Now().Add(5 * time.Second)
		}
		if errors.As(cause, new(*operation.Unanswered)) {
			j.s.lease = time.Now().Add(leaseTime)
		}
	})
}

const leaseTime = time.Minute

// die has no commit take place from the n-th from now on, until it is called with 0.
func (s *store) die(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits, s.dieAt = 0, n
}

// answer ends what the operation waits for. It returns the worker that has it.
func (s *store) answer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaits = false
	return s.worker
}

// take is what a process does that looks for operations.
func (s *store) take(context.Context) ([]*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there || s.awaits || time.Now().Before(s.lease) {
		return nil, nil
	}
	s.workers++
	s.worker, s.lease = fmt.Sprint("worker ", s.workers), time.Now().Add(leaseTime)
	return []*job{{s: s, name: s.worker, cursor: s.cursor}}, nil
}

// steps are the names of those of the list.
var steps = []string{"a", "b", "c"}

// A world is a store with a list of three steps, each of which adds its name to what is in force,
// or removes it. Act, unless nil, is called before.
type world struct {
	store
	act func(ctx context.Context, what string) (operation.Next[change], error)
}

func newWorld() *world {
	return &world{store: store{there: true, kind: "list", cursor: operation.Cursor{Step: "a"}}}
}

// renew renews the leases of jobs.
func renew(ctx context.Context, jobs []*job) (n int, err error) {
	for _, j := range jobs {
		if err := j.Renew(ctx); err == nil {
			n++
		} else if !errors.Is(err, operation.ErrLost) {
			return n, err
		}
	}
	return n, nil
}

// elapsed is time as synctest has it.
func elapsed() time.Duration { return time.Duration(time.Now().UnixNano()) }

func (w *world) runner(lists ...func(*operation.List[*job, change])) *operation.Runner[change, *job] {
	var list operation.List[*job, change]
	for _, name := range steps {
		at := func(what string, do func()) func(*job, context.Context) (operation.Next[change], error) {
			return func(_ *job, ctx context.Context) (operation.Next[change], error) {
				w.log = append(w.log, what)
				next := operation.Next[change]{Change: what}
				if w.act != nil {
					n, err := w.act(ctx, what)
					if err != nil || n.Back || n.End {
						return n, err
					}
					next.Deferred = n.Deferred
				}
				do()
				return next, nil
			}
		}
		list.Steps = append(list.Steps, operation.Step[*job, change]{
			Name: name,
			Do: at("+"+name, func() {
				if !slices.Contains(w.done, name) {
					w.done = append(w.done, name)
				}
			}),
			Undo: at("-"+name, func() { w.done = slices.DeleteFunc(w.done, func(d string) bool { return d == name }) }),
		})
	}
	list.Done = func(*job) change { return "done" }
	list.Undone = func(*job) change { return "undone" }
	for _, set := range lists {
		set(&list)
	}
	return &operation.Runner[change, *job]{
		Lists: map[string]operation.List[*job, change]{"list": list}, Take: w.take, Renew: renew, Lease: leaseTime, Places: 1,
		Look: time.Second, Elapsed: elapsed, Log: logtest.Logger(),
	}
}

// expect compares what was called, what is in force, and whether the operation is over.
func (w *world) expect(t *testing.T, what, calls, done string, over bool) {
	t.Helper()
	if got := strings.Join(w.log, " "); got != calls {
		t.Errorf("%s: the calls were %q, want %q", what, got, calls)
	}
	if got := strings.Join(w.done, " "); got != done || over == w.there {
		t.Errorf("%s: in force is %q, over %v, want %q, %v", what, got, !w.there, done, over)
	}
}

// at fails a step once.
func at(
	what string, n operation.Next[change], err error,
) func(context.Context, string) (operation.Next[change], error) {
	failed := false
	return func(_ context.Context, cur string) (operation.Next[change], error) {
		if failed || cur != what {
			return operation.Next[change]{}, nil
		}
		failed = true
		return n, err
	}
}

// Each outcome at each step, in both directions.
func TestOutcomes(t *testing.T) {
	back, again := operation.Next[change]{Back: true}, operation.Next[change]{Back: true, UndoTo: "b"}
	for _, tc := range []struct {
		name  string
		begin operation.Cursor
		act   func(context.Context, string) (operation.Next[change], error)
		calls string
		done  string
		last  change
	}{
		{"forward", operation.Cursor{Step: "a"}, nil, "+a +b +c", "a b c", "done"},
		{"backwards", operation.Cursor{Step: "c", Back: true}, nil, "-c -b -a", "", "undone"},
		{"a fails for good", operation.Cursor{Step: "a"}, at("+a", back, nil), "+a -a", "", "undone"},
		{"b fails for good", operation.Cursor{Step: "a"}, at("+b", back, nil), "+a +b -b -a", "", "undone"},
		{"c fails for good", operation.Cursor{Step: "a"}, at("+c", back, nil), "+a +b +c -c -b -a", "", "undone"},
		{
			"c has another choice of b",
			operation.Cursor{Step: "a"},
			at("+c", again, nil), "+a +b +c -c -b +b +c",
			"a b c", "done",
		},
		{"b has another choice", operation.Cursor{Step: "a"}, at("+b", again, nil), "+a +b -b +b +c", "a b c", "done"},
		{
			"the undoing ends",
			operation.Cursor{Step: "c", Back: true},
			at("-b", operation.Next[change]{End: true, Change: "no"}, nil), "-c -b", "", "no",
		},
		{
			"b is tried again",
			operation.Cursor{Step: "a"},
			at("+b", operation.Next[change]{}, errors.New("no")), "+a +b +b +c",
			"a b c", "done",
		},
		{
			"b is undone again",
			operation.Cursor{Step: "c", Back: true},
			at("-b", operation.Next[change]{}, errors.New("no")),
			"-c -b -b -a", "", "undone",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.cursor, w.act = tc.begin, tc.act
			r := w.runner()
			for range 2 {
				if err := r.RunDue(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
			w.expect(t, tc.name, tc.calls, tc.done, true)
			if n := len(w.written); w.written[n-1] != tc.last {
				t.Errorf("%s: %q was written", tc.name, w.written)
			}
		})
	}
}

// Whichever commit does not take place, another worker completes the operation when the lease has
// expired.
func TestProcessThatEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		begin operation.Cursor
		act   func(context.Context, string) (operation.Next[change], error)
		done  string
	}{
		"forward":   {operation.Cursor{Step: "a"}, nil, "a b c"},
		"backwards": {operation.Cursor{Step: "c", Back: true}, nil, ""},
		"turning": {operation.Cursor{Step: "a"}, func(_ context.Context, what string) (operation.Next[change], error) {
			return operation.Next[change]{Back: what == "+c"}, nil
		}, ""},
		"deferred": {operation.Cursor{Step: "a"}, func(_ context.Context, what string) (operation.Next[change], error) {
			return operation.Next[change]{Deferred: what != "+b"}, nil
		}, "a b c"},
	} {
		for dieAt := 1; ; dieAt++ {
			met := false
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.cursor, w.act, w.dieAt = tc.begin, tc.act, dieAt
				_ = w.runner().RunDue(t.Context())
				if met = w.commits >= dieAt; !met {
					return
				}
				w.dieAt = 0
				time.Sleep(leaseTime)
				if err := w.runner().RunDue(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(w.done, " "); got != tc.done || w.there {
					t.Errorf("%s, ended at commit %d: in force is %q after %q, want %q", name, dieAt, got, w.log, tc.done)
				}
			})
			if !met {
				break
			}
		}
	}
}

// What is deferred is written with the next commit, before its change; a step that fails before
// that is taken over from the last commit.
func TestDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		failed := false
		w.act = func(_ context.Context, what string) (operation.Next[change], error) {
			if what == "+b" && !failed {
				failed = true
				return operation.Next[change]{}, errors.New("no")
			}
			return operation.Next[change]{Deferred: what == "+a"}, nil
		}
		for range 2 {
			if err := w.runner().RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		w.expect(t, "a is deferred", "+a +b +a +b +c", "a b c", true)
		if want := []change{"+a", "+b", "+c", "done"}; !slices.Equal(w.written, want) || w.commits != 3 {
			t.Errorf("%q was written with %d commits, want %q with 3", w.written, w.commits, want)
		}
	})
}

// A worker that loses its lease in a step sends nothing more, and writes nothing: another one has
// the operation.
func TestLostLease(t *testing.T) {
	for _, back := range []bool{false, true} {
		for i := range steps {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				what := "+" + steps[i]
				if back {
					w.cursor, what = operation.Cursor{Step: "c", Back: true}, "-"+steps[i]
				}
				slept := false
				w.act = func(ctx context.Context, cur string) (operation.Next[change], error) {
					if cur != what || slept {
						return operation.Next[change]{}, nil
					}
					slept = true
					w.die(1) // renewals do not reach the database
					time.Sleep(leaseTime + time.Second)
					w.die(0)
					if err := w.runner().RunDue(t.Context()); err != nil {
						t.Error(err)
					}
					if err := operation.Leased(ctx); !errors.Is(err, operation.ErrLost) || ctx.Err() == nil {
						t.Errorf("after its lease the worker may go on: %v, %v", err, ctx.Err())
					}
					return operation.Next[change]{Back: !back}, nil // what it concludes has no consequence
				}
				written := 0
				if err := w.runner().RunDue(t.Context()); err != nil {
					t.Fatal(err)
				}
				written = len(w.written)
				if want := map[bool]string{false: "a b c", true: ""}[back]; strings.Join(w.done, " ") != want || w.there ||
					written != 4 {
					t.Errorf("%s: in force is %q, over %v, written %q", what, w.done, !w.there, w.written)
				}
			})
		}
	}
}

// The lease of a long step is renewed.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.act = func(ctx context.Context, what string) (operation.Next[change], error) {
			time.Sleep(10 * leaseTime)
			if jobs, _ := w.take(ctx); len(jobs) > 0 {
				t.Errorf("another worker gets it during %s", what)
			}
			return operation.Next[change]{}, operation.Leased(ctx)
		}
		if err := w.runner().RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.expect(t, "a long operation", "+a +b +c", "a b c", true)
	})
}

// After a request without an answer nothing is done while it may still take effect; then the same
// step is.
func TestUnansweredRequest(t *testing.T) {
	for _, tc := range []struct{ what, calls, more, done string }{
		{"+b", "+a +b", " +b +c", "a b c"},
		{"-b", "-c -b", " -b -a", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			if tc.what[0] == '-' {
				w.cursor = operation.Cursor{Step: "c", Back: true}
			}
			w.act = at(tc.what, operation.Next[change]{},
				fmt.Errorf("step: %w", &operation.Unanswered{Err: errors.New("time-out")}))
			r := w.runner()
			for _, after := range []time.Duration{0, leaseTime - time.Second} {
				time.Sleep(after)
				if err := r.RunDue(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.expect(t, tc.what+" rests", tc.calls, map[bool]string{true: "a"}[tc.done != ""], false)
			}
			time.Sleep(time.Second)
			if err := r.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.expect(t, tc.what+" again", tc.calls+tc.more, tc.done, true)
		})
	}
}

// An operation that waits has no worker, and goes on when it need not wait any more.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.act = at("+b", operation.Next[change]{}, &operation.Wait{Event: "e"})
		r := w.runner()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			r.Run(ctx)
			close(ended)
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		w.expect(t, "waiting", "+a +b", "a", false)
		if worker := w.answer(); worker != "" {
			t.Errorf("%s has what waits", worker)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.expect(t, "answered", "+a +b +b +c", "a b c", true)
		stop()
		<-ended
	})
}

// An operation that is not tried twice is undone after an error of any step, with that error for
// the caller, and when its worker has ended.
func TestOnce(t *testing.T) {
	once := func(l *operation.List[*job, change]) {
		l.NoRetry = func(_ *job, err error) change { return err.Error() }
	}
	no := errors.New("no")
	for i, name := range steps {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.act = at("+"+name, operation.Next[change]{}, no)
			jobs, _ := w.take(t.Context())
			if err := w.runner(once).Finish(t.Context(), elapsed(), jobs[0], func(context.Context) error {
				return nil
			}); !errors.Is(err, no) {
				t.Errorf("%s: Finish = %v", name, err)
			}
			if len(w.done) > 0 || w.there || !slices.Contains(w.written, "no") {
				t.Errorf("%s: in force is %q, written %q", name, w.done, w.written)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.dieAt = i + 1
			jobs, _ := w.take(t.Context())
			_ = w.runner(once).Finish(t.Context(), elapsed(), jobs[0], func(context.Context) error { return nil })
			w.dieAt = 0
			time.Sleep(leaseTime)
			if err := w.runner(once).RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(w.done) > 0 || w.there || !slices.Contains(w.written, operation.ErrInterrupted.Error()) {
				t.Errorf("interrupted at %s: in force is %q, written %q", name, w.done, w.written)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a wait ends with an answer, or with the caller's patience
		for _, patience := range []error{nil, no} {
			w := newWorld()
			w.act = at("+c", operation.Next[change]{}, &operation.Wait{Event: "e"})
			jobs, _ := w.take(t.Context())
			if err := w.runner(once).Finish(t.Context(), elapsed(), jobs[0], func(context.Context) error {
				return patience
			}); !errors.Is(err, patience) {
				t.Errorf("Finish = %v, want %v", err, patience)
			}
			if (len(w.done) == 3) != (patience == nil) || w.there {
				t.Errorf("in force is %q", w.done)
			}
		}
	})
}
