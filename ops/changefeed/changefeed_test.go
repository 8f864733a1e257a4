package changefeed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/ops/changefeed"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
	"github.com/berthcloud/berth/placement/service"
)

// A log is what a watcher gets.
type log struct {
	events []string // id and what there is after it
	notes  []string
	event  func(changefeed.Event) error // called for each, unless nil
}

func (l *log) watcher() changefeed.Watcher {
	return changefeed.Watcher{
		Event: func(e changefeed.Event) error {
			l.events = append(l.events, e.ID+" "+e.After)
			if l.event != nil {
				return l.event(e)
			}
			return nil
		},
		Notice: func(text string) { l.notes = append(l.notes, text) },
	}
}

// event is an event as the service writes it.
func event(id int) string {
	return fmt.Sprintf("event: change\nid: %d.x\n"+
		"data: {\"time\":\"2026-01-02T15:04:05Z\",\"change\":\"added\",\"what\":\"trait\",\"after\":\"T%d\"}\n\n", id, id)
}

// A body is a stream, which notes that it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// A silent reader says nothing until ctx ends.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// A streams opens streams, one of the list after the other, and notes when and behind what. At the
// end of the list it is over.
type streams struct {
	list   []func(ctx context.Context, last string) (io.Reader, error)
	bodies []*body
	lasts  []string
	times  []time.Time
	over   context.CancelFunc
}

func (s *streams) open(ctx context.Context, last string) (io.ReadCloser, error) {
	s.lasts, s.times = append(s.lasts, last), append(s.times, time.Now())
	if len(s.times) > len(s.list) {
		s.over()
		return nil, ctx.Err()
	}
	r, err := s.list[len(s.times)-1](ctx, last)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, &body{Reader: r})
	return s.bodies[len(s.bodies)-1], nil
}

// stream follows the streams of a list until it is over.
func (s *streams) stream(t *testing.T, l *log) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.over = cancel
	err := changefeed.Stream(ctx, s.open, l.watcher())
	for i, b := range s.bodies {
		if !b.closed {
			t.Errorf("stream %d was not closed", i)
		}
	}
	return err
}

type opening = func(context.Context, string) (io.Reader, error)

// text is a stream of a text.
func text(text string) opening {
	return func(context.Context, string) (io.Reader, error) { return strings.NewReader(text), nil }
}

// fails is what cannot be opened.
func fails(err error) opening {
	return func(context.Context, string) (io.Reader, error) { return nil, err }
}

// broken is a connection that breaks after a text.
func broken(text string) opening {
	return func(context.Context, string) (io.Reader, error) {
		return io.MultiReader(strings.NewReader(text), errReader{}), nil
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Wherever a stream ends, also in the middle of an event, each event is reported once, in order,
// and the next stream begins after the last one that was reported.
func TestStreamsEndAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3
		whole := "retry: 1000\n\n: a comment\n\n"
		var want []string
		for id := range n {
			whole += event(id) + fmt.Sprintf("id: %d.x\n\n", id)
			want = append(want, fmt.Sprintf("%d.x T%d", id, id))
		}
		from := func(last string) string { // as the service goes on
			if last == "" {
				return whole
			}
			_, rest, ok := strings.Cut(whole, "\n\nid: "+last)
			if !ok {
				t.Errorf("a stream begins behind %q", last)
			}
			return rest
		}
		count := strings.Index(whole, event(0)) + len(event(0)) // from here on there is an event to continue after
		for at := range len(whole) {
			for _, breaks := range []bool{false, true} {
				l, s := &log{}, &streams{}
				first := text(whole[:at])
				if breaks {
					first = broken(whole[:at])
				}
				s.list = []opening{
					first, func(_ context.Context, last string) (io.Reader, error) { return strings.NewReader(from(last)), nil },
				}
				err := s.stream(t, l)
				if breaks && at < count {
					if err == nil || len(l.events) > 0 {
						t.Fatalf("broken at %d: %v, events %v; want the error of the first attempt", at, err, l.events)
					}
					continue
				}
				if diff := cmp.Diff(want, l.events); err != nil || diff != "" {
					t.Fatalf("cut at %d, broken %v: %v, behind %q (-want +got)\n%s", at, breaks, err, s.lasts, diff)
				}
			}
		}
	})
}

