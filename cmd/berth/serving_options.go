package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/logging"
)

// The names of the parts of the program in the log. Under "berth up" they share one.
const (
	placementLog = "berth.placement"
	networkLog   = "berth.network"
	computeLog   = "berth.compute"
	identityLog  = "berth.identity"
	imageLog     = "berth.image"
	agentLog     = "berth.agent"
	databaseLog  = "berth.db"
	upLog        = "berth.up"
)

// openLog opens the log that the settings name. Its lines have the name of the
// program that writes them.
func openLog(env environment, cfg *config.Service, name string) (*slog.Logger, *logging.Output, error) {
	file := cfg.Default.LogFile
	if file != "" && cfg.Default.LogDir != "" && !filepath.IsAbs(file) {
		file = filepath.Join(cfg.Default.LogDir, file)
	}
	log, output, err := logging.Open(logging.Options{
		File:  file,
		Watch: cfg.Default.WatchLog,
		Text:  !cfg.Default.UseJSON,
		Debug: cfg.Default.Debug,
		Name:  name,
	}, env.stderr)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, logFileAdvice(env))
	}
	return log, output, err
}

// logFileAdvice is advice about a log file that cannot be opened. Often the settings are
// upstream's, whose directory belongs to upstream's user and is not in the unit of systemd.
func logFileAdvice(env environment) string {
	directory := "a directory that the service may write to"
	if own, _, _ := strings.Cut(env.getenv("LOGS_DIRECTORY"), ":"); own != "" { // from LogsDirectory= of the unit
		directory = own + ", which the service may write to"
	}
	return "[DEFAULT] log_file and log_dir name that file: remove them to log to standard error, which systemd keeps in its journal, or name a file in " + directory +
		"; any other directory has to belong to the service's user, and to be in ReadWritePaths= of its unit (systemctl edit)"
}

// policyOf has the defaults of an API's policy.
type policyOf struct {
	defaults   []policy.Rule
	networking bool // Neutron's checks of fields are supported
}

// read reads the policy files. A relative path is relative to the settings files.
func (of policyOf) read(cfg *config.Service, log *slog.Logger) (*policy.Enforcer, error) {
	p := cfg.Policy
	e, err := policy.New(policy.Options{
		File:               besideSettings(cfg, p.File),
		Dirs:               mapStrings(p.Dirs, func(dir string) string { return besideSettings(cfg, dir) }),
		DefaultRule:        p.DefaultRule,
		EnforceScope:       p.EnforceScope,
		EnforceNewDefaults: p.EnforceNewDefaults,
		Defaults:           of.defaults,
		Networking:         of.networking,
		OnReload: func(err error) {
			if err != nil {
				log.Error("the policy files changed and cannot be used; the old rules remain in force", "error", err)
				return
			}
			log.Info("the policy files changed and are in force")
		},
	})
	if err != nil {
		return nil, fmt.Errorf("[oslo_policy]: %w", err)
	}
	for _, w := range e.Warnings() {
		log.Warn("policy: " + w)
	}
	return e, nil
}

// besideSettings finds a relative path in the directories of the settings
// files, and leaves it out when it is in none: such files are optional.
func besideSettings(cfg *config.Service, path string) string {
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

// corsOf converts the settings for the API, nil when no origin is allowed.
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

// serveOptions converts the settings for the listeners. 0 means no bound in the settings, and a
// default in the options.
func serveOptions(b config.Berth, log *slog.Logger) httpapi.ServeOptions {
	bound := func(d, unbounded time.Duration) time.Duration {
		if d == 0 {
			return unbounded
		}
		return d
	}
	return httpapi.ServeOptions{
		ReadHeaderTimeout: bound(b.ReadHeaderTimeout, -1),
		ReadTimeout:       bound(b.ReadTimeout, -1),
		WriteTimeout:      bound(b.WriteTimeout, -1),
		IdleTimeout:       bound(b.IdleTimeout, -1),
		StopTimeout:       bound(b.ShutdownTimeout, 365*24*time.Hour),
		Log:               log,
		HTTP2:             b.HTTP2,
		MaxStreams:        b.HTTP2MaxStreams,
	}
}
