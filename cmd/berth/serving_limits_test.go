package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// One client that keeps connections open does not lock out the others, with the default settings.
func TestOneClientDoesNotTakeAllConnections(t *testing.T) {
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nlisten = 127.0.0.1:0\ntrusted_proxies =")
	r := launch(t, nil, nil, "placement", "serve", "--config", conf)
	addr := r.logged(`\bready .*\baddress=(\S+)`)
	dial := func(from string) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	answer := func(c net.Conn) string {
		if err := c.SetDeadline(time.Now().Add(hangTime)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(c) // a refused one may be reset behind its answer
		return string(text)
	}
	const bound = 1000
	var connections net.Conn
	for range bound {
		connections = dial("127.0.0.1")
	}
	if got := answer(dial("127.0.0.1")); !strings.HasPrefix(got, "HTTP/1.1 503 ") {
		t.Errorf("connection %d of a client is answered with %.100q", bound+1, got)
	}
	if got := answer(dial("127.0.0.2")); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("another client is answered with %.100q", got)
	}
	if got := answer(connections); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("connection %d of the first is answered with %.100q", bound, got)
	}
}
