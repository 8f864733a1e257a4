package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
	"github.com/berthcloud/berth/sqlstore"
)

// A log is that of a store, which can be made to fail, and counts how often it is read.
type log struct {
	changelog.Log
	store placement.Store
	t     *testing.T

	mu    sync.Mutex
	fails error
	// Before and after are called once, unless nil: before the log is read, and between that and the
	// return.
	before, after func()
	reads         int
	render        int // entries that were rendered
}

func newLog(t *testing.T) *log {
	t.Helper()
	store, err := sqlstore.Open(context.Background(), sqlstore.Options{Path: sqlstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &log{Log: store.ChangeLog(), store: store, t: t}
}

func (l *log) Read(ctx context.Context, since changelog.Position, limit int) (changelog.Page, error) {
	l.mu.Lock()
	l.reads++
	err, before, after := l.fails, l.before, l.after
	l.before, l.after = nil, nil
	l.mu.Unlock()
	if after != nil {
		defer after()
	}
	if before != nil {
		before()
	}
	if err != nil {
		return changelog.Page{}, err
	}
	return l.Log.Read(ctx, since, limit)
}

// fail has the log fail from now on, or work again for nil.
func (l *log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails = err
}

// count returns how often the log was read, and how many entries were rendered.
func (l *log) count() (reads, rendered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads, l.render
}

// feed returns a feed whose texts are the numbers that were added.
func (l *log) feed() *events.Feed {
	return events.NewFeed(l, func(e *events.Transaction) (texts [][]byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.render++
		for _, r := range e.Requests {
			for i := range r.Events {
				texts = append(texts, []byte(r.Events[i].After))
			}
		}
		return texts
	})
}

// add commits an entry for each number.
func (l *log) add(from, to int) {
	l.t.Helper()
	for n := from; n < to; n++ {
		err := l.store.Update(context.Background(), time.Now(), func(w placement.Writer) error {
			event := placement.Event{What: placement.EventTrait, Subject: "T", After: fmt.Sprint(n)}
			w.Changed(placement.Changes{Requests: []placement.RequestEvents{{Events: []placement.Event{event}}}})
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// numbers are those from one to before another.
func numbers(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprint(n))
	}
	return all
}

// read reads until there are so many texts, and closes the reader unless it is to go on.
func read(t *testing.T, r *events.Reader, n int) (texts []string) {
	t.Helper()
	for len(texts) < n {
		b, err := r.Next(t.Context())
		if err != nil || b.Lost {
			t.Fatalf("after %d texts: %v, lost %v", len(texts), err, b.Lost)
		}
		for _, e := range b.Entries {
			for _, text := range e.Texts {
				texts = append(texts, string(text))
			}
		}
	}
	return texts
}

// must returns what a call returned without an error.
func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// open opens a reader.
func open(t *testing.T, f *events.Feed, since changelog.Position) *events.Reader {
	t.Helper()
	r, err := f.Open(t.Context(), since)
	return must(t, r, err)
}

// Readers get each entry once and in order, from the position where they begin: the end, a mark, or
// a time; also when others were there before.
func TestReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		f := l.feed()
		l.add(0, 5)
		begun := open(t, f, nil)
		start := begun.At()
		time.Sleep(time.Minute) // on synctest's clock
		since := time.Now()
		l.add(5, 20)
		if diff := cmp.Diff(numbers(5, 20), read(t, begun, 15)); diff != "" {
			t.Errorf("from the end (-want +got)\n%s", diff)
		}
		middle := begun.At()
		lagging := open(t, f, start)
		if diff := cmp.Diff(numbers(5, 20), read(t, lagging, 15)); diff != "" {
			t.Errorf("from the mark of the beginning (-want +got)\n%s", diff)
		}
		atTime, err := f.OpenAt(t.Context(), since)
		must(t, atTime, err)
		if got := read(t, atTime, 1); len(got) > 15 || got[len(got)-1] != "19" {
			t.Errorf("since a minute ago there is %v", got)
		}
		whole, err := f.OpenAt(t.Context(), since.Add(-24*time.Hour)) // the process is younger
		must(t, whole, err)
		if b, err := whole.Next(t.Context()); err != nil || !b.Lost || len(b.Entries) > 0 {
			t.Errorf("of a time before the log there is %+v, %v; want that something is lost", b, err)
		}
		if diff := cmp.Diff(numbers(0, 20), read(t, whole, 20)); diff != "" {
			t.Errorf("of all that there is (-want +got)\n%s", diff)
		}
		all := []*events.Reader{begun, lagging, atTime, whole, open(t, f, middle), open(t, f, nil)}
		l.add(20, 40)
		for i, r := range all {
			if diff := cmp.Diff(numbers(20, 40), read(t, r, 20)); diff != "" {
				t.Errorf("reader %d (-want +got)\n%s", i, diff)
			}
			r.Close()
		}
		// At its end a reader's wait does too, without an error.
		r := open(t, f, nil)
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if b, err := r.Next(ctx); err != nil || b.Lost || len(b.Entries) > 0 {
			t.Errorf("there is %+v, %v; want nothing", b, err)
		}
		r.Close()
	})
}

// Many readers cost one reading of the log and one rendering, and none of either once they are
// closed.
func TestOneReadingForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		f := l.feed()
		readers := make([]*events.Reader, 50)
		for i := range readers {
			readers[i] = open(t, f, nil)
		}
		synctest.Wait()
		before, _ := l.count()
		l.add(0, 10)
		for _, r := range readers {
			if diff := cmp.Diff(numbers(0, 10), read(t, r, 10)); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
		}
		reads, rendered := l.count()
		if reads-before > 12 || rendered != 10 {
			t.Errorf("the log was read %d times and %d entries were rendered, want 10 entries once", reads-before, rendered)
		}
		for _, r := range readers {
			r.Close()
		}
		synctest.Wait()
		before, _ = l.count()
		l.add(10, 20)
		time.Sleep(time.Hour)
		if reads, _ = l.count(); reads != before {
			t.Errorf("without a reader the log was read %d times", reads-before)
		}
	})
}

