package boots

import (
	"context"
	"sync"
	"time"

	"github.com/berthcloud/berth/internal/fakehosts"
)

type object = map[string]any

// make creates an object of a kind and returns its id.
func (c *cloud) make(ctx context.Context, url, kind string, body object) (id string, err error) {
	var created map[string]struct{ ID string }
	err = c.call(ctx, "POST", url, object{kind: body}, &created)
	return created[kind].ID, err
}

// call sends a request with a body, unless that is nil, and decodes the answer into out.
func (c *cloud) call(ctx context.Context, method, url string, body, out any) error {
	const version = "compute 2.72" // the network service has no versions
	return fakehosts.Request(ctx, c.client, version, method, url, body, out)
}

// signals are sent once each, by name, and may be awaited.
type signals struct {
	mu sync.Mutex // guards what follows
	m  map[string]*signal
}

type signal struct {
	given chan struct{}
	once  sync.Once
	at    time.Time // set before it is sent
}

func (s *signals) of(name string) *signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[name] == nil {
		s.m[name] = &signal{given: make(chan struct{})}
	}
	return s.m[name]
}

func (s *signals) give(name string) {
	sig := s.of(name)
	sig.once.Do(func() {
		sig.at = time.Now()
		close(sig.given)
	})
}

// await waits for a signal, for a time at most.
func (s *signals) await(ctx context.Context, name string, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.of(name).given:
	case <-timer.C:
	case <-ctx.Done():
	}
}
