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

	"github.com/berthcloud/berth/placement"
)

const (
	// pollInterval is how often the log of a shared store is read for what others append.
	pollInterval = time.Second
	// restInterval is the least time between two reads: under load they have more entries.
	restInterval = 100 * time.Millisecond
	// Bounds of the newest entries that a Feed keeps.
	keepEntries = 4096
	keepEvents  = 32 << 10
)

// A Feed reads a log while there are readers. It is safe for concurrent use.
type Feed struct {
	log    placement.ChangeLog
	render func(*placement.Entry) [][]byte

	mu      sync.Mutex
	readers int
	stop    context.CancelFunc // of the goroutine that reads; nil when there is none
	failed  error              // why that ended
	items   []item             // the newest
	first   int64              // the number of the first of them
	events  int                // in them
	at      placement.Mark     // behind the last of them
	news    chan struct{}      // closed when there are more, or the log failed
}

// An item is an entry, or that entries before the next one are lost.
type item struct {
	entry Entry
	lost  bool
}

// An Entry is an entry of the log with the texts of its events, in their order. It must not be
// changed.
type Entry struct {
	*placement.Entry
	Texts [][]byte
}

// NewFeed returns a feed of a log. Render makes the texts of an entry, once for all readers that
// have read what was before.
func NewFeed(log placement.ChangeLog, render func(*placement.Entry) [][]byte) *Feed {
	return &Feed{log: log, render: render, news: make(chan struct{})}
}

// rendered returns entries with their texts.
func (f *Feed) rendered(entries []placement.Entry) []Entry {
	all := make([]Entry, len(entries))
	for i := range entries {
		all[i] = Entry{&entries[i], f.render(&entries[i])}
	}
	return all
}

// A Batch is what a Reader has next.
type Batch struct {
	// Lost says that entries before these were not in the log any more.
	Lost    bool
	Entries []Entry
}

// A Reader reads a feed from a position. It is for one goroutine, and must be closed.
type Reader struct {
	feed *Feed
	mark placement.Mark
	seen placement.Mark // that of the feed, when the reader took items the last time
	next int64          // the number of the next item
	live bool           // it takes items; otherwise it reads the log itself
	lost bool           // from the beginning
}

// Open returns a reader behind a mark, or at the end of the log for nil. It fails when the log
// cannot be read.
func (f *Feed) Open(ctx context.Context, since placement.Mark) (*Reader, error) {
	r := &Reader{feed: f, mark: maps.Clone(since)}
	page, err := f.log.Log(ctx, nil)
	if err != nil {
		return nil, err
	}
	if since == nil {
		r.mark = maps.Clone(page.At)
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
	// At the end of the log, what the feed has is behind the mark already. Of a mark from elsewhere
	// the log itself has to say what is lost.
	r.next, r.live = f.first+int64(len(f.items)), since == nil && r.mark.Reaches(f.at)
	return r, nil
}

// OpenAt is Open behind the entries that were written before a time. When the log does not have all
// since, the first batch says so.
func (f *Feed) OpenAt(ctx context.Context, since time.Time) (*Reader, error) {
	mark, whole, err := f.log.LogSince(ctx, since)
	if err != nil {
		return nil, err
	}
	r, err := f.Open(ctx, mark)
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

// Mark is the position behind what Next has returned, which the caller must not change.
func (r *Reader) Mark() placement.Mark { return r.mark }

// Next waits for entries behind the mark and returns them. When ctx ends first it returns an empty
// batch and no error. It fails when the log cannot be read.
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
	page, err := f.log.Log(ctx, r.mark)
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return Batch{}, err
	}
	r.mark = page.At
	r.next, r.live = next, !page.More && r.mark.Reaches(at)
	return Batch{page.Lost, f.rendered(page.Entries)}, nil
}

// take returns the items behind the mark, and a channel that is closed when there are more.
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
	mark := maps.Clone(f.at)
	for writer, seq := range r.mark {
		_, known := f.at[writer]
		_, was := r.seen[writer]
		if known || !was { // else it was deleted
			mark[writer] = max(mark[writer], seq)
		}
	}
	r.seen = f.at
	for _, item := range f.items[r.next-f.first:] {
		b.Lost = b.Lost || item.lost
		if !item.lost && !r.mark.Has(item.entry.Writer, item.entry.Seq) {
			b.Entries = append(b.Entries, item.entry)
		}
	}
	r.next, r.mark = f.first+int64(len(f.items)), mark
	return b, f.news, nil
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
		logged := f.log.Logged() // before the page: what is appended meanwhile is read next
		page, err := f.log.Log(ctx, at)
		f.add(ctx, page, err)
		if err != nil {
			return
		}
		at = page.At
		if page.More {
			continue
		}
		select {
		case <-logged:
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
func (f *Feed) add(ctx context.Context, page placement.LogPage, err error) {
	entries := f.rendered(page.Entries)
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
		for _, e := range entries {
			f.items = append(f.items, item{entry: e})
			f.events += e.Len()
		}
		drop := 0
		for ; len(f.items)-drop > keepEntries || f.events > keepEvents; drop++ {
			if !f.items[drop].lost {
				f.events -= f.items[drop].entry.Len()
			}
		}
		f.items, f.first = slices.Delete(f.items, 0, drop), f.first+int64(drop)
		f.at = page.At
		if len(page.Entries) == 0 && !page.Lost {
			return
		}
	}
	close(f.news)
	f.news = make(chan struct{})
}