// A reader that is behind what the feed keeps reads the log itself, and gets the same; what the log
// has not any more is said to be lost.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kept = 4096 // of the feed and of a log in memory
		l := newLog(t)
		f := l.feed()
		slow, fast := open(t, f, nil), open(t, f, nil)
		defer slow.Close()
		l.add(0, 100)
		read(t, fast, 100)
		lagging := fast.At()
		l.add(100, kept+100)
		if diff := cmp.Diff(numbers(100, kept+100), read(t, fast, kept)); diff != "" {
			t.Errorf("the fast one (-want +got)\n%s", diff)
		}
		fast.Close()
		again := open(t, f, lagging)
		defer again.Close()
		if diff := cmp.Diff(numbers(100, kept+100), read(t, again, kept)); diff != "" {
			t.Errorf("one that comes back (-want +got)\n%s", diff)
		}
		b, err := slow.Next(t.Context())
		if err != nil || !b.Lost {
			t.Errorf("the slow one gets %d entries, %v, lost %v; want that something is lost", len(b.Entries), err, b.Lost)
		}
	})
}

// What is committed while a reader reads the log itself comes once, whether it is in what was read
// or not.
func TestCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		f := l.feed()
		live := open(t, f, nil)
		defer live.Close()
		start := live.At()
		l.add(0, 3)
		read(t, live, 3)
		synctest.Wait() // the feed waits for more
		r := open(t, f, start)
		defer r.Close()
		l.mu.Lock()
		l.before = func() {
			l.add(3, 6)
			time.Sleep(time.Second) // on synctest's clock: the feed has them
		}
		l.after = func() {
			l.add(6, 9)
			time.Sleep(time.Second)
		}
		l.mu.Unlock()
		got := read(t, r, 9)
		l.add(9, 12)
		if diff := cmp.Diff(numbers(0, 12), append(got, read(t, r, 3)...)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// When the log cannot be read, all readers are notified; one that is opened when it can goes on
// where another was.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		f := l.feed()
		readers := []*events.Reader{open(t, f, nil), open(t, f, nil)}
		l.add(0, 3)
		for _, r := range readers {
			read(t, r, 3)
		}
		mark := readers[0].At()
		away := errors.New("the database is away")
		l.fail(away)
		l.add(3, 5)
		for i, r := range readers {
			if b, err := r.Next(t.Context()); !errors.Is(err, away) {
				t.Errorf("reader %d gets %+v, %v; want the error of the log", i, b, err)
			}
		}
		if _, err := f.Open(t.Context(), mark); !errors.Is(err, away) {
			t.Errorf("Open = %v, want the error of the log", err)
		}
		l.fail(nil)
		again := open(t, f, mark) // while those that failed are not closed
		if diff := cmp.Diff(numbers(3, 5), read(t, again, 2)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, r := range readers {
			r.Close()
		}
		l.add(5, 8)
		if diff := cmp.Diff(numbers(5, 8), read(t, again, 3)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		again.Close()
	})
}
