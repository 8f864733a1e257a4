package host

import (
	"context"
	"time"

	"github.com/berthcloud/berth/agent/failover"
	"github.com/berthcloud/berth/compute/hostlist"
)

// A Choice is several equivalent compute services, at least one. It may be used concurrently.
type Choice struct{ failover.Services[Service] }

var _ Service = (*Choice)(nil)

// Report implements Service.
func (c *Choice) Report(ctx context.Context, unknown []string) error {
	return c.Do(ctx, func(s Service) error { return s.Report(ctx, unknown) })
}

// Wanted implements Service.
func (c *Choice) Wanted(ctx context.Context, known string, wait time.Duration) (w hostlist.List, err error) {
	err = c.Do(ctx, func(s Service) error {
		w, err = s.Wanted(ctx, known, wait)
		return err
	})
	return w, err
}

// Done implements Service.
func (c *Choice) Done(ctx context.Context, results []hostlist.Result) error {
	return c.Do(ctx, func(s Service) error { return s.Done(ctx, results) })
}
