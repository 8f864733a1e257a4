package network

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network/intents"
)

// A guaranteeChange is a change of rows with which bound ports get other guarantees, so that the
// allocations of their servers have to follow.
type guaranteeChange interface {
	// plan returns how the allocations of ports change.
	plan(c *change) ([]allocationChange, error)
	// commit writes the rows: in the transaction of plan when nothing has to be claimed, otherwise in
	// a later one.
	commit(c *change, changes []allocationChange) error
}

// An allocationChange is how the allocation of a port follows a change of its policy, or makes up for
// what it lacks.
type allocationChange struct {
	port     Port
	plan     guarantee.Plan
	claim    intents.Claim       // before the commit
	surplus  allocations.Amounts // to release after it
	released string              // the intent of that
}

// allocationChangeOf is the change of a port's allocation by a plan.
func allocationChangeOf(p Port, plan guarantee.Plan) allocationChange {
	more, less := plan.Differences.Split()
	return allocationChange{
		port: p, plan: plan, surplus: less.Negated(),
		claim: intents.Claim{Port: string(p.ID), Server: p.DeviceID, Amounts: more, Differences: plan.Differences},
	}
}

// changeGuarantees makes a change of rows and of the allocations that follow it: all of it takes
// place or nothing (decision 18).
func (s *Service) changeGuarantees(ctx context.Context, g guaranteeChange) error {
	var changes []allocationChange
	var claims []intents.Claim
	commit := func(c *change) error {
		for i, a := range changes {
			if err := c.unchanged(a.port, claims[i]); err != nil {
				return err
			}
		}
		if err := firstError(g.commit(c, changes), intents.Forget(c, claims)); err != nil {
			return err
		}
		for i := range changes {
			a := &changes[i]
			if len(a.surplus) == 0 {
				continue
			}
			var err error
			if a.released, err = s.intents.RecordRelease(c, c.at, string(a.port.ID), a.port.DeviceID, a.surplus); err != nil {
				return err
			}
		}
		return nil
	}

	// 1. Plan. What has to be claimed is recorded, so that it can be taken back after a crash; a change
	// that needs nothing more is committed at once.
	err := s.update(ctx, func(c *change) (err error) {
		if changes, err = g.plan(c); err != nil {
			return err
		}
		claims = make([]intents.Claim, len(changes))
		for i := range changes {
			claims[i] = changes[i].claim
		}
		if !intents.Any(claims) {
			return commit(c)
		}
		for i := range claims {
			if err := s.intents.RecordClaim(c, c.at, &claims[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if intents.Any(claims) {
		// 2. Claim the difference. A refusal leaves the rows and placement as they were.
		if err := s.intents.Claim(ctx, claims); err != nil {
			return err
		}
		// 3. Commit the rows.
		if err := s.update(ctx, commit); err != nil {
			s.intents.TakeBack(context.WithoutCancel(ctx), claims)
			return err
		}
	}
	// 4. Release the surplus, which nothing needs any more. Recover retries what fails here.
	late := context.WithoutCancel(ctx)
	for _, a := range changes {
		if a.released == "" {
			continue
		}
		if err := s.intents.Release(late, a.released); err != nil {
			s.log.WarnContext(ctx, "the surplus of a port's allocation is not released yet; the release is retried",
				"port", a.port.ID, "server", a.port.DeviceID, "error", err)
		}
	}
	return nil
}

// unchanged refuses to go on when a port was changed since its change was planned, or when what was
// claimed for it has been taken back.
func (c *change) unchanged(p Port, claim intents.Claim) error {
	row, err := byID[PortRow](c, "port", p.ID)
	if err != nil {
		return err
	}
	if row.Revision != p.Revision {
		return intents.BeingChanged("Port %s was changed by another request.", p.ID)
	}
	return claim.Claimed(c)
}

// policyChange returns how the allocation of a port changes for which another policy becomes
// effective. Only ports of servers with an allocation have one. While the server is being moved it is
// refused: allocations of two consumers on two hosts would have to follow.
func (c *change) policyChange(p Port, rules []RuleRow) (allocationChange, error) {
	none := allocationChange{port: p}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil || !ofCompute(p.DeviceOwner) || !c.inPlacement {
		return none, nil
	}
	allocation, _ := p.allocation() // what is no allocation serves nothing
	plan, err := guarantee.PolicyChange{Port: id, Old: rulesFor(p.Rules), New: rulesFor(rules), Allocation: allocation}.Plan()
	var unknown *guarantee.UnknownGroup
	switch {
	case errors.Is(err, guarantee.ErrDirection):
		return none, fault.New(fault.Unsupported, "NotImplementedError", "Changing from direction-less QoS minimum packet rate rule to a "+
			"direction-oriented minimum packet rate rule, or vice versa, is not supported.")
	case errors.As(err, &unknown):
		return none, conflict("UnknownRequestGroup", "%s", unknown)
	}
	if all := p.destinations(); err == nil && len(all) > 0 && (plan.Rewrite || len(plan.Differences) > 0) {
		return none, intents.BeingChanged("Port %s is being moved to host %s.", p.ID, all[0].Host)
	}
	for _, w := range plan.Warnings {
		c.warn(w, "port", p.ID)
	}
	return allocationChangeOf(p, plan), err
}

// writeProfile writes the profile of a port that stays bound as it is: a requested one, with the
// allocation that the port has after its change.
func (c *change) writeProfile(a allocationChange, profile []byte) (err error) {
	if a.plan.Rewrite {
		if profile, err = withAllocation(profile, a.plan.Allocation); err != nil {
			return err
		}
	}
	row := a.port.Binding
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

// Recover completes or takes back changes of allocations that nobody works on any more: those of
// processes that this one has replaced, and those that are older than the given time. It returns the
// number of those that remain; the log has the reasons.
func (s *Service) Recover(ctx context.Context, older time.Duration) (remaining int, err error) {
	return s.intents.Recover(ctx, older)
}

// Settle completes what is under way with the allocations of a server: releases for ports that were
// deleted or got a smaller policy. It is a conflict, PortBeingChanged, while a request changes them.
// After it nothing takes effect that was requested before.
func (s *Service) Settle(ctx context.Context, server string) error {
	if !s.inPlacement {
		return nil
	}
	return s.intents.Settle(ctx, server)
}

// Unfinished returns the number of changes of allocations that are not made yet, or not known to be.
func (s *Service) Unfinished(ctx context.Context) (int, error) {
	all, err := s.intents.All(ctx)
	return len(all), err
}
