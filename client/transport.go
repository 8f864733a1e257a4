package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"syscall"
	"time"

	"github.com/berthcloud/berth/internal/backoff"
)

// A Service sends requests to one service. It may be used concurrently.
type Service struct {
	name  string // in errors and logs: "placement"
	opts  Options
	slots chan struct{} // has one value for each request in progress
}

// NewService returns the Service with a name. It sends no request.
func NewService(name string, opts Options) *Service {
	opts.complete()
	return &Service{name: name, opts: opts, slots: make(chan struct{}, opts.Concurrency)}
}

// Close closes idle connections.
func (s *Service) Close() { s.opts.HTTP.CloseIdleConnections() }

// Log is that of the Options.
func (s *Service) Log() *slog.Logger { return s.opts.Log }

// The pause before a retry. It doubles each time.
const firstPause = 100 * time.Millisecond

// Call sends a request and reads the answer into out, which may be nil. The error is a *Refusal for
// an answer without success, and Unavailable for one of another program.
func (s *Service) Call(ctx context.Context, q Request, out Document) error {
	_, q.large = out.(QuickReader)
	a, err := s.Send(ctx, q)
	if err != nil {
		return err
	}
	defer a.discard()
	return s.Read(q, a, out)
}

// Read reads an answer into out, as Call does.
func (s *Service) Read(q Request, a *Answer, out Document) error {
	if a.Status < 200 || a.Status > 299 {
		return s.refusal(q, a)
	}
	if err := a.decode(out); err != nil {
		return s.Unavailable(fmt.Errorf("the answer to %s %s is not that of %s: %w", q.Method, q.Path, s.name, err))
	}
	return nil
}

// Send sends a request, with retries where they are safe and may succeed.
func (s *Service) Send(ctx context.Context, q Request) (*Answer, error) {
	body, err := q.encode()
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		a, err := s.authorized(ctx, q, body)
		if attempt >= s.opts.Retries || !q.again(a, err) {
			return a, err
		}
		s.opts.Log.Debug("retrying", "service", s.name, "method", q.Method, "path", q.Path, "error", err)
		if backoff.Sleep(ctx, backoff.Around(firstPause<<min(attempt, 6))) != nil {
			return a, err
		}
	}
}

// authorized sends a request with a token. One that the service refuses is replaced, once: it may
// have been revoked.
func (s *Service) authorized(ctx context.Context, q Request, body []byte) (*Answer, error) {
	for again := true; ; again = false {
		endpoint, token, err := s.opts.Access.Access(ctx)
		if err != nil {
			return nil, fmt.Errorf("calling %s: %w", s.name, err)
		}
		a, err := s.withSlot(ctx, q, endpoint, token, body)
		if err != nil || a.Status != http.StatusUnauthorized || !again {
			return a, err
		}
		s.opts.Access.Discard(token)
	}
}

// withSlot sends a request once fewer than the bound are under way.
func (s *Service) withSlot(ctx context.Context, q Request, endpoint, token string, body []byte) (*Answer, error) {
	waited := time.NewTimer(s.opts.Timeout)
	defer waited.Stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-waited.C:
		return nil, s.Unavailable(fmt.Errorf("%d requests are under way already", cap(s.slots)))
	case <-ctx.Done():
		return nil, s.Unavailable(context.Cause(ctx))
	}
	key, err := s.opts.HostKey()
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", s.name, err)
	}
	r, err := q.build(endpoint, token, key, s.opts.RequestID(ctx), body)
	if err != nil {
		return nil, s.Unavailable(err)
	}
	by := s.opts.HTTP
	if q.onlyOnce() {
		// On a new connection: if an old one were closed meanwhile, it would be unknown whether the
		// request was carried out.
		if by = s.opts.unshared; by == nil {
			by = s.opts.HTTP
			by.CloseIdleConnections()
		}
	}
	if s.opts.BeforeChange != nil && q.Method != http.MethodGet {
		if err := s.opts.BeforeChange(ctx); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	a, err := s.exchange(ctx, by, r, s.opts.Timeout+q.Wait, q.large)
	if err != nil {
		s.opts.Observe(q.Method, 0, time.Since(begin))
		return nil, s.Unavailable(err)
	}
	s.opts.Observe(q.Method, a.Status, time.Since(begin))
	return a, nil
}

// maxAnswer bounds an answer, in bytes. A tree of ten thousand providers has some 6 MB.
const maxAnswer = 16 << 20

// exchange sends a request and reads the whole answer, within a time.
func (s *Service) exchange(
	ctx context.Context, by *http.Client, r *http.Request, within time.Duration, large bool,
) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	res, err := by.Do(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &Answer{Status: res.StatusCode}
	if body := io.LimitReader(res.Body, maxAnswer+1); large {
		a.buffer = buffers.Get().(*bytes.Buffer)
		a.buffer.Reset()
		_, err = a.buffer.ReadFrom(body)
		a.Body = a.buffer.Bytes()
	} else {
		a.Body, err = io.ReadAll(body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer to %s %s: %w", r.Method, r.URL.Path, err)
	}
	if len(a.Body) > maxAnswer {
		return nil, fmt.Errorf("the answer to %s %s has more than %d bytes", r.Method, r.URL.Path, maxAnswer)
	}
	return a, nil
}

// again reports whether a retry is safe, and may succeed. A time-out is not retried: the caller has
// waited long enough.
func (q *Request) again(a *Answer, err error) bool {
	var unavailable *Unavailable
	switch {
	case err == nil:
		return a.Status == http.StatusServiceUnavailable && q.Method != http.MethodPost && q.Revision == 0
	case !errors.As(err, &unavailable):
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
