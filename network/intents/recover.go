package intents

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/rows"
)

// Pending returns the unfinished intents for other ports of a server: while there are any, the
// server's allocations do not match its ports. A lost attempt is none of them.
func Pending(r rows.Reader, port, server string) (others []Row, err error) {
	all, err := rows.All[Row](r)
	for _, row := range all {
		b, unreadable := row.decode() // Recover logs it
		lost := b.Attempt != nil && b.Attempt.Lost
		if unreadable == nil && !lost && row.About != port && b.Consumer == server {
			others = append(others, row)
		}
	}
	return others, err
}

// Await fails with ErrGeneration when some intents are pending, so that the caller retries. It
// completes the releases among them first: their owners may have ended.
func (n *Intents) Await(ctx context.Context, pending []Row) error {
	if len(pending) == 0 {
		return nil
	}
	for _, row := range pending {
		if row.Kind != release {
			continue
		}
		if err := n.Release(ctx, row.ID); err != nil && !errors.Is(err, allocations.ErrGeneration) &&
			!errors.Is(err, allocations.ErrUnsettled) {
			return err
		}
	}
	return allocations.ErrGeneration
}

// Settle completes what is under way with the allocations of a server: releases for ports that were
// deleted or got a smaller policy. It is a conflict, PortBeingChanged, while a request changes
// them. After it nothing takes effect that was requested before.
func (n *Intents) Settle(ctx context.Context, server string) error {
	err := allocations.Retry(ctx, n.pause, func() error {
		var pending []Row
		err := n.store.View(ctx, func(r rows.Reader) (err error) {
			pending, err = Pending(r, "", server)
			return err
		})
		if err != nil {
			return err
		}
		return n.Await(ctx, pending)
	})
	if errors.Is(err, allocations.ErrGeneration) {
		err = BeingChanged("The allocations of server %s are being changed by another request.", server)
	}
	return err
}

// All returns all intents.
func (n *Intents) All(ctx context.Context) (all []Row, err error) {
	err = n.store.View(ctx, func(r rows.Reader) error {
		all, err = rows.All[Row](r)
		return err
	})
	return all, err
}

// Recover completes or takes back unfinished intents: those of processes that this one has
// replaced, and those that are older than the given time. A worker that still works on one of them
// fails at its next write. It returns the number of intents that remain; the log has the reasons.
func (n *Intents) Recover(ctx context.Context, older time.Duration) (remaining int, err error) {
	all, err := n.All(ctx)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(row Row) bool { return !n.abandoned(row, older) })
	// All are settled before one of them changes what the outcome of another is determined by.
	for _, row := range all {
		_ = n.settle(ctx, row.ID) // finish reads the error again
	}
	for _, row := range all {
		if err := n.finish(ctx, row.ID); err != nil {
			n.log.WarnContext(ctx, "an intent is not finished", "kind", row.Kind, "port", row.About, "since", row.CreatedAt,
				"error", err)
			remaining++
		}
	}
	return remaining, nil
}

// abandoned reports whether no process works on an intent any more: its owner has ended, or it is
// too old. One from the future was made before the clock was set back, and its age is unknown; an
// owner that still works on it notices.
func (n *Intents) abandoned(row Row, older time.Duration) bool {
	b, err := row.decode()
	return n.now().Sub(row.CreatedAt).Abs() >= older || err == nil && b.Maker.replacedBy(n.owner)
}

// finish takes back a claim that was carried out, and completes a release. It ignores an intent
// that another worker has finished.
func (n *Intents) finish(ctx context.Context, intent string) error {
	err := allocations.Retry(ctx, n.pause, func() error {
		r := &record{n: n, id: intent}
		state, err := n.changeOf(r).Settle(ctx)
		switch {
		case err != nil:
			return err
		case r.row.Kind != claim:
			return nil
		case !state.Done:
			return n.update(ctx, func(w rows.Writer, _ time.Time) error {
				if err := unchanged(w, r.row); err != nil {
					return err
				}
				_, err := w.Remove(&Row{}, rows.Where(byID, intent))
				return err
			})
		}
		// It becomes a release of what was claimed, which is completed below.
		row := r.row
		row.Kind = release
		back := body{Consumer: r.body.Consumer, Differences: r.body.Differences.Negated(), Maker: n.owner}
		return n.update(ctx, func(w rows.Writer, _ time.Time) error {
			_, err := rewrite(w, row, back)
			return err
		})
	})
	if err == nil {
		err = n.Release(ctx, intent)
	}
	if errors.Is(err, rows.ErrNoRow) {
		return nil
	}
	return err
}
