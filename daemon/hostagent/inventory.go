package hostagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/daemon"
)

// An Inventory is what a compute host would report, and what that would change.
type Inventory struct {
	Host inventory.Host
	// Plan is what the report would change in placement if the host started now, in lines. PlanError
	// is why it could not start, or why no compute service says it.
	Plan      []string
	PlanError error
}

// Inventory reads the settings and the machine of a compute host, and with plan requests what they
// would change from the first compute service that answers. It starts and changes nothing. The
// error is about the settings or the machine; warnings have a line each.
func (src Source) Inventory(
	ctx context.Context, log *slog.Logger, plan bool,
) (v Inventory, warnings []string, err error) {
	set, warnings, err := node.Load(src.Compute, src.Names)
	if err != nil {
		return v, warnings, daemon.Fail(daemon.WrongSettings, fmt.Errorf("reading the compute host's settings:\n%w", err))
	}
	r, err := set.Look(node.Machine{})
	warnings = append(warnings, r.Warnings...)
	if err != nil {
		return v, warnings, err
	}
	v.Host = r.Host
	if plan {
		v.Plan, v.PlanError = planOf(ctx, set, log)
	}
	return v, warnings, nil
}

// planOf returns the plan of the first compute service that answers.
func planOf(ctx context.Context, set *node.Settings, log *slog.Logger) (plan []string, err error) {
	options, err := serviceOptions(&set.Berth.Compute, log)
	if err != nil {
		return nil, err
	}
	reports := &hostReports{set: set, log: log, look: true}
	for _, o := range options {
		c := berthclient.NewHost(o, berthclient.HostReporter{Name: set.Default.Host, Report: func() (compute.Report, error) {
			return reports.report()
		}})
		answer, failure := c.Preview(ctx)
		c.Close()
		switch {
		case failure == nil && answer.SyncError != "":
			return nil, errors.New(answer.SyncError)
		case failure == nil:
			return answer.Plan, nil
		}
		err = errors.Join(err, failure)
	}
	return nil, err
}
