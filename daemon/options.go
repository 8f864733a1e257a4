package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/logging"
)

// The names of the parts of the program in the log. Under "berth up" they share one.
const (
	PlacementLog = "berth.placement"
	NetworkLog   = "berth.network"
	ComputeLog   = "berth.compute"
	IdentityLog  = "berth.identity"
	ImageLog     = "berth.image"
	AgentLog     = "berth.agent"
	DatabaseLog  = "berth.db"
	UpLog        = "berth.up"
)

// OpenLog opens the log that the settings name, or p.Stderr; its lines have the given name of the
// part of the program. The caller closes the Output.
func OpenLog(p Process, cfg *config.Service, name string) (*slog.Logger, *logging.Output, error) {
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
	}, p.Stderr)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, logFileAdvice(p.Getenv))
	}
	return log, output, err
}

// logFileAdvice is advice about a log file that cannot be opened. The usual reason is settings of
// upstream's service, whose log directory belongs to upstream's user and is not writable in the
// unit of systemd.
func logFileAdvice(getenv func(string) string) string {
	directory := "a directory that the service may write to"
	if own, _, _ := strings.Cut(getenv("LOGS_DIRECTORY"), ":"); own != "" { // from LogsDirectory= of the unit
		directory = own + ", which the service may write to"
	}
	return "[DEFAULT] log_file and log_dir name that file: remove them to log to standard error, which systemd keeps in " +
		"its journal, or name a file in " + directory +
		"; any other directory has to belong to the service's user, and to be in ReadWritePaths= of its unit (systemctl edit)"
}

// A policySource has the defaults of an API's policy.
type policySource struct {
	defaults   []policy.Rule
	networking bool // Neutron's checks of fields are supported
}

// read reads the policy files and logs the warnings about them. A relative path is relative to the
// settings files.
func (source policySource) read(cfg *config.Service, log *slog.Logger) (*policy.Enforcer, error) {
	set := cfg.Policy
	var dirs []string
	for _, dir := range set.Dirs {
		dirs = append(dirs, NextToSettings(cfg, dir))
	}
	e, err := policy.New(policy.Options{
		File:               NextToSettings(cfg, set.File),
		Dirs:               dirs,
		DefaultRule:        set.DefaultRule,
		EnforceScope:       set.EnforceScope,
		EnforceNewDefaults: set.EnforceNewDefaults,
		Defaults:           source.defaults,
		Networking:         source.networking,
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

// NextToSettings returns the path of a file that settings name relative to their own directory: the
// first directory that has it, or else a path in the first directory, since policy files are
// optional. It is "" when there are no settings files.
func NextToSettings(cfg *config.Service, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	var dirs []string
	for _, file := range cfg.Files {
		dirs = append(dirs, filepath.Dir(file))
	}
	dirs = append(dirs, cfg.Dirs...)
	for _, dir := range dirs {
		full := filepath.Join(dir, path)
		if _, err := os.Stat(full); err == nil {
			return full
		}
	}
	if len(dirs) > 0 {
		return filepath.Join(dirs[0], path)
	}
	return ""
}

// serveOptions converts the settings. A time to stop of 0 means no bound in the settings, and the
// default in the options.
func serveOptions(b config.Berth, log *slog.Logger) httpserver.ServeOptions {
	stop := b.ShutdownTimeout
	if stop == 0 {
		stop = 365 * 24 * time.Hour
	}
	return httpserver.ServeOptions{StopTimeout: stop, Log: log, HTTP2: b.HTTP2}
}

// OpenServiceLog opens the log of a service that is about to start and logs the warnings about the
// settings. The error is a [Failure].
func OpenServiceLog(
	p Process, cfg *config.Service, name string, warnings []string,
) (*slog.Logger, *logging.Output, error) {
	log, output, err := OpenLog(p, cfg, name)
	if err != nil {
		return nil, nil, Fail(WrongSettings, err)
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	if len(cfg.Ignored) > 0 {
		log.Debug("settings without effect", "options", cfg.Ignored)
	}
	return log, output, nil
}
