package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
)

func newPlacement(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "placement",
		Short: "The placement service, a drop-in for OpenStack Placement",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPlacementServe(env), newPlacementCheckAuth(env))
	return cmd
}

func newPlacementServe(env environment) *cobra.Command {
	var files, dirs []string
	var listen string
	cmd := &cobra.Command{
		Use:   "serve [--config FILE] [--listen HOST:PORT]",
		Short: "Serve the Placement API",
		Long: `Serve answers the Placement API, microversions 1.0 to 1.39, as OpenStack
Placement does, until it gets SIGTERM or SIGINT; requests in flight are finished.

It reads the placement.conf that OpenStack Placement reads. Without one it keeps
its database in the user's data directory ($XDG_DATA_HOME/berth/placement.db),
listens on 127.0.0.1:8778, and believes what tokens say of themselves (noauth2):
that is for trying it, not for a cloud.

Settings that Berth does not know are named in a warning. Wrong ones are all
named at once, and nothing is started. docs/operations/settings.md lists what
can be set.

` + exitHelp,
		Example: `  berth placement serve
  berth placement serve --config /etc/placement/placement.conf --listen 0.0.0.0:8778

  # and then, from elsewhere
  curl -H 'X-Auth-Token: admin' http://127.0.0.1:8778/resource_providers`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			read := func() (*config.Placement, []string, error) {
				cfg, warnings, err := loadConfig(files, dirs)
				if err == nil && listen != "" {
					cfg.Berth.Listen = listen
				}
				return cfg, warnings, err
			}
			cfg, warnings, err := read()
			if err != nil {
				return fail(exitUsage, err)
			}
			return servePlacement(cmd.Context(), env, cfg, warnings, read)
		},
	}
	cmd.Flags().StringArrayVar(&files, "config", nil, "read this placement.conf; may be given several times, later ones win")
	cmd.Flags().StringArrayVar(&dirs, "config-dir", nil, "read all *.conf files of this directory, after the files")
	cmd.Flags().StringVar(&listen, "listen", "", "listen on `HOST:PORT` instead of what the settings say (default 127.0.0.1:8778)")
	return cmd
}

// loadConfig reads the settings. With none at all they are those of a trial:
// noauth2.
func loadConfig(files, dirs []string) (*config.Placement, []string, error) {
	cfg, warnings, err := config.LoadPlacement(files, dirs)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the settings:\n%w", err)
	}
	if len(files) == 0 && len(dirs) == 0 {
		cfg.API.AuthStrategy = config.StrategyNoAuth2
	}
	return cfg, warnings, nil
}

// servePlacement runs the service until ctx ends. A reload reads the settings
// again.
func servePlacement(ctx context.Context, env environment, cfg *config.Placement, warnings []string, read func() (*config.Placement, []string, error)) error {
	log, output, err := openLog(env, cfg)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer output.Close()
	for _, w := range warnings {
		log.Warn(w)
	}
	if len(cfg.Ignored) > 0 {
		log.Debug("settings that are known and without effect", "options", cfg.Ignored)
	}
	s, err := startPlacement(ctx, env, cfg, false, log)
	if err != nil {
		return err
	}
	s.source = source{read, output}
	return s.run(ctx)
}

// defaultDatabase returns the file that holds the database when no settings name
// one, making its directory.
func defaultDatabase(env environment) (string, error) {
	dir, err := dataDir(env)
	return filepath.Join(dir, "placement.db"), err
}

// dataDir returns the directory of Berth's own files, which it makes.
func dataDir(env environment) (string, error) {
	base := env.getenv("XDG_DATA_HOME")
	if base == "" {
		home := env.getenv("HOME")
		if home == "" {
			return "", errors.New("there is no $HOME for the database: set [placement_database] connection")
		}
		base = filepath.Join(home, ".local", "share")
	}
	dir := filepath.Join(base, "berth")
	return dir, os.MkdirAll(dir, 0o700)
}
