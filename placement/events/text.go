package events

import (
	"encoding/json"
	"strings"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/placement"
)

// Events in the body of an entry of the change log: after its first line, which is the store's, a
// line for each request that changed something, in JSON.
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

// AppendRequests appends the lines of requests to the first line of a body.
func AppendRequests(body []byte, requests []placement.RequestEvents) []byte {
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

// A requestJSON is a line.
type requestJSON struct {
	R, G, U, P, O string
	E             []struct {
		W, I, N, T, F, C string
		X                [][3]string
	}
}

// A Transaction is an entry of the change log with its events.
type Transaction struct {
	changelog.Entry // without its body
	Requests        []placement.RequestEvents
	// Unlisted says that the transaction changed more than is listed, or was written by a program that
	// lists nothing.
	Unlisted bool
	// Texts are those of the events in their order, as the render function of the feed writes them.
	Texts [][]byte
}

// Len is how many events the transaction has.
func (t *Transaction) Len() (n int) {
	for _, r := range t.Requests {
		n += len(r.Events)
	}
	return n
}

// Decode reads the events in the body of an entry. What it does not understand is not listed; an
// entry without a time is by a program that lists nothing.
func Decode(e changelog.Entry) Transaction {
	t := Transaction{Entry: e, Unlisted: e.Time.IsZero() && !e.Void}
	t.Body = ""
	if e.Time.IsZero() {
		return t
	}
	for _, line := range strings.Split(e.Body, "\n")[1:] {
		var text requestJSON
		if line == unlisted || json.Unmarshal([]byte(line), &text) != nil {
			t.Unlisted = true
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
		t.Requests = append(t.Requests, request)
	}
	return t
}
