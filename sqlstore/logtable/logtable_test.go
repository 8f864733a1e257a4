package logtable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// sharedDialect is SQLite as if it were a server's: the log is the same on all databases.
func sharedDialect() *sqlconn.Dialect {
	d := *sqlconn.SQLiteDialect
	d.Now, d.HourAgo = "CURRENT_TIMESTAMP", "DATETIME('now', '-1 hour')"
	d.Demoted = "(SELECT demoted FROM server)"
	d.WithClock = "? || (SELECT clock FROM server)"
	return &d
}

// newSession returns a session on a database with the tables of the log and one that says what the
// server is.
func newSession(t *testing.T) *sqlconn.Session {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	ses := sqlconn.NewSession(sharedDialect(), db.Conn)
	t.Cleanup(func() { ses.Close(); db.Close() })
	if err := ses.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	do(
		t, ses,
		`CREATE TABLE berth_writers (id BIGINT PRIMARY KEY, created_at TEXT, beat_at TEXT)`,
		`CREATE TABLE berth_changes (
    writer BIGINT REFERENCES berth_writers (id) ON DELETE CASCADE, seq BIGINT, created_at TEXT, body TEXT,
    PRIMARY KEY (writer, seq)
)`,
		`CREATE TABLE server (demoted INTEGER, clock TEXT)`,
		`INSERT INTO server VALUES (0, '2026-01-02 03:04:05.000000')`,
	)
	return ses
}

