package changelog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
)

func TestPositionsAsText(t *testing.T) {
	for text, want := range map[string]changelog.Position{
		"":         {},
		"1.0":      {1: 0},
		"a.z":      {10: 35},
		"1.2-10.3": {1: 2, 36: 3},
	} {
		p, err := changelog.Parse(text)
		if diff := cmp.Diff(want, p); err != nil || diff != "" {
			t.Errorf("Parse(%q): %v (-want +got)\n%s", text, err, diff)
		}
		if p.String() != text {
			t.Errorf("Parse(%q).String() = %q", text, p.String())
		}
	}
	for _, text := range []string{
		"1", "1.", ".1", "0.1", "-1.1", "1.-1", "1.1-", "1.1.1", "1.!", "1.zzzzzzzzzzzzzz", " 1.1",
	} {
		if p, err := changelog.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, p)
		}
	}
}

// TestPositionsAreBounded parses what only somebody who means harm sends.
func TestPositionsAreBounded(t *testing.T) {
	p := make(changelog.Position)
	for writer := range int64(4096) {
		p[writer+1] = 1
	}
	if _, err := changelog.Parse(p.String()); err != nil {
		t.Errorf("Parse of 4096 writers: %v", err)
	}
	p[5000] = 1
	if _, err := changelog.Parse(p.String()); err == nil {
		t.Error("Parse of 4097 writers succeeds")
	}
}

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		p, other changelog.Position
		want     bool
	}{
		{nil, nil, true},
		{changelog.Position{1: 2}, nil, true},
		{nil, changelog.Position{1: 1}, false},
		{nil, changelog.Position{1: 0}, true}, // a writer without entries
		{changelog.Position{1: 2}, changelog.Position{1: 2}, true},
		{changelog.Position{1: 2}, changelog.Position{1: 3}, false},
		{changelog.Position{1: 9}, changelog.Position{1: 3, 2: 1}, false},
	} {
		if got := c.p.Reaches(c.other); got != c.want {
			t.Errorf("%v reaches %v: %v, want %v", c.p, c.other, got, c.want)
		}
	}
}

// entry is an entry of a writer at a second.
func entry(writer, seq, second int64) changelog.Entry {
	return changelog.Entry{Writer: writer, Seq: seq, Time: time.Unix(second, 0)}
}

// TestMergeStopsWhereMoreMayCome merges lists of which one is cut off: what the other writer wrote
// later than the last entry of that list waits for the rest of it.
func TestMergeStopsWhereMoreMayCome(t *testing.T) {
	lists := func() [][]changelog.Entry {
		return [][]changelog.Entry{
			{entry(1, 1, 10), entry(1, 2, 30)},
			{entry(2, 1, 20), entry(2, 2, 40)},
		}
	}
	merged, rest := changelog.Merge(lists(), []bool{false, false})
	want := []changelog.Entry{entry(1, 1, 10), entry(2, 1, 20), entry(1, 2, 30), entry(2, 2, 40)}
	if diff := cmp.Diff(want, merged); rest || diff != "" {
		t.Errorf("of whole lists: rest %v (-want +got)\n%s", rest, diff)
	}
	merged, rest = changelog.Merge(lists(), []bool{true, false})
	if diff := cmp.Diff(want[:3], merged); !rest || diff != "" {
		t.Errorf("of a list that goes on: rest %v (-want +got)\n%s", rest, diff)
	}
}

// TestMemory appends to a log, beyond what it keeps, and reads from all kinds of positions.
func TestMemory(t *testing.T) {
	ctx := context.Background()
	m := changelog.NewMemory()
	read := func(since changelog.Position, limit int) changelog.Page {
		t.Helper()
		p, err := m.Read(ctx, since, limit)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	bodies := func(p changelog.Page) string {
		var all []string
		for _, e := range p.Entries {
			all = append(all, e.Body)
		}
		return strings.Join(all, " ")
	}
	begin := read(nil, 0).At
	appended := m.Appended()
	for i, body := range []string{"a", "b", "c"} {
		m.Append(body, time.Unix(int64(i), 0))
	}
	select {
	case <-appended:
	default:
		t.Error("no notification")
	}
	if p := read(begin, 2); bodies(p) != "a b" || !p.More || p.Lost {
		t.Errorf("the first two: %+v", p)
	} else if p = read(p.At, 2); bodies(p) != "c" || p.More || p.Lost {
		t.Errorf("the rest: %+v", p)
	} else if p = read(p.At, 2); len(p.Entries) > 0 || p.More || p.Lost {
		t.Errorf("after the end: %+v", p)
	}
	if p := read(changelog.Position{4711: 1}, 9); !p.Lost || bodies(p) != "a b c" {
		t.Errorf("from a position of another process: %+v", p)
	}
	ahead := changelog.Position{}
	for writer := range begin {
		ahead[writer] = 99
	}
	if p := read(ahead, 9); !p.Lost || len(p.Entries) > 0 {
		t.Errorf("from a position ahead of the log: %+v", p)
	}
	m.Append(strings.Repeat("x", 16<<20), time.Unix(9, 0))
	if p := read(begin, 9); !p.Lost || len(p.Entries) != 1 {
		t.Errorf("after an entry as long as all that is kept: lost %v, %d entries", p.Lost, len(p.Entries))
	}
	for range changelog.MemoryEntries {
		m.Append("y", time.Unix(10, 0))
	}
	if p := read(begin, 1<<20); !p.Lost || len(p.Entries) != changelog.MemoryEntries {
		t.Errorf("lost %v, %d entries", p.Lost, len(p.Entries))
	}
}

// TestPositionAtOfMemory looks for positions by time.
func TestPositionAtOfMemory(t *testing.T) {
	ctx := context.Background()
	m := changelog.NewMemory()
	start := time.Now()
	for i := range 3 {
		m.Append("", start.Add(time.Duration(i)*time.Minute))
	}
	for _, c := range []struct {
		after time.Duration
		known int64
		whole bool
	}{
		{-time.Hour, 0, false}, // before the log began
		{0, 0, true},
		{time.Second, 1, true},
		{time.Minute, 1, true}, // an entry at that time comes after it
		{time.Hour, 3, true},
	} {
		at, whole, err := m.PositionAt(ctx, start.Add(c.after))
		for _, known := range at {
			if known != c.known {
				t.Errorf("%v after the start: entry %d, want %d", c.after, known, c.known)
			}
		}
		if err != nil || len(at) != 1 || whole != c.whole {
			t.Errorf("%v after the start: %v, whole %v, %v; want %v", c.after, at, whole, err, c.whole)
		}
	}
}

// TestNotifierNotifiesAll has waiters before and after something happens.
func TestNotifierNotifiesAll(t *testing.T) {
	var n changelog.Notifier
	n.Notify() // nobody waits
	first, second := n.Next(), n.Next()
	n.Notify()
	<-first
	<-second
	select {
	case <-n.Next():
		t.Error("Next is of what happened before")
	default:
	}
}
