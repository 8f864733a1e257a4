// Package keystone asks OpenStack's Keystone who sent a request: it checks the
// tokens of callers as the middleware in front of upstream's services does. For a
// service that asks others, a Session logs in and finds them in the catalogue. It
// is not for deciding what a caller may do, which is policy's, nor a client for
// the rest of Keystone's API.
//
// A token goes through these steps, and the first that knows answers:
//
//	no token could look like that  → refused
//	checked lately                 → what Keystone said then
//	being checked                  → the answer to that question
//	Keystone is away               → unavailable, at once, but for one question now and then;
//	                                 a time-out of one or two questions does not say that it is
//	Keystone                       → GET /v3/auth/tokens, with the service's own token
//
// Tokens are kept nowhere: what is remembered goes by their SHA-256. All waiting
// is bounded, and so are the memory and the number of questions under way.
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
	Method, Path string // as sent: application credentials may be good for some paths only
}

// A Validator checks tokens. It may be used from many goroutines. Close it when
// it is no longer needed.
type Validator struct {
	opts    Options
	http    *http.Client
	login   *login
	circuit *circuit
	flights *flights[*token]
	good    *cache[*token] // what Keystone vouched for
	bad     *cache[error]  // what it refused

	warnServiceRole sync.Once
}

// How much is remembered and asked at a time. What was refused has a memory of
// its own, so that a flood of garbage does not push out the tokens in use.
const (
	cacheSize   = 10_000
	refusedTime = 10 * time.Second
)

// New returns a Validator. It asks Keystone nothing yet, so that a service can
// start while Keystone is away. The error names all that is wrong with the
// options.
func New(opts Options) (*Validator, error) {
	if opts.Credentials.fixed() {
		return nil, errors.New("auth_type = " + opts.Credentials.Type + ": a token expires, and callers could not be checked any more; want " + Password + " or " + ApplicationCredential)
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return nil, err
	}
	client.Timeout = opts.patience()
	return &Validator{
		opts:  opts,
		http:  client,
		login: newLogin(opts, client, locateKeystone),
		circuit: &circuit{
			log: opts.Log, away: opts.Metrics.away,
			effect: "requests with tokens that were not checked lately are answered with 503",
		},
		flights: newFlights[*token](),
		good:    newCache[*token](cacheSize),
		bad:     newCache[error](cacheSize),
	}, nil
}

// Close waits for the questions under way, which are bounded by the timeout, and
// gives the connections back.
func (v *Validator) Close() {
	v.flights.wait()
	v.http.CloseIdleConnections()
}

// Caller returns who sent a request. The error is a fault: Unauthentic when the
// token, or the service's, is no good, and Unavailable when Keystone could not
// be asked, unless the options say that this decision is left to others, to whom
// such a caller is unknown too. It returns early when ctx ends.
func (v *Validator) Caller(ctx context.Context, r Request) (identity.Caller, error) {
	c, err := v.caller(ctx, r)
	v.opts.Metrics.validated(outcomeOf(err))
	if kind, _ := fault.Of(err); kind == fault.Unavailable && v.opts.DelayDecision {
		return identity.Caller{}, refuse("Keystone is unavailable and the decision is left to the service: %v", err)
	}
	return c, err
}

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

// service checks a service token. A trusted service is one with the right role:
// it may pass on what a user asked for with a token that has expired since.
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

// withService notes the service that passes a call on.
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

// token returns what a token says, from memory or from Keystone.
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
		t, err = v.flights.do(ctx, key, func(ctx context.Context) (*token, error) { return v.ask(ctx, raw, key) })
	}
	if err != nil {
		return nil, err
	}
	return t, t.fresh(allowExpired)
}

// recall returns an answer of Keystone's from memory.
func (v *Validator) recall(key key) (t *token, err error, known bool) {
	if t, known = v.good.get(key.token()); known {
		return t, nil, true
	}
	err, known = v.bad.get(key)
	return nil, err, known
}

// ask asks Keystone and remembers the answer.
func (v *Validator) ask(ctx context.Context, raw string, key key) (*token, error) {
	if t, err, known := v.recall(key); known {
		return t, err // it came after the caller looked
	}
	done, probe, err := v.circuit.enter(key)
	if err != nil {
		return nil, away(err)
	}
	patience := v.opts.patience()
	if probe {
		patience = v.opts.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	begin := time.Now()
	t, err := v.validate(ctx, raw, key.allowExpired, probe)
	done(err)
	v.opts.Metrics.asked(time.Since(begin), outcomeOf(err))
	v.remember(key, t, err)
	return t, err
}

// remember keeps an answer, never longer than the token is valid. Only callers
// who may use expired tokens get to see one that has expired already.
func (v *Validator) remember(key key, t *token, err error) {
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
