// Package httpserver is the server below Berth's HTTP surfaces: listeners, time-outs, TLS whose
// certificates are reloaded, bounds of connections and of requests, names of hosts, headers of
// proxies, compression, a graceful end, and the operators' listener. It knows no API, route,
// version or policy: package httpapi has those.
//
// To read it, follow a connection inwards:
//
//	serve.go            Serve: time-outs, HTTP/2, the graceful end
//	connections.go, handshake.go, certificates.go, descriptors.go, unix.go
//	                    listeners: bounds, TLS, certificates that are reloaded, sockets
//	front.go, hosts.go, forwarded.go, compress.go
//	                    Front: bounds of requests, host names, proxies, prefix, gzip
//	switch.go           Switch: handlers that are replaced while they serve
//	ops.go              the operators' listener
//
// Requests that cannot be read as HTTP are answered by net/http.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServeOptions bound what a client may cost. Zero durations and sizes mean the defaults in the
// comments; negative durations mean no bound, except for StopTimeout.
type ServeOptions struct {
	ReadHeaderTimeout time.Duration // for the header; 10 s
	ReadTimeout       time.Duration // for header and body; 60 s
	WriteTimeout      time.Duration // from the header to the end of the answer; 5 min
	IdleTimeout       time.Duration // between requests; 2 min
	StopTimeout       time.Duration // for requests in flight when stopping; 30 s
	MaxHeaderBytes    int           // 64 KiB, and some slack that net/http adds
	Log               *slog.Logger  // what goes wrong below HTTP; nil discards

	HTTP2      bool          // support HTTP/2 too, over TLS and without
	MaxStreams int           // requests under way on one HTTP/2 connection; 250
	TLS        *Certificates // nil: no TLS
	Limit      *ConnLimit    // nil: no bound on connections
	Metrics    *Metrics      // nil measures nothing
}

// withDefaults returns the options with a default in place of each zero. A negative duration is
// left to net/http, which takes it for no bound.
func (o ServeOptions) withDefaults() ServeOptions {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.ReadHeaderTimeout, 10 * time.Second},
		{&o.ReadTimeout, time.Minute},
		{&o.WriteTimeout, 5 * time.Minute},
		{&o.IdleTimeout, 2 * time.Minute},
		{&o.StopTimeout, 30 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.MaxHeaderBytes == 0 {
		o.MaxHeaderBytes = 64 << 10
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 250
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Serve answers the requests that arrive at ln with h until ctx ends. It then accepts no more
// connections, lets requests in flight finish within StopTimeout, cuts off the rest, and returns
// when everything that it started has stopped. It returns nil after an orderly stop, and an error
// when it had to cut requests off or the listener failed. It closes ln.
//
// Requests that are too malformed to reach h are answered by net/http, in plain text.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, opts ServeOptions) error {
	opts = opts.withDefaults()
	srv := &http.Server{
		Handler: closing(h),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, ctx.Done())
		},
		ReadHeaderTimeout:            opts.ReadHeaderTimeout,
		ReadTimeout:                  opts.ReadTimeout,
		WriteTimeout:                 opts.WriteTimeout,
		IdleTimeout:                  opts.IdleTimeout,
		MaxHeaderBytes:               opts.MaxHeaderBytes,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is the API's to refuse
		ErrorLog:                     slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
		Protocols:                    opts.protocols(),
		HTTP2:                        opts.http2(),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(opts.wrap(ln)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	return stop(srv, failed, opts)
}

// stoppingKey is the key of the channel that Stopping returns.
type stoppingKey struct{}

// Stopping returns a channel that is closed when the server of a request stops: an answer that has
// no end is to end then. It is nil for a request that no Serve serves.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// closing has a connection closed after a request whose end its client and a proxy between may see
// elsewhere than this server: the next request could be a piece of this one's body. That is so with
// both Transfer-Encoding and Content-Length, and with Transfer-Encoding in HTTP/1.0 (RFC 9112,
// 6.1). net/http takes the second field away in both cases, before it can be seen, so that all
// requests in chunks and all of HTTP/1.0 end their connection.
func closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0) {
			w.Header()["Connection"] = connectionClose
		}
		next.ServeHTTP(w, r)
	})
}

var connectionClose = []string{"close"}

// wrap puts the layers of a connection on a listener: its bounds and TLS.
func (o ServeOptions) wrap(ln net.Listener) net.Listener {
	ln = &shortListener{Listener: ln, log: o.Log}
	if o.Limit != nil {
		ln = newLimitedListener(ln, o)
	}
	if o.TLS != nil {
		return newTLSListener(ln, o)
	}
	return ln
}

// protocols returns what a connection may speak. Without TLS, HTTP/2 is for clients that begin with
// it (RFC 9113, section 3.3); there is no upgrade from HTTP/1.1.
func (o ServeOptions) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(o.HTTP2)
	p.SetUnencryptedHTTP2(o.HTTP2)
	return p
}

// http2 bounds the cost of an HTTP/2 connection. A ping detects a client that has disappeared, the
// bytes it does not accept one that does not read.
func (o ServeOptions) http2() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: o.MaxStreams,
		SendPingTimeout:      30 * time.Second,
		PingTimeout:          15 * time.Second,
		WriteByteTimeout:     time.Minute,
	}
}

// stop ends a server. Requests under way have StopTimeout to end; the rest is cut off, and that is
// an error. failed has one value, the result of srv.Serve.
func stop(srv *http.Server, failed <-chan error, opts ServeOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), opts.StopTimeout)
	defer cancel()
	err := srv.Shutdown(ctx)
	if err != nil {
		srv.Close() // the listener is closed already; only connections are left
		err = fmt.Errorf("requests were cut off after %s: %w", opts.StopTimeout, err)
	}
	if serr := <-failed; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
