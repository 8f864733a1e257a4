package sqlstore

import (
	"encoding/json"
	"strings"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Events in the body of an entry of the change log: a line for each request that changed something,
// in JSON.
//
//	{"r":"req-…","o":"PUT /allocations/{consumer_uuid}",
//	 "e":[{"w":"allocation","i":"cn1's UUID","n":"cn1",…,"x":[["VCPU","","4"]]}]}
//
// Empty members are left out, and events that differ in their subject and values share the rest.
// They are written by hand: it happens in the goroutine that all writes wait for.

// maxEventText is how long the lines of an entry may be, in bytes. Of a longer one watchers only
// get that it is not listed.
const maxEventText = 256 << 10

// unlisted is a line in the place of those that are too long.
const unlisted = "!"

// appendRequests appends the lines of requests to the first line of a body.
func appendRequests(body []byte, requests []placement.RequestEvents) []byte {
	begin := len(body)
	for i := range requests {
		if len(requests[i].Events) > 0 {
			body = appendRequest(append(body, '\n'), &requests[i])
		}
		if len(body)-begin > maxEventText {
			return append(body[:begin], "\n"+unlisted...)
		}
	}
	return body
}

func appendRequest(b []byte, d *placement.RequestEvents) []byte {
	b = append(b, '{')
	b = appendMember(b, "r", d.Cause.RequestID)
	b = appendMember(b, "g", d.Cause.GlobalID)
	b = appendMember(b, "u", d.Cause.User)
	b = appendMember(b, "p", d.Cause.Project)
	b = appendMember(b, "o", d.Cause.Operation)
	b = append(b, `"e":[`...)
	for i := range d.Events {
		e := &d.Events[i]
		if i > 0 && alike(e, &d.Events[i-1]) {
			b = append(b, ',')
		} else {
			if i > 0 {
				b = append(b, `]},`...)
			}
			b = append(b, '{')
			b = appendMember(b, "w", string(e.What))
			b = appendMember(b, "i", string(e.Provider))
			b = appendMember(b, "n", e.Name)
			b = appendMember(b, "t", string(e.Root))
			b = appendMember(b, "f", string(e.OldRoot))
			b = appendMember(b, "c", string(e.Consumer))
			b = append(b, `"x":[`...)
		}
		b = append(b, '[')
		b = append(appendText(b, e.Subject), ',')
		b = append(appendText(b, e.Before), ',')
		b = append(appendText(b, e.After), ']')
	}
	return append(b, `]}]}`...)
}

// alike reports whether events differ in their subject and values at most.
func alike(a, b *placement.Event) bool {
	return a.What == b.What && a.Provider == b.Provider && a.Name == b.Name && a.Root == b.Root &&
		a.OldRoot == b.OldRoot && a.Consumer == b.Consumer
}

// appendMember appends a member of an object, and a comma, unless it is empty.
func appendMember(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, '"')
	b = append(b, key...)
	b = append(b, `":`...)
	return append(appendText(b, value), ',')
}

// appendText appends a string. Most need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			text, _ := json.Marshal(s) // a string has no error
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// A deedText is a line.
type deedText struct {
	R, G, U, P, O string
	E             []struct {
		W, I, N, T, F, C string
		X                [][3]string
	}
}

// readEntry reads the events in the body of an entry. What it does not understand is not listed.
func readEntry(e engine.LogEntry) placement.Entry {
	entry := placement.Entry{Writer: e.Writer, Seq: e.Seq}
	if e.Void {
		return entry
	}
	lines := strings.Split(e.Body, "\n")
	entry.Time, _ = sqlconn.Unstamp(lines[len(lines)-1])
	if len(lines) < 2 || entry.Time.IsZero() {
		entry.Unlisted = true
		return entry
	}
	for _, line := range lines[1 : len(lines)-1] {
		var text deedText
		if line == unlisted || json.Unmarshal([]byte(line), &text) != nil {
			entry.Unlisted = true
			continue
		}
		request := placement.RequestEvents{Cause: placement.Cause{
			RequestID: text.R, GlobalID: text.G, User: text.U, Project: text.P, Operation: text.O,
		}}
		for _, e := range text.E {
			for _, x := range e.X {
				request.Events = append(request.Events, placement.Event{
					What: placement.EventKind(e.W), Provider: placement.UUID(e.I), Name: e.N, Root: placement.UUID(e.T),
					OldRoot:  placement.UUID(e.F),
					Consumer: placement.UUID(e.C), Subject: x[0], Before: x[1], After: x[2],
				})
			}
		}
		entry.Requests = append(entry.Requests, request)
	}
	return entry
}
