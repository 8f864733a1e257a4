// Package trips counts how often a program waits for its database: a relay between
// the two counts round trips. It is for measuring and adds to what it counts the
// time of a relay.
package trips

import (
	"net"
	"sync"
	"sync/atomic"
)

// A Relay passes connections on to a server. It is safe for concurrent use.
type Relay struct {
	ln    net.Listener
	to    string
	trips atomic.Int64

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

// Start begins to forward connections to ln.
func Start(ln net.Listener, addr string) *Relay {
	r := &Relay{ln: ln, to: addr}
	go r.accept()
	return r
}

// Addr returns where the relay listens.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

// Trips returns the number of round trips on all connections: how often a client has sent something
// after the server had answered, or at first.
func (r *Relay) Trips() int64 { return r.trips.Load() }

// Close ends the relay and its connections.
func (r *Relay) Close() error {
	err := r.ln.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	return err
}

func (r *Relay) accept() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		stop := new(atomic.Bool)
		go pass(server, client, func() {
			if !stop.Swap(true) {
				r.trips.Add(1)
			}
		})
		go pass(client, server, func() { stop.Store(false) })
	}
}

// pass copies data from one side to the other and calls note for each piece before forwarding it.
func pass(dst, from net.Conn, note func()) {
	defer dst.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			note()
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return // io.EOF or the end of the other side
		}
	}
}
