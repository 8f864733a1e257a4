// Package daemon builds the services from their settings and runs them: placement, network and
// compute, each with its database, peer services and API, and what they have in common. It has no
// flags and does not end the process: an error says what kept a service from running, see
// [Failure].
//
// A service is a [Server] with a part of its own. Its start has the same order for all three:
//
//  1. The settings are converted (options.go, settings.go, network_settings.go,
//     compute_settings.go). Invalid ones end the start before anything is opened.
//  2. Traces and the listeners are opened (tracing.go, listen.go): from here on clients get 503,
//     and operators can follow the progress.
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
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/internal/gcpolicy"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/systemd"
	"github.com/berthcloud/berth/tracing"
)

// serviceSettings are the settings of any service.
type serviceSettings interface {
	Common() *config.Service
	Settings() []config.Setting
}

// A Server is the common part of all services: authentication, policy, the listeners, which answer
// 503 until the service is ready, the signals, the notifications of systemd (sd_notify), and the
// settings that a reload compares. Its methods are for one goroutine, except Operators and Addr.
type Server struct {
	serviceOptions
	log     *slog.Logger
	metrics *serviceMetrics
	running serviceSettings // those it was started with
	loaded  serviceSettings // the settings that were read last
	source  source          // where a reload finds them
	rules   *livePolicy

	authenticate httpapi.Authenticator // nil until the settings of authentication are known
	anyToken     bool                  // it accepts any token
	guard        *Guard                // nil when callers are checked
	tracer       *tracing.Tracer       // nil when tracing is off

	notify  *systemd.Notifier
	hangups chan os.Signal // SIGHUP; one is buffered until Run receives it; nil before it listens
	api     *httpserver.Switch
	ops     *httpserver.Switch
	front   *httpserver.Front
	limit   *httpserver.ConnLimit
	certs   *httpserver.Certificates // nil without TLS

	apiListeners listenerGroup
	opsListeners listenerGroup
	stopping     sync.Once
	endWaits     func() // called when the service begins to stop, to end waiting requests; nil for none
	// waiting is the reason why requests are not answered; nil when they are.
	waiting atomic.Pointer[string]

	cloud    http.Handler // what /metrics/cloud shows, nil for a service without providers
	writable func() error // of the database, why it cannot be written
	cleanups []func()     // called at the end, in reverse order
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
	// SingleProcess is true when its peer services end with it, and no other process has its database.
	SingleProcess bool
}

// serviceOptions are what differs between the services.
type serviceOptions struct {
	service  string // as in "berth placement serve"
	trial    string // the description of a start without settings
	strategy string // the strategy of authentication
	policy   policySource
	kind     DatabaseKind
	database *config.Database
	format   httpapi.Format // of its errors; nil is Placement's

	// status returns the text for systemd, what is served. probe is the check for its watchdog, which
	// counts as failed while it does not return.
	status func() string
	probe  func(context.Context) error
}

// newServer returns the common part of a service that is about to start. It opens nothing, so that
// there is nothing to close when the settings turn out to be invalid.
func newServer(cfg serviceSettings, log *slog.Logger, d Dependencies, o serviceOptions) Server {
	return Server{
		serviceOptions: o, log: log, metrics: newServiceMetrics(), running: cfg, loaded: cfg,
		authenticate: d.Authenticate, guard: d.Guard,
	}
}

// begin determines database, policy and authentication from the settings and begins to listen: from
// then on requests are answered that the service is starting. It returns the options for opening
// the database; an error is a [Failure].
func (s *Server) begin(ctx context.Context, p Process) (sqlstore.Options, error) {
	opts, name, err := s.kind.Options(p.Getenv, s.database)
	if err != nil {
		return opts, Fail(WrongSettings, err)
	}
	cfg := s.running.Common()
	rules, err := s.policy.read(cfg, s.log)
	if err != nil {
		return opts, Fail(WrongSettings, err)
	}
	s.rules = new(livePolicy)
	s.rules.current.Store(rules)
	s.log.Info("Berth's "+s.service+" service starts", "version", p.Version, "database", name, "listen", cfg.Berth.Listen)
	if len(cfg.Files) == 0 {
		s.log.Info("no settings were given: " + s.trial)
	}
	WarnRelative(opts.Path, s.log)
	// The address precedes the database, since it is cheaper to find that it is in use.
	if err := s.listen(ctx, p); err != nil {
		return opts, err
	}
	system := "sqlite" // OpenTelemetry's name, which those of the dialects are too
	if opts.Server != nil {
		system = opts.Server.Dialect
	}
	opts.Step = func(text string) { s.progress("opening the database: " + text) }
	opts.Logger, opts.Metrics, opts.Trace = s.log, s.metrics.database.hooks(), s.tracer.SQL(system)
	return opts, nil
}

