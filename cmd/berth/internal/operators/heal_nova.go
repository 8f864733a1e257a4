package operators

import (
	"errors"
	"fmt"
	"io"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/heal"
)

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
	for _, l := range plan.Left {
		if l.Nova != 0 {
			return cli.Fail(int(l.Nova), errors.New(l.Why))
		}
	}
	switch {
	case results == nil && len(plan.Steps) > 0:
		return cli.Fail(int(heal.Nothing), fmt.Errorf("nothing was changed: --apply sends %s", cli.Count(len(plan.Steps), "request")))
	case done == 0:
		return cli.Fail(int(heal.Nothing), errors.New("there is nothing to heal"))
	case plan.More:
		return cli.Fail(int(heal.MaxReached), errMoreServers)
	}
	return nil
}

// aggregatesExit returns the error with the exit code that nova-manage placement sync_aggregates has
// for a run, nil for 0. Steps that were not sent are no error of it, and are reported on stderr.
func aggregatesExit(stderr io.Writer, plan *heal.Plan, results []heal.Result) error {
	for _, r := range results {
		switch r.Outcome {
		case heal.MovedOn, heal.Skipped:
			return cli.Fail(int(heal.SyncChanged), errors.New("providers have changed meanwhile; the next run heals them"))
		case heal.Failed, heal.Unknown:
			return cli.Fail(int(heal.SyncRefused), errors.New(r.Text))
		}
	}
	for _, l := range plan.Left {
		if l.Nova != 0 {
			return cli.Fail(int(l.Nova), errors.New(l.Why))
		}
	}
	if results == nil && len(plan.Steps) > 0 {
		fmt.Fprintf(stderr, "note: nothing was changed: --apply sends %s\n", cli.Count(len(plan.Steps), "request"))
	}
	return nil
}
