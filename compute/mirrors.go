package compute

import (
	"context"
	"errors"
)

// Mirror brings the providers of hosts into the aggregates of placement that they
// belong to, or out of them: those that were noted and that placement does not know
// of yet. It returns how many are left, of which the log says why. It is to be called
// again after a while when some are, and may be called by several instances.
func (s *Service) Mirror(ctx context.Context) (left int, err error) {
	if s.placement == nil {
		return 0, nil
	}
	var due []MirrorRow
	nodes := map[string][]NodeRow{}
	err = s.store.View(ctx, func(r Reader) error {
		if due, err = Rows[MirrorRow](r); err != nil {
			return err
		}
		for _, m := range due {
			if nodes[m.Host], err = Rows[NodeRow](r, Where(ByHost, m.Host)); err != nil {
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
			s.log.WarnContext(ctx, "a host is not in placement's aggregates as it is in ours", "host", m.Host, "aggregate", m.Aggregate,
				"member", m.Member, "error", err)
			left++
		}
	}
	return left, nil
}

// mirrorNow tells placement of a host and an aggregate before the change of them is answered, as Nova
// does, so that a server can be put there at once. What fails is left to Mirror.
func (s *Service) mirrorNow(ctx context.Context, aggregate ID, host string) {
	if s.placement == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer stop()
	var due []MirrorRow
	var nodes []NodeRow
	err := s.store.View(ctx, func(r Reader) (err error) {
		if due, err = Rows[MirrorRow](r, Where(ByAggregate, aggregate), Where(ByHost, host)); err != nil {
			return err
		}
		nodes, err = Rows[NodeRow](r, Where(ByHost, host))
		return err
	})
	for _, m := range due {
		if err == nil {
			err = s.mirrorOne(ctx, m, nodes)
		}
	}
	if err != nil {
		s.log.WarnContext(ctx, "placement is not told of a host in an aggregate yet; it is tried again", "host", host, "aggregate", aggregate, "error", err)
	}
}

// mirrorOne tells placement of a host, and forgets that it was to be told.
func (s *Service) mirrorOne(ctx context.Context, m MirrorRow, nodes []NodeRow) error {
	for _, n := range nodes {
		err := s.placement.Group(ctx, n.ID, m.Aggregate, m.Member)
		if errors.Is(err, ErrNoProvider) && !m.Member {
			continue // who is not there is in no aggregate
		}
		if err != nil {
			return err
		}
	}
	return s.update(ctx, func(c *change) error {
		where := []Match{Where(ByAggregate, m.Aggregate), Where(ByHost, m.Host)}
		now, err := Rows[MirrorRow](c, where...)
		if err != nil {
			return err
		}
		if len(now) == 0 { // somebody has told placement of it, or of a change since, maybe before this did
			is, err := Rows[MemberRow](c, where...)
			if err != nil || (len(is) > 0) == m.Member {
				return err
			}
			return c.mirror(m.Aggregate, m.Host, !m.Member)
		}
		if now[0].Change != m.Change {
			return nil // it changed meanwhile, and is due again
		}
		_, err = c.Remove(&MirrorRow{}, where...)
		return err
	})
}
