package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/daemon/hostagent"
	"github.com/berthcloud/berth/osloconfig"
)

// agentFlags are the flags of "berth agent" and "berth agent check": the check has to read what
// the agent would read.
type agentFlags struct {
	files, dirs []string
	kinds       []string

	computeFiles, computeDirs []string
}

// add adds the flags to a command. The compute host has files of its own, since Neutron's and
// Nova's options of the same name ([DEFAULT] host, debug) may have different values on one
// machine.
func (f *agentFlags) add(cmd *cobra.Command) {
	cli.AddConfigFlags(cmd.Flags(), "neutron.conf, openvswitch_agent.ini or sriov_agent.ini", &f.files, &f.dirs)
	cmd.Flags().StringArrayVar(&f.computeFiles, "compute-config", nil,
		"`FILE`: settings of a compute host, a nova.conf, which is run too; may be repeated, later ones win")
	cmd.Flags().StringArrayVar(&f.computeDirs, "compute-config-dir", nil,
		"`DIR`: directory whose *.conf files are read after those of --compute-config")
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil,
		"`AGENTS`: agents to run, ovs and sriov (default those that the files name devices for)")
}

// newAgent returns "berth agent". Without --compute-config it runs the network agents; with it the
// compute host, and network agents only when their flags are given too.
func newAgent(env cli.Env) *cobra.Command {
	var flags agentFlags
	cmd := &cobra.Command{
		Use:   "agent [--config FILE]...",
		Short: "Run the agents of a host: of its network devices and its servers",
		Long: `Agent runs on a host that servers run on. It reads the files of Neutron's Open
vSwitch and SR-IOV agents and reports to the network service which devices are
connected to which physical network, and the bandwidth that each can guarantee;
the network service keeps this in placement. One process is both agents, as far
as the files name devices.

[berth] network_urls has the addresses of the network service, and
network_token_file the token for it; docs/operations/agent.md lists the options.
Changed files are read again, and SIGHUP reads them at once; files with errors
change nothing.

The agent enforces the rates of the QoS policies of the host's ports, on Open
vSwitch, on virtual functions and on NICs that ports share, and reports which
ports are plugged in. Rates that it cannot enforce are logged, and shown by
"openstack network agent show". [berth] enforce = false turns enforcement off.

With --compute-config it is a compute host as well: it reports the resources of
the machine to the compute service, as nova.conf and provider.yaml files define
them, and runs the servers that are scheduled to it. [berth] compute_driver
selects how: "fake" only records them, for trials, and "netns" makes each a
network namespace with interfaces on the host's bridges. With only that flag it
runs no network agents. docs/operations/compute-host.md lists the options.`,
		Example: `  berth agent --config /etc/neutron/neutron.conf \
      --config /etc/neutron/plugins/ml2/openvswitch_agent.ini
  berth agent --config /etc/neutron/plugins/ml2/openvswitch_agent.ini \
      --compute-config /etc/nova/nova.conf
  berth agent check --config /etc/neutron/plugins/ml2/openvswitch_agent.ini`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src, err := flags.source(cmd.Context(), env)
			if err != nil {
				return cli.Fail(cli.ExitUsage, err)
			}
			return hostagent.Run(cmd.Context(), process(env), src)
		},
	}
	flags.add(cmd)
	cmd.AddCommand(newAgentCheck(env), newAgentInventory(env), newAgentKey(env))
	return cmd
}

// agentCheckOptions are the flags of "berth agent check".
type agentCheckOptions struct {
	agentFlags

	env cli.Env
	out *cli.Output
}

// newAgentCheck returns "berth agent check".
func newAgentCheck(env cli.Env) *cobra.Command {
	o := &agentCheckOptions{env: env}
	cmd := &cobra.Command{
		Use:   "check [--config FILE]... [-f FORMAT]",
		Short: "Compare the settings of a host's agents with the machine",
		Long: `Check reads the settings as berth agent does, and compares them with the
machine: whether the devices exist, are of the configured kind and have the
configured speed. With --compute-config it prints the resources that would be
reported to the compute service. It starts nothing and changes nothing.

Exit codes:
  0  no errors; there may be warnings
  1  could not check; standard error says why
  2  wrong arguments or settings
  6  the host differs from the settings`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.add(cmd)
	o.out = cli.AddOutput(cmd)
	return cmd
}

// nameTime bounds the look-up of the host's canonical name, which may query DNS.
const nameTime = 5 * time.Second

// source returns the sources of the agents' settings. The error is about a flag.
func (f *agentFlags) source(ctx context.Context, env cli.Env) (src hostagent.Source, err error) {
	lookup := func(name string) (string, bool) {
		value := env.Getenv(name)
		return value, value != ""
	}
	src.Sources = osloconfig.Sources{Files: f.files, Dirs: f.dirs, LookupEnv: lookup}
	src.Compute = osloconfig.Sources{Files: f.computeFiles, Dirs: f.computeDirs, LookupEnv: lookup}
	src.IsCompute = len(f.computeFiles)+len(f.computeDirs) > 0
	src.ForNetwork = !src.IsCompute || len(f.files)+len(f.dirs)+len(f.kinds) > 0
	for _, name := range f.kinds {
		kind := agentsettings.Kind(name)
		if kind != agentsettings.OVS && kind != agentsettings.SRIOV {
			return src, fmt.Errorf("--kind %s: there is no such agent; want ovs or sriov", name)
		}
		src.Kinds = append(src.Kinds, kind)
	}
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	src.Names, err = agentsettings.LocalNames(ctx)
	return src, err
}

// run prints the findings about the settings of a host, and fails when one is an error. Warnings
// about the settings go to standard error, so that with -f json standard output has nothing but the
// findings.
func (o *agentCheckOptions) run(ctx context.Context) error {
	src, err := o.source(ctx, o.env)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	findings, warnings, err := src.Check()
	for _, w := range warnings {
		fmt.Fprintln(o.env.Stderr, "warning:", w)
	}
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := o.out.Print(o.env, agentFindings(findings)); err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == agentsettings.Error {
			return cli.Fail(cli.ExitFindings, errors.New("this host is not as its settings say"))
		}
	}
	return nil
}

// agentFindings are findings as they are printed, for people a line each.
func agentFindings(findings []agentsettings.Finding) cli.Result {
	list := make([]map[string]string, len(findings))
	r := cli.Result{Columns: []string{"Level", "About", "Text"}, Value: list}
	for i, f := range findings {
		list[i] = map[string]string{"level": f.Level.String(), "about": f.About, "text": f.Text}
		r.Rows = append(r.Rows, []any{f.Level.String(), f.About, f.Text})
	}
	r.Text = func(w io.Writer) error {
		for _, f := range findings {
			if _, err := fmt.Fprintln(w, f); err != nil {
				return err
			}
		}
		return nil
	}
	return r
}