// The pauses between attempts grow while they fail, and are reported. What is of no use to be
// repeated ends it, and so does the first failure.
func TestStreamIsOpenedAgain(t *testing.T) {
	busy := errors.New("the placement service answers 503")
	many := func(n int) (all []opening) {
		for range n {
			all = append(all, fails(busy))
		}
		return all
	}
	for _, tc := range []struct {
		name   string
		list   []opening
		err    string
		pauses []time.Duration // the longest before each attempt but the first
		notes  []string
	}{
		{"the first attempt fails", many(1), busy.Error(), nil, nil},
		{
			"streams that end",
			[]opening{text(event(1)), text(""), text("")},
			"",
			[]time.Duration{time.Second, time.Second, time.Second},
			nil,
		},
		{
			"the service says when",
			[]opening{text("retry: 7000\n\n"), text("retry: 99000\n\n"), text("retry: 0\n\n"), text("retry: x\n\n")},
			"",
			[]time.Duration{7 * time.Second, 30 * time.Second, time.Second, time.Second},
			nil,
		},
		{
			"a service that is down for long", append([]opening{text(event(1))}, many(6)...), "",
			[]time.Duration{
				time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second,
				30 * time.Second,
			},
			[]string{"2s", "4s", "8s", "16s", "30s", "30s"},
		},
		{
			"and comes back", append([]opening{text(event(1))}, append(many(2), text(event(2)), fails(busy))...), "",
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, time.Second, 2 * time.Second},
			[]string{"2s", "4s", "connected again", "2s"},
		},
		{
			"a connection that breaks after events",
			[]opening{broken(event(1)), broken(event(2)), broken("")},
			"",
			[]time.Duration{time.Second, time.Second, 2 * time.Second},
			[]string{"reading the stream: unexpected EOF; trying again in 2s"},
		},
		{"a refusal at once", []opening{fails(changefeed.Stop{Err: errors.New("403")})}, "403", nil, nil},
		{
			"a refusal later",
			[]opening{text(event(1)), fails(busy), fails(changefeed.Stop{Err: errors.New("403")})},
			"403",
			[]time.Duration{time.Second, 2 * time.Second},
			[]string{"2s"},
		},
		{
			"an event that is no JSON",
			[]opening{text("event: change\nid: 1\ndata: {\"time\n\n")},
			"the stream has an event that is not understood", nil, nil,
		},
		{
			"an event of another form, later",
			[]opening{text(event(1)), text("event: change\nid: 1\ndata: {\"time\": 7}\n\n")},
			"the stream has an event that is not understood",
			[]time.Duration{time.Second},
			nil,
		},
		{
			"a line that does not end",
			[]opening{text(event(1) + "data: " + strings.Repeat("x", 2<<20))},
			"the stream has a line of more than 1048576 bytes", nil, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, s := &log{}, &streams{list: tc.list}
				err := s.stream(t, l)
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.err)) {
					t.Errorf("Stream = %v, want %q", err, tc.err)
				}
				if len(s.times) != len(tc.pauses)+1 {
					t.Fatalf("there were %d attempts, want %d", len(s.times), len(tc.pauses)+1)
				}
				for i, want := range tc.pauses {
					if got := s.times[i+1].Sub(s.times[i]); got < want/2 || got > want {
						t.Errorf("attempt %d comes after %s, want %s to %s", i+2, got, want/2, want)
					}
				}
				for i, text := range l.notes {
					l.notes[i] = strings.TrimPrefix(text, busy.Error()+"; trying again in ")
				}
				if diff := cmp.Diff(tc.notes, l.notes); diff != "" {
					t.Errorf("notes (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// A reset is reported in words, and what comes after it continues after it.
func TestResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := func(id, data string) string { return "event: reset\nid: " + id + "\ndata: " + data + "\n\n" }
		l := &log{}
		s := &streams{list: []opening{text(reset("1", `{"reason":"lost"}`) + event(2) + reset("3", `{"reason":"unlisted"}`) +
			reset("4", `?`) + "event: later\nid: 5\ndata: x\n\n")}}
		if err := s.stream(t, l); err != nil {
			t.Error(err)
		}
		const now = ": what there is now is shown by berth records tree"
		if diff := cmp.Diff([]string{
			"events are lost: the change log does not go back so far any more; what there is now is shown by berth records tree",
			"a transaction changed more than its entry in the change log lists" + now,
			"events are lost: the change log does not go back so far any more; what there is now is shown by berth records tree",
		}, l.notes); diff != "" {
			t.Errorf("notes (-want +got)\n%s", diff)
		}
		if len(l.events) != 1 || s.lasts[1] != "5" {
			t.Errorf("events %v, and on behind %q", l.events, s.lasts[1])
		}
	})
}

