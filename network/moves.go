package network

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
)

// A move is the change of a port's allocation that follows from a change of its policy, or from an
// allocation that is less than the port needs.
type move struct {
	port Port
	plan guarantee.Plan
	// more is claimed before the change, less is released after it
	more, less       allocations.Amounts
	intent, released IntentRow // of the two
}

// planned is a move of a port by a plan.
func planned(p Port, plan guarantee.Plan) move {
	m := move{port: p, plan: plan}
	m.more, m.less = plan.Differences.Split()
	return m
}

// applyMoves makes a change that allocations follow: found finds the moves, made writes the change.
// Additional amounts are stored as intents and claimed before the change, so that they can be
// released when the change fails. Amounts to release are stored with the change and released after
// it, which is retried until it succeeds. So all of it takes place or nothing (decision 18).
func (s *Service) applyMoves(ctx context.Context, found func(*change) ([]move, error), made func(*change, []move) error) error {
	var moves []move
	err := s.update(ctx, func(c *change) (err error) {
		if moves, err = found(c); err != nil {
			return err
		}
		if !claims(moves) {
			return c.make(moves, made)
		}
		for i := range moves {
			if err := c.intend(&moves[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if claims(moves) {
		if err := s.carryOut(ctx, moves); err != nil {
			return err
		}
		if err := s.update(ctx, func(c *change) error { return c.make(moves, made) }); err != nil {
			s.takeBack(context.WithoutCancel(ctx), moves)
			return err
		}
	}
	s.releaseAll(context.WithoutCancel(ctx), moves)
	return nil
}

// claims reports whether anything has to be had first.
func claims(moves []move) bool {
	return slices.ContainsFunc(moves, func(m move) bool { return len(m.more) > 0 })
}

// make makes a change once what it needs is there, and writes down what is free.
func (c *change) make(moves []move, made func(*change, []move) error) error {
	if err := c.unchanged(moves); err != nil {
		return err
	}
	if err := firstError(made(c, moves), c.forget(moves)); err != nil {
		return err
	}
	for i := range moves {
		m := &moves[i]
		if len(m.less) == 0 {
			continue
		}
		var err error
		if m.released, err = c.newIntent(intentRelease, m.port.ID, adjustment{Consumer: m.port.DeviceID, Differences: m.less}); err != nil {
			return err
		}
	}
	return nil
}

// releaseAll releases what moves have freed. Recover retries what fails here.
func (s *Service) releaseAll(ctx context.Context, moves []move) {
	for _, m := range moves {
		if m.released.ID == "" {
			continue
		}
		if err := s.release(ctx, m.released.ID); err != nil {
			s.log.WarnContext(ctx, "the surplus of a port's allocation is not released yet; the release is retried",
				"port", m.port.ID, "server", m.port.DeviceID, "error", err)
		}
	}
}

// intend stores the intent of a move. While it is stored, no other request can move the port.
func (c *change) intend(m *move) (err error) {
	if len(m.more) == 0 {
		return nil
	}
	others, err := Rows[IntentRow](c, Where(ByIntentsAbout, m.port.ID))
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return beingChanged("The allocation of port %s is being changed by another request.", m.port.ID)
	}
	m.intent, err = c.newIntent(intentPolicy, m.port.ID, adjustment{Consumer: m.port.DeviceID, Differences: m.more})
	return err
}

// carryOut adjusts what is allocated for all moves. When one fails, those before it
// are taken back.
func (s *Service) carryOut(ctx context.Context, moves []move) error {
	for i, m := range moves {
		if len(m.more) == 0 {
			continue
		}
		last, err := s.adjust(ctx, m.intent.ID)
		if err == nil && m.sharesServer(moves[i+1:]) { // whose attempt comes next
			c, _ := s.adjustmentOf(m.intent.ID)
			err = c.Conclude(ctx, last, allocations.Done)
		}
		if err == nil {
			continue
		}
		late := context.WithoutCancel(ctx)
		s.takeBack(late, moves[:i+1])
		s.drop(late, moves[i+1:])
		return refusal(err, m.port.DeviceID, m.plan.Differences)
	}
	return nil
}

// sharesServer reports whether another move needs something for the same server.
func (m move) sharesServer(others []move) bool {
	return slices.ContainsFunc(others, func(o move) bool { return len(o.more) > 0 && o.port.DeviceID == m.port.DeviceID })
}

// beingChanged is the fault of a change that meets another one.
func beingChanged(format string, args ...any) error {
	return conflict("PortBeingChanged", format+" Please try again.", args...)
}

// unchanged refuses to go on when a port is not what it was any more, or when what was
// claimed for it has been taken back.
func (c *change) unchanged(moves []move) error {
	for _, m := range moves {
		row, err := byID[PortRow](c, "port", m.port.ID)
		if err != nil {
			return err
		}
		if row.Revision != m.port.Revision {
			return beingChanged("Port %s was changed by another request.", m.port.ID)
		}
		if m.intent.ID == "" {
			continue
		}
		intent, err := One[IntentRow](c, Where(ByID, m.intent.ID))
		if errors.Is(err, ErrNoRow) || err == nil && intent.Kind != intentPolicy {
			return refusal(ErrNoRow, m.port.DeviceID, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forget removes the intents of moves.
func (c *change) forget(moves []move) error {
	for _, m := range moves {
		if m.intent.ID == "" {
			continue
		}
		if _, err := c.Remove(&IntentRow{}, Where(ByID, m.intent.ID)); err != nil {
			return err
		}
	}
	return nil
}

// drop removes intents that changed nothing. Recover removes those that are left.
func (s *Service) drop(ctx context.Context, moves []move) {
	err := s.update(ctx, func(c *change) error { return c.forget(moves) })
	if err != nil {
		s.log.ErrorContext(ctx, "an intent could not be removed; it is retried later", "error", err)
	}
}

// takeBack undoes adjustments that were carried out. What cannot be undone now
// is by Recover.
func (s *Service) takeBack(ctx context.Context, moves []move) {
	for _, m := range moves { // before any of them changes what another compares with
		if m.intent.ID != "" {
			_ = s.settle(ctx, m.intent.ID) // the caller reads the outcome again
		}
	}
	for _, m := range moves {
		if m.intent.ID == "" {
			continue
		}
		if err := s.finish(ctx, m.intent.ID); err != nil {
			s.log.ErrorContext(ctx, "an allocation could not be taken back; it is retried later", "port", m.port.ID, "error", err)
		}
	}
}

// moveOf returns the move of a port for which another policy becomes effective. Only ports of
// servers with an allocation move. While the server is being moved it is refused: allocations of two
// consumers on two hosts would have to follow.
func (c *change) moveOf(p Port, rules []RuleRow) (move, error) {
	m := move{port: p}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil || !ofCompute(p.DeviceOwner) || !c.inPlacement {
		return m, nil
	}
	allocation, _ := p.allocation() // what is no allocation serves nothing
	plan, err := guarantee.PolicyChange{Port: id, Old: rulesFor(p.Rules), New: rulesFor(rules), Allocation: allocation}.Plan()
	var unknown *guarantee.UnknownGroup
	switch {
	case errors.Is(err, guarantee.ErrDirection):
		return m, fault.New(fault.Unsupported, "NotImplementedError", "Changing from direction-less QoS minimum packet rate rule to a "+
			"direction-oriented minimum packet rate rule, or vice versa, is not supported.")
	case errors.As(err, &unknown):
		return m, conflict("UnknownRequestGroup", "%s", unknown)
	}
	if there := p.destinations(); err == nil && len(there) > 0 && (plan.Rewrite || len(plan.Differences) > 0) {
		return m, beingChanged("Port %s is being moved to host %s.", p.ID, there[0].Host)
	}
	for _, w := range plan.Warnings {
		c.warn(w, "port", p.ID)
	}
	return planned(p, plan), err
}

// follow writes the profile of a port that stays bound as it is: a requested one, with the allocation that the port has
// after its move.
func (c *change) follow(m move, profile []byte) (err error) {
	if m.plan.Rewrite {
		if profile, err = withAllocation(profile, m.plan.Allocation); err != nil {
			return err
		}
	}
	row := m.port.Binding
	if sameJSON(profile, row.Profile) {
		return nil
	}
	row.Profile = profile
	return c.Replace(&row)
}

// withAllocation returns a profile with another allocation, and all else as it was.
func withAllocation(profile []byte, a guarantee.ProfileAllocation) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(profile), &all); err != nil {
		return nil, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	all["allocation"] = text
	return json.Marshal(all)
}
