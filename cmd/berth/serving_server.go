package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/tracing"
)

// serviceSettings are those of any service.
type serviceSettings interface {
	Common() *config.Service
	Settings() []config.Setting
}

// A server is what the servers of all services have: callers that are checked,
// policy, listeners, the settings that a reload compares.
type server struct {
	log     *slog.Logger
	running serviceSettings // those it was started with
	loaded  serviceSettings // what was read last
	source  source          // where a reload finds them

	policy  policyOf
	rules   *livePolicy
	reloads *reloadMetrics

	authenticate httpapi.Authenticator
	endAuth      func()          // nil before callers are checked
	tracer       *tracing.Tracer // nil when tracing is off

	api     http.Handler
	ops     http.Handler
	ln      net.Listener // the first one of the API
	serving *serving     // nil before it listens
}

func newServer(cfg serviceSettings, of policyOf, log *slog.Logger) server {
	return server{log: log, running: cfg, loaded: cfg, policy: of}
}

// listen begins to listen, once it is clear who checks callers, by a strategy, and
// what policy says. From then on requests are answered that the service is starting.
// An error carries its exit code. The name is for whoever collects traces.
func (s *server) listen(ctx context.Context, env environment, name, strategy string, rules *policy.Enforcer, m *serviceMetrics) (err error) {
	cfg := s.running.Common()
	s.rules, s.reloads = newLivePolicy(rules), m.reloads
	s.tracer = startTracing(ctx, env, name, m.registry, s.log)
	if s.authenticate, s.endAuth, err = newAuthenticator(cfg, strategy, s.log, m.keystone, s.tracer); err != nil {
		return fail(exitUsage, err)
	}
	if s.serving, err = newServing(ctx, cfg, s.log, m.registry, m.http); err != nil {
		return err
	}
	s.ln = s.serving.apiServers.listeners[0]
	return nil
}

// open answers requests from now on: those for the API as c says, with what is the
// same for all services filled in, and those of operators.
func (s *server) open(c httpapi.Config, m *serviceMetrics, ready func() (bool, string)) {
	cfg := s.running.Common()
	c.Authenticate, c.Log, c.Metrics = s.authenticate, s.log, m.http
	c.MaxBody, c.CORS = int64(cfg.Berth.MaxBodySize), corsOf(cfg.CORS)
	s.api = s.tracer.Handler(httpapi.New(c), routeNames(c.Routes))
	s.ops = httpapi.NewOps(httpapi.OpsConfig{Metrics: m.registry, Ready: s.serving.ready(ready), Profile: cfg.Berth.PProf})
	s.serving.open(s.api, s.ops)
}

// run serves until ctx ends or a listener fails. What it serves is said to systemd by
// status, and that it lives by alive.
func (s *server) run(ctx context.Context, status func() string, alive func(context.Context) error) error {
	s.log.Info("ready", "address", addressText(s.ln.Addr()), "all", s.serving.apiServers.addresses(), "tls", s.serving.certs != nil)
	reload := s.reload
	if s.source.reread == nil { // nothing to read again: a terminal that closes ends it
		reload = nil
	}
	err := s.serving.run(ctx, func() string { return s.serving.status(status()) }, reload, alive)
	s.log.Info("stopped")
	return fail(exitFailure, err)
}

// close releases what was opened: the listeners first, then what own releases. It
// may be called more than once.
func (s *server) close(own func()) {
	if s.serving != nil {
		if err := s.serving.stop(); err != nil {
			s.log.Error("closing the listeners", "error", err)
		}
	}
	own()
	if s.endAuth != nil {
		s.endAuth()
	}
	stopTracing(s.tracer, s.log)
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
