package lifecycle

import (
	"fmt"

	"github.com/berthcloud/berth/compute"
)

// notDestroyed is the effect of a host that could not destroy the server.
func (b *buildJob) notDestroyed(event compute.EventRow) effect {
	return func(c *Change, row *compute.ServerRow) error {
		err := c.setDesired(*row, func(hosted *compute.HostedRow) {
			hosted.DesiredState, hosted.Event, hosted.Slots = row.DesiredState(), "", nil
		})
		if err != nil {
			return err
		}
		return c.inError(row, compute.Failure{
			Code: 500, Message: fmt.Sprintf("Failed to delete instance %s: %s", row.ID, event.Details), Details: event.Traceback,
		})
	}
}

// removed is the effect of a deletion: the server's rows are deleted. Its actions remain.
func (b *buildJob) removed() effect {
	return func(c *Change, row *compute.ServerRow) error {
		if b.Event != "" {
			if err := c.EndEvent(b.Event, nil); err != nil {
				return err
			}
		}
		rows, err := compute.Rows[compute.HostedRow](c, compute.Where(compute.ByServer, row.ID))
		if err != nil {
			return err
		}
		for _, hosted := range rows {
			if hosted.DesiredState == compute.DesiredAbsent {
				continue
			}
			hosted.DesiredState, hosted.Event = compute.DesiredAbsent, compute.NewID()
			if err := c.Replace(&hosted); err != nil {
				return err
			}
		}
		if _, err := c.Remove(&compute.MigrationRow{}, compute.Where(compute.ByServer, row.ID)); err != nil {
			return err
		}
		deleted := *row
		*row = compute.ServerRow{}
		if _, err := c.Remove(&compute.ServerRow{}, compute.Where(compute.ByID, deleted.ID)); err != nil ||
			deleted.LaunchedAt.IsZero() {
			return err
		}
		return c.Insert(&compute.DeletedRow{
			ID: deleted.ID, Project: deleted.Project, Name: deleted.Name, Flavor: deleted.Flavor, LaunchedAt: deleted.LaunchedAt,
			TerminatedAt: c.At,
		})
	}
}
