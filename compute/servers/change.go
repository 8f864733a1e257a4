package servers

import (
	"context"
	"maps"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/lifecycle"
)

// The holders of a lock.
const (
	LockedByOwner = "owner"
	LockedByAdmin = "admin"
)

// Lock forbids changes of a server to callers who are not administrators. The lock is its owner's
// when the caller is of its project, else an administrator's. An owner's lock does not replace an
// existing one. Fault: InstanceNotFound.
func (s *Service) Lock(ctx context.Context, by compute.Caller, id compute.ID, reason string) error {
	_, err := s.changeServer(ctx, id, func(c *lifecycle.Change, row *compute.ServerRow) error {
		holder := LockedByAdmin
		if row.Project == by.Project {
			holder = LockedByOwner
		}
		if row.Locked != "" && holder == LockedByOwner {
			return nil
		}
		row.Locked, row.LockedReason = holder, reason
		return recordDone(c, by, id, "lock")
	})
	return err
}

// Unlock removes the lock. The caller checks before whether an administrator's may be removed.
// Fault: InstanceNotFound.
func (s *Service) Unlock(ctx context.Context, by compute.Caller, id compute.ID) error {
	_, err := s.changeServer(ctx, id, func(c *lifecycle.Change, row *compute.ServerRow) error {
		row.Locked, row.LockedReason = "", ""
		return recordDone(c, by, id, "unlock")
	})
	return err
}

// recordDone notes an action that is over with the change that it is.
func recordDone(c *lifecycle.Change, by compute.Caller, id compute.ID, action string) error {
	_, err := c.RecordAction(by, id, action)
	return err
}

// ResetState sets the state of a server, Active or Error, whatever it was. Its operation continues.
// Fault: InstanceNotFound.
func (s *Service) ResetState(ctx context.Context, by compute.Caller, id compute.ID, state string) error {
	_, err := s.changeServer(ctx, id, func(c *lifecycle.Change, row *compute.ServerRow) error {
		under, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByServer, id))
		if err != nil {
			return err
		}
		if row.State = state; len(under) == 0 {
			row.Task = ""
		}
		return recordDone(c, by, id, "resetState")
	})
	return err
}

// metadataStates are those in which metadata may be changed.
var metadataStates = []string{compute.Active, compute.Paused, compute.Suspended, compute.Stopped}

// SetMetadata changes the metadata of a server: fn makes the new from the old, which is
// a copy, and its error is returned as it is. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, MetadataLimitExceeded.
func (s *Service) SetMetadata(
	ctx context.Context, by compute.Caller, id compute.ID, action string,
	fn func(map[string]string) (map[string]string, error),
) (Server, error) {
	return s.changeServer(ctx, id, func(c *lifecycle.Change, row *compute.ServerRow) error {
		old := maps.Clone(row.Metadata)
		if old == nil {
			old = map[string]string{}
		}
		metadata, err := fn(old) // what it refuses is no matter of the state
		if err != nil {
			return err
		}
		if err := row.CheckUnlocked(by); err != nil {
			return err
		}
		if err := row.CheckState(action, metadataStates...); err != nil {
			return err
		}
		if err := row.CheckLaunched(action); err != nil {
			return err
		}
		row.Metadata = metadata
		return enoughMetadata(c, row.Project, len(metadata))
	})
}

// enoughMetadata refuses more metadata than a project may give a server.
func enoughMetadata(c *lifecycle.Change, project string, items int) error {
	if items == 0 {
		return nil
	}
	limits, err := c.Limits(c, project, "")
	if err != nil {
		return err
	}
	if most := limits[compute.MetadataItems]; most >= 0 && int64(items) > most {
		return compute.OverQuota("MetadataLimitExceeded", "Maximum number of metadata items exceeds %d", most)
	}
	return nil
}

// tagStates are those in which tags may be changed.
var tagStates = []string{compute.Active, compute.Paused, compute.Suspended, compute.Stopped}

// SetTags changes the tags of a server: fn makes the new from the old. Faults:
// InstanceNotFound, InvalidState.
func (s *Service) SetTags(
	ctx context.Context, id compute.ID, action string, fn func([]string) ([]string, error),
) (Server, error) {
	return s.changeServer(ctx, id, func(_ *lifecycle.Change, row *compute.ServerRow) error {
		if err := row.CheckState(action, tagStates...); err != nil {
			return err
		}
		tags, err := fn(slices.Clone(row.Tags))
		row.Tags = slices.Compact(slices.Sorted(slices.Values(tags)))
		return err
	})
}
