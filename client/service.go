package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"
)

// A service is the REST client of one service.
type service struct {
	name  string // for people: "placement"
	opts  Options
	turns chan struct{} // has one value for each request in progress
}

func newService(name string, opts Options) *service {
	opts.complete()
	return &service{name: name, opts: opts, turns: make(chan struct{}, opts.Concurrency)}
}

// The pause before a retry. It doubles each time.
const firstPause = 100 * time.Millisecond

// call sends a request and reads the answer into out, which may be nil. The error is a *Refusal for
// an answer without success, and Unavailable for one of another program.
func (s *service) call(ctx context.Context, q request, out checker) error {
	a, err := s.send(ctx, q)
	if err != nil {
		return err
	}
	return s.read(q, a, out)
}

// read reads an answer into out, as call does.
func (s *service) read(q request, a *answer, out checker) error {
	if a.status < 200 || a.status > 299 {
		return s.refusal(q, a)
	}
	if err := a.decode(out); err != nil {
		return s.unavailable(fmt.Errorf("the answer to %s %s is not that of %s: %w", q.method, q.path, s.name, err))
	}
	return nil
}

// send sends a request, with retries where they are safe and may succeed.
func (s *service) send(ctx context.Context, q request) (*answer, error) {
	body, err := q.encode()
	if err != nil {
		return nil, err
	}
	for tried := 0; ; tried++ {
		a, err := s.authorized(ctx, q, body)
		if tried >= s.opts.Retries || !q.again(a, err) {
			return a, err
		}
		s.opts.Log.Debug("retrying", "service", s.name, "method", q.method, "path", q.path, "error", err)
		if rest(ctx, firstPause<<min(tried, 6)) != nil {
			return a, err
		}
	}
}

// authorized sends a request with a token. One that is not taken is replaced,
// once: it may have been revoked.
func (s *service) authorized(ctx context.Context, q request, body []byte) (*answer, error) {
	for again := true; ; again = false {
		endpoint, token, err := s.opts.Access.Access(ctx)
		if err != nil {
			return nil, fmt.Errorf("calling %s: %w", s.name, err)
		}
		a, err := s.inTurn(ctx, q, endpoint, token, body)
		if err != nil || a.status != http.StatusUnauthorized || !again {
			return a, err
		}
		s.opts.Access.Discard(token)
	}
}

// inTurn sends a request once fewer than the bound are under way.
func (s *service) inTurn(ctx context.Context, q request, endpoint, token string, body []byte) (*answer, error) {
	waited := time.NewTimer(s.opts.Timeout)
	defer waited.Stop()
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-waited.C:
		return nil, s.unavailable(fmt.Errorf("%d requests are under way already", cap(s.turns)))
	case <-ctx.Done():
		return nil, s.unavailable(context.Cause(ctx))
	}
	key, err := s.opts.HostKey()
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", s.name, err)
	}
	r, err := q.build(endpoint, token, key, s.opts.RequestID(ctx), body)
	if err != nil {
		return nil, s.unavailable(err)
	}
	by := s.opts.HTTP
	if q.onlyOnce() {
		// On a new connection: if an old one were closed meanwhile, it would be unknown whether the
		// request was carried out.
		if by = s.opts.fresh; by == nil {
			by = s.opts.HTTP
			by.CloseIdleConnections()
		}
	}
	if s.opts.Held != nil && q.method != http.MethodGet {
		if err := s.opts.Held(ctx); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	a, err := s.exchange(ctx, by, r, s.opts.Timeout+q.held)
	if err != nil {
		s.opts.Asked(q.method, 0, time.Since(begin))
		return nil, s.unavailable(err)
	}
	s.opts.Asked(q.method, a.status, time.Since(begin))
	return a, nil
}

// maxAnswer bounds an answer, in bytes. A tree of ten thousand providers has some 6 MB.
const maxAnswer = 16 << 20

// exchange sends a request and reads the whole answer, within a time.
func (s *service) exchange(ctx context.Context, by *http.Client, r *http.Request, within time.Duration) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	res, err := by.Do(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer to %s %s: %w", r.Method, r.URL.Path, err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("the answer to %s %s has more than %d bytes", r.Method, r.URL.Path, maxAnswer)
	}
	return &answer{status: res.StatusCode, body: body}, nil
}

// again reports whether a retry is safe, and may succeed. A time-out is not retried: the caller has
// waited long enough.
func (q *request) again(a *answer, err error) bool {
	var away *Unavailable
	switch {
	case err == nil:
		return a.status == http.StatusServiceUnavailable && q.method != http.MethodPost && q.revision == 0
	case !errors.As(err, &away):
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) || !q.onlyOnce() && wasCut(err)
}

// wasCut reports whether a connection ended before the answer did.
func wasCut(err error) bool {
	for _, cut := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, cut) {
			return true
		}
	}
	return false
}

// rest waits for a random time around about, so that requests that failed together are not retried
// together.
func rest(ctx context.Context, about time.Duration) error {
	timer := time.NewTimer(about/2 + rand.N(about))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
