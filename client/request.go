package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/berthcloud/berth/identity/hostkey"
)

// A request is one call of an API.
type request struct {
	method  string
	path    string // below the service's address, with its query
	version string // value of the header OpenStack-API-Version, "" for none
	body    any    // that becomes JSON; nil for none
	once    bool   // not idempotent
	// revision is the expected one of the object (If-Match), 0 for any. A request with one is sent
	// once: after a retry it would be unknown which of the two was refused.
	revision int64

	held time.Duration // how long the service may delay the answer, on request
}

func (q *request) encode() ([]byte, error) {
	if q.body == nil {
		return nil, nil
	}
	return json.Marshal(q.body)
}

// build returns the request as it is sent.
func (q *request) build(endpoint, token, hostKey, id string, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(q.method, endpoint+q.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "berth")
	for name, value := range map[string]string{"OpenStack-API-Version": q.version, "X-Openstack-Request-Id": id, hostkey.Header: hostKey} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.revision != 0 {
		r.Header.Set("If-Match", fmt.Sprintf("revision_number=%d", q.revision))
	}
	if !q.onlyOnce() {
		// A key without a value is not sent, and lets net/http repeat a request that used a
		// connection which the server was closing.
		r.Header["Idempotency-Key"] = nil
	}
	return r, nil
}

// onlyOnce reports whether a request must not be repeated that may have been carried out.
func (q *request) onlyOnce() bool { return q.once || q.revision != 0 }

// An answer is a complete response.
type answer struct {
	status int
	body   []byte
}

// A checker is the destination of an answer. Its check distinguishes the service's JSON from other
// JSON.
type checker interface{ check() bool }

// A quickReadable has a faster decoder for the usual form. It reports whether that was applicable.
type quickReadable interface{ quick(body []byte) bool }

// decode reads an answer into out. Without out, the body must be empty or JSON.
func (a *answer) decode(out checker) error {
	if out == nil {
		if len(a.body) > 0 && !json.Valid(a.body) {
			return errors.New("it is not JSON")
		}
		return nil
	}
	if q, ok := out.(quickReadable); ok && q.quick(a.body) {
		return nil
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return err
	}
	if !out.check() {
		return errors.New("what has to be in it is missing")
	}
	return nil
}