func do(t *testing.T, ses *sqlconn.Session, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := ses.Do(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// newTable returns a log of a store on the database of a session.
func newTable(ses *sqlconn.Session) *Table[string] {
	return New[string](ses.Dialect(), true, func(ctx context.Context, fn func(*sqlconn.Tx) error) error {
		return fn(ses.Tx(ctx))
	})
}

// commit commits a transaction with an entry.
func commit(t *testing.T, l *Table[string], ses *sqlconn.Session, body string) changelog.Entry {
	t.Helper()
	e, err := tryCommit(t, l, ses, body)
	if err != nil {
		t.Fatalf("commit %q: %v", body, err)
	}
	return e
}

func tryCommit(t *testing.T, l *Table[string], ses *sqlconn.Session, body string) (changelog.Entry, error) {
	t.Helper()
	do(t, ses, "BEGIN IMMEDIATE")
	e, err := l.Commit(ses, sqlconn.Stamp(time.Now()), body, "own "+body)
	if err != nil {
		do(t, ses, "ROLLBACK")
	}
	return e, err
}

// setClock sets the time that the server notes with entries.
func setClock(t *testing.T, ses *sqlconn.Session, second int) {
	t.Helper()
	do(t, ses, fmt.Sprintf(`UPDATE server SET clock = '2026-01-02 03:04:%02d.000000'`, second))
}

// next is what a follower reads next, in one text.
func next(t *testing.T, f *Follower[string]) string {
	t.Helper()
	notes, all, err := f.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if all {
		return "all"
	}
	return strings.Join(notes, ", ")
}

// follow returns a follower that has read everything.
func follow(t *testing.T, l *Table[string]) *Follower[string] {
	t.Helper()
	f := l.Follow(func(body string) string { return "read " + body })
	if got := next(t, f); got != "all" {
		t.Fatalf("the first time: %q, want all", got)
	}
	return f
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestFollower has two stores write, and followers of one read: of its own transactions what it
// gave to Commit, of others' what the body says.
func TestFollower(t *testing.T) {
	ses := newSession(t)
	a, b := newTable(ses), newTable(ses)
	f := follow(t, a)
	want(t, "nothing new", next(t, f), "")
	commit(t, a, ses, "1")
	commit(t, b, ses, "2")
	commit(t, b, ses, "3")
	commit(t, a, ses, "4")
	got := strings.Split(next(t, f), ", ")
	if diff := cmp.Diff(4, len(got)); diff != "" {
		t.Fatalf("notes %q", got)
	}
	// Writers are in the order of their ids, which are drawn at random.
	own, other := strings.Join(got[:2], " "), strings.Join(got[2:], " ")
	if strings.HasPrefix(own, "read") {
		own, other = other, own
	}
	want(t, "its own", own, "own 1 own 4")
	want(t, "the other's", other, "read 2 read 3")
	want(t, "nothing new", next(t, f), "")
}

// TestFollowerReadsWhatIsNotInMemory writes more of a store's own than it keeps in memory.
func TestFollowerReadsWhatIsNotInMemory(t *testing.T) {
	ses := newSession(t)
	l := newTable(ses)
	f := follow(t, l)
	for range keepRecent {
		commit(t, l, ses, "x")
	}
	want(t, "from memory", next(t, f), strings.Repeat("own x, ", keepRecent-1)+"own x")
	for range keepRecent + 1 {
		commit(t, l, ses, "x")
	}
	want(t, "from the table", next(t, f), strings.Repeat("read x, ", keepRecent)+"read x")
	if n := len(l.recent.bySeq); n > keepRecent {
		t.Errorf("%d notes in memory", n)
	}
}

// TestFollowerReadsEverything has the log lack what a follower needs.
func TestFollowerReadsEverything(t *testing.T) {
	for _, c := range []struct {
		name  string
		lose  func(t *testing.T, ses *sqlconn.Session, f *Follower[string])
		after string // what the next transaction is read as
	}{
		{"EntriesDeleted", func(t *testing.T, ses *sqlconn.Session, _ *Follower[string]) {
			do(t, ses, `DELETE FROM berth_changes WHERE seq = 2`)
		}, "read 4"},
		{"AllEntriesDeleted", func(t *testing.T, ses *sqlconn.Session, f *Follower[string]) {
			next(t, f)
			do(t, ses, `DELETE FROM berth_changes`)
		}, "all"}, // its number is not the first
		{"OlderDatabase", func(t *testing.T, ses *sqlconn.Session, f *Follower[string]) {
			next(t, f)
			do(t, ses, `DELETE FROM berth_changes WHERE seq > 1`)
		}, "all"},
		{"LongAbsence", func(_ *testing.T, _ *sqlconn.Session, f *Follower[string]) {
			f.read = f.read.Add(-maxPositionAge - time.Minute)
		}, "read 4"},
		{"ClockSetBack", func(_ *testing.T, _ *sqlconn.Session, f *Follower[string]) {
			f.read = f.read.Add(maxPositionAge + time.Minute)
		}, "read 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ses := newSession(t)
			a, b := newTable(ses), newTable(ses)
			f := follow(t, a)
			for _, body := range []string{"1", "2", "3"} {
				commit(t, b, ses, body)
			}
			c.lose(t, ses, f)
			want(t, "after the loss", next(t, f), "all")
			commit(t, b, ses, "4")
			want(t, "after that", next(t, f), c.after)
		})
	}
}

// TestFollowerStaysWhereAReadFailed has the server demoted: nothing that it says counts, and
// nothing is left out once there is a primary again.
func TestFollowerStaysWhereAReadFailed(t *testing.T) {
	ses := newSession(t)
	a, b := newTable(ses), newTable(ses)
	f := follow(t, a)
	commit(t, b, ses, "1")
	do(t, ses, `UPDATE server SET demoted = 1`)
	if _, _, err := f.Next(context.Background()); err == nil {
		t.Error("Next reads from a server that is not the primary")
	}
	if _, err := a.Read(context.Background(), changelog.Position{}, 9); err == nil {
		t.Error("Read reads from a server that is not the primary")
	}
	do(t, ses, `UPDATE server SET demoted = 0`)
	want(t, "after it", next(t, f), "read 1")
}

// TestPages reads the log as a watcher does.
func TestPages(t *testing.T) {
	ctx := context.Background()
	ses := newSession(t)
	a, b := newTable(ses), newTable(ses)
	begin, err := a.Read(ctx, nil, 9)
	if err != nil || begin.At == nil || begin.Lost {
		t.Fatalf("of an empty log: %+v, %v", begin, err)
	}
	for i, l := range []*Table[string]{a, b, a, a, b} {
		setClock(t, ses, i)
		commit(t, l, ses, fmt.Sprintf("%d\nline", i))
	}
	var got []string
	at := begin.At
	for pages := 1; ; pages++ {
		p, err := a.Read(ctx, at, 2)
		if err != nil || p.Lost {
			t.Fatalf("page %d: lost %v, %v", pages, p.Lost, err)
		}
		for _, e := range p.Entries {
			got = append(got, fmt.Sprint(e.Body, " at ", e.Time.Second()))
		}
		if at = p.At; p.More {
			continue
		}
		if pages < 2 {
			t.Error("five entries of two writers are in one page of two each")
		}
		break
	}
	expected := []string{"0\nline at 0", "1\nline at 1", "2\nline at 2", "3\nline at 3", "4\nline at 4"}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if end, err := b.Read(ctx, nil, 9); err != nil || !at.Reaches(end.At) || !end.At.Reaches(at) {
		t.Errorf("the end is %v, read up to %v; %v", end.At, at, err)
	}
}

// TestPagesSayWhatIsLost reads from positions that the log does not go back to.
func TestPagesSayWhatIsLost(t *testing.T) {
	ctx := context.Background()
	ses := newSession(t)
	l := newTable(ses)
	var last changelog.Entry
	for range 5 {
		last = commit(t, l, ses, "x")
	}
	lost := func(since changelog.Position) (bool, int) {
		t.Helper()
		p, err := l.Read(ctx, since, 9)
		if err != nil {
			t.Fatal(err)
		}
		return p.Lost, len(p.Entries)
	}
	do(t, ses, `DELETE FROM berth_changes WHERE seq <= 2`)
	for _, c := range []struct {
		name    string
		since   changelog.Position
		lost    bool
		entries int
	}{
		{"before what was deleted", changelog.Position{}, true, 3},
		{"at its end", changelog.Position{last.Writer: 2}, false, 3},
		{"at the end", changelog.Position{last.Writer: 5}, false, 0},
		{"ahead", changelog.Position{last.Writer: 6}, true, 0},
		{"with a writer that was deleted", changelog.Position{last.Writer: 4, 4711: 1}, true, 1},
	} {
		if l, n := lost(c.since); l != c.lost || n != c.entries {
			t.Errorf("%s: lost %v, %d entries; want %v, %d", c.name, l, n, c.lost, c.entries)
		}
	}
}

// TestEntriesOfOtherPrograms reads bodies as programs of before and after this one write them.
func TestEntriesOfOtherPrograms(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		body string
		want changelog.Entry
	}{
		{"", changelog.Entry{Writer: 1, Seq: 2}},
		{"-", changelog.Entry{Writer: 1, Seq: 2, Body: "-", Void: true}},
		{"1 2", changelog.Entry{Writer: 1, Seq: 2, Body: "1 2"}},
		{"1 2\n{}", changelog.Entry{Writer: 1, Seq: 2, Body: "1 2\n{}"}},
		{"1 2\n2026-01-02 03:04:05.000000", changelog.Entry{Writer: 1, Seq: 2, Body: "1 2", Time: at}},
		{"1\n{}\n2026-01-02 03:04:05", changelog.Entry{Writer: 1, Seq: 2, Body: "1\n{}", Time: at}},
	} {
		if diff := cmp.Diff(c.want, newEntry(1, 2, c.body)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.body, diff)
		}
	}
}

