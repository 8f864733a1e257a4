package driver

import (
	"context"

	"github.com/berthcloud/berth/compute/hostlist"
)

// A Reporting is a Driver that reports the ports that it has plugged in: for drivers whose ports no
// network agent can see. A failed report fails the operation.
type Reporting struct {
	Driver
	// Report reports that ports are plugged in. It is called concurrently.
	Report func(ctx context.Context, ports []string) error
}

// Build implements Driver.
func (t *Reporting) Build(ctx context.Context, s hostlist.Server) error {
	if err := t.Driver.Build(ctx, s); err != nil || len(s.Ports) == 0 {
		return err
	}
	ids := make([]string, len(s.Ports))
	for i, p := range s.Ports {
		ids[i] = p.ID
	}
	return t.Report(ctx, ids)
}

// Plug implements Driver.
func (t *Reporting) Plug(ctx context.Context, id string, p hostlist.Port) error {
	if err := t.Driver.Plug(ctx, id, p); err != nil {
		return err
	}
	return t.Report(ctx, []string{p.ID})
}

// Start implements Driver. It reports the ports again: those of a server that arrives by live
// migration are bound to the host only after it was built there.
func (t *Reporting) Start(ctx context.Context, id, boot string) error {
	if err := t.Driver.Start(ctx, id, boot); err != nil {
		return err
	}
	all, err := t.Servers(ctx)
	for i := range all {
		if all[i].ID == id && len(all[i].Ports) > 0 {
			return t.Report(ctx, all[i].Ports)
		}
	}
	return err
}
