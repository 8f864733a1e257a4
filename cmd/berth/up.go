package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/devcloud"
)

// upOptions are the flags of "berth up".
type upOptions struct {
	devcloud.Options

	env   cli.Env
	guide bool
}

// newUp returns "berth up". It has a flag for the address of each service that devcloud starts,
// with devcloud's names and defaults.
func newUp(env cli.Env) *cobra.Command {
	o := &upOptions{env: env}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run Berth on this machine with an example loaded, to try it",
		Long: `Up serves the Placement, Networking and Compute APIs on this machine only, with
the host devstack0 of OpenStack's guide to guaranteed minimum bandwidth: a
compute host, its Open vSwitch agent with the bridge br-physnet0 and its NIC
Switch agent with the network card ens5. The agents report the devices in the
file devstack0.ini, which may be edited. Servers are only recorded: nothing runs
on the host.

With --driver netns, as root on Linux, servers are network namespaces, and so is
each host, with a bridge and a network card whose links carry 500 Mbit/s to the
namespaces berth-outside-bridge and berth-outside-nic, where the links of all
hosts meet. The agents of a host enforce the policies of ports, and guarantees
can be measured with iperf3, before and after a server moves.

The users admin and demo of the project demo log in at an identity service, a
small part of Keystone, with clouds.yaml, admin-openrc and demo-openrc in the
directory of the databases. An image service, a small part of Glance, lists the
images of the file images.json there; they have no data.

Up prints the addresses of the services, how to log in and what to try. Requests
are logged in the file berth.log in the same directory, or shown with --verbose;
warnings and errors are always shown.

Passwords, and a token for curl in the file token, are generated at the first
start and readable by their owner only; --reset generates new ones. They are
sent without TLS: addresses that other machines can reach are refused without
--allow-remote-without-tls, and so are requests whose Host header names a host
other than loopback, the address or --allowed-host.

Changes are kept for the next start; --reset deletes them.

` + exitHelp,
		Example: `  berth up
  berth up --listen 127.0.0.1:18778 --data /tmp/berth --reset
  berth up --run-guide`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	for _, a := range o.Addresses() {
		cmd.Flags().StringVar(a.Listen, a.Flag, a.Usual, "`HOST:PORT`: address of the "+a.Service+" API")
	}
	cmd.Flags().BoolVar(&o.Remote, "allow-remote-without-tls", false,
		"listen on addresses that other machines can reach; passwords and tokens are sent unencrypted")
	cmd.Flags().StringSliceVar(&o.AllowedHosts, "allowed-host", nil,
		"`NAME`: another host name that requests may be for; the first is in the catalogue when listening on all addresses")
	cmd.Flags().StringVar(&o.MetricsListen, "metrics-listen", "",
		"`HOST:PORT`: address of metrics and readiness of all services, as /placement/metrics and /placement/readyz")
	cmd.Flags().IntVar(&o.Hosts, "hosts", 1, "`N`: number of hosts: devstack0 with the guide's devices, devstack1 and "+
		"so on without any, or with --driver netns each with its own")
	cmd.Flags().IntVar(&o.NUMAHosts, "numa-hosts", 0, "`N`: number of hosts, the last ones, that report NUMA nodes to "+
		"placement, for servers with a NUMA topology only; a change moves allocations of servers")
	cmd.Flags().StringVar(&o.Driver, "driver", devcloud.Fake,
		"`DRIVER`: what runs servers: fake only records them, netns makes them network namespaces with interfaces")
	cmd.Flags().StringVar(&o.Data, "data", "", "`DIR`: directory of databases and files (default $XDG_DATA_HOME/berth/up)")
	cmd.Flags().BoolVar(&o.guide, "run-guide", false,
		"run the steps of the guide in a temporary cloud, and print what happens")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false,
		"show the services' log, requests included, and do not write DIR/"+devcloud.LogFile)
	cmd.Flags().BoolVar(&o.Reset, "reset", false,
		"delete the databases and start with the example, and with new passwords")
	return cmd
}

// run runs the services until ctx ends, or the steps of the guide.
func (o *upOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if o.guide {
		return devcloud.RunGuide(ctx, process(o.env), o.env.Stdout, o.Options)
	}
	return devcloud.Run(ctx, process(o.env), o.env.Stdout, o.Options)
}

// check refuses invalid values of flags.
func (o *upOptions) check() error {
	if o.Driver != devcloud.Fake && o.Driver != devcloud.Netns {
		return fmt.Errorf("--driver %s: want %s or %s", o.Driver, devcloud.Fake, devcloud.Netns)
	}
	for _, a := range o.Addresses() {
		if err := checkListen(a.Flag, *a.Listen); err != nil {
			return err
		}
	}
	most, with := devcloud.MaxHosts, ""
	if o.Driver == devcloud.Netns {
		most, with = devcloud.MaxNetnsHosts, " with --driver netns"
	}
	if o.Hosts < 1 || o.Hosts > most {
		return fmt.Errorf("--hosts %d: want 1 to %d%s", o.Hosts, most, with)
	}
	if o.NUMAHosts < 0 || o.NUMAHosts > o.Hosts {
		return fmt.Errorf("--numa-hosts %d: want 0 to %d, the number of hosts", o.NUMAHosts, o.Hosts)
	}
	return nil
}
