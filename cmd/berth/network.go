package main

import (
	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/operators"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
)

// newNetwork returns "berth network", which has subcommands only.
func newNetwork(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "network",
		Short: "The part of OpenStack Networking that guaranteed bandwidth needs",
		Long: `Network keeps networks, subnets, ports and QoS policies, and serves the
Networking API 2.0, as Neutron does, for the openstack client and for Nova. It
turns guarantees of bandwidth and of packet rates into the resource requests of
ports, keeps the network agents' devices in placement, and binds ports to the
devices that were selected.

It has no routers, no DHCP and no floating addresses.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNetworkServe(env), operators.NewChanges(env))
	return cmd
}

// newNetworkServe returns "berth network serve".
func newNetworkServe(env cli.Env) *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve [--config FILE]... [--listen HOST:PORT]",
		Short: "Serve the Networking API",
		Long: `Serve serves the Networking API until it receives SIGTERM or SIGINT; requests in
progress are finished.

It reads the files of a Neutron server: neutron.conf, and ml2_conf.ini after it.
The database in them must be one of Berth's own, not Neutron's. Without any
files it uses a database in the user's data directory
($XDG_DATA_HOME/berth/network.db), listens on 127.0.0.1:9696, accepts any token
(noauth), and has one physical network, physnet0: for trials, not for a cloud.

Unknown settings are logged as warnings. If settings are wrong, all of them are
reported together, and the service does not start.
docs/operations/settings-network.md lists all settings. SIGHUP reloads settings,
certificates and policy files.

` + exitHelp,
		Example: `  berth network serve
  berth network serve --config /etc/neutron/neutron.conf \
      --config /etc/neutron/plugins/ml2/ml2_conf.ini

  # and then, from elsewhere
  curl -H 'X-Auth-Token: admin' http://127.0.0.1:9696/v2.0/networks

  export OS_AUTH_TYPE=admin_token OS_TOKEN=admin
  export OS_ENDPOINT=http://127.0.0.1:9696/
  openstack network create net0 --provider-network-type vlan \
    --provider-physical-network physnet0 --provider-segment 100
  openstack network qos policy create policy0
  openstack network qos rule create policy0 --type minimum-bandwidth \
    --min-kbps 1000000 --egress
  openstack port create port0 --network net0 --qos-policy policy0`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.ServeNetwork(cmd.Context(), process(env),
				readSettings(&flags, config.LoadNetwork, daemon.TrialNetwork))
		},
	}
	flags.add(cmd, "neutron.conf or ml2_conf.ini", daemon.TrialNetworkAddress)
	return cmd
}
