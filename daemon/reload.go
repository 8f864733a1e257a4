package daemon

import (
	"slices"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/logging"
)

// A source is where a reload reads the settings, and the log that it reopens.
type source struct {
	reread func() (serviceSettings, []string, error) // nil: nothing is reloaded
	output *logging.Output
}

// A reloadStep applies a part of the settings while the service runs. On an error the part is
// unchanged.
type reloadStep struct {
	part     string
	settings []string // those it takes over; all others need a restart
	apply    func(*Server, *config.Service) error
}

// reloadSteps are executed in this order; the log comes first, since the others write to it.
// Settings that no step lists need a restart.
func reloadSteps() []reloadStep {
	return []reloadStep{
		{"log file", nil, func(s *Server, _ *config.Service) error { return s.source.output.Reopen() }},
		{"log level", []string{"[DEFAULT] debug"}, func(s *Server, cfg *config.Service) error {
			s.source.output.SetDebug(cfg.Default.Debug)
			return nil
		}},
		{"TLS", []string{
			"[berth] tls_cert_file", "[berth] tls_key_file", "[berth] tls_client_ca_file", "[berth] tls_agent_ca_file",
			"[berth] tls_min_version",
			"[ssl] cert_file", "[ssl] key_file", "[ssl] ca_file",
		}, (*Server).reloadTLS},
		{"limits and proxies", []string{
			"[berth] max_requests", "[berth] max_connections", "[berth] max_connections_per_client", "[berth] path_prefix",
			"[berth] compress_min_size", "[berth] trusted_proxies", "[berth] allowed_hosts",
			"[oslo_middleware] enable_proxy_headers_parsing",
		}, (*Server).reloadFront},
		{"policy", []string{
			"[oslo_policy] policy_file", "[oslo_policy] policy_dirs", "[oslo_policy] policy_default_rule",
			"[oslo_policy] enforce_scope", "[oslo_policy] enforce_new_defaults",
		}, (*Server).reloadPolicy},
	}
}

// reload reads the settings again and applies those that can change while the service runs. Invalid
// settings change nothing; certificates, policy files and the log file are reloaded in any case.
func (s *Server) reload() {
	s.log.Info("reloading")
	cfg, ok := s.reread()
	for _, step := range reloadSteps() {
		if err := step.apply(s, cfg.Common()); err != nil {
			ok = false
			s.log.Error("a part cannot be reloaded; its old settings remain in force", "part", step.part, "error", err)
		}
	}
	if names := needRestart(s.running, cfg); len(names) > 0 {
		s.log.Warn("some changed settings take effect at the next start", "settings", names)
	}
	s.loaded = cfg
	s.metrics.reloads.count(ok)
	s.log.Info("reloaded", "complete", ok)
}

// reread returns the current settings, or the last valid ones when they are invalid.
func (s *Server) reread() (cfg serviceSettings, ok bool) {
	cfg, warnings, err := s.source.reread()
	if err != nil {
		s.log.Error("the settings are wrong; the old ones remain in force", "error", err)
		return s.loaded, false
	}
	for _, w := range warnings {
		s.log.Warn(w)
	}
	return cfg, true
}

// reloadTLS reads the certificates again, from the files that the settings name. Listeners are
// opened with or without TLS, so that turning it on or off needs a restart.
func (s *Server) reloadTLS(cfg *config.Service) error {
	files, enabled, err := tlsFiles(cfg)
	switch prev := s.certs != nil; {
	case err != nil:
		return err
	case enabled != prev:
		s.log.Warn("TLS is turned on and off by a restart only")
		return nil
	case !enabled:
		return nil
	}
	return s.certs.Reload(files)
}

// reloadFront replaces the settings of the handlers in front of the API and the bounds of
// connections.
func (s *Server) reloadFront(cfg *config.Service) error {
	s.front.Set(frontSettings(cfg, s.guard, s.format))
	s.limit.Set(limitSettings(cfg))
	return nil
}

// reloadPolicy reads the policy files. The old rules remain in force when they are invalid.
func (s *Server) reloadPolicy(cfg *config.Service) error {
	rules, err := s.policy.read(cfg, s.log)
	if err != nil {
		return err
	}
	s.rules.current.Store(rules)
	return nil
}

// needRestart names the settings that differ and that no step applies.
func needRestart(running, read serviceSettings) []string {
	prev := make(map[string]string)
	for _, o := range running.Settings() {
		prev[o.Name.String()] = o.Value.String()
	}
	var live, names []string
	for _, step := range reloadSteps() {
		live = append(live, step.settings...)
	}
	for _, o := range read.Settings() {
		name := o.Name.String()
		if prev[name] != o.Value.String() && !slices.Contains(live, name) {
			names = append(names, name)
		}
	}
	return names
}
