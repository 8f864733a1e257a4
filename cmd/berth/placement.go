package main

import (
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/operators"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/microversion"
)

// newPlacement returns "berth placement", which has subcommands only.
func newPlacement(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "placement",
		Short: "The placement service, a drop-in for OpenStack Placement",
		Args:  cli.KnownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPlacementServe(env), newPlacementCheckAuth(env))
	for _, sub := range operators.RecordsCommands(env) {
		cmd.AddCommand(cli.Formerly(env, sub, sub.Name(), "berth records "+sub.Name()))
	}
	return cmd
}

// newPlacementServe returns "berth placement serve".
func newPlacementServe(env cli.Env) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve [--config FILE] [--listen HOST:PORT]",
		Short: "Serve the Placement API",
		Long: "Serve serves the Placement API, microversions " + microversion.Placement.Range() + `, as OpenStack
Placement does, until it receives SIGTERM or SIGINT; requests in progress are
finished.

It reads the placement.conf of OpenStack Placement. Without one it uses a
database in the user's data directory ($XDG_DATA_HOME/berth/placement.db),
listens on 127.0.0.1:8778, and accepts any token (noauth2): for trials, not for
a cloud.

Unknown settings are logged as warnings. If settings are wrong, all of them are
reported together, and the service does not start. docs/operations/settings.md
lists all settings. SIGHUP reloads settings, certificates and policy files.

` + exitHelp,
		Example: `  berth placement serve
  berth placement serve --config /etc/placement/placement.conf \
      --listen 0.0.0.0:8778

  # and then, from elsewhere
  curl -H 'X-Auth-Token: admin' http://127.0.0.1:8778/resource_providers`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			trial := func(cfg *config.Placement) { cfg.API.AuthStrategy = config.StrategyNoAuth2 }
			return daemon.ServePlacement(cmd.Context(), process(env), readSettings(&flags, config.LoadPlacement, trial))
		},
	}
	flags.add(cmd, "placement.conf", "127.0.0.1:8778")
	return cmd
}
