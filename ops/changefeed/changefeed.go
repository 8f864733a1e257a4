// Package changefeed reports what changes in placement, as it changes: from the stream of events of
// Berth's placement service, or by reading any placement service again and again. It opens no
// connection and prints nothing.
package changefeed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/records"
)

// An Event is one value that changed. By polling, ID and all after After are not known, and the
// time is that of the reading.
type Event struct {
	ID   string    `json:"id,omitempty"`
	Time time.Time `json:"time"`
	records.Change
	Root      string `json:"root_provider_uuid,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	GlobalID  string `json:"global_request_id,omitempty"`
	User      string `json:"user_id,omitempty"`
	Project   string `json:"project_id,omitempty"`
	Operation string `json:"operation,omitempty"`
}

// A Watcher gets what happens. Its functions are called one at a time. An error of Event ends the
// watch.
type Watcher struct {
	Event  func(Event) error
	Notice func(text string) // something that the user should know
}

// responseTimeout is how long a stream may say nothing: the service sends a line every 15 seconds.
const responseTimeout = 45 * time.Second

// longestPause is the longest time between two attempts to connect.
const longestPause = 30 * time.Second

// pauseAfter is the time between two attempts after some failures in a row.
func pauseAfter(failures int) time.Duration { return min(time.Second<<min(failures, 5), longestPause) }

// A Stop is an error after which it is of no use to connect again.
type Stop struct{ Err error }

// Error is that of Err.
func (s Stop) Error() string { return s.Err.Error() }

// largestLine bounds a line of a stream. The longest are those of inventories, a few hundred bytes.
const largestLine = 1 << 20

// errNoResponse is why a service that says nothing remains.
var errNoResponse = fmt.Errorf("the service has said nothing for %s", responseTimeout)

// Stream follows a stream of events until ctx ends, which is no error. Open connects, after the
// event with the id last, or from the beginning for an empty one. When the stream ends it is opened
// again, after the time that it names, or after pauses that grow while that fails. The error is
// that of the first attempt, a Stop, or one of the watcher. What cannot be understood is a Stop: it
// would come again.
func Stream(ctx context.Context, open func(ctx context.Context, last string) (io.ReadCloser, error), w Watcher) error {
	s := stream{open: open, w: w}
	for first := true; ctx.Err() == nil; first = false {
		begun := s.last
		err := s.connect(ctx)
		var watcher watcherError
		var stop Stop
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &watcher):
			return watcher.error
		case errors.As(err, &stop):
			return stop.Err
		case err != nil && first && s.last == "":
			return err
		case err == nil || s.last != begun:
			s.failures = 0
		default:
			s.failures++
		}
		pause := min(max(s.retry, time.Second), longestPause)
		if s.failures > 0 {
			pause = pauseAfter(s.failures)
			w.Notice(fmt.Sprintf("%v; trying again in %s", err, pause))
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)): // many clients do not come back at the same moment
		case <-ctx.Done():
		}
	}
	return nil
}

// A watcherError is an error of the watcher.
type watcherError struct{ error }

// A stream is one that is opened again and again.
type stream struct {
	open     func(context.Context, string) (io.ReadCloser, error)
	w        Watcher
	last     string        // the id of the last event
	retry    time.Duration // when to come back, as the service said
	failures int           // in a row
}

// connect reads one stream to its end.
func (s *stream) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(responseTimeout, func() { cancel(errNoResponse) })
	defer quiet.Stop()
	body, err := s.open(ctx, s.last)
	if errors.Is(context.Cause(ctx), errNoResponse) {
		err = errNoResponse
	}
	if err != nil {
		return err
	}
	defer body.Close()
	quiet.Reset(responseTimeout)
	if s.failures > 0 {
		s.w.Notice("connected again")
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, largestLine)
	var name, id, data string
	for lines.Scan() {
		quiet.Reset(responseTimeout)
		key, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch key {
		case "event":
			name = value
		case "id":
			id = value
		case "data":
			data += value
		case "retry":
			if n, err := strconv.ParseUint(value, 10, 31); err == nil {
				s.retry = time.Duration(n) * time.Millisecond
			}
		}
		if lines.Text() != "" {
			continue
		}
		switch name {
		case "change":
			var e Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return Stop{fmt.Errorf("the stream has an event that is not understood: %w", err)}
			}
			e.ID = id
			if err := s.w.Event(e); err != nil {
				return watcherError{err}
			}
		case "reset":
			var reset struct{ Reason string }
			_ = json.Unmarshal([]byte(data), &reset) // the reason is for people
			s.w.Notice(lostText(reset.Reason))
		}
		if id != "" {
			s.last = id
		}
		name, id, data = "", "", ""
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Stop{fmt.Errorf("the stream has a line of more than %d bytes", largestLine)}
	case errors.Is(context.Cause(ctx), errNoResponse):
		return errNoResponse
	case err != nil:
		return fmt.Errorf("reading the stream: %w", err)
	}
	return nil
}

// lostText says which events there are not.
func lostText(reason string) string {
	if reason == "unlisted" {
		return "a transaction changed more than its entry in the change log lists: what there is now is shown by berth " +
			"records tree"
	}
	return "events are lost: the change log does not go back so far any more; what there is now is shown by berth " +
		"records tree"
}

// A Filter is what of all changes a poll reports.
type Filter struct {
	Consumer string // a UUID; "" for all
	Class    string
	Tree     bool // the records have the providers of a tree only, and consumers with what they have elsewhere
}

// matches reports whether a change is among them.
func (f Filter) matches(c *records.Change) bool {
	if f.Consumer != "" && c.Consumer != f.Consumer {
		return false
	}
	if f.Tree && c.What == "allocation" && c.Provider == "" {
		return false
	}
	return f.Class == "" || c.Subject == f.Class && (c.What == "inventory" || c.What == "allocation" || c.What == "usage")
}

// Poll reads records again and again, with a pause between two readings, and reports the
// differences until ctx ends, which is no error. A reading that fails is tried again after pauses
// that grow; the first one's error ends it.
func Poll(
	ctx context.Context, read func(context.Context) (*cloud.Placement, error), interval time.Duration, f Filter, w Watcher,
) error {
	before, err := read(ctx)
	if err != nil {
		return unlessOver(ctx, err)
	}
	pause := interval
	for failures := 0; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		after, err := read(ctx)
		if err != nil {
			if unlessOver(ctx, err) == nil {
				return nil
			}
			failures++
			pause = max(interval, pauseAfter(failures))
			w.Notice(fmt.Sprintf("%v; trying again in %s", err, pause))
			continue
		}
		if failures > 0 {
			w.Notice("the records can be read again")
			failures, pause = 0, interval
		}
		at := time.Now().UTC()
		removed := make(map[string]bool)
		for _, c := range records.Diff(before, after) {
			if c.What == "provider" && c.Change == "removed" {
				removed[c.UUID] = true
			} else if removed[c.UUID] && c.What != "allocation" {
				continue // it went with its provider
			}
			if f.matches(&c) {
				if err := w.Event(Event{Time: at, Change: c}); err != nil {
					return err
				}
			}
		}
		before = after
	}
}

// unlessOver is the error, or nil when ctx has ended.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Text describes an event for people, in a line, with the local time, and with the date if that is
// not the date of now.
func (e *Event) Text(readAt time.Time) string {
	local := e.Time.Local()
	resume := local.Format(time.TimeOnly)
	if date := local.Format(time.DateOnly); date != readAt.Local().Format(time.DateOnly) {
		resume = date + " " + resume
	}
	subject := e.What
	if e.Subject != "" {
		subject += " " + e.Subject
	}
	text := fmt.Sprintf("%s %-7s %s", resume, e.Change.Change, subject)
	if e.Consumer != "" {
		text += " of " + e.Consumer
	}
	if e.Provider != "" && e.What != "provider" {
		text += " on " + e.Provider
	}
	switch {
	case e.What == "trait" || e.What == "aggregate" || e.What == "resource_class" && (e.Before == "" || e.After == ""):
	case e.Before != "" && e.After != "":
		text += ": " + e.Before + " -> " + e.After
	default:
		text += ": " + e.Before + e.After
	}
	if e.Operation == "" {
		return text
	}
	id := e.RequestID
	if e.GlobalID != "" {
		id = e.GlobalID
	}
	return text + "  (" + id + ", user " + e.User + ", " + e.Operation + ")"
}
