package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/selection"
)

// claims write the allocations of servers. They keep nothing of an operation: attempts are stored
// by whoever calls.
type claims struct {
	placement Placement
	network   Network
	log       *slog.Logger
	now       func() time.Time
}

// A hostClaim is what was chosen for a server, or for a port of it.
type hostClaim struct {
	Claim *selection.Claim `json:"claim,omitempty"`
	// Devices are the PCI devices of ports, by port.
	Devices map[ID]Device `json:"devices,omitempty"`
}

// A hostChoice is what a host is chosen by, and what was chosen.
type hostChoice struct {
	hostClaim
	Image  extraspecs.Image `json:"image"`
	Node   ID               `json:"node,omitempty"`   // the only one that will do
	Forced bool             `json:"forced,omitempty"` // it is not filtered
	// Rest is what else the server could have had.
	Rest []selection.Claim `json:"rest,omitempty"`
}

// errNotTaken says that placement did not take a claim.
var errNotTaken = errors.New("compute: placement refused the claim")

// set replaces the allocations of a server, whatever they are. Only steps that are retried
// or final call it. Errors are those of Placement.
func (c claims) set(ctx context.Context, server ServerRow, amounts allocations.Amounts) error {
	return allocations.Retry(ctx, allocations.Pause, func() error {
		current, err := c.placement.Allocations(ctx, string(server.ID))
		if err != nil || current.Amounts.Equal(amounts) {
			return err
		}
		current.Amounts, current.Project, current.User, current.Type = amounts, server.Project, server.User, allocations.Instance
		return c.placement.SetAllocations(ctx, string(server.ID), current)
	})
}

// claim writes the claim of a server, which has no allocations: what another worker has claimed for
// it is not replaced. The error is errNotTaken when another candidate should be tried, and a
// *Failure when placement cannot be used.
func (c claims) claim(ctx context.Context, server ServerRow, amounts allocations.Amounts) error {
	err := allocations.Retry(ctx, allocations.Pause, func() error {
		current, err := c.placement.Allocations(ctx, string(server.ID))
		switch {
		case err != nil || current.Amounts.Equal(amounts):
			return err
		case len(current.Amounts) > 0:
			return errNotTaken
		}
		return c.placement.SetAllocations(ctx, string(server.ID), allocations.Consumer{
			Amounts: amounts, Project: server.Project, User: server.User, Type: allocations.Instance,
		})
	})
	switch {
	case err == nil, outcomeUnknown(ctx, err):
		return err
	case errors.Is(err, errNotTaken), errors.Is(err, allocations.ErrCapacity), errors.Is(err, allocations.ErrGeneration):
		return errNotTaken
	}
	return refusal(err)
}

// settle has the network service complete what is under way with a server's allocations. Its error
// has no other consequence than that the step is repeated.
func (c claims) settle(ctx context.Context, server ID) error {
	if err := c.network.Settle(ctx, server); err != nil {
		return &retryable{err}
	}
	return nil
}

// releaseMigrations deletes the allocations of those moves that have not ended.
func (c claims) releaseMigrations(ctx context.Context, all []MigrationRow) error {
	for _, m := range all {
		if m.over() && (m.Type != typeEvacuate || m.Status != done) {
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
func (c claims) exchange(record allocations.Record, server, migration ID) *allocations.Exchange {
	return &allocations.Exchange{Placement: c.placement, Server: string(server), Migration: string(migration), Record: record, Now: c.now}
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

// A hostRefused says that a host will not do after all.
type hostRefused struct{ why string }

// Error says why.
func (h *hostRefused) Error() string { return "compute: the host was refused:  " + h.why }

// checkHost refuses a host that has become one that will not do since it was chosen: others
// of its group have been put there, or elsewhere.
func (c *change) checkHost(server ServerRow, host string, forced bool) error {
	if forced {
		return nil
	}
	if up, err := c.HostIsUp(c, host); err != nil || !up {
		return cmp.Or[error](err, &hostRefused{"its compute service is down"})
	}
	if server.Group == "" {
		return nil
	}
	g, err := One[GroupRow](c, Where(ByID, server.Group))
	if err != nil {
		return err
	}
	members, err := Rows[ServerSummary](c, Where(ByGroup, server.Group))
	if err != nil {
		return err
	}
	here, elsewhere := 0, 0
	for _, m := range members {
		switch {
		case m.ID == server.ID || m.Host == "" || m.Task == Deleting:
		case m.Host == host:
			here++
		default:
			elsewhere++
		}
	}
	if g.Policy == selection.Affinity && here == 0 && elsewhere > 0 || g.Policy == selection.AntiAffinity && here >= max(1, g.MaxPerHost) {
		return &hostRefused{"other servers of its " + g.Policy + " group were scheduled there, or elsewhere, at the same time"}
	}
	return nil
}
