package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// upOptions are the flags of "berth up".
type upOptions struct {
	listen string
	data   string
	reset  bool
}

func newUp(env environment) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run Berth on this machine with an example loaded, to try it",
		Long: `Up serves the Placement API on this machine only, with the host devstack0 of the
Guaranteed Minimum Bandwidth guide in it: a compute host, its Open vSwitch agent
with the bridge br-physnet0 and its NIC Switch agent with the network card ens5.
The example is loaded through the API, as Nova and Neutron would.

What you change stays for the next time, unless you say --reset.

` + exitHelp,
		Example: `  berth up
  berth up --listen 127.0.0.1:18778 --data /tmp/berth --reset`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd.Context(), env, opts) },
	}
	cmd.Flags().StringVar(&opts.listen, "listen", "127.0.0.1:8778", "listen on `HOST:PORT`")
	cmd.Flags().StringVar(&opts.data, "data", "", "keep the database in `DIR` (default $XDG_DATA_HOME/berth/up)")
	cmd.Flags().BoolVar(&opts.reset, "reset", false, "begin with an empty database")
	return cmd
}

// up serves until ctx ends.
func up(ctx context.Context, env environment, opts upOptions) error {
	dir, err := upDir(env, opts)
	if err != nil {
		return fail(exitUsage, err)
	}
	cfg := config.DefaultPlacement()
	cfg.API.AuthStrategy = config.StrategyNoAuth2
	cfg.Berth.Listen = opts.listen
	path := filepath.Join(dir, "placement.db")
	cfg.Database.Connection = osloconfig.Secret("sqlite:///" + path) // path is absolute: four slashes
	log, output, err := openLog(env, &cfg.Service, placementLog)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer output.Close()
	s, err := startPlacement(ctx, env, cfg, opts.reset, log)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.run(ctx) }()
	url := "http://" + s.ln.Addr().String()
	if err := loadGuide(ctx, url); err != nil {
		stop()
		<-served
		return fail(exitFailure, fmt.Errorf("loading the example: %w", err))
	}
	_ = output.Flush() // the help comes below what was logged
	fmt.Fprint(env.stdout, upHelp(url))
	return <-served
}

// upDir returns the directory of the database, which it makes.
func upDir(env environment, opts upOptions) (string, error) {
	dir := opts.data
	if dir == "" {
		base, err := dataDir(env)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "up")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// upHelp says what to try.
func upHelp(url string) string {
	return strings.ReplaceAll(`
Berth is up. Its placement service is at URL; the token "admin" is the administrator's.

Try it with the openstack client (Debian: python3-openstackclient, python3-osc-placement):

  export OS_AUTH_TYPE=admin_token OS_ENDPOINT=URL OS_TOKEN=admin
  openstack --os-placement-api-version 1.17 resource provider list
  openstack --os-placement-api-version 1.17 trait list | awk '/CUSTOM_/ { print $2 }' | sort
  openstack --os-placement-api-version 1.17 resource provider inventory list 4a6f5f40-b7a1-5df4-9938-63983543f365
  openstack --os-placement-api-version 1.29 allocation candidate list --resource VCPU=1 --resource NET_BW_EGR_KILOBIT_PER_SEC=1000000

or without it:

  curl -H 'X-Auth-Token: admin' URL/resource_providers

Ctrl-C stops it; what you changed is there the next time ("berth up --reset" begins anew).

`, "URL", url)
}
