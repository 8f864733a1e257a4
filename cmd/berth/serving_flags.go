package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/logging"
)

// serveFlags are the flags of the commands that serve by settings files.
type serveFlags struct {
	files, dirs []string
	listen      string
	remote      bool
}

// add declares the flags, given what the files are called and where the service
// listens without any.
func (f *serveFlags) add(cmd *cobra.Command, file, address string) {
	cmd.Flags().StringArrayVar(&f.files, "config", nil, "read this "+file+"; may be given several times, later ones win")
	cmd.Flags().StringArrayVar(&f.dirs, "config-dir", nil, "read all *.conf files of this directory, after the files")
	cmd.Flags().StringVar(&f.listen, "listen", "", "listen on `HOST:PORT` instead of what the settings say (default "+address+")")
	cmd.Flags().BoolVar(&f.remote, "allow-remote-noauth", false, "start although auth_strategy believes all tokens and other machines can reach the address: whoever does can do everything")
}

// none reports whether no files are named.
func (f *serveFlags) none() bool { return len(f.files) == 0 && len(f.dirs) == 0 }

// apply puts what the flags say in place of what the settings do.
func (f *serveFlags) apply(cfg *config.Service) {
	if f.listen != "" {
		cfg.Berth.Listen = f.listen
	}
	if f.remote {
		cfg.Berth.AllowRemoteNoAuth = true
	}
}

// openServiceLog opens the log of a service that is about to start and tells it what
// was noticed about the settings. An error carries its exit code.
func openServiceLog(env environment, cfg *config.Service, name string, warnings []string) (*slog.Logger, *logging.Output, error) {
	log, output, err := openLog(env, cfg, name)
	if err != nil {
		return nil, nil, fail(exitUsage, err)
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	if len(cfg.Ignored) > 0 {
		log.Debug("settings that are known and without effect", "options", cfg.Ignored)
	}
	return log, output, nil
}
