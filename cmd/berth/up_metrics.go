package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
)

// listenForOperators serves the operators' pages of each service, below the name of the service:
// /compute/metrics, /network/readyz. Without an address it does nothing. The guard applies as at
// the other addresses.
func (c *cloud) listenForOperators(ctx context.Context, g *guard) error {
	if c.opts.metricsListen == "" {
		return nil
	}
	mux := http.NewServeMux()
	for name, s := range map[string]*server{
		"placement": &c.placement.server, "network": &c.network.server, "compute": &c.compute.server,
		"identity": &c.identity.server, "image": &c.images.server,
	} {
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, s.serving.ops))
	}
	ln, err := listenTCP(ctx, c.opts.metricsListen)
	if err != nil {
		return fail(exitListen, fmt.Errorf("listening on %s: %w", c.opts.metricsListen, err))
	}
	if err := g.check([]net.Listener{ln}); err != nil {
		ln.Close()
		return err
	}
	cfg := &config.DefaultPlacement().Service
	c.listening(c.opts.metricsListen)(&cfg.Berth)
	c.operators.start(ln, httpapi.NewFront(mux, frontSettings(cfg, g, nil), nil), serveOptions(cfg.Berth, c.log))
	return nil
}
