package placementapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
)

// StreamSettings bound the streams of events.
type StreamSettings struct {
	// Max and PerProject are how many streams there may be at a time, of the instance and of one
	// project's callers; 0 is no bound.
	Max, PerProject int
	// Changed, when not nil, is called with the number of streams when one has begun or ended, and
	// with why it ended, "" when it began. It may be called from many goroutines.
	Changed func(open int, ended string)
}

const (
	// streamHeartbeat is the longest time without a byte: proxies and clients take a connection that
	// says nothing for dead.
	streamHeartbeat = 15 * time.Second
	// streamWriteTime is the longest time for a write. A client that does not read is cut off then.
	streamWriteTime = 10 * time.Second
	// streamTime is the longest time of a stream: the next request checks token and policy again.
	streamTime = 15 * time.Minute
	// streamRetry is when a client is to connect again.
	streamRetry = time.Second
)

// streams are the streams of events of an API.
type streams struct {
	settings StreamSettings

	mu   sync.Mutex
	feed *events.Feed // nil before the first stream
	all  int
	open map[string]int // by project
}

// enter takes a place and returns what streams read, or says why there is no place.
func (s *streams) enter(project string, log changelog.Log) (*events.Feed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.Max > 0 && s.all >= s.settings.Max {
		return nil, fault.New(fault.Unavailable, "",
			"Too many streams of events are open. Try again later, or at another instance.")
	}
	if s.settings.PerProject > 0 && s.open[project] >= s.settings.PerProject {
		return nil, &httpapi.Error{
			Status: http.StatusTooManyRequests, Detail: "Too many streams of events are open for this project.",
		}
	}
	s.all++
	s.open[project]++
	s.changed("")
	if s.feed == nil {
		s.feed = events.NewFeed(log, eventTexts)
	}
	return s.feed, nil
}

// leave gives the place back.
func (s *streams) leave(project, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.open[project]--; s.open[project] == 0 {
		delete(s.open, project)
	}
	s.changed(why)
}

// changed notifies the observer. Its caller has locked mu.
func (s *streams) changed(why string) {
	if s.settings.Changed != nil {
		s.settings.Changed(s.all, why)
	}
}

// eventRoutes are Berth's own. Upstream answers 404 to the path.
func (a *API) eventRoutes() []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/berth/v1/events", Handle: a.guarded(policyEvents, a.getEvents),
	}}
}

