package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// newPlacementCheckAuth returns "berth placement check-auth". The token may be in the environment,
// since other users of the machine can read command lines. Without any files it does not become a
// trial as "serve" does: noauth2 has nothing to check.
func newPlacementCheckAuth(env cli.Env) *cobra.Command {
	var files, dirs []string
	var token string
	var format *cli.Choice
	cmd := &cobra.Command{
		Use:   "check-auth [--config FILE] [--token TOKEN] [-f FORMAT]",
		Short: "Check the access to Keystone, step by step",
		Long: `Check-auth makes the steps that the service makes before it can check its
callers' tokens, and prints the result of each: the settings, finding Keystone,
logging in, the endpoint in the catalogue, the role for checking tokens, the
clocks and TLS.

With a token, from --token or else from the environment variable OS_TOKEN, it
has Keystone check that as well, and prints whose it is and which of the
Placement API's policy rules it passes. Other users of this machine can see
--token while the command runs; they cannot see the variable.

No passwords and no tokens are printed.

Exit codes:
  0  all steps succeeded
  1  could not check; standard error says why
  2  wrong arguments or settings
  6  a step failed; the service would answer requests with 401 or 503`,
		Example: `  berth placement check-auth --config /etc/placement/placement.conf
  OS_TOKEN=$(openstack token issue -f value -c id) \
      berth placement check-auth --config /etc/placement/placement.conf`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, warnings, err := config.LoadPlacement(files, dirs)
			if err != nil {
				return cli.Fail(cli.ExitUsage, fmt.Errorf("reading the settings:\n%w", err))
			}
			if token == "" {
				token = env.Getenv("OS_TOKEN")
			}
			report, err := daemon.CheckAuth(cmd.Context(), cfg, warnings, token)
			if err != nil {
				return cli.Fail(cli.ExitUsage, err)
			}
			if err := report.Write(env.Stdout, format.Json()); err != nil {
				return cli.Fail(cli.ExitFailure, err)
			}
			return cli.Fail(cli.ExitFindings, report.Failure())
		},
	}
	cli.AddConfigFlags(cmd, "placement.conf", &files, &dirs)
	cmd.Flags().StringVar(&token, "token", "", "check this `TOKEN` too (default $OS_TOKEN)")
	format = cli.AddFormat(cmd, "text")
	return cmd
}
