package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
)

// Mirror syncs the membership of hosts in aggregates to placement: changes that were stored and
// that placement does not have yet. It returns how many are left; the log has the reasons. Callers
// repeat it after a while when some are left; several instances may call it.
func (s *Service) Mirror(ctx context.Context) (remaining int, err error) {
	if s.placement == nil {
		return 0, nil
	}
	var due []compute.MirrorRow
	nodes := map[string][]compute.NodeRow{}
	err = s.db.View(ctx, func(r compute.Reader) error {
		if due, err = compute.Rows[compute.MirrorRow](r); err != nil {
			return err
		}
		for _, m := range due {
			if nodes[m.Host], err = compute.Rows[compute.NodeRow](r, compute.Where(compute.ByHost, m.Host)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, m := range due {
		if err := s.mirrorOne(ctx, m, nodes[m.Host]); err != nil {
			s.db.Rules.Log.WarnContext(ctx, "the aggregates of a host differ in placement", "host", m.Host,
				"aggregate", m.Aggregate,
				"member", m.Member, "error", err)
			remaining++
		}
	}
	return remaining, nil
}

// mirrorTime bounds how long an answer waits for placement to have a membership.
const mirrorTime = 5 * time.Second

// mirrorNow writes a membership to placement before the change of it is answered, as Nova does, so
// that a server can be scheduled to it at once. Mirror retries a failure.
func (s *Service) mirrorNow(ctx context.Context, aggregate compute.ID, host string) {
	if s.placement == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), mirrorTime)
	defer stop()
	var due []compute.MirrorRow
	var nodes []compute.NodeRow
	err := s.db.View(ctx, func(r compute.Reader) (err error) {
		if due, err = compute.Rows[compute.MirrorRow](r, compute.Where(compute.ByAggregate, aggregate),
			compute.Where(compute.ByHost, host)); err != nil {
			return err
		}
		nodes, err = compute.Rows[compute.NodeRow](r, compute.Where(compute.ByHost, host))
		return err
	})
	for _, m := range due {
		if err == nil {
			err = s.mirrorOne(ctx, m, nodes)
		}
	}
	if err != nil {
		s.db.Rules.Log.WarnContext(ctx, "the aggregates of a host are not updated in placement yet; the update is retried",
			"host", host, "aggregate", aggregate, "error", err)
	}
}

// mirrorOne writes a membership to placement, and deletes its row.
func (s *Service) mirrorOne(ctx context.Context, m compute.MirrorRow, nodes []compute.NodeRow) error {
	for _, n := range nodes {
		err := s.placement.Group(ctx, n.ID, m.Aggregate, m.Member)
		if errors.Is(err, allocations.ErrNoProvider) && !m.Member {
			continue // a provider that does not exist is in no aggregate
		}
		if err != nil {
			return err
		}
	}
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		where := []compute.Match{compute.Where(compute.ByAggregate, m.Aggregate), compute.Where(compute.ByHost, m.Host)}
		now, err := compute.Rows[compute.MirrorRow](tx, where...)
		if err != nil {
			return err
		}
		if len(now) == 0 { // another instance has written it, or a later change of it, maybe before this one did
			cur, err := compute.Rows[compute.MemberRow](tx, where...)
			if err != nil || (len(cur) > 0) == m.Member {
				return err
			}
			return tx.MirrorMembership(m.Aggregate, m.Host, !m.Member)
		}
		if now[0].Change != m.Change {
			return nil // it changed meanwhile, and is due again
		}
		_, err = tx.Remove(&compute.MirrorRow{}, where...)
		return err
	})
}
