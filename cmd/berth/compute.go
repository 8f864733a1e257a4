package main

import (
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/operators"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// newCompute returns "berth compute", which has subcommands only.
func newCompute(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compute",
		Short: "The part of OpenStack Compute that scheduling needs",
		Long: `Compute keeps flavors, hosts and servers, and serves the Compute API 2.1 to
2.104, as Nova does, for the openstack client and for Neutron. It queries
placement for hosts that have the resources that a server's flavor, image and
ports need, claims them, and has a host build the server. When that fails, the
resources are released and the next host is tried.

It has no volumes, no consoles and no images of its own.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newComputeServe(env), operators.NewOperations(env))
	return cmd
}

// newComputeServe returns "berth compute serve".
func newComputeServe(env cli.Env) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve --config FILE... [--listen HOST:PORT]",
		Short: "Serve the Compute API",
		Long: `Serve serves the Compute API until it receives SIGTERM or SIGINT; requests in
progress are finished. Unfinished operations on servers continue at the next
start.

It reads nova.conf. The database in [database] must be one of Berth's own, not
Nova's. [placement], [neutron] and [glance] have the addresses and credentials
of the other services.

Unknown settings are logged as warnings. If settings are wrong, all of them are
reported together, and the service does not start.
docs/operations/settings-compute.md lists all settings. SIGHUP reloads settings,
certificates and policy files.

` + exitHelp,
		Example: `  berth compute serve --config /etc/nova/nova.conf`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.ServeCompute(cmd.Context(), process(env), readSettings(&flags, config.LoadCompute, nil))
		},
	}
	flags.add(cmd, "nova.conf", "127.0.0.1:8774")
	return cmd
}
