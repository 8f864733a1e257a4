package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/scheduler"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement/providertree"
)

// claims write the allocations of servers. They keep nothing of an operation: attempts are stored
// by the callers.
type claims struct {
	placement compute.Placement
	trees     providertree.Placement // nil: there are none
	network   compute.Network
	log       *slog.Logger
	now       func() time.Time
}

// set replaces the allocations of a server, whatever they are. Only steps that are retried
// or final call it. Errors are those of Placement.
func (c claims) set(ctx context.Context, server compute.ServerRow, amounts allocations.Amounts) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		current, err := c.placement.Allocations(ctx, string(server.ID))
		if err != nil || current.Amounts.Equal(amounts) {
			return err
		}
		current.Amounts, current.Project, current.User, current.Type = amounts, server.Project, server.User,
			allocations.Instance
		return c.placement.SetAllocations(ctx, string(server.ID), current)
	})
}

// claim writes the claim of a server, which has no allocations: what another worker has claimed for
// it is not replaced. The error is errNotTaken when another candidate should be tried, and a
// *Failure when placement cannot be used.
func (c claims) claim(ctx context.Context, server compute.ServerRow, amounts allocations.Amounts) error {
	err := allocations.Retry(ctx, allocations.Pause, func() error {
		current, err := c.placement.Allocations(ctx, string(server.ID))
		switch {
		case err != nil || current.Amounts.Equal(amounts):
			return err
		case len(current.Amounts) > 0:
			return scheduler.ErrNotTaken
		}
		return c.placement.SetAllocations(ctx, string(server.ID), allocations.Consumer{
			Amounts: amounts, Project: server.Project, User: server.User, Type: allocations.Instance,
		})
	})
	switch {
	case err == nil, compute.OutcomeUnknown(ctx, err):
		return err
	case errors.Is(err, scheduler.ErrNotTaken), errors.Is(err, allocations.ErrCapacity),
		errors.Is(err, allocations.ErrGeneration):
		return scheduler.ErrNotTaken
	}
	return scheduler.Refusal(err)
}

// reserveOnce reserves the devices for one use among those that were claimed: before a host gets
// them, so that nobody has them after the server. After an error the step is repeated.
func (c claims) reserveOnce(ctx context.Context, claim *selection.Claim, a *compute.Assignment) error {
	var names []string
	if a != nil {
		for _, d := range a.PCIDevices {
			if d.OneTimeUse {
				names = append(names, claim.Node+"_"+d.Provider)
			}
		}
	}
	if names == nil || c.trees == nil {
		return nil
	}
	if err := inventory.ReserveOnce(ctx, claim.Provider, names, c.trees); err != nil {
		return &compute.Retryable{Err: err}
	}
	return nil
}

// settle has the network service complete what is under way with a server's allocations. Its error
// has no other consequence than that the step is repeated.
func (c claims) settle(ctx context.Context, server compute.ID) error {
	if err := c.network.Settle(ctx, server); err != nil {
		return &compute.Retryable{Err: err}
	}
	return nil
}

// releaseMigrations deletes the allocations of those moves that have not ended.
func (c claims) releaseMigrations(ctx context.Context, all []compute.MigrationRow) error {
	for _, m := range all {
		if m.Over() && (m.Type != compute.TypeEvacuate || m.Status != compute.StatusDone) {
			continue
		}
		e := allocations.Exchange{Placement: c.placement, Migration: string(m.ID)}
		if err := e.Confirm(ctx); err != nil {
			return err
		}
	}
	return nil
}

// change is a change of the allocations of a server: amounts are added, or subtracted when sign is
// -1.
func (c claims) change(record allocations.Record, amounts allocations.Amounts, sign int64) *allocations.Change {
	return &allocations.Change{
		Placement: c.placement, Record: record, Now: c.now,
		Apply: func(allocated, differences allocations.Amounts) (allocations.Amounts, error) {
			switch {
			case sign < 0:
				return allocated.Minus(amounts)
			case len(allocated) == 0:
				return nil, allocations.ErrCapacity // only its boot may claim for a server without allocations
			}
			return allocated.Plus(differences), nil
		},
	}
}

// exchange is an exchange of allocations between a server and its migration.
func (c claims) exchange(record allocations.Record, server, migration compute.ID) *allocations.Exchange {
	return &allocations.Exchange{
		Placement: c.placement, Server: string(server), Migration: string(migration), Record: record, Now: c.now,
	}
}

// notWritten is the error of a request that was not answered and then seen not to have taken place,
// as one that decides: any other error is as it was.
func notWritten(err error) error {
	if errors.As(err, new(*operation.Unanswered)) && !errors.Is(err, allocations.ErrUnsettled) {
		return errors.New(err.Error())
	}
	return err
}

// saveAttempt stores the attempts at a change of allocations, which are part of the operation's
// data, before a request is sent or after its answer.
func (j *job) saveAttempt(ctx context.Context) error {
	err := j.save(ctx)
	if errors.Is(err, operation.ErrReplaced) || errors.Is(err, operation.ErrLost) {
		return fmt.Errorf("%w: %w", allocations.ErrEnded, err)
	}
	return err
}
