package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// net/http answers a request it cannot parse by itself, in plain text, before
// any handler runs. The types here sit under it and put an error in the API's
// format in place of that text.

type listener struct{ net.Listener }

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// A conn remembers what was read last, so that a rejection can say what was
// wrong. It keeps a reference, not a copy: net/http rejects a request before it
// reads on, and reads and that write never overlap.
type conn struct {
	net.Conn
	last []byte
}

// Read reads from the connection.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// The one-byte read that waits for a client to hang up says nothing.
	if n > 1 {
		c.last = p[:n]
	}
	return n, err
}

// Write writes p, or what stands for it when p is a rejection.
func (c *conn) Write(p []byte) (int, error) {
	status, reason, ok := rejection(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(rejected(status, reason, c.last)); err != nil {
		return 0, err
	}
	return len(p), nil
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
	if len(p) > 1024 || len(p) < len(rejectionStart)+3 || string(p[:len(rejectionStart)]) != rejectionStart {
		return 0, "", false
	}
	line, body, ok := strings.Cut(string(p), rejectionHeader)
	if !ok || strings.Contains(line, "\r\n") {
		return 0, "", false
	}
	status, err := strconv.Atoi(line[len(rejectionStart):][:3])
	if err != nil || status < http.StatusBadRequest {
		return 0, "", false
	}
	_, reason, _ = strings.Cut(body, ": ")
	return status, reason, true
}

// rejected returns the whole answer to a request that began with header.
func rejected(status int, reason string, header []byte) []byte {
	if status == http.StatusBadRequest && badLength(header) {
		reason = "content-length header must be an integer"
	}
	p := &problem{status: status, detail: reason, requestID: newRequestID()}
	body := p.json()
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s: %s\r\nConnection: close\r\n\r\n%s",
		status, statusTitle(status), mediaJSON, len(body), RequestIDHeader, p.requestID, body)
}

// badLength reports whether a header has a content-length that is no integer.
func badLength(header []byte) bool {
	for line := range bytes.Lines(header) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !bytes.EqualFold(name, []byte("content-length")) {
			continue
		}
		if _, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
			return true
		}
	}
	return false
}
