package dbtest

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// dialTime bounds a proxy's attempts to reach its target.
const dialTime = 10 * time.Second

// A link is one client's connection through a proxy.
type link struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once
	// Guarded by the proxy's lock.
	loseAnswer bool
	answered   bool // the server has sent the last data
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.ended)
		l.client.Close()
		if l.server != nil {
			l.server.Close()
		}
	})
}

// connect serves a client until either side closes. The listener identifies the period between cuts
// that the client belongs to.
func (p *Proxy) connect(from net.Listener, client net.Conn) {
	l := &link{client: client, ended: make(chan struct{})}
	target, dial, ok := p.enter(from, l)
	defer p.leave(l)
	if !ok {
		return
	}
	if !dial {
		<-l.ended
		return
	}
	server, err := net.DialTimeout("tcp", target, dialTime)
	if err != nil || !p.attach(l, server) {
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(l, ToServer, client, server) })
	pumps.Go(func() { p.pump(l, ToClient, server, client) })
	pumps.Wait()
}

// enter records a link, unless it was accepted just before a cut. It returns its target, and
// whether to connect it.
func (p *Proxy) enter(from net.Listener, l *link) (target string, dial, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != from {
		return "", false, false
	}
	p.links[l] = true
	return p.target, !p.faults.swallow, true
}

// attach sets the server connection of a link, unless the link was cut meanwhile.
func (p *Proxy) attach(l *link, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.links[l] {
		server.Close()
		return false
	}
	l.server = server
	return true
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.close()
	delete(p.links, l)
}

// pump forwards one direction until the link ends.
func (p *Proxy) pump(l *link, d Direction, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.forward(l, d, buffer[:n], to) {
			l.close()
			return
		}
		if err != nil {
			p.end(l)
			return
		}
	}
}

// end forwards the close of one side, unless the network is a black hole.
func (p *Proxy) end(l *link) {
	p.mu.Lock()
	swallow := p.faults.swallow
	p.mu.Unlock()
	if swallow {
		<-l.ended
	}
	l.close()
}

// forward sends data as the faults allow and reports whether the link is still open.
func (p *Proxy) forward(l *link, d Direction, data []byte, to net.Conn) bool {
	if !p.hold(l) {
		return false
	}
	data, lost := p.judge(l, d, data)
	if len(data) > 0 {
		if _, err := to.Write(data); err != nil {
			return false
		}
	}
	return !lost
}

// hold waits for the delay of data.
func (p *Proxy) hold(l *link) bool {
	p.mu.Lock()
	delay := p.faults.delay
	p.mu.Unlock()
	if delay == 0 {
		return true
	}
	select {
	case <-time.After(delay):
		return true
	case <-l.ended:
		return false
	}
}

// judge returns the part of the data that passes, and whether the connection is lost then.
func (p *Proxy) judge(l *link, d Direction, data []byte) (passes []byte, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == ToServer && l.answered {
		p.trips++
	}
	l.answered = d == ToClient
	f := &p.faults
	if f.swallow {
		return nil, false
	}
	if d == ToClient && l.loseAnswer {
		p.lost++
		return nil, true
	}
	if d == ToServer && f.answers != nil && bytes.Contains(bytes.ToLower(data), f.answers) {
		l.loseAnswer, f.answers = true, nil
	}
	remaining, limited := f.budget[d]
	switch {
	case !limited:
		return data, false
	case len(data) <= remaining:
		f.budget[d] = remaining - len(data)
		return data, false
	}
	delete(f.budget, d)
	p.lost++
	return data[:remaining], true
}
