package keystone

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/berthcloud/berth/identity/discovery"
)

// A session is the service's own token, and the address that requests with it are sent to.
type session struct {
	id       string
	token    *token
	version  discovery.Version // that issued the token
	endpoint endpoint          // of the catalogue
	query    string            // address there, without a trailing slash
	renew    time.Time
	answer   *answer       // that brought the token
	clock    time.Duration // by how much Keystone's clock is ahead of ours
}

// The service's own token is replaced this long before it expires, or when a quarter of its
// validity remains.
const renewBefore = 2 * time.Minute

// A login fetches and caches the service's own token. It may be used concurrently.
type login struct {
	opts   Options
	client *http.Client
	locate locator

	// turn is a lock in the form of a channel, so that a caller who waits for it can give up when
	// its context ends.
	turn    chan struct{} // contains one value; the goroutine that has received it may access current
	current *session
}

// A locator finds the address for requests with a new token, in the token's catalogue or by
// querying there.
type locator func(ctx context.Context, l *login, s *session, retries int) error

// newLogin returns a login without a session; the first call of session fetches one.
func newLogin(opts Options, client *http.Client, locate locator) *login {
	l := &login{opts: opts, client: client, locate: locate, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// session returns a valid session, and fetches one when there is none. Concurrent callers wait for
// the same fetch. While a token that cannot be renewed is still valid it is used, and the next
// attempt to renew it follows after longestPause. The error is that of the fetch, or of ctx.
func (l *login) session(ctx context.Context, retries int) (*session, error) {
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := time.Now()
	if l.current != nil && now.Before(l.current.renew) {
		return l.current, nil
	}
	s, err := l.fetch(ctx, retries)
	switch {
	case err == nil:
		l.current = s
	case l.current != nil && now.Before(l.current.token.expires):
		l.opts.Log.Warn("the service's own token cannot be renewed; the old one is still good", "error", err,
			"expires", l.current.token.expires)
		l.current.renew = earlier(now.Add(longestPause), l.current.token.expires)
		return l.current, nil
	default:
		return nil, err
	}
	return s, nil
}

// drop discards a session that proved invalid, unless there is a newer one.
func (l *login) drop(s *session) {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if l.current == s {
		l.current = nil
	}
}

// discard discards the session with a token.
func (l *login) discard(token string) {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if l.current != nil && l.current.id == token {
		l.current = nil
	}
}

// fetch fetches a token and finds the address for requests. With an error, the session has the
// results of the steps before it.
func (l *login) fetch(ctx context.Context, retries int) (s *session, err error) {
	s = &session{}
	if s.version, err = l.version(ctx, retries); err != nil {
		return s, fmt.Errorf("looking for Keystone at auth_url: %w", err)
	}
	if err := l.authenticate(ctx, s, retries); err != nil {
		return s, fmt.Errorf("fetching the service's own token: %w", err)
	}
	err = l.locate(ctx, l, s, retries)
	s.token.catalog = nil // the other entries are not needed
	return s, err
}

// locateKeystone finds version 3 of the API, for the validation of tokens.
func locateKeystone(ctx context.Context, l *login, s *session, retries int) (err error) {
	want := target{kind: "identity", name: "Keystone", interfaces: []string{l.opts.Interface}, region: l.opts.Region}
	if s.endpoint, err = want.find(s.token.catalog); err != nil {
		return err
	}
	if s.query, err = l.address(ctx, s.endpoint.URL, retries); err != nil {
		return fmt.Errorf("looking for version 3 at Keystone's endpoint: %w", err)
	}
	return nil
}

// version returns the address for logins. Credentials whose type names version 3 need no discovery.
func (l *login) version(ctx context.Context, retries int) (discovery.Version, error) {
	c := l.opts.Credentials
	if !c.finds() {
		return discovery.Version{URL: discovery.Below(c.AuthURL)}, nil
	}
	return discover(ctx, l.client, c.AuthURL, retries)
}

// address returns version 3 of an endpoint of the catalogue.
func (l *login) address(ctx context.Context, endpoint string, retries int) (string, error) {
	if discovery.Versioned(endpoint) {
		return discovery.Below(endpoint), nil
	}
	v, err := discover(ctx, l.client, endpoint, retries)
	return v.URL, err
}

// authenticate sends the credentials. The error is a failure with refused set for 401 and 403,
// which say that the settings are wrong. Any other error means that Keystone could not be reached
// or answered something else.
func (l *login) authenticate(ctx context.Context, s *session, retries int) error {
	c := call{
		method: http.MethodPost, url: s.version.URL + "/auth/tokens", body: l.opts.Credentials.body(), retries: retries,
	}
	began := time.Now()
	a, err := send(ctx, l.client, c)
	if err != nil {
		return err
	}
	switch a.status {
	case http.StatusCreated:
	case http.StatusUnauthorized, http.StatusForbidden:
		return &failure{
			refused: true,
			err: fmt.Errorf("%w: is what [%s] says of user, password, project and domains right?", a.unexpected(c),
				l.opts.Section),
		}
	default:
		return a.unexpected(c)
	}
	s.id, s.answer = a.header.Get("X-Subject-Token"), a
	t, err := parseToken(a.body)
	if err != nil {
		return err
	}
	if s.id == "" {
		return errors.New("the answer has no X-Subject-Token: auth_url has to be Keystone's")
	}
	s.token = t
	s.renew = s.token.expires.Add(-min(renewBefore, time.Until(s.token.expires)/4))
	s.clock = clockDifference(s.token.issued, began, a.at)
	return nil
}

// clockDifference compares a time of Keystone's, which has no fractions of a second, with the times
// of request and answer. It is 0 when the clocks may agree.
func clockDifference(theirs, before, after time.Time) time.Duration {
	switch {
	case theirs.IsZero():
		return 0
	case theirs.After(after):
		return theirs.Sub(after)
	case theirs.Add(time.Second).Before(before):
		return theirs.Add(time.Second).Sub(before)
	}
	return 0
}
