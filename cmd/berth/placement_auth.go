package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// checkAuthOptions are the flags of "berth placement check-auth".
type checkAuthOptions struct {
	env         cli.Env
	files, dirs []string
	token       string
	out         *cli.Output
}

// newPlacementCheckAuth returns "berth placement check-auth". The token may be in the environment,
// since other users of the machine can read command lines. Without any files it does not become a
// trial as "serve" does: noauth2 has nothing to check.
func newPlacementCheckAuth(env cli.Env) *cobra.Command {
	o := &checkAuthOptions{env: env}
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
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cli.AddConfigFlags(cmd.Flags(), "placement.conf", &o.files, &o.dirs)
	cmd.Flags().StringVar(&o.token, "token", "", "`TOKEN`: token to check too (default $OS_TOKEN)")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run makes the steps, and prints them.
func (o *checkAuthOptions) run(ctx context.Context) error {
	cfg, warnings, err := config.LoadPlacement(o.files, o.dirs)
	if err != nil {
		return cli.Fail(cli.ExitUsage, fmt.Errorf("reading the settings:\n%w", err))
	}
	if o.token == "" {
		o.token = o.env.Getenv("OS_TOKEN")
	}
	report, err := daemon.CheckAuth(ctx, cfg, warnings, o.token)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	r := cli.Result{
		Columns: []string{"Step", "Result", "Detail"},
		Value:   report,
		Text:    report.Write,
	}
	for _, s := range report.Steps {
		r.Rows = append(r.Rows, []any{s.Step, s.Result, s.Detail})
	}
	if err := o.out.Print(o.env, r); err != nil {
		return err
	}
	return cli.Fail(cli.ExitFindings, report.Failure())
}