// slow is a stream that has a line after each pause.
type slow struct {
	lines []string
	pause time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.lines) == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause) // on synctest's clock
	n := copy(p, s.lines[0])
	s.lines = s.lines[1:]
	return n, nil
}

// A stream may be slow, and remains when it has been silent for too long.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := &streams{list: []opening{
			func(context.Context, string) (io.Reader, error) {
				return &slow{strings.SplitAfter(event(1)+": here\n\n"+event(2), "\n"), 40 * time.Second}, nil
			},
			func(ctx context.Context, _ string) (io.Reader, error) { return silent{ctx}, nil },
			func(ctx context.Context, _ string) (io.Reader, error) { // no answer
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}}
		if err := s.stream(t, l); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"1.x T1", "2.x T2"}, l.events); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{
			"the service has said nothing for 45s; trying again in 2s",
			"the service has said nothing for 45s; trying again in 4s",
		}, l.notes); diff != "" {
			t.Errorf("notes (-want +got)\n%s", diff)
		}
		if took := s.times[2].Sub(s.times[1]); took < 46*time.Second || took > 47*time.Second || s.lasts[2] != "2.x" {
			t.Errorf("the silent stream was left after %s, and on behind %q", took, s.lasts[2])
		}
	})
}

// The end of ctx is no error, wherever it comes; an error of the watcher is that of Stream.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// in the pause; in an attempt; in a stream
		for _, after := range []time.Duration{time.Second / 4, 10 * time.Second, time.Minute} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			begun := time.Now()
			s := &streams{list: []opening{
				text(event(1)),
				func(ctx context.Context, _ string) (io.Reader, error) {
					select {
					case <-ctx.Done():
					case <-time.After(20 * time.Second):
					}
					return silent{ctx}, ctx.Err()
				},
			}}
			if err := changefeed.Stream(ctx, s.open, (&log{}).watcher()); err != nil || time.Since(begun) != after {
				t.Errorf("Stream = %v after %s, want the end after %s", err, time.Since(begun), after)
			}
			cancel()
		}
		full := errors.New("the disk is full")
		l := &log{event: func(changefeed.Event) error { return full }}
		s := &streams{list: []opening{text(event(1) + event(2))}}
		if err := s.stream(t, l); !errors.Is(err, full) || len(l.events) != 1 {
			t.Errorf("Stream = %v after %d events, want the watcher's error after one", err, len(l.events))
		}
	})
}

// The real service continues after the last event when its connections are cut.
func TestStreamOfTheService(t *testing.T) {
	server := httptest.NewServer(placementapitest.New(t, service.DefaultSettings()))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lasts []string
	open := func(ctx context.Context, last string) (io.ReadCloser, error) {
		lasts = append(lasts, last)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/berth/v1/events?since=1h", nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Auth-Token", "admin")
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusOK {
			answer.Body.Close()
			return nil, changefeed.Stop{Err: errors.New(answer.Status)}
		}
		return answer.Body, nil
	}
	add := func(n int) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("%s/traits/CUSTOM_%d", server.URL, n), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.38")
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	add(0)
	var got []string
	l := &log{event: func(e changefeed.Event) error {
		got = append(got, e.Subject)
		if n := len(got); n < 4 {
			server.CloseClientConnections()
			add(n)
		} else {
			cancel()
		}
		return nil
	}}
	if err := changefeed.Stream(ctx, open, l.watcher()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"CUSTOM_0", "CUSTOM_1", "CUSTOM_2", "CUSTOM_3"}, got); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	if len(lasts) < 4 || lasts[0] != "" || lasts[1] == "" || lasts[2] == lasts[1] {
		t.Errorf("the streams began behind %q", lasts)
	}
}

