package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berthcloud/berth/compute/hostlist"
)

// A Choice is several equivalent compute services: they are tried in order, from the one that
// answered last. It may be used concurrently.
type Choice struct {
	// Services are at least one.
	Services []Service

	mu   sync.Mutex
	last int
}

var _ Service = (*Choice)(nil)

func (c *Choice) first() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// ask calls one after the other until one answers.
func (c *Choice) ask(ctx context.Context, fn func(Service) error) error {
	var errs []error
	first := c.first()
	for i := range c.Services {
		n := (first + i) % len(c.Services)
		err := fn(c.Services[n])
		if err == nil {
			c.mu.Lock()
			c.last = n
			c.mu.Unlock()
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if len(c.Services) > 1 {
			err = fmt.Errorf("address %d of %d: %w", n+1, len(c.Services), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Report is Service's.
func (c *Choice) Report(ctx context.Context, unknown []string) error {
	return c.ask(ctx, func(s Service) error { return s.Report(ctx, unknown) })
}

// Wanted is that of Service.
func (c *Choice) Wanted(ctx context.Context, known string, wait time.Duration) (w hostlist.List, err error) {
	err = c.ask(ctx, func(s Service) error {
		w, err = s.Wanted(ctx, known, wait)
		return err
	})
	return w, err
}

// Done is Service's.
func (c *Choice) Done(ctx context.Context, results []hostlist.Result) error {
	return c.ask(ctx, func(s Service) error { return s.Done(ctx, results) })
}
