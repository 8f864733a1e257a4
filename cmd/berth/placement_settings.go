package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/logging"
)

// openLog opens the log that the settings name.
func openLog(env environment, cfg *config.Placement) (*slog.Logger, *logging.Output, error) {
	file := cfg.Default.LogFile
	if file != "" && cfg.Default.LogDir != "" && !filepath.IsAbs(file) {
		file = filepath.Join(cfg.Default.LogDir, file)
	}
	return logging.Open(logging.Options{
		File:  file,
		Watch: cfg.Default.WatchLog,
		Text:  !cfg.Default.UseJSON,
		Debug: cfg.Default.Debug,
		Name:  "berth.placement",
	}, env.stderr)
}

// newPolicy reads the policy files. A relative one is looked for beside the
// settings files.
func newPolicy(cfg *config.Placement, log *slog.Logger) (*policy.Enforcer, error) {
	p := cfg.Policy
	e, err := policy.New(policy.Options{
		File:               besideSettings(cfg, p.File),
		Dirs:               mapStrings(p.Dirs, func(dir string) string { return besideSettings(cfg, dir) }),
		DefaultRule:        p.DefaultRule,
		EnforceScope:       p.EnforceScope,
		EnforceNewDefaults: p.EnforceNewDefaults,
		Defaults:           placementapi.PolicyDefaults(),
		OnReload: func(err error) {
			if err != nil {
				log.Error("the policy files changed and cannot be used: the rules stay as they were", "error", err)
				return
			}
			log.Info("the policy files changed and are in force")
		},
	})
	if err != nil {
		return nil, err
	}
	for _, w := range e.Warnings() {
		log.Warn("policy: " + w)
	}
	return e, nil
}

// besideSettings finds a relative path in the directories of the settings
// files, and leaves it out when it is in none: such files are optional.
func besideSettings(cfg *config.Placement, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	dirs := append(mapStrings(cfg.Files, filepath.Dir), cfg.Dirs...)
	for _, dir := range dirs {
		if full := filepath.Join(dir, path); exists(full) {
			return full
		}
	}
	if len(dirs) > 0 {
		return filepath.Join(dirs[0], path)
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func mapStrings(list []string, f func(string) string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = f(s)
	}
	return out
}

// corsOf turns the settings into what the API needs, nil when no origin is
// allowed.
func corsOf(c config.CORS) *httpapi.CORS {
	if len(c.AllowedOrigin) == 0 {
		return nil
	}
	return &httpapi.CORS{
		AllowedOrigins:   c.AllowedOrigin,
		AllowCredentials: c.AllowCredentials,
		ExposeHeaders:    c.ExposeHeaders,
		MaxAge:           c.MaxAge,
		AllowMethods:     c.AllowMethods,
		AllowHeaders:     c.AllowHeaders,
	}
}
