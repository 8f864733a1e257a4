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
		if err != nil || len(now) == 0 || now[0].Change != m.Change {
			return err // it changed meanwhile, and is due again
		}
		_, err = c.Remove(&MirrorRow{}, where...)
		return err
	})
}