// TestPositionAt looks for positions by time, also after entries were deleted.
func TestPositionAt(t *testing.T) {
	ctx := context.Background()
	ses := newSession(t)
	l := newTable(ses)
	before := time.Now().Add(-time.Second)
	var last changelog.Entry
	for range 3 {
		last = commit(t, l, ses, "x")
	}
	for _, c := range []struct {
		at    time.Time
		known int64
		whole bool
	}{
		{before, 0, true},
		{time.Now().Add(time.Minute), 3, true},
		{before.Add(-time.Hour), 0, false}, // writers may have been deleted since
	} {
		at, whole, err := l.PositionAt(ctx, c.at)
		if err != nil || at[last.Writer] != c.known || whole != c.whole {
			t.Errorf("at %v: %v, %v, %v; want %d, %v", c.at, at, whole, err, c.known, c.whole)
		}
	}
	do(t, ses, `DELETE FROM berth_changes WHERE seq = 1`)
	if _, whole, err := l.PositionAt(ctx, before); whole || err != nil {
		t.Errorf("after an entry is deleted the log has all: %v, %v", whole, err)
	}
}

// TestSettle looks up transactions that took place, and some that did not: those cannot any more.
func TestSettle(t *testing.T) {
	ses := newSession(t)
	l := newTable(ses)
	done := commit(t, l, ses, "1")
	settle := func(e changelog.Entry) bool {
		t.Helper()
		do(t, ses, "BEGIN IMMEDIATE")
		committed, err := l.Settle(ses, e)
		if err != nil {
			t.Fatal(err)
		}
		do(t, ses, "COMMIT")
		return committed
	}
	if !settle(done) {
		t.Error("a transaction with an entry did not take place")
	}
	unanswered := changelog.Entry{Writer: done.Writer, Seq: 2}
	for range 2 {
		if settle(unanswered) {
			t.Error("a transaction without an entry took place")
		}
	}
	if settle(changelog.Entry{Writer: 4711, Seq: 1}) {
		t.Error("a transaction of a writer without a row took place")
	}
	if _, err := tryCommit(t, l, ses, "2"); err == nil || !l.RolledBack(err) {
		t.Errorf("commit in the place of an entry that is void: %v", err)
	}
	if e := commit(t, l, ses, "2"); e.Writer == done.Writer || e.Seq != 1 {
		t.Errorf("the next entry is %+v, want the first of another writer", e)
	}
	p, err := l.Read(context.Background(), changelog.Position{}, 9)
	void := 0
	for _, e := range p.Entries {
		if e.Void {
			void++
		}
	}
	if err != nil || void != 2 {
		t.Errorf("%d void entries, %v; want 2", void, err)
	}
}

