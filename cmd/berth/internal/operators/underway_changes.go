package operators

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// changesOptions are the flags of "berth network changes".
type changesOptions struct {
	underwayOptions

	port string
}

// NewChanges returns "berth network changes".
func NewChanges(env cli.Env) *cobra.Command {
	o := changesOptions{underwayOptions: underwayOptions{env: env}}
	cmd := &cobra.Command{
		Use:   "changes [--port PORT] [--server SERVER]",
		Short: "List the changes of allocations that are under way for ports",
		Long: `Changes lists the changes in placement that Berth's network service has begun
and not completed, the oldest first. A port whose guarantee grows (policy) gets
its policy when they are made; what a port had is released (release) after it
was deleted or its guarantee shrank.

  requested  a request to placement is under way
  waiting    for the next attempt
  unknown    the last request was not answered; the service finds out first
             whether it took place
  made       placement has it; the port's row does not yet

A change whose process has ended is completed by another one within a minute.
The log of the network service says why that fails (an intent is not finished).

The cloud is the one that --os-cloud names in clouds.yaml, or that OS_CLOUD or
OS_AUTH_URL and its like name. The user has to be an administrator.

` + underwayExitHelp,
		Example: `  berth network changes --os-cloud admin
  berth network changes --os-cloud admin --min-age 2m -f json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.port, "port", "", "UUID of the port (`PORT`); all ports by default")
	return cmd
}

// run prints the changes.
func (o *changesOptions) run(ctx context.Context) error {
	query, err := o.query()
	switch {
	case err != nil:
		return err
	case o.port != "" && !uuidForm.MatchString(o.port):
		return cli.Fail(cli.ExitUsage, fmt.Errorf("--port: want a UUID, not %q", o.port))
	case o.port != "":
		query.Set("port", o.port)
	}
	client, err := o.source.connect(ctx, o.env)
	if err != nil {
		return o.failed("network", err)
	}
	all, more, err := client.Changes(ctx, query)
	if err != nil {
		return o.failed("network", err)
	}
	r := cli.Result{
		Columns: []string{"Port", "Server", "Change", "Age", "State", "Process", "Amounts"},
		Value:   append([]cloudapi.Change{}, all...),
	}
	now := time.Now()
	for _, c := range all {
		process := c.Instance
		if c.Abandoned {
			process = strings.TrimSpace(process + " (abandoned)")
		}
		var amounts []string
		for _, provider := range slices.Sorted(maps.Keys(c.Differences)) {
			for _, class := range slices.Sorted(maps.Keys(c.Differences[provider])) {
				amounts = append(amounts, fmt.Sprintf("%s %+d", class, c.Differences[provider][class]))
			}
		}
		r.Rows = append(r.Rows, []any{c.Port, c.Server, c.Kind, age(c.Created, now), c.State, cli.OrNone(process), amounts})
	}
	return o.print(r, more)
}
