package httpserver

import (
	"io"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// OpsConfig says what the operators' listener shows.
type OpsConfig struct {
	Metrics prometheus.Gatherer                // what /metrics shows; nil hides it
	Cloud   http.Handler                       // what /metrics/cloud shows; nil hides it
	Ready   func() (ready bool, detail string) // called by /readyz; nil means always ready
	Profile bool                               // serve /debug/pprof/
}

// NewOps returns the handler of the operators' listener: /metrics, /metrics/cloud, /healthz,
// /readyz and, when enabled, /debug/pprof/. It has no authentication and belongs on an address that
// only operators can reach.
//
// /healthz answers 200 as long as the process answers at all; /readyz answers 503 with the detail
// while the service should get no traffic.
func NewOps(cfg OpsConfig) http.Handler {
	mux := http.NewServeMux()
	if cfg.Metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Metrics, promhttp.HandlerOpts{}))
	}
	if cfg.Cloud != nil {
		mux.Handle("GET /metrics/cloud", cfg.Cloud)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		plain(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready(w, cfg.Ready)
	})
	if cfg.Profile {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// ready answers 200 or 503. The body is one line: the detail or, without one, "ok" or "not ready".
func ready(w http.ResponseWriter, check func() (bool, string)) {
	ok, detail := true, ""
	if check != nil {
		ok, detail = check()
	}
	if detail == "" {
		detail = map[bool]string{true: "ok", false: "not ready"}[ok]
	}
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	plain(w, status, detail)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	io.WriteString(w, text+"\n") // the client may have disconnected; there is no receiver for the error
}