// TestWriterThatWasBelievedDead goes on under another id, without a doubt that the transaction did
// not take place.
func TestWriterThatWasBelievedDead(t *testing.T) {
	ses := newSession(t)
	a, b := newTable(ses), newTable(ses)
	f := follow(t, b)
	first := commit(t, a, ses, "1")
	want(t, "before", next(t, f), "read 1")
	do(t, ses, `DELETE FROM berth_writers`)
	if _, err := tryCommit(t, a, ses, "2"); err == nil || !a.RolledBack(err) {
		t.Fatalf("commit of a writer that was deleted: %v", err)
	}
	if e := commit(t, a, ses, "2"); e.Writer == first.Writer {
		t.Error("the writer has its old id")
	}
	want(t, "after", next(t, f), "read 2")
}

// TestFailedCommitsAreNotFollowed has a statement fail before the commit is sent.
func TestFailedCommitsAreNotFollowed(t *testing.T) {
	ses := newSession(t)
	l := newTable(ses)
	commit(t, l, ses, "1")
	f := follow(t, l)
	do(t, ses, `ALTER TABLE berth_changes RENAME TO other`)
	_, err := tryCommit(t, l, ses, "2")
	if err == nil || !l.RolledBack(err) {
		t.Errorf("commit without a table: %v", err)
	}
	if l.RolledBack(errors.New("the connection was lost")) {
		t.Error("an error of the commit itself is no doubt")
	}
	do(t, ses, `ALTER TABLE other RENAME TO berth_changes`)
	if e := commit(t, l, ses, "3"); e.Seq != 2 {
		t.Errorf("the next entry has number %d, want 2", e.Seq)
	}
	want(t, "after it", next(t, f), "own 3")
}

// TestClean deletes writers that ended, and nothing of those that have not.
func TestClean(t *testing.T) {
	ses := newSession(t)
	a, b, c := newTable(ses), newTable(ses), newTable(ses)
	for _, l := range []*Table[string]{a, b, c} {
		commit(t, l, ses, "1")
	}
	do(t, ses,
		fmt.Sprintf(`UPDATE berth_writers SET beat_at = DATETIME('now', '-2 hours') WHERE id IN (%d, %d)`, a.id, b.id),
		fmt.Sprintf(`INSERT INTO berth_changes VALUES (%d, %d, '', '')`, a.id, -KeepEntries))
	if err := a.Clean(ses); err != nil {
		t.Fatal(err)
	}
	p, err := a.Read(context.Background(), nil, 0)
	if diff := cmp.Diff(changelog.Position{a.id: 1, c.id: 1}, p.At); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	p, err = a.Read(context.Background(), changelog.Position{a.id: -KeepEntries - 1}, 9)
	if err != nil || len(p.Entries) != 2 {
		t.Errorf("%d entries of two writers, %v; want one of each", len(p.Entries), err)
	}
}

// TestKeepFrom bounds the log by the number and the length of its entries.
func TestKeepFrom(t *testing.T) {
	var s logSizes
	if drop := s.keepFrom(10); drop > 0 {
		t.Errorf("of 10 short entries those up to %d go", drop)
	}
	if drop := s.keepFrom(KeepEntries + 7); drop != 7 {
		t.Errorf("of %d entries those up to %d go, want 7", KeepEntries+7, drop)
	}
	s = logSizes{}
	s.sum = 1 << 20
	s.keepFrom(100) // the mark from which on entries are counted
	s.sum += keepBytes - 1
	if drop := s.keepFrom(200); drop > 0 {
		t.Errorf("up to the bound, entries up to %d go", drop)
	}
	s.sum++
	if drop := s.keepFrom(300); drop != 100 {
		t.Errorf("beyond the bound, entries up to %d go, want 100", drop)
	}
	if drop := s.keepFrom(400); drop > 100 {
		t.Errorf("without more entries, those up to %d go", drop)
	}
}
