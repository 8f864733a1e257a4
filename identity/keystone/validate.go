package keystone

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/berthcloud/berth/fault"
)

// validate requests the description of a token from Keystone. When Keystone no longer accepts the
// service's own token, a new one is fetched, once. A probe is sent only once, since other requests
// are refused until it ends.
func (v *Validator) validate(ctx context.Context, raw string, allowExpired, probe bool) (*token, error) {
	retries := v.opts.Retries
	if probe {
		retries = 0
	}
	for again := true; ; again = false {
		s, err := v.login.session(ctx, retries)
		if err != nil {
			return nil, loginFailed(err)
		}
		c := question(s, raw, allowExpired)
		c.retries = retries
		a, err := send(ctx, v.http, c)
		if err != nil {
			err = unanswered(err)
			if late := (*lateAnswer)(nil); !errors.As(err, &late) {
				v.login.drop(s) // Keystone's endpoint may have moved
			}
			return nil, err
		}
		if a.status != http.StatusUnauthorized || !again {
			return v.judge(s, c, a)
		}
		v.login.drop(s)
	}
}

// loginFailed preserves the login's finding about the credentials.
func loginFailed(err error) error {
	var f *failure
	if errors.As(err, &f) {
		return asUnavailable(&failure{err: err, refused: f.refused})
	}
	return failed(err)
}

// question requests a token without the catalogue, which is not used. The header with the access
// rules says to Keystone that they are enforced here.
func question(s *session, raw string, allowExpired bool) call {
	url := s.query + "/auth/tokens?nocatalog"
	if allowExpired {
		url += "&allow_expired=1"
	}
	return call{method: http.MethodGet, url: url, header: http.Header{
		"X-Auth-Token":                    {s.id},
		"X-Subject-Token":                 {raw},
		"Openstack-Identity-Access-Rules": {"1"},
	}}
}

// judge evaluates the answer to a question. Only answers that show that Keystone as a whole is
// unavailable open the circuit: a token whose check fails in Keystone must not lock out others.
func (v *Validator) judge(s *session, c call, a *answer) (*token, error) {
	switch a.status {
	case http.StatusOK:
		t, err := parseToken(a.body)
		if kind, _ := fault.Of(err); err != nil && kind != fault.Unauthentic {
			return nil, asUnavailable(fmt.Errorf("%s: %w", c.url, err))
		}
		return t, err
	case http.StatusNotFound:
		return nil, refuse("Keystone does not know the token, or it has expired or was revoked")
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusRequestHeaderFieldsTooLarge:
		return nil, refuse("Keystone could not read the token: it answered %d", a.status)
	case http.StatusForbidden:
		return nil, asUnavailable(&failure{
			refused: true,
			err: fmt.Errorf("%w: user %s may not check tokens; give it the role service or admin", a.unexpected(c),
				s.token.userName),
		})
	case http.StatusUnauthorized:
		v.login.drop(s)
		return nil, asUnavailable(&failure{
			refused: true, err: fmt.Errorf("%w: it refused a token of the service that it had just issued", a.unexpected(c)),
		})
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, failed(a.unexpected(c))
	}
	return nil, asUnavailable(a.unexpected(c))
}