// getEvents answers with a stream of server-sent events: 200, and an event for each value that
// changes. The query may name a tree by the name or UUID of a provider in it, a consumer and a
// class, and since when: an id, a duration before now or a time. Last-Event-ID goes before since.
// It answers 400 for what it does not understand, 404 for a provider that does not exist at the
// beginning, 429 and 503 when there are too many streams.
func (a *API) getEvents(w http.ResponseWriter, r *http.Request) error {
	watch, err := a.newWatch(r)
	if err != nil {
		return err
	}
	caller, _ := identity.From(r.Context())
	feed, err := a.streams.enter(caller.ProjectID, a.Placement.ChangeLog())
	if err != nil {
		return err
	}
	why := "error"
	defer func() { a.streams.leave(caller.ProjectID, why) }()
	var reader *events.Reader
	if watch.since.IsZero() {
		reader, err = feed.Open(r.Context(), watch.from.log)
	} else {
		reader, err = feed.OpenAt(r.Context(), watch.since)
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	h := w.Header()
	h.Set("Content-Type", httpserver.EventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx passes on what it gets
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // its deadlines are not those of other answers
	}
	s := &stream{
		w: w, control: http.NewResponseController(w), reader: reader, watch: watch,
		at: position{maps.Clone(reader.At()), watch.from.sent},
	}
	why = s.run(r.Context(), caller.Expires)
	return nil
}

// A position is where a stream goes on: after a position in the log, and of the next entries of
// some writers after a number of events that were sent already.
type position struct {
	log  changelog.Position // nil is the end of the log
	sent map[int64]int      // by writer
}

// String is the id of the event before the position.
func (p position) String() string {
	text := p.log.String()
	for _, writer := range slices.Sorted(maps.Keys(p.sent)) {
		text += "!" + strconv.FormatInt(writer, 36) + "." + strconv.Itoa(p.sent[writer])
	}
	return text
}

// parsePosition reads an id.
func parsePosition(id string) (p position, err error) {
	text, parts, some := strings.Cut(id, "!")
	p.log, err = changelog.Parse(text)
	p.sent = make(map[int64]int)
	for some && err == nil {
		var part string
		part, parts, some = strings.Cut(parts, "!")
		text, number, _ := strings.Cut(part, ".")
		var writer int64
		if writer, err = strconv.ParseInt(text, 36, 64); err == nil {
			p.sent[writer], err = strconv.Atoi(number)
		}
	}
	if err != nil {
		return p, fault.New(fault.Invalid, "", "%q is not the id of an event.", id)
	}
	return p, nil
}

// A watch is what a stream is to have.
type watch struct {
	from     position
	since    time.Time // zero: from says it
	tree     string    // a name or UUID, "" for all
	root     placement.UUID
	consumer placement.UUID
	class    string
}

// newWatch reads the query.
func (a *API) newWatch(r *http.Request) (*watch, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(fault.Invalid, "", "The query string is malformed.")
	}
	for name, values := range query {
		switch {
		case name != "tree" && name != "consumer" && name != "class" && name != "since":
			return nil, fault.New(fault.Invalid, "", "There is no parameter %q; there are tree, consumer, class and since.",
				name)
		case len(values) > 1 || values[0] == "":
			return nil, fault.New(fault.Invalid, "", "The parameter %s wants one value.", name)
		}
	}
	v := &watch{
		from: position{sent: make(map[int64]int)}, tree: query.Get("tree"), consumer: placement.UUID(query.Get("consumer")),
		class: query.Get("class"),
	}
	last, since := r.Header.Get("Last-Event-ID"), query.Get("since")
	if last != "" {
		since = last
	}
	switch ago, err := time.ParseDuration(since); {
	case since == "":
	case last == "" && err == nil && ago > 0:
		v.since = a.Now().Add(-ago)
	case last == "" && strings.Contains(since, "T"):
		if v.since, err = time.Parse(time.RFC3339, since); err != nil {
			return nil, noSince(since)
		}
	default:
		switch v.from, err = parsePosition(since); {
		case err != nil && last == "":
			return nil, noSince(since)
		case err != nil:
			return nil, err
		}
	}
	if v.tree == "" {
		return v, nil
	}
	snap, err := a.Placement.SnapshotWith(r.Context(), placement.UUID(v.tree))
	if err != nil {
		return nil, err
	}
	p, tree := snap.Provider(placement.UUID(v.tree))
	if p == nil {
		p, tree = snap.ProviderNamed(v.tree)
	}
	switch {
	case p != nil:
		v.root = tree.Root().UUID
	case last == "": // one that was removed meanwhile is no error
		return nil, fault.New(fault.NotFound, "", "There is no provider with the name or UUID %q.", v.tree)
	}
	return v, nil
}

// noSince is the fault of a wrong parameter since.
func noSince(text string) error {
	return fault.New(fault.Invalid, "",
		"%q is not the id of an event, nor a duration such as 10m, nor a time such as 2026-01-02T15:04:05Z.", text)
}

// wants reports whether an event is among those that are requested. A tree is followed when its
// root becomes another one.
func (v *watch) wants(e *placement.Event) bool {
	if v.consumer != "" && e.Consumer != v.consumer {
		return false
	}
	if v.class != "" {
		about := e.What == placement.EventInventory || e.What == placement.EventAllocation || e.What == placement.EventClass
		if !about || e.Subject != v.class && (e.What != placement.EventClass || e.Before != v.class) {
			return false
		}
	}
	if v.tree == "" {
		return true
	}
	if string(e.Provider) == v.tree || e.Name == v.tree {
		v.root = e.Root
		return e.Root != ""
	}
	return v.root != "" && (e.Root == v.root || e.OldRoot == v.root)
}

// A stream is one answer.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	reader  *events.Reader
	watch   *watch
	at      position // behind what was sent
	buf     []byte
	err     error // of the last write
}

// run sends events until the stream ends, and returns why.
func (s *stream) run(ctx context.Context, expires time.Time) string {
	limit, why := streamTime, "time"
	if remaining := time.Until(expires); remaining > 0 && remaining < limit {
		limit, why = remaining, "token"
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stopping := httpserver.Stopping(ctx)
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-stopped:
		}
	}()
	s.buf = fmt.Appendf(s.buf, "retry: %d\n\n", streamRetry.Milliseconds())
	s.send()
	for s.err == nil && ctx.Err() == nil {
		heartbeat, end := context.WithTimeout(ctx, streamHeartbeat)
		batch, err := s.reader.Next(heartbeat)
		end()
		if err != nil {
			s.comment("the change log cannot be read: try another instance")
			return "log"
		}
		if batch.Lost {
			s.reset("lost")
		}
		sent := len(s.buf)
		for i := range batch.Entries {
			s.transaction(&batch.Entries[i])
		}
		s.at.log = maps.Clone(s.reader.At())
		if sent == len(s.buf) {
			// A client that connects again later goes on from here, also when writers of the id before have
			// been deleted.
			s.buf = fmt.Appendf(s.buf, "id: %s\n\n", s.at)
		}
		s.send()
	}
	if errors.Is(s.err, os.ErrDeadlineExceeded) {
		return "slow"
	}
	select {
	case <-stopping:
		s.comment("the service stops")
		return "stop"
	default:
	}
	if ctx.Err() == context.DeadlineExceeded {
		s.comment("connect again")
		return why
	}
	return "client"
}

