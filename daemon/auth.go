package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/authcheck"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/tracing"
)

// newAuthenticator returns the authenticator of a strategy, and a function that closes it. It does
// not send requests: Keystone may be unavailable at the start.
func newAuthenticator(
	cfg *config.Service, strategy string, log *slog.Logger, m *keystoneMetrics, tracer *tracing.Tracer,
) (auth httpapi.Authenticator, end func(), err error) {
	if strategy != config.StrategyKeystone {
		log.Warn("auth_strategy is " + strategy + ": any token is accepted without a check")
		return httpapi.NoAuth, func() {}, nil
	}
	opts := keystoneOptions(&cfg.Keystone)
	opts.Log, opts.Metrics, opts.Wrap = log, m.hooks(), tracer.Transport
	v, err := keystone.New(opts)
	if err != nil {
		return nil, nil, fmt.Errorf("[%s]: %w", credentialsGroup(&cfg.Keystone), err)
	}
	if slices.Contains(cfg.Ignored, "[keystone_authtoken] memcached_servers") ||
		slices.Contains(cfg.Ignored, "[keystone_authtoken] memcache_servers") {
		log.Info("memcached_servers has no effect: checked tokens are cached in this process")
	}
	log.Info("tokens are checked by Keystone", "auth_url", opts.Credentials.AuthURL, "auth_type", opts.Credentials.Type)
	return queryKeystone(v, &cfg.Keystone), v.Close, nil
}

// queryKeystone returns an Authenticator that checks tokens at Keystone and answers as
// keystonemiddleware does.
func queryKeystone(v *keystone.Validator, k *config.Keystone) httpapi.Authenticator {
	uri := cmp.Or(k.WWWAuthenticateURI, k.Auth.AuthURL)
	return func(r *http.Request) (identity.Caller, error) {
		c, err := v.Caller(r.Context(), keystone.Request{
			Token:        userToken(r.Header),
			ServiceToken: joined(r.Header, "X-Service-Token"),
			Method:       r.Method,
			Path:         r.URL.EscapedPath(),
		})
		if err != nil {
			return c, &httpapi.Challenge{Err: err, Keystone: uri, Delayed: k.DelayAuthDecision}
		}
		return c, nil
	}
}

// userToken returns the caller's token. X-Storage-Token is an older name that keystonemiddleware
// still reads.
func userToken(h http.Header) string {
	if _, sent := h["X-Auth-Token"]; sent {
		return joined(h, "X-Auth-Token")
	}
	return joined(h, "X-Storage-Token")
}

// joined returns the values of a header as WSGI servers join them.
func joined(h http.Header, name string) string { return strings.Join(h[name], ",") }

// credentialsGroup returns the group of the settings with the credentials, for messages.
func credentialsGroup(k *config.Keystone) string { return cmp.Or(k.AuthSection, "keystone_authtoken") }

// keystoneOptions converts the settings. timeout counts where http_connect_timeout is not set. A
// cache time or a time-out below 0 counts as 0: keystonemiddleware turns its cache off with -1.
func keystoneOptions(k *config.Keystone) keystone.Options {
	seconds := orInt(k.HTTPConnectTimeout, orInt(k.Timeout, 0))
	return keystone.Options{
		Credentials:          keystone.Credentials{Type: k.AuthType, Auth: keystone.Auth(k.Auth)},
		Interface:            k.Interface,
		Region:               k.RegionName,
		CAFile:               k.CAFile,
		CertFile:             k.CertFile,
		KeyFile:              k.KeyFile,
		Insecure:             k.Insecure,
		Timeout:              time.Duration(max(0, seconds)) * time.Second,
		Retries:              k.HTTPRequestMaxRetries,
		CacheTime:            time.Duration(max(0, k.TokenCacheTime)) * time.Second,
		ServiceRoles:         k.ServiceTokenRoles,
		ServiceRolesRequired: k.ServiceTokenRolesRequired,
		ServiceType:          k.ServiceType,
		DelayDecision:        k.DelayAuthDecision,
	}
}

// keystoneMetrics are the metrics of token checks.
type keystoneMetrics struct {
	validations *prometheus.CounterVec
	hits        prometheus.Counter
	latency     *prometheus.HistogramVec
	up          prometheus.Gauge
}

// newKeystoneMetrics registers the metrics. Keystone counts as available until a request to it
// fails: nothing is sent before the first token has to be checked.
func newKeystoneMetrics(reg prometheus.Registerer) *keystoneMetrics {
	m := &keystoneMetrics{
		validations: counterVec(reg, "berth_keystone_validations_total",
			"Requests whose caller was checked, by what came of it: accepted, refused, unavailable.", "outcome"),
		hits: counter(reg, "berth_keystone_cache_hits_total", "Tokens that were known from an earlier check."),
		latency: promauto.With(reg).NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_keystone_ask_seconds", Help: "Time of requests to Keystone about a token, by outcome.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2.5, 11),
		}, []string{"outcome"}),
		up: promauto.With(reg).NewGauge(prometheus.GaugeOpts{
			Name: "berth_keystone_up", Help: "1, or 0 while Keystone is unavailable.",
		}),
	}
	m.up.Set(1)
	return m
}

// hooks returns the functions that package keystone calls, from many goroutines.
func (m *keystoneMetrics) hooks() keystone.Metrics {
	return keystone.Metrics{
		Validated: func(o keystone.Outcome) { m.validations.WithLabelValues(string(o)).Inc() },
		Cached:    m.hits.Inc,
		Queries: func(took time.Duration, o keystone.Outcome) {
			m.latency.WithLabelValues(string(o)).Observe(took.Seconds())
		},
		Unavailable: func(ok bool) {
			m.up.Set(1)
			if ok {
				m.up.Set(0)
			}
		},
	}
}

// CheckAuth performs the steps of checking a token at Keystone and reports the result of each:
// those that the placement service needs, and the check of the given token unless it is "". The
// error is about settings with which nothing can be checked.
func CheckAuth(ctx context.Context, cfg *config.Placement, warnings []string, token string) (*authcheck.Report, error) {
	return authcheck.Check{
		Settings: cfg, Warnings: warnings, Options: keystoneOptions(&cfg.Keystone), Group: credentialsGroup(&cfg.Keystone),
		Rules: placementapi.PolicyDefaults(), Token: token,
		Policy: func() (*policy.Enforcer, error) {
			return placementPolicy().read(&cfg.Service, slog.New(slog.DiscardHandler))
		},
	}.Run(ctx)
}
