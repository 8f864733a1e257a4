// Package daemon builds the services from their settings and runs them: placement, network and
// compute, each with its database, peer services and API, and what they have in common. It has no
// flags and does not end the process: an error says what kept a service from running, see
// [Failure].
//
// A service is a [Server] with a part of its own. Its start has the same order for all three:
//
//  1. The settings are converted (options.go, settings.go, network_settings.go,
//     compute_settings.go); invalid ones end the start before anything is opened.
//  2. The log and traces are opened, and the listeners (listen.go, serving.go): from here on
//     clients get 503, and operators can follow the progress.
//  3. The database is opened (database.go), by placement with the snapshot (placement_progress.go).
//  4. Clients of the peer services are built (peers.go, compute_peers.go); they send no requests
//     yet.
//  5. Background tasks begin, and the API answers. One of them checks that placement has the
//     version of its API that the service needs (placement_versions.go): until it has, the service
//     is not ready.
//
// [Server.Close] undoes that in reverse order. SIGHUP applies settings that can change while the
// service runs (reload.go). The metrics are in metrics.go, placement_metrics.go,
// placement_reconcile.go and states.go.
package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/internal/gcpolicy"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/tracing"
)

// serviceSettings are the settings of any service.
type serviceSettings interface {
	Common() *config.Service
	Settings() []config.Setting
}

// A Server is the common part of all services: authentication, policy, listeners, and the settings
// that a reload compares. Its methods are for one goroutine, except Operators and Addr.
type Server struct {
	log     *slog.Logger
	running serviceSettings // those it was started with
	loaded  serviceSettings // the settings that were read last
	source  source          // where a reload finds them

	policy  policyOf
	rules   *livePolicy
	reloads reloadMetrics

	authenticate httpapi.Authenticator // nil until the settings of authentication are known
	anyToken     bool                  // it accepts any token
	guard        *Guard                // nil when callers are checked
	tracer       *tracing.Tracer       // nil when tracing is off
	metrics      *serviceMetrics

	api     http.Handler
	ops     http.Handler
	cloud   http.Handler // what /metrics/cloud shows, nil for a service without providers
	ln      net.Listener // the first one of the API
	serving *serving     // nil before it listens

	writable func() error // of the database, why it cannot be written
	ends     []func()     // called at the end, in reverse order
}

// Dependencies replace what the settings name by parts of the same process. The zero value of a
// field leaves it to the settings.
type Dependencies struct {
	Authenticate httpapi.Authenticator
	Guard        *Guard
	Access       map[string]client.Access // to peer services, by their type in the catalogue
	Console      http.Handler             // at /console of the placement service
	AgentID      func(kind, host string) network.ID
	Empty        bool // it begins with an empty database
	Alone        bool // its peer services end with it, and no other process has its database
}

// newServer returns the common part of a service that is about to start. It opens nothing, so that
// there is nothing to close when the settings turn out to be invalid.
func newServer(cfg serviceSettings, source policyOf, log *slog.Logger, d Dependencies) Server {
	return Server{log: log, running: cfg, loaded: cfg, policy: source, authenticate: d.Authenticate, guard: d.Guard}
}

// startOptions are what differs in the start of the services.
type startOptions struct {
	service  string // as in "berth placement serve"
	trial    string // the description of a start without settings
	strategy string // the strategy of authentication
	kind     DatabaseKind
	database *config.Database
	format   httpapi.Format // of its errors; nil is Placement's
}

// begin determines database, policy and authentication from the settings and begins to listen: from
// then on requests are answered that the service is starting. It returns the options for opening
// the database; an error is a [Failure].
func (s *Server) begin(ctx context.Context, p Process, b startOptions, m *serviceMetrics) (sqlstore.Options, error) {
	opts, name, err := b.kind.Options(p.Getenv, b.database)
	if err != nil {
		return opts, Fail(WrongSettings, err)
	}
	rules, err := s.policy.read(s.running.Common(), s.log)
	if err != nil {
		return opts, Fail(WrongSettings, err)
	}
	s.rules, s.reloads = new(livePolicy), m.reloads
	s.rules.current.Store(rules)
	cfg := s.running.Common()
	s.log.Info("Berth's "+b.service+" service starts", "version", p.Version, "database", name, "listen", cfg.Berth.Listen)
	if len(cfg.Files) == 0 {
		s.log.Info("no settings were given: " + b.trial)
	}
	WarnRelative(opts.Path, s.log)
	// The address precedes the database, since it is cheaper to find that it is in use.
	if err := s.listen(ctx, p, b, m); err != nil {
		return opts, err
	}
	system := "sqlite" // OpenTelemetry's name, which those of the dialects are too
	if opts.Server != nil {
		system = opts.Server.Dialect
	}
	opts.Step = func(text string) { s.serving.progress("opening the database: " + text) }
	opts.Logger, opts.Metrics, opts.Trace = s.log, m.database.hooks(), s.tracer.SQL(system)
	return opts, nil
}

// listen starts tracing, sets up authentication and opens the listeners.
func (s *Server) listen(ctx context.Context, p Process, b startOptions, m *serviceMetrics) error {
	cfg := s.running.Common()
	s.metrics = m
	s.tracer = startTracing(ctx, p, "berth-"+b.service, m.registry, s.log)
	s.ends = append(s.ends, func() { stopTracing(s.tracer, s.log) })
	if s.authenticate == nil {
		authenticate, end, err := newAuthenticator(cfg, b.strategy, s.log, m.keystone, s.tracer)
		if err != nil {
			return Fail(WrongSettings, err)
		}
		s.authenticate, s.ends = authenticate, append(s.ends, end)
		s.guard, s.anyToken = noAuthGuard(cfg, b.strategy), b.strategy != config.StrategyKeystone
	}
	var err error
	if s.serving, err = newServing(ctx, cfg, s.guard, s.log, m.registry, m.server, b.format); err != nil {
		return err
	}
	s.ln = s.serving.apiServers.listeners[0]
	return nil
}

