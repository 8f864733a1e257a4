package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
)

// Operators are the operators' pages of several services at one address, for a process with all of
// them.
type Operators struct {
	Addr  net.Addr
	group listenerGroup
}

// StartOperators serves a handler at the address in the settings until the returned value is
// closed. The error is a [Failure].
func StartOperators(
	ctx context.Context, cfg *config.Service, g *Guard, h http.Handler, log *slog.Logger,
) (*Operators, error) {
	ln, err := listenTCP(ctx, cfg.Berth.Listen)
	if err != nil {
		return nil, Fail(AddressUnusable, fmt.Errorf("listening on %s: %w", cfg.Berth.Listen, err))
	}
	if err := g.check([]net.Listener{ln}); err != nil {
		ln.Close() // err is the one to report
		return nil, err
	}
	o := &Operators{Addr: ln.Addr()}
	o.group.start(ln, httpserver.NewFront(h, frontSettings(cfg, g, nil), nil), serveOptions(cfg.Berth, log))
	return o, nil
}

// Close ends the requests under way and closes the address.
func (o *Operators) Close() error { return o.group.stop() }
