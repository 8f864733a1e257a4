// Package reallocation changes what servers have allocated in placement when the guarantees of
// their ports change: when a bound port gets another QoS policy, is bound with an allocation that
// is less than it needs, or is deleted.
//
// Rows and allocations are in two databases. [Service.ChangeGuarantees] makes a change of both in
// these steps, each of which can be completed or taken back after a crash (package intents):
//
//	plan ──► claim the difference ──► commit the rows ──► release the surplus
//
// What a server's allocation lacks for its bound ports is in shortfall.go.
package reallocation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/intents"
)

// A Service changes what servers have allocated. Its methods may be called concurrently.
type Service struct {
	db        *network.Database
	placement allocations.Placement // nil: guarantees are not in placement
	intents   *intents.Intents
	recorder  intents.Recorder
	pause     time.Duration
}

// New returns what changes the allocations for the ports in a database. The first
// pause after a concurrent change of the same allocations is as long as given.
func New(db *network.Database, p allocations.Placement, pause time.Duration) *Service {
	s := &Service{db: db, placement: p, pause: pause, intents: intents.New(db.Store, intents.Options{
		Placement: p, Instance: db.Rules.Settings.Instance, Log: db.Rules.Log, Pause: pause,
		Now: func() time.Time { return db.Rules.Now() },
	})}
	s.recorder = s.intents.Recorder()
	return s
}

// A Cause is a change of rows with which bound ports get other guarantees, so that the allocations
// of their servers have to follow.
type Cause interface {
	// Plan returns how the allocations of ports change.
	Plan(tx *network.Tx) ([]Change, error)
	// Commit writes the rows: in the transaction of Plan when nothing has to be claimed, otherwise
	// in a later one.
	Commit(tx *network.Tx, changes []Change) error
}

// A Change is how the allocation of a port follows a change of its policy, or makes up for what it
// lacks.
type Change struct {
	Port     network.Port
	Plan     guarantee.Plan
	claim    intents.Claim       // before the commit
	surplus  allocations.Amounts // to release after it
	released string              // the intent of that
}

// Claiming returns the change of a port's allocation by what it lacks.
func Claiming(p network.Port, missing allocations.Amounts) Change {
	return planned(p, guarantee.Plan{Differences: missing})
}

// planned is the change of a port's allocation by a plan.
func planned(p network.Port, plan guarantee.Plan) Change {
	more, less := plan.Differences.Split()
	return Change{
		Port: p, Plan: plan, surplus: less.Negated(),
		claim: intents.Claim{Port: string(p.ID), Server: p.DeviceID, Amounts: more, Differences: plan.Differences},
	}
}

