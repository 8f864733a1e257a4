package httpapi

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// net/http answers a request that it cannot parse by itself: in plain text, before any handler
// runs. A conn is between net/http and the connection, and changes three things on the way:
//
//   - a rejection gets the API's error format, which clients of upstream parse;
//   - a Content-Length that is no number is hidden from net/http, so that the API refuses the
//     request, after the caller and the version as upstream does (RFC 9112, 6.3: 400, and the
//     connection ends);
//   - an answer of status 204 gets the Content-Length: 0 that upstream sends.
//
// It changes text of HTTP/1.1 only. Frames of HTTP/2 contain none of these texts at the beginning
// of a line: bodies are JSON, where no line begins with a letter of a header's name.

// A listener returns the connections of another one as conns.
type listener struct {
	net.Listener
	format Format
}

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, format: l.format}, nil
}

// A conn is one connection of a listener. As with any net.Conn, one goroutine may read while
// another one writes.
type conn struct {
	net.Conn
	format Format // of rejections; nil: Placement's
}

// Read reads from the connection, and hides each malformed Content-Length that is read in one
// piece. net/http rejects the rare one that is not.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	hideLengths(p[:n])
	return n, err
}

// Write writes p, with the changes to rejections and empty answers. net/http writes each of these
// in one piece. The number that it returns is of bytes of p: the caller does not know of changes.
func (c *conn) Write(p []byte) (int, error) {
	changed := p
	if rest, empty := bytes.CutPrefix(p, noContent); empty {
		changed = bytes.Join([][]byte{noContent, []byte("Content-Length: 0\r\n"), rest}, nil)
	} else if status, reason, ok := rejection(p); ok {
		changed = rejected(c.format, status, reason)
	}
	n, err := c.Conn.Write(changed)
	if err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// CloseWrite ends the writing half, so that a rejection reaches a client that is still sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

const (
	lengthHeader = "Content-Length"
	// hiddenLength is the header's name in place of Content-Length when the value is no length. No
	// client sends it.
	hiddenLength = "Content-Lengt!"
)

// hideLengths changes the name of each Content-Length in a piece of a request whose value is not a
// length, so that net/http takes the request for one without a body.
func hideLengths(piece []byte) {
	for line := range bytes.Lines(piece) {
		if len(line) <= len(lengthHeader) || line[len(lengthHeader)] != ':' ||
			!bytes.EqualFold(line[:len(lengthHeader)], []byte(lengthHeader)) {
			continue
		}
		value := bytes.TrimSpace(line[len(lengthHeader)+1:])
		if _, err := strconv.ParseUint(string(value), 10, 63); err != nil {
			copy(line, hiddenLength)
		}
	}
}

// malformedLength reports whether a request has a Content-Length that is no length. An empty one
// and a negative number mean no body, as for upstream.
func malformedLength(r *http.Request) bool {
	text := r.Header.Get(hiddenLength)
	n, err := strconv.Atoi(text)
	return text != "" && (err != nil || n > 0)
}

// noContent begins an answer of status 204.
var noContent = []byte("HTTP/1.1 204 No Content\r\n")

const (
	// These are the texts around the status and the reason in an answer that net/http makes by
	// itself.
	rejectionStart  = "HTTP/1.1 "
	rejectionHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
)

// rejection takes apart a status of 400 or above that net/http wrote by itself. No handler's answer
// looks like it: those have a date.
func rejection(p []byte) (status int, reason string, ok bool) {
	if len(p) > 1024 || !isErrorLine(p) {
		return 0, "", false
	}
	line, body, ok := strings.Cut(string(p), rejectionHeader)
	if !ok || strings.Contains(line, "\r\n") {
		return 0, "", false
	}
	status, err := strconv.Atoi(line[len(rejectionStart):][:3])
	if err != nil {
		return 0, "", false
	}
	_, reason, _ = strings.Cut(body, ": ")
	return status, reason, true
}

// isErrorLine reports whether p begins with a status of 400 or above. Most answers do not.
func isErrorLine(p []byte) bool {
	return len(p) >= len(rejectionStart)+3 && string(p[:len(rejectionStart)]) == rejectionStart &&
		p[len(rejectionStart)] >= '4'
}

// rejected returns the whole answer, in the format of an API's errors, to a request that cannot be
// read. Nil is Placement's format.
func rejected(as Format, status int, reason string) []byte {
	p := &problem{status: status, detail: reason, requestID: newRequestID()}
	media, body := mediaJSON, []byte(nil)
	if as == nil {
		body = p.json()
	} else {
		media, body = as(Problem{
			Status: status, Detail: cmp.Or(reason, explanations[status], statusTitle(status)), Unserved: true,
		})
	}
	again := ""
	if status == http.StatusServiceUnavailable {
		again = "Retry-After: " + retryAfter + "\r\n"
	}
	return fmt.Appendf(nil,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s: %s\r\n%sConnection: close\r\n\r\n%s",
		status, statusTitle(status), media, len(body), RequestIDHeader, p.requestID, again, body)
}
