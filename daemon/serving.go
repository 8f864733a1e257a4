package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/systemd"
)

// A serving is the side of a service towards clients and the service manager: the listeners, which
// answer 503 until the service is ready, the signals, and the notifications of systemd (sd_notify).
type serving struct {
	log    *slog.Logger
	notify *systemd.Notifier
	reload chan os.Signal // SIGHUP; one is buffered until run receives it

	api    *httpserver.Switch
	format httpapi.Format // of the API's errors
	ops    *httpserver.Switch
	front  *httpserver.Front
	limit  *httpserver.ConnLimit
	certs  *httpserver.Certificates // nil without TLS

	leave       func() // called when the service begins to stop, to end waiting requests; nil for none
	stopTimeout time.Duration
	apiServers  httpServers
	opsServers  httpServers
	stopping    sync.Once

	// waiting is the reason why requests are not answered; nil when they are.
	waiting atomic.Pointer[string]
}

// stepTimeout is the time that systemd waits at most for each step of the start
// (EXTEND_TIMEOUT_USEC).
const stepTimeout = 5 * time.Minute

// newServing opens the listeners of the settings, or takes over those of systemd, and answers there
// that the service is starting, in the format of its API's errors. The error is a [Failure], and
// everything that was opened is closed.
func newServing(
	ctx context.Context, cfg *config.Service, g *Guard, log *slog.Logger, reg *prometheus.Registry, m *httpserver.Metrics,
	as httpapi.Format,
) (v *serving, err error) {
	v = &serving{
		log: log, format: as, notify: systemd.NewNotifier(), reload: make(chan os.Signal, 1),
		limit: httpserver.NewConnLimit(limitSettings(cfg), m), stopTimeout: cfg.Berth.ShutdownTimeout,
	}
	if v.certs, err = loadCertificates(cfg, log, m); err != nil {
		return nil, Fail(WrongSettings, err)
	}
	open, err := openListeners(ctx, &cfg.Berth)
	if err != nil {
		return nil, err
	}
	if err := g.check(open.api); err != nil {
		open.close()
		return nil, err
	}
	warnDescriptors(cfg.Berth.MaxConnections, log)
	signal.Notify(v.reload, syscall.SIGHUP)
	v.progress("opening the database")
	v.api = httpserver.NewSwitch(httpapi.Unavailable(as, func() string { return "The service is " + v.state() + "." }))
	v.ops = httpserver.NewSwitch(httpserver.NewOps(httpserver.OpsConfig{Metrics: reg, Ready: v.ready(nil)}))
	v.front = httpserver.NewFront(v.api, frontSettings(cfg, g, as), m)
	opts := serveOptions(cfg.Berth, log)
	v.serve(open, opts, m)
	return v, nil
}

// serve begins to serve at the listeners.
func (v *serving) serve(open listeners, opts httpserver.ServeOptions, m *httpserver.Metrics) {
	for _, ln := range open.ops {
		v.opsServers.start(ln, v.ops, opts)
	}
	opts.Limit, opts.Metrics = v.limit, m
	for _, ln := range open.api {
		mine := opts
		if ln.Addr().Network() == "tcp" {
			mine.TLS = v.certs
		}
		v.apiServers.start(ln, v.front, mine)
	}
}

// progress reports a step of the start: to /readyz, in the answers to clients, and to systemd,
// which extends its time-out.
func (v *serving) progress(text string) {
	text = "starting: " + text
	v.waiting.Store(&text)
	v.logUnsent(v.notify.Starting(text, stepTimeout))
}

// state returns the reason why requests are not answered, "" when they are.
func (v *serving) state() string {
	if text := v.waiting.Load(); text != nil {
		return *text
	}
	return ""
}

// ready returns the check of /readyz: next, while the service neither starts nor stops.
func (v *serving) ready(next func() (bool, string)) func() (bool, string) {
	return func() (bool, string) {
		if text := v.state(); text != "" {
			return false, text
		}
		return next()
	}
}

// open lets the handlers answer from then on.
func (v *serving) open(api, ops http.Handler) {
	v.waiting.Store(nil)
	v.ops.Set(ops)
	v.api.Set(api)
}

// run serves until ctx ends or a listener fails, and closes the listeners. It calls reload for each
// SIGHUP; a nil reload ends the service on SIGHUP. alive is the check for systemd's watchdog, and
// status the text there.
func (v *serving) run(
	ctx context.Context, status func() string, reload func(), alive func(context.Context) error,
) error {
	watch := v.watch(alive)
	defer watch()
	v.logUnsent(v.notify.Ready(status()))
	for {
		select {
		case <-v.reload:
			if reload == nil {
				return v.stop()
			}
			v.logUnsent(v.notify.Reloading())
			reload()
			v.logUnsent(v.notify.Ready(status()))
			continue
		case <-v.apiServers.failed():
		case <-v.opsServers.failed():
		case <-ctx.Done():
		}
		return v.stop()
	}
}

// watch notifies systemd's watchdog, if there is one, until the returned function is called.
func (v *serving) watch(alive func(context.Context) error) (stop func()) {
	interval, err := systemd.WatchdogInterval()
	v.logUnsent(err)
	if interval == 0 {
		return func() {}
	}
	return Background(func(ctx context.Context) {
		v.notify.Watch(ctx, interval, alive, func(err error) {
			v.log.Error("the watchdog of systemd is not notified: the service does not respond", "error", err)
		})
	})
}

// logUnsent logs the failure of a notification of systemd, which has no other consequence.
func (v *serving) logUnsent(err error) {
	if err != nil {
		v.log.Warn("systemd cannot be notified", "error", err)
	}
}

// stop ends the API's listeners and then the operators', who can observe the end that way. Requests
// in flight finish within the bound of the settings. Later calls do nothing.
func (v *serving) stop() (err error) {
	v.stopping.Do(func() {
		text := "stopping"
		v.waiting.Store(&text)
		if v.leave != nil {
			v.leave()
		}
		v.logUnsent(v.notify.Stopping("finishing the requests under way", v.stopTimeout+stepTimeout))
		err = errors.Join(v.apiServers.stop(), v.opsServers.stop())
		signal.Stop(v.reload) // SIGHUP ends the process from here on
	})
	return err
}

// status returns the text for systemd: what is served at which addresses.
func (v *serving) status(kind string) string {
	return fmt.Sprintf("serving %s at %s", kind, v.apiServers.addresses())
}

// addressText returns an address as the settings have it.
func addressText(a net.Addr) string {
	if a.Network() == "unix" {
		return config.Address{Unix: a.String()}.String()
	}
	return a.String()
}
