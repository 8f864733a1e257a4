package servers

import (
	"context"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/watch"
)

// DeleteServer begins to delete a server, whatever else is under way with it. For the end it
// waits, a little, when the server is on no host, as Nova's API does. Faults:
// InstanceNotFound, InstanceIsLocked, and the refusal of Settings.GuaranteedOperations.
func (s *Service) DeleteServer(ctx context.Context, by compute.Caller, id compute.ID) error {
	err := s.checkGuaranteed(ctx, id, compute.GuaranteedDelete, lifecycle.DeleteAction,
		func(compute.Port) bool { return true })
	if err != nil {
		return err
	}
	onNoHost := false
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
		if err != nil {
			return err
		}
		if err := row.CheckUnlocked(by); err != nil || row.Task == compute.Deleting {
			return err // its deletion has begun
		}
		if err := s.lifecycle.CanWork(); err != nil {
			return err
		}
		row.Task, row.Progress, row.UpdatedAt = compute.Deleting, 0, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, lifecycle.DeleteAction)
		if err != nil {
			return err
		}
		under, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByServer, id))
		if err != nil {
			return err
		}
		if len(under) > 0 {
			return c.StopWaiting(id, "") // its worker becomes the deletion
		}
		onNoHost = row.Host == ""
		event, err := c.StartEvent(action.ID, lifecycle.EventDelete, row.Host)
		if err != nil {
			return err
		}
		return c.NewOperation(id, lifecycle.KindDelete, &lifecycle.BuildData{
			Common: lifecycle.Common{Action: action.ID, Event: event.ID},
		})
	})
	s.lifecycle.Wake()
	if err == nil && onNoHost {
		s.awaitEnd(ctx, id)
	}
	return err
}

// endTime is how long a caller waits for the deletion of a server without a host.
const endTime = 5 * time.Second

// awaitEnd waits until a server is deleted, not longer than endTime, and only while operations are
// carried out here.
func (s *Service) awaitEnd(ctx context.Context, id compute.ID) {
	if !s.carriesOut() {
		return
	}
	exists := func(r compute.Reader) (bool, error) {
		rows, err := compute.Rows[compute.ServerSummary](r, compute.Where(compute.ByID, id))
		return len(rows) > 0, err
	}
	// Whatever ends the wait, the deletion goes on.
	_, _ = watch.Await(ctx, s.store.Store, endTime, exists, func(exists bool) bool { return !exists })
}
