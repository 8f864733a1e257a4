package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/ops/overview"
)

// A HostsChange is an event of the stream: rows of the table of hosts that are not as they were in
// the state that the page has.
type HostsChange struct {
	Number int64     `json:"number"`
	Time   time.Time `json:"time"`
	overview.Changes
	// Log are the single changes, in their order; of those that the page has missed long ago, none.
	Log []Change `json:"log"`
}

// An Outage is an event of the stream: why the cloud cannot be read. With an empty Detail it is
// over.
type Outage struct {
	Detail string `json:"detail"`
}

const (
	// keepAlive is the pause after which a stream says that it is alive, so that proxies keep it open
	// and pages notice that it was cut.
	keepAlive = 15 * time.Second
	// writeTimeout bounds how long a page may take to read an event.
	writeTimeout = 10 * time.Second
)

// serveEvents streams changes to a page that has the state ?after=, or Last-Event-ID when it comes
// back: events "hosts" (a HostsChange), "outage" (an Outage), "reset" when the page has to read the
// table again, since its state is too old, and "end" when its session has ended.
func (c *Console) serveEvents(w http.ResponseWriter, r *http.Request) {
	if err := c.access.Check(r, holderRules); err != nil {
		c.fail(w, r, err)
		return
	}
	word := r.Header.Get("Last-Event-ID")
	if word == "" {
		word = r.URL.Query().Get("after")
	}
	number, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		refuse(w, http.StatusBadRequest, "The parameter after is not the number of a table of hosts.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events
	s := stream{w: w, control: http.NewResponseController(w)}
	if s.send(": connected\n\n") != nil {
		return
	}
	failed := false
	for r.Context().Err() == nil {
		if c.access.Check(r, holderRules) != nil {
			s.event("end", "", struct{}{})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), keepAlive)
		old, later, failure := c.follow.after(ctx, httpserver.Stopping(ctx), number, failed)
		cancel()
		switch {
		case errors.Is(failure, errStopped):
			return
		case errors.Is(failure, errUnchanged):
			err = s.send(": alive\n\n")
		case (failure != nil) != failed:
			failed = failure != nil
			outage := Outage{}
			if failed {
				outage.Detail = sentence(failure.Error())
			}
			err = s.event("outage", "", outage)
		case old == nil:
			s.event("reset", "", struct{}{})
			return
		default:
			last := later[len(later)-1]
			number = last.number
			change := HostsChange{
				Number: number, Time: last.reading.Time, Changes: last.table.Since(old.table), Log: []Change{},
			}
			for _, l := range later {
				change.Log = append(change.Log, l.changes...)
			}
			err = s.event("hosts", strconv.FormatInt(number, 10), change)
		}
		if err != nil {
			return
		}
	}
}

// A stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event sends an event with a value as JSON.
func (s stream) event(name, id string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values are structs of plain data
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.send(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, text))
}

// send sends a text at once, to a client that reads it within the time-out.
func (s stream) send(text string) error {
	// A writer without deadlines, as that of a test, has no slow clients.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	err := s.control.Flush()
	_ = s.control.SetWriteDeadline(time.Now().Add(keepAlive + writeTimeout))
	return err
}
