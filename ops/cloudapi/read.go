package cloudapi

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
)

// A Progress is called with the number of requests' subjects that are read, and how many there are.
// What there is becomes known while reading, so the second number grows. It is called from several
// goroutines, one at a time.
type Progress func(subject string, done, total int)

// Read reads parts of the records. The error is that of a part that is needed; what is missing of
// the others is in Unread of the records. It ends at once when ctx does.
func (c *Client) Read(ctx context.Context, parts cloud.Parts, p Progress) (*cloud.Cloud, error) {
	r := &cloud.Cloud{Source: c.source, Begun: time.Now().UTC()}
	unread := func(err error) { r.Unread = append(r.Unread, sentence(err.Error())) }
	if err := c.readParts(ctx, r, parts, p, unread); err != nil {
		return nil, err
	}
	return r, nil
}

// readParts adds parts to records, and calls unread with the reason why one was not read that need
// not be. Those of the compute service depend on placement's, if these are there.
func (c *Client) readParts(
	ctx context.Context, r *cloud.Cloud, parts cloud.Parts, p Progress, unread func(error),
) error {
	m := &meter{progress: p}
	for _, source := range []struct {
		part cloud.Part
		read func() error
	}{
		{cloud.PlacementPart | cloud.ConsumersPart, func() (err error) {
			r.Placement, err = c.readPlacement(ctx, parts, r, m)
			return err
		}},
		{cloud.ComputePart, func() (err error) {
			r.Compute, err = c.readCompute(ctx, r, m, &serverReader{})
			return err
		}},
		{cloud.NetworkPart, func() (err error) {
			r.Network, err = c.readNetwork(ctx, r, m)
			return err
		}},
	} {
		if !parts.Any(source.part) {
			continue
		}
		err := source.read()
		var refused *refusal
		var missing *absent
		switch {
		case err == nil:
		case parts.Need&source.part == 0 && (errors.As(err, &refused) || errors.As(err, &missing)):
			unread(err)
		default:
			return err
		}
	}
	r.Ended = time.Now().UTC()
	return nil
}

// sentence makes a sentence of an error.
func sentence(text string) string {
	return string(text[0]&^0x20) + text[1:] + "."
}

// A meter counts for a Progress.
type meter struct {
	mu       sync.Mutex
	progress Progress
}

// begin returns what counts one up, of so many.
func (m *meter) begin(subject string, total int) func() {
	done := 0
	return func() {
		if m.progress == nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		done++
		m.progress(subject, done, total)
	}
}

// each calls fn with the numbers below n, several at a time. It returns the first error, after all
// calls have returned.
func each(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, concurrent) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
