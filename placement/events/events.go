// Package events follows the change log of a store for those who watch what changes: one reader of
// the log for any number of watchers, from any position. It decides nothing about events and knows
// no HTTP. See decision 37.
package events

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/changelog"
)

const (
	// pollInterval is how often the log of a shared store is read for what others append.
	pollInterval = time.Second
	// restInterval is the least time between two reads: under load they have more entries.
	restInterval = 100 * time.Millisecond
	// Bounds of the newest entries that a Feed keeps.
	keepEntries = 4096
	keepEvents  = 32 << 10
	// pageEntries is how many entries of each writer are read at a time.
	pageEntries = 500
)

// A Feed reads a log while there are readers. It is safe for concurrent use.
type Feed struct {
	log    changelog.Log
	render func(*Transaction) [][]byte

	mu      sync.Mutex
	readers int
	stop    context.CancelFunc // of the goroutine that reads; nil when there is none
	failed  error              // why that ended
	items   []item             // the newest
	first   int64              // the number of the first of them
	events  int                // in them
	at      changelog.Position // after the last of them
	news    changelog.Notifier // of more, and that the log failed
}

// An item is a transaction, or that entries before the next one are lost.
type item struct {
	transaction Transaction
	lost        bool
}

// NewFeed returns a feed of a log. Render makes the texts of a transaction, once for all readers
// that have read what was before.
func NewFeed(log changelog.Log, render func(*Transaction) [][]byte) *Feed {
	return &Feed{log: log, render: render}
}

// rendered returns the transactions of entries with their texts.
func (f *Feed) rendered(entries []changelog.Entry) []Transaction {
	all := make([]Transaction, len(entries))
	for i, e := range entries {
		all[i] = Decode(e)
		all[i].Texts = f.render(&all[i])
	}
	return all
}

// A Batch is what a Reader has next.
type Batch struct {
	// Lost says that entries before these were not in the log any more.
	Lost    bool
	Entries []Transaction // must not be changed
}

// A Reader reads a feed from a position. It is for one goroutine, and must be closed.
type Reader struct {
	feed *Feed
	at   changelog.Position // after what Next has returned
	seen changelog.Position // that of the feed, when the reader took items the last time
	next int64              // the number of the next item
	live bool               // it takes items; otherwise it reads the log itself
	lost bool               // from the beginning
}