// listen starts tracing, sets up authentication and begins to serve at the listeners.
func (s *Server) listen(ctx context.Context, p Process) error {
	cfg := s.running.Common()
	s.tracer = startTracing(ctx, p, "berth-"+s.service, s.metrics.registry, s.log)
	s.atEnd(func() { stopTracing(s.tracer, s.log) })
	if s.authenticate == nil {
		authenticate, end, err := newAuthenticator(cfg, s.strategy, s.log, s.metrics.keystone, s.tracer)
		if err != nil {
			return Fail(WrongSettings, err)
		}
		s.atEnd(end)
		s.authenticate = authenticate
		s.guard, s.anyToken = noAuthGuard(cfg, s.strategy), s.strategy != config.StrategyKeystone
	}
	return s.openListeners(ctx)
}

// openListeners opens the listeners of the settings, or takes over those of systemd, and answers
// there that the service is starting, in the format of its API's errors. The error is a [Failure],
// and everything that this opened is closed.
func (s *Server) openListeners(ctx context.Context) (err error) {
	cfg := s.running.Common()
	if s.certs, err = loadCertificates(cfg, s.log, s.metrics.server); err != nil {
		return Fail(WrongSettings, err)
	}
	opened, err := openListeners(ctx, &cfg.Berth)
	if err != nil {
		return err
	}
	if err := s.guard.check(opened.api); err != nil {
		opened.close()
		return err
	}
	warnDescriptors(cfg.Berth.MaxConnections, s.log)
	s.notify, s.hangups = systemd.NewNotifier(), make(chan os.Signal, 1)
	signal.Notify(s.hangups, syscall.SIGHUP)
	s.progress("opening the database")
	s.api = httpserver.NewSwitch(httpapi.Unavailable(s.format, func() string {
		return "The service is " + s.state() + "."
	}))
	s.ops = httpserver.NewSwitch(httpserver.NewOps(httpserver.OpsConfig{
		Metrics: s.metrics.registry, Ready: s.onceStarted(nil),
	}))
	s.front = httpserver.NewFront(s.api, frontSettings(cfg, s.guard, s.format), s.metrics.server)
	s.limit = httpserver.NewConnLimit(limitSettings(cfg), s.metrics.server)
	s.serveAt(opened, serveOptions(cfg.Berth, s.log))
	return nil
}

// serveAt begins to serve at the listeners.
func (s *Server) serveAt(opened listeners, opts httpserver.ServeOptions) {
	for _, ln := range opened.ops {
		s.opsListeners.start(ln, s.ops, opts)
	}
	opts.Limit, opts.Metrics = s.limit, s.metrics.server
	for _, ln := range opened.api {
		mine := opts
		if ln.Addr().Network() == "tcp" {
			mine.TLS = s.certs
		}
		s.apiListeners.start(ln, s.front, mine)
	}
}

// Addr is the first address of the API.
func (s *Server) Addr() net.Addr { return s.apiListeners.listeners[0].Addr() }

// Operators returns the handler of the operators' pages: metrics, readiness, profiles.
func (s *Server) Operators() http.Handler { return s.ops }

// atEnd has functions called by Close, the last one first.
func (s *Server) atEnd(fns ...func()) { s.cleanups = append(s.cleanups, fns...) }

// closeAtEnd has a database closed at the end, and the service not ready while it cannot be
// written.
func (s *Server) closeAtEnd(db interface {
	io.Closer
	Writable() error
},
) {
	s.writable = db.Writable
	s.atEnd(func() {
		if err := db.Close(); err != nil {
			s.log.Error("closing the database", "error", err)
		}
	})
}

// stepTimeout is the time that systemd waits at most for each step of the start
// (EXTEND_TIMEOUT_USEC).
const stepTimeout = 5 * time.Minute

// progress reports a step of the start: to /readyz, in the answers to clients, and to systemd,
// which extends its time-out.
func (s *Server) progress(text string) {
	text = "starting: " + text
	s.waiting.Store(&text)
	s.logUnsent(s.notify.Starting(text, stepTimeout))
}

// state returns the reason why requests are not answered, "" when they are.
func (s *Server) state() string {
	if text := s.waiting.Load(); text != nil {
		return *text
	}
	return ""
}

// onceStarted returns the check of /readyz: ready, while the service neither starts nor stops.
func (s *Server) onceStarted(ready func() (bool, string)) func() (bool, string) {
	return func() (bool, string) {
		if text := s.state(); text != "" {
			return false, text
		}
		return ready()
	}
}

