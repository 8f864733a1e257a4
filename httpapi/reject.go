package httpapi

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// net/http answers a request it cannot parse by itself, in plain text, before
// any handler runs. The types here sit under it and put an error in the API's
// format in place of that text, and they give an answer without a body back its
// content-length. A request that only has a content-length which
// is no number is given to the handler after all: who sent it, which version and
// which path come before it in the order of checks.

type listener struct {
	net.Listener
	handler http.Handler
	format  Format
}

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, handler: l.handler, format: l.format}, nil
}

// A conn keeps what was read last, so that a rejection can name the mistake. It keeps a reference,
// not a copy: net/http rejects a request before it reads on, and reads and that write never
// overlap.
type conn struct {
	net.Conn
	handler http.Handler
	format  Format // of rejections; nil: Placement's
	last    []byte
	head    []byte // read in small pieces before last: net/http looks whether it is HTTP/2, or waits
	inHead  bool   // last is older than head

	begin []byte // what the client sent first, as far as it matters
	http2 bool   // the client speaks HTTP/2: nothing is text, and reads and writes overlap
}

// http2Begin is what HTTP/2 without TLS begins with and no request of HTTP/1.1
// does.
const http2Begin = "PRI "

// Read reads from the connection.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.http2 || c.isHTTP2(p[:n]) {
		return n, err
	}
	if n > 0 {
		c.remember(p[:n], len(p) <= sniffSize)
	}
	return n, err
}

// remember keeps what was read. Small pieces are copied, since their place is
// used again before the rest of the request comes.
func (c *conn) remember(read []byte, small bool) {
	if !c.inHead {
		c.head = c.head[:0]
	}
	if c.inHead = small; small {
		c.head = append(c.head, read...)
		return
	}
	c.last = read
}

// request returns the beginning of the request that was read last.
func (c *conn) request() []byte {
	if c.inHead {
		return c.last
	}
	return slices.Concat(c.head, c.last)
}

// sniffSize is the most that net/http reads when it looks what a connection is,
// or waits for its client to hang up; what it reads of a request otherwise is
// more.
const sniffSize = 64

// isHTTP2 notes whether the connection begins with p as HTTP/2 does.
func (c *conn) isHTTP2(p []byte) bool {
	if missing := len(http2Begin) - len(c.begin); missing > 0 {
		c.begin = append(c.begin, p[:min(missing, len(p))]...)
		c.http2 = string(c.begin) == http2Begin
	}
	return c.http2
}

