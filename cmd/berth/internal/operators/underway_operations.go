package operators

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// operationsOptions are the flags of "berth compute operations".
type operationsOptions struct{ underwayOptions }

// NewOperations returns "berth compute operations".
func NewOperations(env cli.Env) *cobra.Command {
	o := operationsOptions{underwayOptions{env: env}}
	cmd := &cobra.Command{
		Use:   "operations [--server SERVER]",
		Short: "List what is under way with servers, and what it waits for",
		Long: `Operations lists what Berth's compute service is doing with servers, the oldest
first: builds, deletions, moves, changes of ports and of power. A server that is
stuck has a row here, which says at which step it is, whether the step is done
or undone (forward, back), and what it waits for:

  running  a worker carries the step out, as long as it renews its lease
  waiting  a host has yet to report that it has done its part
  delayed  the step failed, and is tried again at the time that is shown
  ready    a worker of the service takes it next

The column Cause has the error of another service that was unavailable. Other
errors are in the log of the compute service, with the id of the server.

The cloud is the one that --os-cloud names in clouds.yaml, or that OS_CLOUD or
OS_AUTH_URL and its like name. The user has to be an administrator.

` + underwayExitHelp,
		Example: `  berth compute operations --os-cloud admin
  berth compute operations --os-cloud admin --min-age 10m
  berth compute operations --os-cloud admin -f json | jq '.[].server'`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.flags(cmd)
	return cmd
}

// run prints the operations.
func (o *operationsOptions) run(ctx context.Context) error {
	query, err := o.query()
	if err != nil {
		return err
	}
	client, err := o.source.connect(ctx, o.env)
	if err != nil {
		return o.failed("compute", err)
	}
	all, more, err := client.Operations(ctx, query)
	if err != nil {
		return o.failed("compute", err)
	}
	r := cli.Result{
		Columns: []string{"Server", "Operation", "Step", "Direction", "Age", "State", "Waits For", "Cause"},
		Value:   append([]cloudapi.Operation{}, all...),
	}
	now := time.Now()
	for _, op := range all {
		r.Rows = append(r.Rows, []any{
			op.Server, op.Kind, op.Step, op.Direction, age(op.Created, now), op.State, waitsFor(op), cli.OrNone(op.Cause),
		})
	}
	return o.print(r, more)
}

// waitsFor says in a table what an operation waits for.
func waitsFor(op cloudapi.Operation) string {
	switch {
	case op.State == "running":
		return fmt.Sprintf("worker %s, lease until %s", op.Worker, clock(op.Until))
	case op.State == "delayed":
		return "next attempt at " + clock(op.Until)
	case op.Awaits != nil && op.Awaits.HostUp:
		return fmt.Sprintf("host %s: %s", op.Awaits.Host, op.Awaits.Event)
	case op.Awaits != nil:
		return fmt.Sprintf("host %s, which is down: %s", op.Awaits.Host, op.Awaits.Event)
	}
	return "a worker"
}
