package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
)

// A listenerGroup serves at several listeners, which end together. The zero value has none; its
// methods are for one goroutine, except failed.
type listenerGroup struct {
	listeners []net.Listener
	cancels   []context.CancelFunc
	running   sync.WaitGroup

	once  sync.Once
	ended chan struct{} // closed when the first one has ended

	mu  sync.Mutex // guards err
	err error
}

// start serves at one more listener.
func (g *listenerGroup) start(ln net.Listener, h http.Handler, opts httpserver.ServeOptions) {
	ended := g.failed()
	ctx, cancel := context.WithCancel(context.Background())
	g.listeners, g.cancels = append(g.listeners, ln), append(g.cancels, cancel)
	g.running.Go(func() {
		err := httpserver.Serve(ctx, ln, h, opts)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.err == nil && ctx.Err() == nil {
			close(ended)
		}
		g.err = errors.Join(g.err, err)
	})
}

// failed returns a channel that is closed when a listener fails.
func (g *listenerGroup) failed() chan struct{} {
	g.once.Do(func() { g.ended = make(chan struct{}) })
	return g.ended
}

// stop ends all of them, waits for that, and returns their joined errors.
func (g *listenerGroup) stop() error {
	for _, cancel := range g.cancels {
		cancel()
	}
	g.running.Wait()
	return g.err
}

// addresses lists where they listen.
func (g *listenerGroup) addresses() string {
	var all []string
	for _, ln := range g.listeners {
		all = append(all, addressText(ln.Addr()))
	}
	return strings.Join(all, ",")
}

// addressText returns an address as the settings have it.
func addressText(a net.Addr) string {
	if a.Network() == "unix" {
		return config.Address{Unix: a.String()}.String()
	}
	return a.String()
}
