package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/config"
)

func newNetwork(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "network",
		Short: "The part of OpenStack Networking that guaranteed bandwidth needs",
		Long: `Network keeps networks, subnets, ports and QoS policies, and serves the
Networking API 2.0, as Neutron does, for the openstack client and for Nova. It
turns guarantees of bandwidth and of packet rates into the resource requests of
ports, keeps the network agents' devices in placement, and binds ports to the
devices that were selected.

It has no routers, no DHCP and no floating addresses.`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNetworkServe(env))
	return cmd
}

// trialNetworkAddress is where the service listens without any settings.
const trialNetworkAddress = "127.0.0.1:9696"

func newNetworkServe(env environment) *cobra.Command {
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
  berth network serve --config /etc/neutron/neutron.conf --config /etc/neutron/plugins/ml2/ml2_conf.ini

  # and then, from elsewhere
  curl -H 'X-Auth-Token: admin' http://127.0.0.1:9696/v2.0/networks

  export OS_AUTH_TYPE=admin_token OS_ENDPOINT=http://127.0.0.1:9696/ OS_TOKEN=admin
  openstack network create net0 --provider-network-type vlan \
    --provider-physical-network physnet0 --provider-segment 100
  openstack network qos policy create policy0
  openstack network qos rule create policy0 --type minimum-bandwidth --min-kbps 1000000 --egress
  openstack port create port0 --network net0 --qos-policy policy0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveNetwork(cmd.Context(), env, flags.network)
		},
	}
	flags.add(cmd, "neutron.conf or ml2_conf.ini", trialNetworkAddress)
	return cmd
}

// network reads the settings of the network service. With no files at all they are
// those of a trial.
func (f *serveFlags) network() (*config.Network, []string, error) {
	cfg, warnings, err := config.LoadNetwork(f.files, f.dirs)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the settings:\n%w", err)
	}
	if f.none() {
		trial(cfg)
	}
	f.apply(&cfg.Service)
	return cfg, warnings, nil
}

// trial sets the settings of a trial.
func trial(cfg *config.Network) {
	cfg.Berth.Listen = trialNetworkAddress
	cfg.Neutron.AuthStrategy = config.StrategyNoAuth
	cfg.Neutron.ServicePlugins = []string{config.PluginQoS, config.PluginTrunk, config.PluginSegments}
	cfg.ML2.MechanismDrivers = []string{config.DriverOpenVSwitch, config.DriverSRIOV}
	cfg.ML2.ExtensionDrivers = []string{config.ExtensionQoS, config.ExtensionPortSecurity}
	cfg.ML2.TenantNetworkTypes = []string{"vxlan"}
	cfg.ML2.VLANRanges, cfg.ML2.VXLANRanges = []string{"physnet0"}, []string{"1:1000"}
}

// serveNetwork runs the service until ctx ends, with the settings that read returns. A reload calls
// read again.
func serveNetwork(ctx context.Context, env environment, read func() (*config.Network, []string, error)) error {
	cfg, warnings, err := read()
	if err != nil {
		return fail(exitUsage, err)
	}
	log, output, err := openServiceLog(env, &cfg.Service, networkLog, warnings)
	if err != nil {
		return err
	}
	defer output.Close()
	s, err := startNetwork(ctx, env, cfg, log, given{})
	if err != nil {
		return err
	}
	s.source = source{func() (serviceSettings, []string, error) { return read() }, output}
	return s.run(ctx)
}