// Poll reports the differences of readings that succeed, which it tries again when they fail.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			host  = "00000000-0000-4000-8000-000000000001"
			other = "00000000-0000-4000-8000-000000000002"
			vm    = "00000000-0000-4000-8000-0000000000c1"
		)
		records := func(vcpus int64, used int64, hosts ...string) *cloud.Placement {
			p := &cloud.Placement{Classes: []string{"VCPU"}, Consumers: []cloud.Consumer{}}
			for i, uuid := range hosts {
				p.Providers = append(p.Providers, cloud.Provider{
					UUID: uuid, Name: fmt.Sprint("cn", i+1), Root: uuid,
					Inventories: map[string]cloud.Inventory{
						"VCPU": {Total: vcpus, MinUnit: 1, MaxUnit: vcpus, StepSize: 1, AllocationRatio: 1},
					},
				})
			}
			if used > 0 {
				p.Consumers = []cloud.Consumer{{UUID: vm, Allocations: map[string]map[string]int64{host: {"VCPU": used}}}}
			}
			p.Sort()
			return p
		}
		away := errors.New("the database is away")
		readings := []any{
			records(8, 0, host, other), records(8, 2, host, other), away, away, away, records(9, 0, host), records(9, 0, host),
		}
		follows := func(f changefeed.Filter) (lines, notes []string, times []time.Duration, err error) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, n := time.Now(), 0
			read := func(ctx context.Context) (*cloud.Placement, error) {
				times = append(times, time.Since(begun))
				if n++; n > len(readings) {
					cancel()
					return nil, ctx.Err()
				}
				if p, ok := readings[n-1].(*cloud.Placement); ok {
					return p, nil
				}
				return nil, away
			}
			err = changefeed.Poll(ctx, read, 3*time.Second, f, changefeed.Watcher{
				Event: func(e changefeed.Event) error {
					if !e.Time.Equal(time.Now()) {
						t.Errorf("the time of %s is %s", e.Text(time.Now()), e.Time)
					}
					_, line, _ := strings.Cut(e.Text(time.Now()), " ")
					lines = append(lines, line)
					return nil
				},
				Notice: func(text string) { notes = append(notes, text) },
			})
			return lines, notes, times, err
		}
		lines, notes, times, err := follows(changefeed.Filter{})
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{
			"added   allocation VCPU of " + vm + " on cn1: 2",
			"changed inventory VCPU on cn1: total 8, max_unit 8 -> total 9, max_unit 9",
			"removed provider: cn2",
			"removed allocation VCPU of " + vm + " on cn1: 2",
		}, lines); diff != "" {
			t.Errorf("events (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]string{away.Error() + "; trying again in 3s", away.Error() +
			"; trying again in 4s", away.Error() + "; trying again in 8s", "the records can be read again"}, notes); diff != "" {
			t.Errorf("notes (-want +got)\n%s", diff)
		}
		const s = time.Second
		if diff := cmp.Diff([]time.Duration{0, 3 * s, 6 * s, 9 * s, 13 * s, 21 * s, 24 * s, 27 * s}, times); diff != "" {
			t.Errorf("readings (-want +got)\n%s", diff)
		}
		for _, tc := range []struct {
			f    changefeed.Filter
			want int
		}{
			{changefeed.Filter{Consumer: vm}, 2},
			{changefeed.Filter{Consumer: host}, 0},
			{changefeed.Filter{Class: "VCPU"}, 3},
			{changefeed.Filter{Class: "DISK_GB"}, 0},
		} {
			if lines, _, _, err := follows(tc.f); err != nil || len(lines) != tc.want {
				t.Errorf("%+v has %q, %v; want %d events", tc.f, lines, err, tc.want)
			}
		}
		readings = []any{away}
		if _, _, _, err := follows(changefeed.Filter{}); !errors.Is(err, away) {
			t.Errorf("Poll = %v, want the first reading's error", err)
		}
	})
}

// A line has what is known of an event: the id of the calling service's request before its own, and
// the date where it is another day's.
func TestText(t *testing.T) {
	when := time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local)
	e := changefeed.Event{Time: when.UTC(), RequestID: "req-1", User: "u1", Operation: "PUT /x"}
	e.Change = records.Change{
		Change: "changed", What: "inventory", Subject: "VCPU", Provider: "cn1", Before: "total 8", After: "total 9",
	}
	for _, tc := range []struct {
		now    time.Time
		global string
		want   string
	}{
		{when.Add(time.Hour), "", "15:04:05 changed inventory VCPU on cn1: total 8 -> total 9  (req-1, user u1, PUT /x)"},
		{
			when.AddDate(0, 0, 1), "req-2",
			"2026-01-02 15:04:05 changed inventory VCPU on cn1: total 8 -> total 9  (req-2, user u1, PUT /x)",
		},
	} {
		e.GlobalID = tc.global
		if got := e.Text(tc.now); got != tc.want {
			t.Errorf("Text = %q, want %q", got, tc.want)
		}
	}
}
