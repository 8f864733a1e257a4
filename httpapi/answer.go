package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// ReadBody returns the whole body of a request, nil for none. The error is an *Error: 413 past the
// API's limit, 408 when the client was too slow, 400 when the connection ended early.
func ReadBody(r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	b, err := readAll(r)
	if err == nil {
		return b, nil
	}
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, tooLarge(big.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout}
	}
	return nil, &Error{Status: http.StatusBadRequest, Detail: "The body of the request ended early."}
}

// BoundBody bounds the body of a request, in bytes, below what the API takes as a whole. The error
// is 413 for one that is known to be longer; it is that of [ReadBody] for any other.
func BoundBody(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(innermost(w), r.Body, limit)
	}
	return nil
}

// readAll reads a body of known length into a buffer of that size, but does not allocate megabytes
// before they arrive. A body of more than 1 MiB, and one in chunks, whose length is unknown, is
// read into a buffer that grows with what has arrived: the header alone reserves no memory.
func readAll(r *http.Request) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= 1<<20 {
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	return io.ReadAll(r.Body)
}

// tooLarge returns the 413 for a body of more than limit bytes, which Content-Length announces or
// the reading finds. Upstream's pipeline (placement.deploy) has no such bound.
func tooLarge(limit int64) error {
	return &Error{
		Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("At most %d bytes are taken.", limit),
	}
}

// SetLastModified sets Last-Modified, to the second, and Cache-Control: no-cache, which upstream
// always sends together.
func SetLastModified(h http.Header, t time.Time) {
	h["Last-Modified"] = []string{t.UTC().Format(http.TimeFormat)}
	SetNoCache(h)
}

// SetNoCache sets Cache-Control: no-cache, for an answer without Last-Modified.
func SetNoCache(h http.Header) { h["Cache-Control"] = noCache }

// noCache is one slice for all answers. Nothing appends to it or writes to its element.
var noCache = []string{"no-cache"}

// NoAuth is the Authenticator of upstream's strategy noauth2, which trusts what the token says of
// itself. It is for trials and tests: everybody may be the administrator, and acts for every host.
// The fault is Unauthentic without a token.
func NoAuth(r *http.Request) (identity.Caller, error) {
	c, ok := identity.NoAuth(func(name string) (string, bool) {
		values, sent := r.Header[name]
		return strings.Join(values, ","), sent
	})
	if !ok {
		return c, fault.New(fault.Unauthentic, "", "no token")
	}
	c.AllHosts = true
	return c, nil
}