// open lets the API and the operators' pages answer from then on. c gets the values that all
// services share; front makes the handler in front of the API, nil has none.
func (s *Server) open(c httpapi.Config, front func(http.Handler) http.Handler, ready func() (bool, string)) {
	cfg := s.running.Common()
	c.Authenticate, c.Log, c.Metrics = s.authenticate, s.log, s.metrics.requests
	c.MaxBody = int64(cfg.Berth.MaxBodySize)
	if len(cfg.CORS.AllowedOrigin) > 0 {
		cors := httpapi.CORS(cfg.CORS)
		c.CORS = &cors
	}
	api := s.tracer.Handler(httpapi.New(c), routeNames(c.Routes))
	if front != nil {
		api = front(api)
	}
	s.answer(api, httpserver.NewOps(httpserver.OpsConfig{
		Metrics: s.metrics.registry, Cloud: s.cloud, Ready: s.onceStarted(ready), Profile: cfg.Berth.PProf,
	}))
}

// answer lets the handlers answer from then on.
func (s *Server) answer(api, ops http.Handler) {
	s.waiting.Store(nil)
	s.ops.Set(ops)
	s.api.Set(api)
}

// Run serves until ctx ends or a listener fails, and closes everything. The error is a [Failure].
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	s.log.Info("ready", "address", addressText(s.Addr()), "all", s.apiListeners.addresses(), "tls", s.certs != nil)
	err := s.serve(ctx)
	s.log.Info("stopped")
	return Fail(Failed, err)
}

// serve reloads the settings for each SIGHUP until ctx ends or a listener fails, and stops the
// listeners.
func (s *Server) serve(ctx context.Context) error {
	end := s.watchdog()
	defer end()
	s.notifyReady()
	for {
		select {
		case <-s.hangups:
			if s.source.reread == nil { // without a source SIGHUP ends it, as when a terminal closes
				return s.stop()
			}
			s.logUnsent(s.notify.Reloading())
			s.reload()
			s.notifyReady()
			continue
		case <-s.apiListeners.failed():
		case <-s.opsListeners.failed():
		case <-ctx.Done():
		}
		return s.stop()
	}
}

// notifyReady notifies systemd of what is served, and at which addresses.
func (s *Server) notifyReady() {
	s.logUnsent(s.notify.Ready(fmt.Sprintf("serving %s at %s", s.status(), s.apiListeners.addresses())))
}

// watchdog notifies systemd's watchdog, if there is one, until the returned function is called.
func (s *Server) watchdog() (end func()) {
	interval, err := systemd.WatchdogInterval()
	s.logUnsent(err)
	if interval == 0 {
		return func() {}
	}
	responds := func(ctx context.Context) error {
		_ = s.probe(ctx) // an unavailable database does not end the service
		return nil
	}
	return Background(func(ctx context.Context) {
		s.notify.Watch(ctx, interval, responds, func(err error) {
			s.log.Error("the watchdog of systemd is not notified: the service does not respond", "error", err)
		})
	})
}

// logUnsent logs the failure of a notification of systemd, which has no other consequence.
func (s *Server) logUnsent(err error) {
	if err != nil {
		s.log.Warn("systemd cannot be notified", "error", err)
	}
}

// stop ends the API's listeners and then the operators', who can observe the end that way. Requests
// in flight finish within the bound of the settings. Later calls, and one before it listens, do
// nothing.
func (s *Server) stop() (err error) {
	if s.hangups == nil {
		return nil
	}
	s.stopping.Do(func() {
		text := "stopping"
		s.waiting.Store(&text)
		if s.endWaits != nil {
			s.endWaits()
		}
		longest := s.running.Common().Berth.ShutdownTimeout + stepTimeout
		s.logUnsent(s.notify.Stopping("finishing the requests under way", longest))
		err = errors.Join(s.apiListeners.stop(), s.opsListeners.stop())
		signal.Stop(s.hangups) // SIGHUP ends the process from here on
	})
	return err
}

// Close closes everything that was opened: the listeners first, then the rest in reverse order. It
// may be called more than once.
func (s *Server) Close() {
	if err := s.stop(); err != nil {
		s.log.Error("closing the listeners", "error", err)
	}
	for len(s.cleanups) > 0 {
		last := len(s.cleanups) - 1
		s.cleanups[last]()
		s.cleanups = s.cleanups[:last]
	}
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

// serve starts a service with the settings that read returns and runs it until ctx ends. A reload
// calls read again. The error is a [Failure].
func serve[C serviceSettings](
	ctx context.Context, p Process, log string, read func() (C, []string, error), start func(
		C, *slog.Logger,
	) (*Server, error),
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
	s.source = source{func() (serviceSettings, []string, error) { return read() }, output}
	return s.Run(ctx)
}
