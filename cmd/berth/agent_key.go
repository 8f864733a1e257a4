package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/identity/hostkey"
)

// agentKeyOptions are the flags of "berth agent key".
type agentKeyOptions struct {
	env         cli.Env
	files, dirs []string
	out         *cli.Output
}

// newAgentKey returns "berth agent key".
func newAgentKey(env cli.Env) *cobra.Command {
	o := &agentKeyOptions{env: env}
	cmd := &cobra.Command{
		Use:   "key [--config FILE]... [-f FORMAT] HOST...",
		Short: "Print the keys by which hosts identify themselves",
		Long: `Key prints the key of each HOST, a line each, for the settings of the agents on
that host: [berth] network_host_key_file and compute_host_key_file. A host with
a key needs no token, and reads and reports what is its own only.

It runs where the network or compute service runs, and reads [berth]
host_key_secret from the settings of either; both need the same secret when
hosts have one key for both. Keys are made of the secret and the name of the
host: nothing is stored, and the same command prints the same key again. HOST is
spelled as in [DEFAULT] host of the agents, upper and lower case included.

To replace the secret, set it to the new one, a comma and the old one, restart
the services, give all hosts new keys, and remove the old secret.`,
		Example: `  berth agent key --config /etc/berth/compute.conf cn1 > cn1.key`,
		RunE:    func(_ *cobra.Command, hosts []string) error { return o.run(hosts) },
	}
	cli.AddConfigFlags(cmd.Flags(), "nova.conf or neutron.conf of the service", &o.files, &o.dirs)
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run prints the keys of hosts.
func (o *agentKeyOptions) run(hosts []string) error {
	if len(hosts) == 0 {
		return cli.Fail(cli.ExitUsage, errors.New("want the names of hosts"))
	}
	secrets, err := config.LoadHostSecrets(o.files, o.dirs)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if len(secrets) == 0 {
		return cli.Fail(cli.ExitUsage, errors.New("[berth] host_key_secret: set it in the settings of the network and the "+
			"compute service, and name one of their files with --config"))
	}
	type hostKey struct {
		Host string `json:"host"`
		Key  string `json:"key"`
	}
	keys, list := hostkey.New(secrets...), []hostKey{}
	r := cli.Result{Columns: []string{"Host", "Key"}}
	for _, host := range hosts {
		if err := agentsettings.CheckHost(host); err != nil {
			return cli.Fail(cli.ExitUsage, fmt.Errorf("%q: want the name of a host, as in [DEFAULT] host of its agents", host))
		}
		key := hostKey{host, keys.Key(host)}
		list = append(list, key)
		r.Rows = append(r.Rows, []any{key.Host, key.Key})
	}
	r.Value = list
	r.Text = func(w io.Writer) error {
		for _, k := range list {
			if _, err := fmt.Fprintln(w, k.Key); err != nil {
				return err
			}
		}
		return nil
	}
	return o.out.Print(o.env, r)
}