// Addr is the first address of the API.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Operators returns the handler of the operators' pages: metrics, readiness, profiles.
func (s *Server) Operators() http.Handler { return s.serving.ops }

// keep has a database closed at the end, and the service not ready while it cannot be written.
func (s *Server) keep(db interface {
	io.Closer
	Writable() error
},
) {
	s.writable = db.Writable
	s.ends = append(s.ends, func() {
		if err := db.Close(); err != nil {
			s.log.Error("closing the database", "error", err)
		}
	})
}

// open lets the API and the operators' pages answer from then on. c gets the values that all
// services share.
func (s *Server) open(c httpapi.Config, m *serviceMetrics, ready func() (bool, string)) {
	s.openWithFront(func(next http.Handler) http.Handler { return next }, c, m, ready)
}

// openWithFront is open with a handler in front of the API.
func (s *Server) openWithFront(
	front func(http.Handler) http.Handler, c httpapi.Config, m *serviceMetrics, ready func() (bool, string),
) {
	cfg := s.running.Common()
	c.Authenticate, c.Log, c.Metrics = s.authenticate, s.log, m.requests
	c.MaxBody = int64(cfg.Berth.MaxBodySize)
	if len(cfg.CORS.AllowedOrigin) > 0 {
		cors := httpapi.CORS(cfg.CORS)
		c.CORS = &cors
	}
	s.api = front(s.tracer.Handler(httpapi.New(c), routeNames(c.Routes)))
	s.ops = httpserver.NewOps(httpserver.OpsConfig{
		Metrics: m.registry, Cloud: s.cloud, Ready: s.serving.ready(ready), Profile: cfg.Berth.PProf,
	})
	s.serving.open(s.api, s.ops)
}

// run serves until ctx ends or a listener fails. status returns the text for systemd; alive is the
// check for its watchdog, which counts as failed while it does not return.
func (s *Server) run(ctx context.Context, status func() string, alive func(context.Context) error) error {
	s.log.Info("ready", "address", addressText(s.ln.Addr()), "all", s.serving.apiServers.addresses(),
		"tls", s.serving.certs != nil)
	reload := s.reload
	if s.source.reread == nil { // without a source SIGHUP ends it, as when a terminal closes
		reload = nil
	}
	hangs := func(ctx context.Context) error {
		_ = alive(ctx) // an unavailable database does not end the service
		return nil
	}
	err := s.serving.run(ctx, func() string { return s.serving.status(status()) }, reload, hangs)
	s.log.Info("stopped")
	return Fail(Failed, err)
}

// readyTime bounds the check whether the database answers.
const readyTime = 5 * time.Second

// usable returns the check of /readyz for a service that is ready when its database answers and can
// be written.
func (s *Server) usable(alive func(context.Context) error) func() (bool, string) {
	return func() (bool, string) {
		if err := s.writable(); err != nil {
			return false, err.Error()
		}
		ctx, cancel := context.WithTimeout(context.Background(), readyTime)
		defer cancel()
		if err := alive(ctx); err != nil {
			if errors.Is(err, sqlstore.ErrFileLost) {
				return false, err.Error()
			}
			return false, "the database cannot be read" // a server's error may name hosts and users; the log has it
		}
		return true, "ok"
	}
}

// An apiServer is a server with its own part of Run.
type apiServer interface {
	Run(context.Context) error
	rereads(source)
}

// rereads sets the source of the settings that SIGHUP reads.
func (s *Server) rereads(from source) { s.source = from }

// serve starts a service with the settings that read returns and runs it until ctx ends. A reload
// calls read again. The error is a [Failure].
func serve[C serviceSettings](
	ctx context.Context, p Process, log string, read func() (C, []string, error), start func(
		C, *slog.Logger,
	) (apiServer, error),
) error {
	cfg, warnings, err := read()
	if err != nil {
		return Fail(WrongSettings, err)
	}
	logger, output, err := OpenServiceLog(p, cfg.Common(), log, warnings)
	if err != nil {
		return err
	}
	defer output.Close()
	logOptions(logger, cfg)
	s, err := start(cfg, logger)
	if err != nil {
		return err
	}
	defer gcpolicy.Start(p.Getenv)()
	s.rereads(source{func() (serviceSettings, []string, error) { return read() }, output})
	return s.Run(ctx)
}

// Close closes everything that was opened: the listeners first, then the rest in reverse order. It
// may be called more than once.
func (s *Server) Close() {
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

// Background runs fn in a goroutine until the returned function is called, which cancels the
// context of fn and waits until fn has returned.
func Background(fn func(context.Context)) (end func()) {
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

// repeat calls fn at once and then once in each interval, until ctx ends.
func repeat(ctx context.Context, interval time.Duration, fn func()) {
	next := time.NewTicker(interval)
	defer next.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
	}
}

// ticking returns fn with a clock that ticks once in each interval.
func ticking(interval time.Duration, fn func(ctx context.Context, due <-chan time.Time)) func(context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		fn(ctx, tick.C)
	}
}