// Write writes p, or its replacement when p is a rejection.
func (c *conn) Write(p []byte) (int, error) {
	if c.http2 {
		return c.Conn.Write(p)
	}
	if bytes.HasPrefix(p, noContent) {
		return c.writeEmpty(p)
	}
	status, reason, ok := rejection(p)
	if !ok {
		return c.Conn.Write(p)
	}
	answer := c.reconsidered(status)
	if answer == nil {
		answer = rejected(c.format, status, reason)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// noContent begins an answer without a body.
var noContent = []byte("HTTP/1.1 204 No Content\r\n")

// writeEmpty writes an answer of status 204 with the content-length that upstream sends and
// net/http removes.
func (c *conn) writeEmpty(p []byte) (int, error) {
	whole := append(make([]byte, 0, len(p)+len(noLength)), noContent...)
	whole = append(whole, noLength...)
	whole = append(whole, p[len(noContent):]...)
	if _, err := c.Conn.Write(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

const noLength = "Content-Length: 0\r\n"

// reconsidered returns the handler's answer to a request whose only fault is its
// content-length, nil for any other.
func (c *conn) reconsidered(status int) []byte {
	header, length, ok := withoutLength(c.request())
	if status != http.StatusBadRequest || !ok || c.handler == nil {
		return nil
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(header)))
	if err != nil {
		return nil
	}
	r.RemoteAddr = c.RemoteAddr().String()
	if t, ok := c.Conn.(*tls.Conn); ok {
		state := t.ConnectionState()
		r.TLS = &state
	}
	w := &memory{header: make(http.Header), status: http.StatusOK}
	ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, c.LocalAddr())
	c.handler.ServeHTTP(w, r.WithContext(context.WithValue(ctx, lengthKey{}, length)))
	return w.answer(r.Method)
}

// lengthKey is the context key of a content-length that is no length.
type lengthKey struct{}

// oddLength returns the text of such a content-length. An empty one and a negative number mean no
// body, as for upstream.
func oddLength(r *http.Request) (text string, ok bool) {
	text, ok = r.Context().Value(lengthKey{}).(string)
	if !ok || text == "" {
		return "", false
	}
	if n, err := strconv.Atoi(text); err == nil && n <= 0 {
		return "", false
	}
	return text, true
}

// A memory keeps an answer.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memory) Header() http.Header         { return m.header }
func (m *memory) WriteHeader(status int)      { m.status = status }
func (m *memory) Write(p []byte) (int, error) { return m.body.Write(p) }

// answer returns the answer as it goes over the wire.
func (m *memory) answer(method string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", m.status, statusTitle(m.status))
	m.header.Set("Connection", "close")
	m.header.Set("Content-Length", strconv.Itoa(m.body.Len()))
	_ = m.header.Write(&b) // a buffer takes all
	b.WriteString("\r\n")
	if method != http.MethodHead {
		b.Write(m.body.Bytes())
	}
	return b.Bytes()
}

// CloseWrite ends the writing half, so that a rejection reaches a client that
// is still sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

const (
	rejectionStart  = "HTTP/1.1 "
	rejectionHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
)

// rejection takes apart a status of 400 or above that net/http wrote by itself.
// No handler's answer looks like it: those carry a date.
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

// isErrorLine reports whether p begins with a status of 400 or above. Most
// answers do not.
func isErrorLine(p []byte) bool {
	return len(p) >= len(rejectionStart)+3 && string(p[:len(rejectionStart)]) == rejectionStart && p[len(rejectionStart)] >= '4'
}

// rejected returns the whole answer, in the format of an API's errors, to a request
// that cannot be read. Nil is Placement's format.
func rejected(as Format, status int, reason string) []byte {
	p := &problem{status: status, detail: reason, requestID: newRequestID()}
	media, body := mediaJSON, []byte(nil)
	if as == nil {
		body = p.json()
	} else {
		media, body = as(Problem{Status: status, Detail: cmp.Or(reason, explanations[status], statusTitle(status)), Unserved: true})
	}
	again := ""
	if status == http.StatusServiceUnavailable {
		again = "Retry-After: " + retryAfter + "\r\n"
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s: %s\r\n%sConnection: close\r\n\r\n%s",
		status, statusTitle(status), media, len(body), RequestIDHeader, p.requestID, again, body)
}

// withoutLength returns the header of the first request in last whose
// content-length net/http does not accept, without that field, and its text.
func withoutLength(last []byte) (header []byte, length string, ok bool) {
	const end = "\r\n\r\n"
	for {
		head, rest, whole := bytes.Cut(last, []byte(end))
		if !whole {
			return nil, "", false
		}
		if header, length, ok = cutLength(append(slices.Clip(head), end...)); ok {
			return header, length, true
		}
		last = rest
	}
}

// cutLength takes content-length out of a header and reports whether it was
// none.
func cutLength(head []byte) (header []byte, length string, odd bool) {
	for line := range bytes.Lines(head) {
		name, value, isField := bytes.Cut(line, []byte(":"))
		if !isField || !bytes.EqualFold(name, []byte("content-length")) {
			header = append(header, line...)
			continue
		}
		length = string(bytes.TrimSpace(value))
		_, err := strconv.ParseUint(length, 10, 63)
		odd = odd || err != nil
	}
	return header, length, odd
}
