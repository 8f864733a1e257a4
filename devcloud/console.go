package devcloud

import (
	"context"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// consoleInterval is the pause between two readings of the cloud while a page is open.
const consoleInterval = time.Second

// A lateHandler answers 503 until it has a handler.
type lateHandler struct{ handler atomic.Pointer[http.Handler] }

// ServeHTTP implements http.Handler.
func (l *lateHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := l.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	http.Error(w, "The cloud is starting.", http.StatusServiceUnavailable)
}

// startConsole serves the console, which reads the services as the administrator does. On this
// machine it has no login; where others can reach it, the printed URL has a key.
func (c *cloud) startConsole(ctx context.Context) error {
	client, err := cloudapi.Connect(ctx, cloudapi.Options{
		Cloud: "berth-" + upAdmin, Environ: []string{"OS_CLIENT_CONFIG_FILE=" + filepath.Join(c.dir, "clouds.yaml")},
	})
	switch {
	case ctx.Err() != nil:
		return nil // the cloud ends
	case err != nil:
		return err
	}
	var access console.Access = console.Open{}
	address := c.placement.Addr().String()
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().Unmap().IsLoopback() {
		key := console.NewKey(address)
		access, c.consoleKey = key, key.Query()
	}
	source := console.APIs(client, console.APIOptions{Interval: consoleInterval})
	source.Counts = func() (console.Counts, error) {
		return daemon.ConsoleCounts(&c.placement.Server, &c.network.Server, &c.compute.Server)
	}
	page := console.New(console.Options{Source: source, Access: access, Log: c.log})
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		page.Run(reading)
	}()
	c.keep(func() {
		stop()
		<-done
	})
	var h http.Handler = page
	c.console.handler.Store(&h)
	return nil
}

// consoleURL is the address of the console.
func (c *cloud) consoleURL() string {
	return c.offered(&c.placement.Server) + console.Path + "/" + c.consoleKey
}
