package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A tlsListener shakes hands with the clients of another listener, each in a goroutine of its own,
// so that a slow one delays itself only. It accepts connections that agreed on a protocol. They are
// a *tls.Conn each, as net/http requires for HTTP/2.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration
	log     *slog.Logger
	metrics *Metrics

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	// ready and failed have no buffer: a connection waits, with its handshake done, for a call of
	// Accept.
	ready  chan net.Conn
	failed chan error
	tasks  sync.WaitGroup
}

// tlsTimeout bounds a handshake where the time for headers is not bounded.
const tlsTimeout = 10 * time.Second

// newTLSListener begins to accept connections of ln, before the first call of Accept. A client that
// supports HTTP/2 gets it when opts enable it.
func newTLSListener(ln net.Listener, opts ServeOptions) *tlsListener {
	protocols := []string{"http/1.1"}
	if opts.HTTP2 {
		protocols = []string{"h2", "http/1.1"}
	}
	l := &tlsListener{
		Listener: ln, config: opts.TLS.server(protocols...), timeout: tlsTimeout,
		log: opts.Log, metrics: opts.Metrics.orUnread(), ready: make(chan net.Conn), failed: make(chan error),
	}
	if t := opts.ReadHeaderTimeout; t > 0 {
		l.timeout = t
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.tasks.Go(l.acceptAll)
	return l
}

// acceptAll begins handshakes until the listener is closed. Accept returns its errors; its caller
// waits before the next attempt.
func (l *tlsListener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			l.tasks.Go(func() { l.handshake(c) })
			continue
		}
		select {
		case l.failed <- err:
		case <-l.ctx.Done():
			return
		}
	}
}

// Accept returns the next connection whose handshake is done.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener, ends the handshakes under way and returns when all
// goroutines have ended.
func (l *tlsListener) Close() error {
	err := l.Listener.Close()
	l.cancel()
	l.tasks.Wait()
	return err
}

// handshake shakes hands with one client, within the time-out, and hands the connection to Accept
// or closes it.
func (l *tlsListener) handshake(c net.Conn) {
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	t := tls.Server(c, l.config)
	if err := t.HandshakeContext(ctx); err != nil {
		l.refuse(c, err)
		return
	}
	select {
	case l.ready <- t:
	case <-l.ctx.Done():
		t.Close() // the listener is closed: no caller is left
	}
}

// httpBegins are what a request without TLS begins with. They have five bytes each, as many as
// crypto/tls reads before it finds that they are no TLS record.
var httpBegins = []string{"GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO", "PATCH"}

// refuse ends a connection without TLS, and answers a client that sends plain HTTP.
func (l *tlsListener) refuse(c net.Conn, err error) {
	defer c.Close()
	if l.ctx.Err() != nil {
		return
	}
	l.metrics.handshakes.Inc()
	l.log.Debug("a TLS handshake failed", "client", c.RemoteAddr().String(), "error", err)
	var re tls.RecordHeaderError
	if errors.As(err, &re) && re.Conn != nil && slices.Contains(httpBegins, string(re.RecordHeader[:])) {
		if c.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
			c.Write(rejection(http.StatusBadRequest, "This port speaks TLS: use https.")) // it may have disconnected
		}
	}
}
