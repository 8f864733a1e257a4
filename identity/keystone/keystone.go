// Package keystone authenticates requests with OpenStack's Keystone: a [Validator] checks the
// tokens of callers as keystonemiddleware in front of upstream's services does. For requests to
// other services, a [Session] logs in and finds them in the catalogue, as keystoneauth does.
// Decisions on permissions are in package policy; the rest of Keystone's API is not covered.
//
// The first of these steps that applies answers a token:
//
//	malformed                      → refused                               token.go
//	checked recently               → the cached answer                     cache.go
//	being checked                  → the answer of that request            flights.go
//	Keystone is unavailable        → unavailable, at once, except for one  circuit.go
//	                                 probe at a time; one or two time-outs
//	                                 do not make it unavailable
//	Keystone                       → GET /v3/auth/tokens, with the         validate.go, login.go
//	                                 service's own token
//
// Tokens are not stored: the cache's keys are their SHA-256. All waits are bounded, and so are the
// memory and the number of requests under way. No error and no log line has a token or a password.
package keystone

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// A Request is what the decision about a call depends on.
type Request struct {
	Token        string // of the caller: X-Auth-Token
	ServiceToken string // of a service that passes the call on, or empty: X-Service-Token
	Method, Path string // as sent: application credentials may be restricted to paths
}

// A Validator checks tokens. It may be used from many goroutines. It has to be closed.
type Validator struct {
	opts    Options
	http    *http.Client
	login   *login
	circuit *circuit
	flights *flights[*token]
	good    *cache[*token] // tokens that Keystone has accepted
	bad     *cache[error]  // refusals by Keystone

	warnServiceRole sync.Once
}

// Sizes of the caches and bound of the requests under way. Refusals have a cache of their own, so
// that a flood of invalid tokens does not evict those in use.
const (
	cacheSize   = 10_000
	refusedTime = 10 * time.Second
)

// New returns a Validator. It sends no request yet, so that a service can start while Keystone is
// unavailable. The error joins all mistakes in the options.
func New(opts Options) (*Validator, error) {
	if opts.Credentials.fixed() {
		return nil, errors.New("auth_type = " + opts.Credentials.Type +
			": a token expires, and callers could not be checked any more; want " + Password + " or " + ApplicationCredential)
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return nil, err
	}
	client.Timeout = opts.answerTimeout()
	return &Validator{
		opts:  opts,
		http:  client,
		login: newLogin(opts, client, locateKeystone),
		circuit: &circuit{
			log: opts.Log, unavailable: opts.Metrics.unavailable,
			effect: "requests with tokens that were not checked lately are answered with 503",
		},
		flights: newFlights[*token](),
		good:    newCache[*token](cacheSize),
		bad:     newCache[error](cacheSize),
	}, nil
}

// Close waits for the requests under way, which the time-out bounds, and closes idle connections.
func (v *Validator) Close() {
	v.flights.wait()
	v.http.CloseIdleConnections()
}

// Caller returns the caller of a request. The error is a fault: Unauthentic when the token, or that
// of a service that forwards the request, is invalid; Unavailable when Keystone could not be
// reached. With DelayDecision, the error is Unauthentic then too. Caller returns early when ctx
// ends.
func (v *Validator) Caller(ctx context.Context, r Request) (identity.Caller, error) {
	c, err := v.caller(ctx, r)
	v.opts.Metrics.validated(outcomeOf(err))
	if kind, _ := fault.Of(err); kind == fault.Unavailable && v.opts.DelayDecision {
		return identity.Caller{}, refuse("Keystone is unavailable and the decision is left to the service: %v", err)
	}
	return c, err
}

// caller checks the service's token before the caller's: its roles decide whether the caller's may
// have expired. A malformed token is refused first, before a request is sent about the other.
func (v *Validator) caller(ctx context.Context, r Request) (identity.Caller, error) {
	if _, err := plausible(r.Token); err != nil {
		return identity.Caller{}, err
	}
	service, trusted, err := v.service(ctx, r.ServiceToken)
	if err != nil {
		return identity.Caller{}, err
	}
	t, err := v.token(ctx, r.Token, trusted)
	if err != nil {
		return identity.Caller{}, err
	}
	if err := t.permits(r, v.opts.ServiceType); err != nil {
		return identity.Caller{}, err
	}
	return withService(t.caller, service), nil
}