// pieceSize is how much is sent at a time, about.
const pieceSize = 64 << 10

// transaction writes the events of a transaction that are requested.
func (s *stream) transaction(e *events.Transaction) {
	n, had := 0, s.at.sent[e.Writer]
	delete(s.at.sent, e.Writer)
	before := s.at.String() + "!" + strconv.FormatInt(e.Writer, 36) + "."
	for _, d := range e.Requests {
		for i := range d.Events {
			if n++; n <= had || !s.watch.wants(&d.Events[i]) {
				continue
			}
			id := before + strconv.Itoa(n)
			if n == len(e.Texts) && !e.Unlisted {
				s.at.log[e.Writer] = e.Seq
				id = s.at.String()
			}
			s.event("change", id, e.Texts[n-1])
			if len(s.buf) >= pieceSize {
				s.send()
			}
		}
	}
	s.at.log[e.Writer] = e.Seq
	if e.Unlisted {
		s.reset("unlisted")
	}
}

// An eventJSON is an event as clients see it. Its keys are those of the changes that berth records
// diff prints.
type eventJSON struct {
	Time      time.Time           `json:"time"`
	Change    string              `json:"change"`
	What      placement.EventKind `json:"what"`
	Provider  string              `json:"provider,omitempty"`
	UUID      placement.UUID      `json:"provider_uuid,omitempty"`
	Root      placement.UUID      `json:"root_provider_uuid,omitempty"`
	Consumer  placement.UUID      `json:"consumer_uuid,omitempty"`
	Subject   string              `json:"subject,omitempty"`
	Before    string              `json:"before,omitempty"`
	After     string              `json:"after,omitempty"`
	RequestID string              `json:"request_id,omitempty"`
	GlobalID  string              `json:"global_request_id,omitempty"`
	User      string              `json:"user_id,omitempty"`
	Project   string              `json:"project_id,omitempty"`
	Operation string              `json:"operation,omitempty"`
}

// eventTexts returns the events of a transaction as JSON. Their ids are not in it: they differ
// between streams.
func eventTexts(t *events.Transaction) [][]byte {
	texts := make([][]byte, 0, t.Len())
	for _, d := range t.Requests {
		for i := range d.Events {
			texts = append(texts, eventText(t.Time, d.Cause, &d.Events[i]))
		}
	}
	return texts
}

func eventText(at time.Time, c placement.Cause, e *placement.Event) []byte {
	text, _ := json.Marshal(eventJSON{ // strings and a time have no error
		Time: at, Change: e.Change(), What: e.What, Provider: e.Name, UUID: e.Provider, Root: e.Root, Consumer: e.Consumer,
		Subject: e.Subject,
		Before:  e.Before, After: e.After, RequestID: c.RequestID, GlobalID: c.GlobalID, User: c.User, Project: c.Project,
		Operation: c.Operation,
	})
	return text
}

// reset has the client read the state again: entries before this are not in the log any more
// ("lost"), or the log does not list what one changed ("unlisted").
func (s *stream) reset(why string) {
	s.event("reset", s.at.String(), []byte(`{"reason":"`+why+`"}`))
}

// event writes an event.
func (s *stream) event(name, id string, body []byte) {
	s.buf = append(append(append(s.buf, "event: "...), name...), "\nid: "...)
	s.buf = append(append(append(s.buf, id...), "\ndata: "...), body...)
	s.buf = append(s.buf, "\n\n"...)
}

// comment writes a line that clients pass over.
func (s *stream) comment(text string) {
	s.buf = fmt.Appendf(s.buf, ": %s\n\n", text)
	s.send()
}

// send sends what was written. After an error, when the client does not read or is not there any
// more, it sends nothing.
func (s *stream) send() {
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTime))
		if _, s.err = s.w.Write(s.buf); s.err == nil {
			s.err = s.control.Flush()
		}
	}
	s.buf = s.buf[:0]
}
