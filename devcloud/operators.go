package devcloud

import (
	"context"
	"net/http"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// listenForOperators serves the operators' pages of each service, below the name of the service:
// /compute/metrics, /network/readyz. Without an address it does nothing. The guard applies as at
// the other addresses.
func (c *cloud) listenForOperators(ctx context.Context, g *daemon.Guard) (err error) {
	if c.opts.MetricsListen == "" {
		return nil
	}
	mux := http.NewServeMux()
	for name, s := range map[string]*daemon.Server{
		"placement": &c.placement.Server, "network": &c.network.Server, "compute": &c.compute.Server,
		"identity": c.identity, "image": c.images,
	} {
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, s.Operators()))
	}
	cfg := &config.DefaultPlacement().Service
	c.listening(c.opts.MetricsListen)(&cfg.Berth)
	c.operators, err = daemon.StartOperators(ctx, cfg, g, mux, c.log)
	return err
}
