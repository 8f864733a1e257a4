package dbtest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy forwards connections between a client and a server and injects network faults. Initially
// it only forwards. Its methods may be called concurrently and return at once.
type Proxy struct {
	t       testing.TB
	port    int
	workers sync.WaitGroup

	mu       sync.Mutex
	target   string
	listener net.Listener // nil: connections are refused
	links    map[*link]bool
	faults   faults
	lost     int
	trips    int
}

// faults are the current faults of the network.
type faults struct {
	delay   time.Duration
	swallow bool
	budget  map[Direction]int // bytes that still pass before a connection is lost
	answers []byte            // the answer to a request with this text is lost
}

// A Direction is one of the two that data takes through a [Proxy].
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// NewProxy starts a proxy in front of target, which is host:port. It is stopped at the end of the
// test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	port, err := takePort()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, port: port, target: target, links: make(map[*link]bool)}
	t.Cleanup(p.close)
	p.Heal()
	return p
}

func (p *Proxy) close() {
	p.Cut()
	p.workers.Wait()
	releasePort(p.port)
}

// Address returns where the proxy listens, as host:port.
func (p *Proxy) Address() string { return local(p.port) }

// Redirect sends new connections to another target. Existing ones are unaffected.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Cut closes all connections and refuses new ones until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.drop()
}

// Heal ends all faults. Connections that lost data to HalfOpen are closed, since they cannot
// continue.
func (p *Proxy) Heal() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.swallow {
		p.drop()
	}
	p.faults = faults{budget: make(map[Direction]int)}
	if p.listener != nil {
		return
	}
	l, err := net.Listen("tcp", p.Address())
	if err != nil {
		p.t.Errorf("the proxy cannot listen again: %v", err)
		return
	}
	p.listener = l
	p.workers.Go(func() { p.serve(l) })
}

// Delay delays the data of either direction by d.
func (p *Proxy) Delay(d time.Duration) {
	p.change(func(f *faults) { f.delay = d })
}

// HalfOpen makes the network a black hole until Heal: connections stay open and new ones are
// accepted, data on them is discarded, and neither side sees the close of the other.
func (p *Proxy) HalfOpen() {
	p.change(func(f *faults) { f.swallow = true })
}

// CutAfter lets n more bytes pass in one direction, on all connections together, and closes the
// connection of the next byte. With 0 and ToClient, the next request reaches the server and its
// answer is lost.
func (p *Proxy) CutAfter(d Direction, n int) {
	p.change(func(f *faults) { f.budget[d] = n })
}

// LoseAnswer closes the connection of the next request that contains the text, as in "COMMIT", when
// the server answers it: the server has executed the request, and the client does not know. Case is
// ignored. The text has to be near the beginning of the request, which may arrive in pieces.
func (p *Proxy) LoseAnswer(text string) {
	p.change(func(f *faults) { f.answers = bytes.ToLower([]byte(text)) })
}

// Lost returns the number of connections that CutAfter and LoseAnswer have closed.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// RoundTrips returns how often a client has sent something after the server's answer, on all
// connections together. That is how often it waited for the network, whatever it sent at once.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

func (p *Proxy) change(f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.faults)
}

// drop closes all connections. The caller has locked mu.
func (p *Proxy) drop() {
	for l := range p.links {
		l.close()
	}
	clear(p.links)
}

func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return // closed by Cut
		}
		p.workers.Go(func() { p.connect(l, client) })
	}
}
