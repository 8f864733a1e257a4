package keystone

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// A Target selects the service that a Session is for.
type Target struct {
	Type       string   // in the catalogue: "placement", "compute"
	Interfaces []string // that will do, best first: "public", "internal", "admin"; none: public
	Region     string   // empty: any
	Endpoint   string   // address to use instead of the catalogue's; empty: the catalogue's
}

// A Session has a token and the address for requests of this service to another one. It implements
// client.Access. It may be used concurrently, and has to be closed.
type Session struct {
	opts    Options
	to      Target
	http    *http.Client
	login   *login
	circuit *circuit
	flights *flights[*session]
}

// NewSession returns a Session. Of the options it needs the credentials and those of the
// connections, which also apply to the other service. It sends no request yet. The error joins all
// mistakes in the options.
func NewSession(opts Options, target Target) (*Session, error) {
	if err := errors.Join(opts.complete(), target.complete()); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return nil, err
	}
	return &Session{
		opts:  opts,
		to:    target,
		http:  client,
		login: newLogin(opts, client, target.locate),
		circuit: &circuit{
			log: opts.Log, unavailable: opts.Metrics.unavailable,
			effect: "requests to the " + target.Type + " service fail",
		},
		flights: newFlights[*session](),
	}, nil
}

// HTTP returns the client for requests to the service, with the certificates and the time-out of
// the options.
func (s *Session) HTTP() *http.Client { return s.http }

// Close waits for the request under way, which the time-out bounds, and closes idle connections.
func (s *Session) Close() {
	s.flights.wait()
	s.http.CloseIdleConnections()
}

// Access returns the address of the service, without a trailing slash, and a token for it, from the
// cache while the token is valid. The error is a fault of kind Unavailable. Access returns early
// when ctx ends.
func (s *Session) Access(ctx context.Context) (endpoint, token string, err error) {
	got, err := s.flights.do(ctx, key{}, s.current)
	if err != nil {
		return "", "", err
	}
	return got.query, got.id, nil
}

// Discard discards a token that the service has refused. The next Access fetches another one.
func (s *Session) Discard(token string) { s.login.discard(token) }

// current returns the valid session, and fetches one when there is none. A probe of an open circuit
// is sent without retries. The error is a fault of kind Unavailable.
func (s *Session) current(ctx context.Context) (*session, error) {
	done, probe, err := s.circuit.enter(key{})
	if err != nil {
		return nil, asUnavailable(err)
	}
	retries := s.opts.Retries
	if probe {
		retries = 0
	}
	ctx, cancel := context.WithTimeout(ctx, 2*s.opts.Timeout)
	defer cancel()
	got, err := s.login.session(ctx, retries)
	if err != nil {
		err = loginFailed(err)
	}
	done(err)
	return got, err
}

// complete sets defaults and checks the rest.
func (t *Target) complete() error {
	if t.Type == "" {
		return errors.New("service_type is not set")
	}
	if strings.Contains(t.Endpoint, "@") {
		return errors.New("endpoint_override: want no user and password in the address, which is logged")
	}
	if len(t.Interfaces) == 0 {
		t.Interfaces = []string{"public"}
	}
	t.Interfaces = slices.Clone(t.Interfaces)
	for i, name := range t.Interfaces {
		name = strings.TrimSuffix(name, "URL")
		if !slices.Contains(interfaces, name) {
			return wrongInterface("valid_interfaces", name)
		}
		t.Interfaces[i] = name
	}
	return nil
}

// locate finds the service. It sends no request: the address is in the settings
// (endpoint_override), or else in the catalogue of the new token.
func (t *Target) locate(_ context.Context, _ *login, s *session, _ int) (err error) {
	s.endpoint = endpoint{URL: t.Endpoint}
	if t.Endpoint == "" {
		want := target{kind: t.Type, name: "the " + t.Type + " service", interfaces: t.Interfaces, region: t.Region}
		if s.endpoint, err = want.find(s.token.catalog); err != nil {
			return err
		}
	}
	s.query = strings.TrimRight(s.endpoint.URL, "/")
	return nil
}
