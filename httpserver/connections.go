package httpserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// LimitSettings bound the connections of one or several listeners. The zero value bounds nothing.
type LimitSettings struct {
	Max       int     // at a time; further ones wait until one ends. 0 is no bound.
	PerClient int     // from one address; further ones are answered with 503 and closed. 0 is no bound.
	Exempt    Proxies // not bound by PerClient
}

// A ConnLimit counts connections and bounds them. Listeners that share one are bounded together. It
// may be used from many goroutines.
type ConnLimit struct {
	metrics *Metrics
	leaving chan struct{} // has a value for each refused client that is being answered

	mu       sync.Mutex // guards all below
	settings LimitSettings
	open     int
	// byClient has the number of open connections by address. Those of Unix sockets share the
	// invalid address, which PerClient does not bound.
	byClient map[netip.Addr]int
	changed  chan struct{} // closed when a connection ends or the settings change
}

// maxLeaving bounds the refused clients that get an answer at a time; the others are disconnected.
const maxLeaving = 64

// NewConnLimit returns a ConnLimit. Metrics may be nil.
func NewConnLimit(s LimitSettings, m *Metrics) *ConnLimit {
	return &ConnLimit{
		metrics: m.orUnread(), settings: s, byClient: make(map[netip.Addr]int),
		leaving: make(chan struct{}, maxLeaving), changed: make(chan struct{}),
	}
}

// Set changes the bounds of new connections. Existing ones are kept, even when they exceed the new
// bounds.
func (l *ConnLimit) Set(s LimitSettings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settings = s
	l.wake()
}

// wake wakes those that wait; the caller has locked mu.
func (l *ConnLimit) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// A verdict is what becomes of a connection.
type verdict int

const (
	admitted verdict = iota
	tooMany          // wait until changed is closed
	refused          // this client has enough
)

// admit counts a connection in if it may be. changed is nil unless the verdict is tooMany. A client
// that has enough is refused even while all places are taken, so that it does not wait in front of
// others.
func (l *ConnLimit) admit(client netip.Addr) (v verdict, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.settings
	switch {
	case s.PerClient > 0 && client.IsValid() && l.byClient[client] >= s.PerClient && !s.Exempt.contains(client):
		return refused, nil
	case s.Max > 0 && l.open >= s.Max:
		return tooMany, l.changed
	}
	l.open++
	l.byClient[client]++
	l.metrics.connections.Inc()
	return admitted, nil
}

// release counts a connection out.
func (l *ConnLimit) release(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byClient[client]--; l.byClient[client] == 0 {
		delete(l.byClient, client)
	}
	l.metrics.connections.Dec()
	l.wake()
}

// A limitedListener accepts what a ConnLimit admits.
type limitedListener struct {
	net.Listener
	limit *ConnLimit
	tls   bool // a refused client cannot be answered in plain text

	closed chan struct{}
	tasks  sync.WaitGroup // of refused clients

	mu   sync.Mutex // guards done, and that no task begins once it is set
	done bool
}

// newLimitedListener puts the bounds of o.Limit, which is not nil, on a listener.
func newLimitedListener(ln net.Listener, o ServeOptions) *limitedListener {
	return &limitedListener{Listener: ln, limit: o.Limit, tls: o.TLS != nil, closed: make(chan struct{})}
}

// Accept returns the next connection that is admitted. One that must wait is kept open; those
// behind it wait in the kernel, which bounds them.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c)
		switch l.wait(client) {
		case admitted:
			return &countedConn{Conn: c, release: func() { l.limit.release(client) }}, nil
		case refused:
			l.refuse(c)
		default:
			c.Close() // nothing was sent
			return nil, net.ErrClosed
		}
	}
}

// wait returns the verdict on a client: tooMany only when the listener is
// closed.
func (l *limitedListener) wait(client netip.Addr) verdict {
	v, changed := l.limit.admit(client)
	if v == tooMany {
		l.limit.metrics.delayed.Inc() // once, when the wait begins
	}
	for v == tooMany {
		select {
		case <-changed:
			v, changed = l.limit.admit(client)
		case <-l.closed:
			return tooMany
		}
	}
	return v
}

// clientOf returns the address of the peer, none for a Unix socket. An IPv4 address in IPv6 form,
// or a zone, does not make it another client.
func clientOf(c net.Conn) netip.Addr {
	addr, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr().Unmap().WithZone("")
}

// refuse ends a connection without delaying the next one. Beyond maxLeaving it is closed without an
// answer, and with TLS always, since plain text is of no use to a client that waits for a
// handshake.
func (l *limitedListener) refuse(c net.Conn) {
	l.limit.metrics.refusedConns.Inc() // whether the client gets an answer or not
	select {
	case l.limit.leaving <- struct{}{}:
	default:
		c.Close()
		return
	}
	l.begin(func() {
		defer func() { <-l.limit.leaving }()
		defer c.Close()
		if !l.tls {
			dismiss(c)
		}
	})
}

// begin runs a task concurrently with the listener, or at once when that is closed.
func (l *limitedListener) begin(task func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		task()
		return
	}
	l.tasks.Go(task)
}

// dismiss answers a client why it is not served. It first reads what the client sends, for a
// moment: closing a connection with unread data loses the answer. It takes a second at most, and
// reads at most 64 KiB.
func dismiss(c net.Conn) {
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	_, err := c.Write(rejection(http.StatusServiceUnavailable, "This client has too many connections."))
	if err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(c, 64<<10)) // it is of no interest
	}
}

// rejection returns the whole answer to a client whose request is not read, in the plain text that
// net/http writes in such a case. With 503 goes the advice to try again.
func rejection(status int, reason string) []byte {
	line, again := fmt.Sprintf("%d %s", status, http.StatusText(status)), ""
	if status == http.StatusServiceUnavailable {
		again = "Retry-After: " + retryAfter + "\r\n"
	}
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n%sConnection: close\r\n\r\n%s: %s",
		line, again, line, reason)
}

// Close closes the listener and returns when all goroutines have ended, which
// takes a second at most.
func (l *limitedListener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	if !l.done {
		l.done = true
		close(l.closed)
	}
	l.mu.Unlock()
	l.tasks.Wait()
	return err
}

// A countedConn is counted out when it is closed. Close may be called more than once, and counts
// once.
type countedConn struct {
	net.Conn
	release func()
	once    sync.Once
}

// Close closes the connection.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// CloseWrite ends the writing half.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("closing one half of %s: %w", c.LocalAddr(), net.ErrClosed)
}
