package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/identity/hostkey"
)

// A Request is one call of an API.
type Request struct {
	Method  string
	Path    string // below the service's address, with its query
	Version string // value of the header OpenStack-API-Version, "" for none
	Body    any    // that becomes JSON; nil for none
	Once    bool   // not idempotent
	// Revision is the expected one of the object (If-Match), 0 for any. A request with one is sent
	// once: after a retry it would be unknown which of the two was refused.
	Revision int64

	Wait time.Duration // how long the service may delay the answer, on request

	large bool // the answer is read into one of buffers
}

func (q *Request) encode() ([]byte, error) {
	if q.Body == nil {
		return nil, nil
	}
	return json.Marshal(q.Body)
}

// build returns the request as it is sent.
func (q *Request) build(endpoint, token, hostKey, id string, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(q.Method, endpoint+q.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "berth")
	for name, value := range map[string]string{
		"OpenStack-API-Version": q.Version, "X-Openstack-Request-Id": id, hostkey.Header: hostKey,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.Revision != 0 {
		r.Header.Set("If-Match", fmt.Sprintf("revision_number=%d", q.Revision))
	}
	if !q.onlyOnce() {
		// A key without a value is not sent, and lets net/http repeat a request that used a
		// connection which the server was closing.
		r.Header["Idempotency-Key"] = nil
	}
	return r, nil
}

// onlyOnce reports whether a request must not be repeated that may have been carried out.
func (q *Request) onlyOnce() bool { return q.Once || q.Revision != 0 }

// An Answer is a complete response.
type Answer struct {
	Status int
	Body   []byte
	buffer *bytes.Buffer // that Body is in, if it is one of buffers
}

// buffers are those of large answers that were decoded. Thousands of candidates are megabytes, for
// which memory would otherwise be allocated, cleared and collected with each answer. Small answers
// do not take part, since theirs would have to grow.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// discard lets another answer use the memory of the body, which must not be used any more.
func (a *Answer) discard() {
	if a.buffer != nil {
		buffers.Put(a.buffer)
		a.buffer, a.Body = nil, nil
	}
}

// A Document is the destination of an answer. Valid distinguishes the service's JSON from other
// JSON.
type Document interface{ Valid() bool }

// A QuickReader is a Document with a faster decoder for the usual form. It reports whether that was
// applicable, and does not keep the body.
type QuickReader interface{ QuickRead(body []byte) bool }

// decode reads an answer into out. Without out, the body must be empty or JSON.
func (a *Answer) decode(out Document) error {
	if out == nil {
		if len(a.Body) > 0 && !json.Valid(a.Body) {
			return errors.New("it is not JSON")
		}
		return nil
	}
	if q, ok := out.(QuickReader); ok && q.QuickRead(a.Body) {
		return nil
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		return err
	}
	if !out.Valid() {
		return errors.New("a required field is missing")
	}
	return nil
}
