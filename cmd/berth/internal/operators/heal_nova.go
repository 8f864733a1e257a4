package operators

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/heal"
)

// NewExitCodes returns the help topic about exit codes.
func NewExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean, and upstream's",
		Long: `All commands have the same exit codes:

  0  done, or there is nothing to report
  1  an error: the command could not do or find out what it was to
  2  wrong arguments or settings
  3  the database cannot be used
  4  the database is in use by another process
  5  the address to listen on cannot be used
  6  findings: something is wrong, differs, does not fit, or remains to be done

With --nova-exit-codes some commands have those of OpenStack's commands, for
scripts that were written for these.

berth heal --only allocations, as nova-manage placement heal_allocations:

  0    something was healed
  1    --max-count was reached
  2    the compute node of a server is not known
  3    an allocation could not be made or changed
  4    there was nothing to heal, or no --apply
  5    the ports of servers could not be read
  6    a port could not name its provider; the next run continues
  8    servers of this kind are not healed: VGPU, groups of a flavor
  127  wrong values of flags
  255  the cloud could not be read, or the command was interrupted

berth heal --only aggregates, as nova-manage placement sync_aggregates:

  0    providers and host aggregates agree, or agree now; or no --apply
  2    the compute or the placement service failed or refused a request
  3    a provider has changed meanwhile
  4    a member of a host aggregate is not a host
  5    a member has no compute node
  6    a compute node has no provider
  127  wrong values of flags
  255  the cloud could not be read, or the command was interrupted

berth db check, as placement-status and nova-status upgrade check:

  0    no findings
  1    warnings
  2    errors that must be corrected, or wrong arguments or settings

berth db online-data-migrations, as those of placement-manage and nova-manage:

  0    complete
  1    --max-count rows were changed, and there may be more: run it again
  2    rows could not be changed, or wrong arguments or settings
  127  --max-count is not a positive number`,
	}
}

// allocationsExit returns the error with the exit code that nova-manage placement heal_allocations
// has for the first problem of a run, nil for 0.
func allocationsExit(plan *heal.Plan, results []heal.Result, done int) error {
	for i, r := range results {
		if r.Outcome == heal.Done {
			continue
		}
		code := heal.NotAllocated
		if plan.Steps[i].Request.Service == heal.Network {
			code = heal.NotNamed
		}
		return cli.Fail(int(code), fmt.Errorf("not all was healed: %d of %s done", done, cli.Count(len(results), "request")))
	}
	for _, l := range plan.Unhealed {
		if l.Nova != 0 {
			return cli.Fail(int(l.Nova), errors.New(l.Why))
		}
	}
	switch {
	case results == nil && len(plan.Steps) > 0:
		return cli.Fail(int(heal.Nothing),
			fmt.Errorf("nothing was changed: --apply sends %s", cli.Count(len(plan.Steps), "request")))
	case done == 0:
		return cli.Fail(int(heal.Nothing), errors.New("there is nothing to heal"))
	case plan.More:
		return cli.Fail(int(heal.MaxReached), errMoreServers)
	}
	return nil
}

// aggregatesExit returns the error with the exit code that nova-manage placement sync_aggregates
// has for a run, nil for 0. Steps that were not sent are no error of it, and are reported on
// stderr.
func aggregatesExit(stderr io.Writer, plan *heal.Plan, results []heal.Result) error {
	for _, r := range results {
		switch r.Outcome {
		case heal.Stale, heal.Skipped:
			return cli.Fail(int(heal.SyncChanged), errors.New("providers have changed meanwhile; the next run heals them"))
		case heal.Failed, heal.Unknown:
			return cli.Fail(int(heal.SyncRefused), errors.New(r.Text))
		}
	}
	for _, l := range plan.Unhealed {
		if l.Nova != 0 {
			return cli.Fail(int(l.Nova), errors.New(l.Why))
		}
	}
	if results == nil && len(plan.Steps) > 0 {
		fmt.Fprintf(stderr, "note: nothing was changed: --apply sends %s\n", cli.Count(len(plan.Steps), "request"))
	}
	return nil
}
