package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/tracing"
)

// serviceSettings are those of any service.
type serviceSettings interface {
	Common() *config.Service
	Settings() []config.Setting
}

// A server is the common part of all services: authentication, policy, listeners, the settings that
// a reload compares.
type server struct {
	log     *slog.Logger
	running serviceSettings // those it was started with
	loaded  serviceSettings // the settings that were read last
	source  source          // where a reload finds them

	policy  policyOf
	rules   *livePolicy
	reloads *reloadMetrics

	authenticate httpapi.Authenticator // nil until the settings of authentication are known
	guard        *guard                // nil when callers are checked
	tracer       *tracing.Tracer       // nil when tracing is off

	api     http.Handler
	ops     http.Handler
	ln      net.Listener // the first one of the API
	serving *serving     // nil before it listens

	ends []func() // called at the end, in reverse order
}

// given has what the process passes to a service beside its settings. Nil values are as in the
// settings.
type given struct {
	authenticate httpapi.Authenticator
	guard        *guard
	placement    network.Placement        // the network service's client
	access       map[string]client.Access // to neighbours, by their type in the catalogue
	agentID      func(kind, host string) network.ID
	empty        bool // it begins with an empty database
	alone        bool // its neighbours end with it, and no other process has its database
}

func newServer(cfg serviceSettings, of policyOf, log *slog.Logger, g given) server {
	return server{log: log, running: cfg, loaded: cfg, policy: of, authenticate: g.authenticate, guard: g.guard}
}

// A beginning has the parameters of a service's start.
type beginning struct {
	service  string // as in "berth placement serve"
	trial    string // the description of a start without settings
	strategy string // the strategy of authentication
	kind     databaseKind
	database *config.Database
	format   httpapi.Format // of its errors; nil is Placement's
}

// begin begins to listen, after the database, authentication and policy have been determined from
// the settings. From then on requests are answered that the service is starting. It returns the
// options for opening the database; an error has its exit code.
func (s *server) begin(ctx context.Context, env environment, b beginning, m *serviceMetrics) (sqlstore.Options, error) {
	opts, name, err := b.kind.options(env, b.database)
	if err != nil {
		return opts, fail(exitUsage, err)
	}
	rules, err := s.policy.read(s.running.Common(), s.log)
	if err != nil {
		return opts, fail(exitUsage, err)
	}
	s.rules, s.reloads = newLivePolicy(rules), m.reloads
	s.announce(b, name)
	warnRelative(opts.Path, s.log)
	// The address precedes the database, since it is cheaper to find that it is in use.
	if err := s.listen(ctx, env, b, m); err != nil {
		return opts, err
	}
	opts.Logger, opts.Metrics, opts.Trace = s.log, m.database.hooks(), s.tracer.SQL(tracedSystem(opts))
	return opts, nil
}

// announce logs the settings of the start, above all those of a trial.
func (s *server) announce(b beginning, database string) {
	cfg := s.running.Common()
	s.log.Info("Berth's "+b.service+" service starts", "version", currentVersion().Version, "database", database, "listen", cfg.Berth.Listen)
	if len(cfg.Files) == 0 {
		s.log.Info("no settings were given: " + b.trial)
	}
}

func (s *server) listen(ctx context.Context, env environment, b beginning, m *serviceMetrics) error {
	cfg := s.running.Common()
	s.tracer = startTracing(ctx, env, "berth-"+b.service, m.registry, s.log)
	s.ends = append(s.ends, func() { stopTracing(s.tracer, s.log) })
	if s.authenticate == nil {
		authenticate, end, err := newAuthenticator(cfg, b.strategy, s.log, m.keystone, s.tracer)
		if err != nil {
			return fail(exitUsage, err)
		}
		s.authenticate, s.ends = authenticate, append(s.ends, end)
		s.guard = noAuthGuard(cfg, b.strategy)
	}
	var err error
	if s.serving, err = newServing(ctx, cfg, s.guard, s.log, m.registry, m.http, b.format); err != nil {
		return err
	}
	s.ln = s.serving.apiServers.listeners[0]
	return nil
}

// keep registers a database for closing at the end.
func (s *server) keep(db io.Closer) {
	s.ends = append(s.ends, func() {
		if err := db.Close(); err != nil {
			s.log.Error("closing the database", "error", err)
		}
	})
}

// open answers requests from then on: those for the API with configuration c, completed by the
// values that all services share, and those of operators.
func (s *server) open(c httpapi.Config, m *serviceMetrics, ready func() (bool, string)) {
	s.openBehind(func(next http.Handler) http.Handler { return next }, c, m, ready)
}

// openBehind is open with a handler in front of the API.
func (s *server) openBehind(front func(http.Handler) http.Handler, c httpapi.Config, m *serviceMetrics, ready func() (bool, string)) {
	cfg := s.running.Common()
	c.Authenticate, c.Log, c.Metrics = s.authenticate, s.log, m.http
	c.MaxBody, c.CORS = int64(cfg.Berth.MaxBodySize), corsOf(cfg.CORS)
	s.api = front(s.tracer.Handler(httpapi.New(c), routeNames(c.Routes)))
	s.ops = httpapi.NewOps(httpapi.OpsConfig{Metrics: m.registry, Ready: s.serving.ready(ready), Profile: cfg.Berth.PProf})
	s.serving.open(s.api, s.ops)
}

// run serves until ctx ends or a listener fails. Status is the text for systemd, and alive the
// check for its watchdog.
func (s *server) run(ctx context.Context, status func() string, alive func(context.Context) error) error {
	s.log.Info("ready", "address", addressText(s.ln.Addr()), "all", s.serving.apiServers.addresses(), "tls", s.serving.certs != nil)
	reload := s.reload
	if s.source.reread == nil { // without a source SIGHUP ends it, as when a terminal closes
		reload = nil
	}
	err := s.serving.run(ctx, func() string { return s.serving.status(status()) }, reload, alive)
	s.log.Info("stopped")
	return fail(exitFailure, err)
}

// close closes everything that was opened: the listeners first, then the rest in reverse order. It
// may be called more than once.
func (s *server) close() {
	if s.serving != nil {
		if err := s.serving.stop(); err != nil {
			s.log.Error("closing the listeners", "error", err)
		}
	}
	for len(s.ends) > 0 {
		last := len(s.ends) - 1
		s.ends[last]()
		s.ends = s.ends[:last]
	}
}

// background runs fn until the function it returns is called, which waits for fn
// to return.
func background(fn func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