// service checks a service token. A trusted service has one of the required roles: it may forward
// requests of users whose tokens have expired since.
func (v *Validator) service(ctx context.Context, raw string) (service *token, trusted bool, err error) {
	if raw == "" {
		return nil, false, nil
	}
	t, err := v.token(ctx, raw, false)
	switch {
	case err == nil && t.hasRole(v.opts.ServiceRoles):
		return t, true, nil
	case err == nil && !v.opts.ServiceRolesRequired:
		v.warnServiceRole.Do(func() {
			v.opts.Log.Warn("a service token without the role of a service was let through: set service_token_roles_required",
				"user", t.caller.UserID, "roles", t.caller.Roles)
		})
		return t, false, nil
	case err == nil:
		err = refuse("the service token of user %s has none of the roles %v", t.caller.UserID, v.opts.ServiceRoles)
	}
	if kind, _ := fault.Of(err); kind == fault.Unauthentic && v.opts.DelayDecision {
		return nil, false, nil
	}
	return nil, false, err
}

// withService adds the service that forwards a call to its caller.
func withService(c identity.Caller, service *token) identity.Caller {
	if service == nil {
		return c
	}
	s := service.caller
	c.ServiceUserID, c.ServiceUserDomainID = s.UserID, s.UserDomainID
	c.ServiceProjectID, c.ServiceProjectDomainID = s.ProjectID, s.ProjectDomainID
	c.ServiceRoles = s.Roles
	return c
}

// token returns the description of a token, from the cache or from Keystone.
func (v *Validator) token(ctx context.Context, raw string, allowExpired bool) (*token, error) {
	raw, err := plausible(raw)
	if err != nil {
		return nil, err
	}
	key := newKey(raw, allowExpired)
	t, err, known := v.recall(key)
	if known {
		v.opts.Metrics.cached()
	} else {
		t, err = v.flights.do(ctx, key, func(ctx context.Context) (*token, error) { return v.query(ctx, raw, key) })
	}
	if err != nil {
		return nil, err
	}
	return t, t.fresh(allowExpired)
}

// recall returns a cached answer, which may be a refusal.
func (v *Validator) recall(key key) (t *token, err error, known bool) {
	if t, known = v.good.get(key.token()); known {
		return t, nil, true
	}
	err, known = v.bad.get(key)
	return nil, err, known
}

// query validates a token with Keystone and caches the answer.
func (v *Validator) query(ctx context.Context, raw string, key key) (*token, error) {
	if t, err, known := v.recall(key); known {
		return t, err // another request has filled the cache since the caller's look-up
	}
	done, probe, err := v.circuit.enter(key)
	if err != nil {
		return nil, asUnavailable(err)
	}
	timeout := v.opts.answerTimeout()
	if probe {
		timeout = v.opts.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	begin := time.Now()
	t, err := v.validate(ctx, raw, key.allowExpired, probe)
	done(err)
	v.opts.Metrics.queried(time.Since(begin), outcomeOf(err))
	v.cacheAnswer(key, t, err)
	return t, err
}

// cacheAnswer caches an answer, no longer than the token is valid. An expired token is cached only
// under the key of callers that may use it.
func (v *Validator) cacheAnswer(key key, t *token, err error) {
	now := time.Now()
	until := now.Add(v.opts.CacheTime)
	kind, _ := fault.Of(err)
	switch {
	case v.opts.CacheTime <= 0:
	case err == nil && t.expires.After(now):
		v.good.put(key.token(), t, earlier(until, t.expires))
	case err == nil:
		v.good.put(key.token(), t, until)
	case kind == fault.Unauthentic:
		v.bad.put(key, err, earlier(until, now.Add(refusedTime)))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
