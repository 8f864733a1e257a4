package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/berthcloud/berth/httpserver"
)

// httpServers are the HTTP servers of several listeners, which end together. The zero value has
// none; its methods are for one goroutine, except failed.
type httpServers struct {
	listeners []net.Listener
	cancels   []context.CancelFunc
	running   sync.WaitGroup

	once  sync.Once
	ended chan struct{} // closed when the first one has ended

	mu  sync.Mutex // guards err
	err error
}

// start serves at one more listener.
func (s *httpServers) start(ln net.Listener, h http.Handler, opts httpserver.ServeOptions) {
	ended := s.failed()
	ctx, cancel := context.WithCancel(context.Background())
	s.listeners, s.cancels = append(s.listeners, ln), append(s.cancels, cancel)
	s.running.Go(func() {
		err := httpserver.Serve(ctx, ln, h, opts)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil && ctx.Err() == nil {
			close(ended)
		}
		s.err = errors.Join(s.err, err)
	})
}

// failed returns a channel that is closed when a listener fails.
func (s *httpServers) failed() chan struct{} {
	s.once.Do(func() { s.ended = make(chan struct{}) })
	return s.ended
}

// stop ends all of them, waits for that, and returns their joined errors.
func (s *httpServers) stop() error {
	for _, cancel := range s.cancels {
		cancel()
	}
	s.running.Wait()
	return s.err
}

// addresses lists where they listen.
func (s *httpServers) addresses() string {
	var all []string
	for _, ln := range s.listeners {
		all = append(all, addressText(ln.Addr()))
	}
	return strings.Join(all, ",")
}
