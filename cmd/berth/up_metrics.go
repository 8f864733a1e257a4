package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/berthcloud/berth/config"
)

// listenForOperators serves what each service shows its operators, below the name of the
// service: /compute/metrics, /network/readyz. Without an address it does nothing.
func (c *cloud) listenForOperators(ctx context.Context) error {
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
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", c.opts.metricsListen)
	if err != nil {
		return fail(exitListen, fmt.Errorf("listening on %s: %w", c.opts.metricsListen, err))
	}
	c.operators.start(ln, mux, serveOptions(config.DefaultPlacement().Berth, c.log))
	return nil
}