// ChangeGuarantees makes a change of rows and of the allocations that follow it: all of it takes
// place or nothing (decision 18).
func (s *Service) ChangeGuarantees(ctx context.Context, g Cause) error {
	var changes []Change
	var claims []intents.Claim
	commit := func(tx *network.Tx) error {
		for i, a := range changes {
			if err := unchanged(tx, a.Port, claims[i]); err != nil {
				return err
			}
		}
		if err := cmp.Or(g.Commit(tx, changes), intents.Forget(tx, claims)); err != nil {
			return err
		}
		for i := range changes {
			a := &changes[i]
			if len(a.surplus) == 0 {
				continue
			}
			var err error
			if a.released, err = s.recorder.RecordRelease(tx, tx.At, string(a.Port.ID), a.Port.DeviceID,
				a.surplus); err != nil {
				return err
			}
		}
		return nil
	}

	// 1. Plan. What has to be claimed is recorded, so that it can be taken back after a crash; a
	// change that needs nothing more is committed at once.
	err := s.db.Update(ctx, func(tx *network.Tx) (err error) {
		if changes, err = g.Plan(tx); err != nil {
			return err
		}
		claims = make([]intents.Claim, len(changes))
		for i := range changes {
			claims[i] = changes[i].claim
		}
		if !intents.Any(claims) {
			return commit(tx)
		}
		for i := range claims {
			if err := s.recorder.RecordClaim(tx, tx.At, &claims[i]); err != nil {
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
		if err := s.db.Update(ctx, commit); err != nil {
			s.intents.TakeBack(context.WithoutCancel(ctx), claims)
			return err
		}
	}
	// 4. Release the surplus, which nothing needs any more. Recover retries what fails here.
	for _, a := range changes {
		if a.released != "" {
			s.Release(ctx, a.Port, []string{a.released},
				"the surplus of a port's allocation is not released yet; the release is retried")
		}
	}
	return nil
}

// Recorder returns what records intents in transactions of callers.
func (s *Service) Recorder() intents.Recorder { return s.recorder }

// Release carries out recorded releases for a port. Recover retries those that fail, of which the
// log has the warning.
func (s *Service) Release(ctx context.Context, p network.Port, recorded []string, warning string) {
	for _, intent := range recorded {
		if err := s.intents.Release(context.WithoutCancel(ctx), intent); err != nil {
			s.db.Rules.Log.WarnContext(ctx, warning, "port", p.ID, "server", p.DeviceID, "error", err)
		}
	}
}

// Retry runs fn again while it fails with allocations.ErrGeneration, a limited number of times.
func (s *Service) Retry(ctx context.Context, fn func() error) error {
	return allocations.Retry(ctx, s.pause, fn)
}

// unchanged refuses to go on when a port was changed since its change was planned, or when what was
// claimed for it has been taken back.
func unchanged(tx *network.Tx, p network.Port, claim intents.Claim) error {
	row, err := network.Find[network.PortRow](tx, "port", p.ID)
	if err != nil {
		return err
	}
	if row.Revision != p.Revision {
		return intents.BeingChanged("Port %s was changed by another request.", p.ID)
	}
	return claim.Claimed(tx)
}

// PolicyChange returns how the allocation of a port changes for which another policy becomes
// effective. Only ports of servers with an allocation have one. While the server is being moved it
// is refused: allocations of two consumers on two hosts would have to follow.
func PolicyChange(tx *network.Tx, p network.Port, rules []network.RuleRow) (Change, error) {
	none := Change{Port: p}
	id, err := guarantee.ParseUUID(string(p.ID))
	if err != nil || !network.OwnedByServer(p.DeviceOwner) || !tx.InPlacement {
		return none, nil
	}
	allocation, _ := p.Allocation() // what is no allocation serves nothing
	plan, err := guarantee.PolicyChange{
		Port: id, Old: network.GuaranteeRules(p.Rules),
		New: network.GuaranteeRules(rules), Allocation: allocation,
	}.Plan()
	var unknown *guarantee.UnknownGroup
	switch {
	case errors.Is(err, guarantee.ErrDirection):
		return none, fault.New(fault.Unsupported, "NotImplementedError",
			"Changing from direction-less QoS minimum packet rate rule to a "+
				"direction-oriented minimum packet rate rule, or vice versa, is not supported.")
	case errors.As(err, &unknown):
		return none, network.Conflict("UnknownRequestGroup", "%s", unknown)
	}
	if all := destinations(&p); err == nil && len(all) > 0 && (plan.Rewrite || len(plan.Differences) > 0) {
		return none, intents.BeingChanged("Port %s is being moved to host %s.", p.ID, all[0].Host)
	}
	for _, w := range plan.Warnings {
		tx.Warn(w, "port", p.ID)
	}
	return planned(p, plan), err
}

// WriteProfile writes the profile of a port that stays bound as it is: a requested one, with the
// allocation that the port has after its change.
func WriteProfile(tx *network.Tx, a Change, profile []byte) (err error) {
	if a.Plan.Rewrite {
		if profile, err = withAllocation(profile, a.Plan.Allocation); err != nil {
			return err
		}
	}
	row := a.Port.Binding
	if network.SameJSON(profile, row.Profile) {
		return nil
	}
	row.Profile = profile
	return tx.Replace(&row)
}

// withAllocation returns a profile with another allocation, and all else as it was.
func withAllocation(profile []byte, a guarantee.ProfileAllocation) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(network.JSONObject(profile), &all); err != nil {
		return nil, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	all["allocation"] = text
	return json.Marshal(all)
}

// Recover completes or takes back changes of allocations that no process works on any more: those
// of processes that this one has replaced, and those that are older than the given time. It returns
// the number of those that remain; the log has the reasons.
func (s *Service) Recover(ctx context.Context, older time.Duration) (remaining int, err error) {
	return s.intents.Recover(ctx, older)
}

// Settle completes what is under way with the allocations of a server: releases for ports that were
// deleted or got a smaller policy. It is a conflict, PortBeingChanged, while a request changes
// them. After it nothing takes effect that was requested before.
func (s *Service) Settle(ctx context.Context, server string) error {
	if !s.db.Rules.InPlacement {
		return nil
	}
	return s.intents.Settle(ctx, server)
}

// Unfinished returns the number of changes of allocations that are not made yet, or not known to
// be.
func (s *Service) Unfinished(ctx context.Context) (int, error) {
	all, err := s.intents.All(ctx)
	return len(all), err
}
