package main

import (
	"fmt"
	"slices"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/logging"
)

// A source is where settings came from, for reading them again.
type source struct {
	reread func() (*config.Placement, []string, error) // nil: nothing is reloaded
	output *logging.Output
}

// A reloadStep takes over a part of the settings while the service runs. On an
// error the part stays as it was.
type reloadStep struct {
	part     string
	settings []string // those it takes over; all others need a restart
	apply    func(*placementServer, *config.Placement) error
}

// reloadSteps are done in this order. The log comes first, since the others
// write to it.
func reloadSteps() []reloadStep {
	return []reloadStep{
		{"log file", nil, (*placementServer).reloadLogFile},
		{"log level", []string{"[DEFAULT] debug"}, (*placementServer).reloadLogLevel},
		{"TLS", []string{
			"[berth] tls_cert_file", "[berth] tls_key_file", "[berth] tls_client_ca_file", "[berth] tls_min_version",
		}, (*placementServer).reloadTLS},
		{"limits and proxies", []string{
			"[berth] max_requests", "[berth] max_connections", "[berth] max_connections_per_client", "[berth] path_prefix",
			"[berth] compress_min_size", "[berth] trusted_proxies", "[oslo_middleware] enable_proxy_headers_parsing",
		}, (*placementServer).reloadFront},
		{"policy", []string{
			"[oslo_policy] policy_file", "[oslo_policy] policy_dirs", "[oslo_policy] policy_default_rule",
			"[oslo_policy] enforce_scope", "[oslo_policy] enforce_new_defaults",
		}, (*placementServer).reloadPolicy},
	}
}

// reload reads the settings again and takes over what can change while the
// service runs. Wrong settings change nothing; certificates, policy files and
// the log file are looked at all the same.
func (s *placementServer) reload() {
	s.log.Info("reloading")
	cfg, ok := s.reread()
	for _, step := range reloadSteps() {
		if err := step.apply(s, cfg); err != nil {
			ok = false
			s.log.Error("a part was not reloaded and stays as it was", "part", step.part, "error", err)
		}
	}
	if names := needRestart(s.cfg, cfg); len(names) > 0 {
		s.log.Warn("some settings changed that count from the next start on", "settings", names)
	}
	s.loaded = cfg
	s.reloads.count(ok)
	s.log.Info("reloaded", "complete", ok)
}

// reread returns the settings as they are now, or when they are wrong the ones
// that were read last.
func (s *placementServer) reread() (cfg *config.Placement, ok bool) {
	cfg, warnings, err := s.source.reread()
	if err != nil {
		s.log.Error("the settings are wrong and stay as they were", "error", err)
		return s.loaded, false
	}
	for _, w := range warnings {
		s.log.Warn(w)
	}
	return cfg, true
}

func (s *placementServer) reloadLogFile(*config.Placement) error {
	return s.source.output.Reopen()
}

func (s *placementServer) reloadLogLevel(cfg *config.Placement) error {
	s.source.output.SetDebug(cfg.Default.Debug)
	return nil
}

func (s *placementServer) reloadTLS(cfg *config.Placement) error {
	files, on, err := tlsFiles(cfg)
	switch was := s.serving.certs != nil; {
	case err != nil:
		return err
	case on != was:
		s.log.Warn("TLS is turned on and off by a restart only")
		return nil
	case !on:
		return nil
	}
	return s.serving.certs.Reload(files)
}

func (s *placementServer) reloadFront(cfg *config.Placement) error {
	s.serving.front.Set(frontSettings(cfg))
	s.serving.limit.Set(limitSettings(cfg))
	return nil
}

func (s *placementServer) reloadPolicy(cfg *config.Placement) error {
	rules, err := newPolicy(cfg, s.log)
	if err != nil {
		return fmt.Errorf("[oslo_policy]: %w", err)
	}
	s.rules.current.Store(rules)
	return nil
}

// needRestart names the settings that differ and are not taken over by a reload.
func needRestart(running, read *config.Placement) []string {
	was := make(map[string]string)
	for _, o := range running.Settings() {
		was[o.Name.String()] = o.Value.String()
	}
	var live, names []string
	for _, step := range reloadSteps() {
		live = append(live, step.settings...)
	}
	for _, o := range read.Settings() {
		name := o.Name.String()
		if o.Use != config.Ignored && was[name] != o.Value.String() && !slices.Contains(live, name) {
			names = append(names, name)
		}
	}
	return names
}
