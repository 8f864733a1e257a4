package keystone

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// A Target is the service that a Session is for.
type Target struct {
	Type       string   // in the catalogue: "placement", "compute"
	Interfaces []string // that will do, best first: "public", "internal", "admin"; none: public
	Region     string   // empty: any
	Endpoint   string   // address to use instead of the catalogue's; empty: the catalogue's
}

// A Session keeps a token with which this service asks another one, and knows
// where that is. It may be used from many goroutines. Close it when it is no
// longer needed.
type Session struct {
	opts    Options
	to      Target
	http    *http.Client
	login   *login
	circuit *circuit
	flights *flights[*session]
}

// NewSession returns a Session. Of the options it needs the credentials and what
// says how servers are reached; that is good for the other service too. It asks
// Keystone nothing yet. The error names all that is wrong with the options.
func NewSession(opts Options, to Target) (*Session, error) {
	if err := errors.Join(opts.complete(), to.complete()); err != nil {
		return nil, err
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return nil, err
	}
	return &Session{
		opts:  opts,
		to:    to,
		http:  client,
		login: newLogin(opts, client, to.locate),
		circuit: &circuit{
			log: opts.Log, away: opts.Metrics.away,
			effect: "requests to the " + to.Type + " service fail",
		},
		flights: newFlights[*session](),
	}, nil
}

// HTTP returns the client that requests to the service are to be sent with: it has
// the certificates and the timeout of the options.
func (s *Session) HTTP() *http.Client { return s.http }

// Close waits until Keystone has answered, which is bounded by the timeout, and
// gives the connections back.
func (s *Session) Close() {
	s.flights.wait()
	s.http.CloseIdleConnections()
}

// Access returns the address of the service, without a slash at its end, and a
// token to show there, from memory while the token is good. The error is a fault
// of kind Unavailable. It returns early when ctx ends.
func (s *Session) Access(ctx context.Context) (endpoint, token string, err error) {
	got, err := s.flights.do(ctx, key{}, s.current)
	if err != nil {
		return "", "", err
	}
	return got.ask, got.id, nil
}

// Forget says that the service did not take a token any more. The next Access
// fetches another one.
func (s *Session) Forget(token string) { s.login.forget(token) }

// current returns the session that is good now, a new one if need be.
func (s *Session) current(ctx context.Context) (*session, error) {
	done, probe, err := s.circuit.enter(key{})
	if err != nil {
		return nil, away(err)
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

// complete fills in what has a default and checks the rest.
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

// locate finds the service.
func (t *Target) locate(_ context.Context, _ *login, s *session, _ int) (err error) {
	s.endpoint = endpoint{URL: t.Endpoint}
	if t.Endpoint == "" {
		want := target{kind: t.Type, name: "the " + t.Type + " service", interfaces: t.Interfaces, region: t.Region}
		if s.endpoint, err = want.find(s.token.catalog); err != nil {
			return err
		}
	}
	s.ask = strings.TrimRight(s.endpoint.URL, "/")
	return nil
}
