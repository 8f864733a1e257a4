package ovsdb

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A Config configures a Client. Fields that are zero have the default that stands next to them.
type Config struct {
	Remotes  []Remote    // tried in turn; at least one
	TLS      *tls.Config // for ssl: remotes
	Database string      // such as "Open_vSwitch" or "OVN_Southbound"
	Leader   bool        // of a cluster, use the leader only

	// Tables are watched, with these of their columns. Those that a database of another version
	// does not have are omitted. None: nothing is watched.
	Tables map[string][]string

	Timeout    time.Duration // 10 s: of a request, of waiting for a connection, and, 10 s at most, of connecting
	Probe      time.Duration // 5 s: silence after which an echo is requested; after twice that the connection is lost
	MaxBackoff time.Duration // 8 s: between attempts when no remote could be used; the first are shorter
	MaxMessage int           // 64 MiB: bytes of a message from the server
	Log        *slog.Logger  // nil: nothing is logged

	// Dial connects to a remote. The default does what the remote says.
	Dial func(ctx context.Context, r Remote) (net.Conn, error)
}

const (
	minBackoff = 100 * time.Millisecond
	maxDial    = 10 * time.Second // then the next remote is tried
)

// A Client is connected to a database while its Run does. Its methods may be called concurrently,
// except Next.
type Client struct {
	config Config
	mirror *mirror

	mu      sync.Mutex
	conn    *conn         // nil: not connected
	err     error         // why not
	changed chan struct{} // closed and replaced when conn changes
}

// New returns a Client that connects when it is run.
func New(config Config) *Client {
	config.Timeout = cmp.Or(config.Timeout, 10*time.Second)
	config.Probe = cmp.Or(config.Probe, 5*time.Second)
	config.MaxBackoff = max(cmp.Or(config.MaxBackoff, 8*time.Second), minBackoff)
	config.MaxMessage = cmp.Or(config.MaxMessage, 64<<20)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Dial == nil {
		config.Dial = func(ctx context.Context, r Remote) (net.Conn, error) { return dial(ctx, r, config.TLS) }
	}
	return &Client{config: config, mirror: newMirror(), err: errNotYet, changed: make(chan struct{})}
}

// Run connects, and connects again whenever the connection is lost, until the
// context ends, whose error it returns. All that it started has stopped then.
// Run it once.
func (c *Client) Run(ctx context.Context) error {
	backoff := time.Duration(0)
	reported := make(map[Remote]string) // what was logged last, so as not to repeat it
	for ctx.Err() == nil {
		for _, r := range c.config.Remotes {
			began := time.Now()
			used, err := c.session(ctx, r)
			c.publish(nil, err)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if used && time.Since(began) > c.config.MaxBackoff { // or a server that drops every client gets a request at once
				backoff = 0
			}
			if used || reported[r] != err.Error() {
				c.config.Log.Warn("OVSDB server not in use", "remote", r.String(), "database", c.config.Database, "error", err)
				reported[r] = err.Error()
			}
		}
		backoff = min(max(2*backoff, minBackoff), c.config.MaxBackoff)
		select {
		case <-time.After(backoff/2 + rand.N(backoff/2)):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// session uses one connection until it is lost. It says whether it could be used
// at all.
func (c *Client) session(ctx context.Context, r Remote) (used bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialing, stop := context.WithTimeout(ctx, min(c.config.Timeout, maxDial))
	socket, err := c.config.Dial(dialing, r)
	stop()
	if err != nil {
		return false, err
	}
	conn := &conn{
		net: socket, timeout: c.config.Timeout, pending: make(map[string]chan message), ended: make(chan struct{}),
	}
	conn.notify = c.notified(conn)
	var serving sync.WaitGroup
	serving.Go(func() { _ = conn.serve(c.config.Probe, c.config.MaxMessage) }) // users of conn receive why it ended
	defer serving.Wait()
	defer context.AfterFunc(ctx, func() { conn.end(ctx.Err()) })()
	if err := c.prepare(ctx, conn); err != nil {
		conn.end(err)
		return false, err
	}
	c.publish(conn, nil)
	c.config.Log.Info("OVSDB server in use", "remote", r.String(), "database", c.config.Database)
	<-conn.ended
	return true, conn.cause()
}

// prepare does what precedes the use of a connection.
func (c *Client) prepare(ctx context.Context, conn *conn) error {
	if c.config.Leader {
		if err := c.watchLeader(ctx, conn); err != nil {
			return err
		}
	}
	if len(c.config.Tables) == 0 {
		return nil
	}
	return c.watch(ctx, conn)
}

// notified returns what handles the notifications of a connection.
func (c *Client) notified(conn *conn) func(string, json.RawMessage) error {
	return func(method string, params json.RawMessage) error {
		if method != "update2" && method != "update3" {
			return nil // "locked" and "stolen" belong to locks, which this client does not use
		}
		var id string
		if err := list(params, &id); err != nil {
			return &ProtocolError{"an update", err}
		}
		if id == leaderMonitor {
			return leadership(params)
		}
		return c.mirror.update(params)
	}
}

func (c *Client) publish(conn *conn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.err = conn, err
	close(c.changed)
	c.changed = make(chan struct{})
}

// connection waits for one.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	for {
		c.mu.Lock()
		conn, err, changed := c.conn, c.err, c.changed
		c.mu.Unlock()
		if conn != nil && conn.cause() == nil {
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &UnavailableError{c.config.Database, errors.Join(err, ctx.Err())}
		}
	}
}

// Transact carries out all operations or none, and returns a result for each. It waits for a
// connection if necessary, and is never sent twice. Its errors are *UnavailableError (nothing was
// sent), *OperationError and *ResponseError (nothing was carried out), *LostError (the outcome is
// unknown) and *ProtocolError.
func (c *Client) Transact(ctx context.Context, ops ...Operation) ([]Result, error) {
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, err
	}
	params := []any{c.config.Database}
	for _, op := range ops {
		params = append(params, op)
	}
	text, err := conn.call(ctx, "transact", params...)
	if err != nil {
		return nil, err
	}
	return results(ops, text)
}