// Open returns a reader of what comes after a position, or after the end of the log for nil. It
// fails when the log cannot be read.
func (f *Feed) Open(ctx context.Context, since changelog.Position) (*Reader, error) {
	r := &Reader{feed: f, at: maps.Clone(since)}
	page, err := f.log.Read(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	if since == nil {
		r.at = maps.Clone(page.At)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
	if f.stop == nil {
		var reading context.Context
		reading, f.stop = context.WithCancel(context.Background())
		// Readers of before read the log themselves first.
		f.first += int64(len(f.items)) + 1
		f.failed, f.items, f.events, f.at = nil, nil, 0, page.At
		go f.read(reading)
	}
	// At the end of the log, what the feed has is before the position already. Of a position from
	// elsewhere the log itself has to say what is lost.
	r.next, r.live = f.first+int64(len(f.items)), since == nil && r.at.Reaches(f.at)
	return r, nil
}

// OpenAt is Open for what comes after the entries that were written before a time. When the log
// does not have all since, the first batch says so.
func (f *Feed) OpenAt(ctx context.Context, since time.Time) (*Reader, error) {
	at, whole, err := f.log.PositionAt(ctx, since)
	if err != nil {
		return nil, err
	}
	r, err := f.Open(ctx, at)
	if err == nil {
		r.lost = !whole
	}
	return r, err
}

// Close ends the reader. With the last one the feed stops to read the log.
func (r *Reader) Close() {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	if f.readers == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

// At is the position after what Next has returned.
func (r *Reader) At() changelog.Position { return r.at }

// Next waits for entries after the position and returns them. When ctx ends first it returns an
// empty batch and no error. It fails when the log cannot be read.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	if r.lost {
		r.lost = false
		return Batch{Lost: true}, nil
	}
	for ctx.Err() == nil {
		if !r.live {
			b, err := r.catchUp(ctx)
			if err != nil || b.Lost || len(b.Entries) > 0 {
				return b, err
			}
			continue
		}
		b, news, err := r.take()
		if err != nil || b.Lost || len(b.Entries) > 0 {
			return b, err
		}
		if !r.live {
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
	return Batch{}, nil
}

// catchUp reads a page of the log. The reader goes on with the items that come after those that the
// feed has before the page is read, once it has all that these are behind: what it has of the items
// themselves it leaves out.
func (r *Reader) catchUp(ctx context.Context) (Batch, error) {
	f := r.feed
	f.mu.Lock()
	next, at := f.first+int64(len(f.items)), f.at
	f.mu.Unlock()
	page, err := f.log.Read(ctx, r.at, pageEntries)
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return Batch{}, err
	}
	r.at = page.At
	r.next, r.live = next, !page.More && r.at.Reaches(at)
	return Batch{page.Lost, f.rendered(page.Entries)}, nil
}

// take returns the items after the position, and a channel that is closed when there are more.
func (r *Reader) take() (b Batch, news <-chan struct{}, err error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return b, nil, f.failed
	}
	if r.next < f.first {
		r.live = false
		return b, nil, nil
	}
	at := maps.Clone(f.at)
	for writer, seq := range r.at {
		_, known := f.at[writer]
		_, was := r.seen[writer]
		if known || !was { // else it was deleted
			at[writer] = max(at[writer], seq)
		}
	}
	r.seen = f.at
	for _, item := range f.items[r.next-f.first:] {
		b.Lost = b.Lost || item.lost
		if t := item.transaction; !item.lost && !r.at.Has(t.Writer, t.Seq) {
			b.Entries = append(b.Entries, t)
		}
	}
	r.next, r.at = f.first+int64(len(f.items)), at
	return b, f.news.Next(), nil
}

// read reads the log until there are no readers, or it fails.
func (f *Feed) read(ctx context.Context) {
	var poll <-chan time.Time
	if f.log.Shared() {
		t := time.NewTicker(pollInterval)
		defer t.Stop()
		poll = t.C
	}
	f.mu.Lock()
	at := f.at
	f.mu.Unlock()
	for ctx.Err() == nil {
		appended := f.log.Appended() // before the page: what is appended meanwhile is read next
		page, err := f.log.Read(ctx, at, pageEntries)
		f.add(ctx, page, err)
		if err != nil {
			return
		}
		at = page.At
		if page.More {
			continue
		}
		select {
		case <-appended:
		case <-poll:
		case <-ctx.Done():
		}
		select {
		case <-time.After(restInterval):
		case <-ctx.Done():
		}
	}
}

// add takes in a page, or that there is none.
func (f *Feed) add(ctx context.Context, page changelog.Page, err error) {
	transactions := f.rendered(page.Entries)
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return // another goroutine may read by now
	}
	if err != nil {
		f.stop()
		f.failed, f.stop = err, nil
	} else {
		if page.Lost {
			f.items = append(f.items, item{lost: true})
		}
		for _, t := range transactions {
			f.items = append(f.items, item{transaction: t})
			f.events += t.Len()
		}
		drop := 0
		for ; len(f.items)-drop > keepEntries || f.events > keepEvents; drop++ {
			if !f.items[drop].lost {
				f.events -= f.items[drop].transaction.Len()
			}
		}
		f.items, f.first = slices.Delete(f.items, 0, drop), f.first+int64(drop)
		f.at = page.At
		if len(page.Entries) == 0 && !page.Lost {
			return
		}
	}
	f.news.Notify()
}
