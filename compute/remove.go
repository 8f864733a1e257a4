package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/berthcloud/berth/watch"
)

// A deletion, and its event, as Nova calls them.
const (
	deleteAction = "delete"
	eventDelete  = "compute_terminate_instance"
)

// DeleteServer begins to delete a server, whatever else is under way with it. For the end it
// waits, a little, when the server is on no host, as Nova's API does. Faults:
// InstanceNotFound, InstanceIsLocked.
func (s *Service) DeleteServer(ctx context.Context, by Caller, id ID) error {
	onNoHost := false
	err := s.update(ctx, func(c *change) error {
		row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		if err := row.unlocked(by); err != nil || row.Task == Deleting {
			return err // its deletion has begun
		}
		if err := s.canWork(); err != nil {
			return err
		}
		row.Task, row.Progress, row.UpdatedAt = Deleting, 0, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.act(by, id, deleteAction)
		if err != nil {
			return err
		}
		under, err := Rows[OperationRow](c, Where(ByServer, id))
		if err != nil {
			return err
		}
		if len(under) > 0 {
			return c.stopWaiting(id, "") // its worker becomes the deletion
		}
		onNoHost = row.Host == ""
		event, err := c.begin(action.ID, eventDelete, row.Host)
		if err != nil {
			return err
		}
		return c.newOperation(id, kindDelete, &buildData{common: common{Action: action.ID, Event: event.ID}})
	})
	s.wake()
	if err == nil && onNoHost {
		s.awaitEnd(ctx, id)
	}
	return err
}

// endTime is how long a caller waits for the deletion of a server without a host.
const endTime = 5 * time.Second

// awaitEnd waits until a server is deleted, not longer than endTime, and only while operations are
// carried out here.
func (s *Service) awaitEnd(ctx context.Context, id ID) {
	if s.working.Load() == 0 {
		return
	}
	exists := func(r Reader) (bool, error) {
		rows, err := Rows[ServerSummary](r, Where(ByID, id))
		return len(rows) > 0, err
	}
	// Whatever ends the wait, the deletion goes on.
	_, _ = watch.Await(ctx, s.store.Store, endTime, exists, func(exists bool) bool { return !exists })
}

// notDestroyed is the effect of a host that could not destroy the server.
func (b *buildJob) notDestroyed(event EventRow) effect {
	return func(c *change, row *ServerRow) error {
		err := c.wish(*row, func(hosted *HostedRow) { hosted.Wish, hosted.Event, hosted.Slots = row.usual(), "", nil })
		if err != nil {
			return err
		}
		return c.inError(row, Failure{Code: 500, Message: fmt.Sprintf("Failed to delete instance %s: %s", row.ID, event.Details), Details: event.Traceback})
	}
}

// removed is the effect of a deletion: the server's rows are deleted. Its actions are kept.
func (b *buildJob) removed() effect {
	return func(c *change, row *ServerRow) error {
		if b.Event != "" {
			if err := c.end(b.Event, nil); err != nil {
				return err
			}
		}
		rows, err := Rows[HostedRow](c, Where(ByServer, row.ID))
		if err != nil {
			return err
		}
		for _, hosted := range rows {
			if hosted.Wish == WishGone {
				continue
			}
			hosted.Wish, hosted.Event = WishGone, NewID()
			if err := c.Replace(&hosted); err != nil {
				return err
			}
		}
		if _, err := c.Remove(&MigrationRow{}, Where(ByServer, row.ID)); err != nil {
			return err
		}
		deleted := *row
		*row = ServerRow{}
		if _, err := c.Remove(&ServerRow{}, Where(ByID, deleted.ID)); err != nil || deleted.LaunchedAt.IsZero() {
			return err
		}
		return c.Insert(&DeletedRow{deleted.ID, deleted.Project, deleted.Name, deleted.Flavor, deleted.LaunchedAt, c.At})
	}
}
