package compute

import (
	"context"
	"maps"
	"slices"
)

// InvalidState is the code of the conflict of a server whose state does not allow the action.
const InvalidState = "InstanceInvalidState"

// busy refuses what cannot be done in a state.
func busy(id ID, action, attribute, state string) error {
	if state == "" {
		return conflict(InvalidState, "Instance %s is in an invalid state for '%s'", id, action)
	}
	return conflict(InvalidState, "Cannot '%s' instance %s while it is in %s %s", action, id, attribute, state)
}

// unlocked refuses what a lock forbids.
func (s ServerRow) unlocked(by Caller) error {
	if s.Locked != "" && !by.Admin {
		return conflict("InstanceIsLocked", "Instance %s is locked", s.ID)
	}
	return nil
}

// in refuses an action for a server in another vm_state.
func (s ServerRow) in(action string, states ...string) error {
	if !slices.Contains(states, s.State) {
		return busy(s.ID, action, "vm_state", s.State)
	}
	return nil
}

// launched refuses an action for a server that never ran.
func (s ServerRow) launched(action string) error {
	if s.LaunchedAt.IsZero() {
		return busy(s.ID, action, "launched_at", "")
	}
	return nil
}

// The holders of a lock.
const (
	LockedByOwner = "owner"
	LockedByAdmin = "admin"
)

// Lock forbids changes of a server to callers who are not administrators. The lock is its owner's
// when the caller is of its project, else an administrator's. An owner's lock does not replace an
// existing one. Fault: InstanceNotFound.
func (s *Service) Lock(ctx context.Context, by Caller, id ID, reason string) error {
	_, err := s.changeServer(ctx, id, func(c *change, row *ServerRow) error {
		holder := LockedByAdmin
		if row.Project == by.Project {
			holder = LockedByOwner
		}
		if row.Locked != "" && holder == LockedByOwner {
			return nil
		}
		row.Locked, row.LockedReason = holder, reason
		return c.done(by, id, "lock")
	})
	return err
}

// Unlock removes the lock. The caller checks before whether an administrator's may be removed.
// Fault: InstanceNotFound.
func (s *Service) Unlock(ctx context.Context, by Caller, id ID) error {
	_, err := s.changeServer(ctx, id, func(c *change, row *ServerRow) error {
		row.Locked, row.LockedReason = "", ""
		return c.done(by, id, "unlock")
	})
	return err
}

// done notes an action that is over with the change that it is.
func (c *change) done(by Caller, id ID, action string) error {
	_, err := c.act(by, id, action)
	return err
}

// ResetState sets the state of a server, Active or Error, whatever it was. Its operation continues. Fault:
// InstanceNotFound.
func (s *Service) ResetState(ctx context.Context, by Caller, id ID, state string) error {
	_, err := s.changeServer(ctx, id, func(c *change, row *ServerRow) error {
		under, err := Rows[OperationRow](c, Where(ByServer, id))
		if err != nil {
			return err
		}
		if row.State = state; len(under) == 0 {
			row.Task = ""
		}
		return c.done(by, id, "resetState")
	})
	return err
}

// metadataStates are those in which metadata may be changed.
var metadataStates = []string{Active, Paused, Suspended, Stopped}

// SetMetadata changes the metadata of a server: fn makes the new from the old, which is
// a copy, and its error is returned as it is. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, MetadataLimitExceeded.
func (s *Service) SetMetadata(ctx context.Context, by Caller, id ID, action string, fn func(map[string]string) (map[string]string, error)) (Server, error) {
	return s.changeServer(ctx, id, func(c *change, row *ServerRow) error {
		old := maps.Clone(row.Metadata)
		if old == nil {
			old = map[string]string{}
		}
		metadata, err := fn(old) // what it refuses is no matter of the state
		if err != nil {
			return err
		}
		if err := row.unlocked(by); err != nil {
			return err
		}
		if err := row.in(action, metadataStates...); err != nil {
			return err
		}
		if err := row.launched(action); err != nil {
			return err
		}
		row.Metadata = metadata
		return c.enoughMetadata(row.Project, len(metadata))
	})
}

// enoughMetadata refuses more metadata than a project may give a server.
func (c *change) enoughMetadata(project string, items int) error {
	limits, err := c.Limits(c, project, "")
	if err != nil {
		return err
	}
	if most := limits[MetadataItems]; most >= 0 && int64(items) > most {
		return overQuota("MetadataLimitExceeded", "Maximum number of metadata items exceeds %d", most)
	}
	return nil
}

// tagStates are those in which tags may be changed.
var tagStates = []string{Active, Paused, Suspended, Stopped}

// SetTags changes the tags of a server: fn makes the new from the old. Faults:
// InstanceNotFound, InvalidState.
func (s *Service) SetTags(ctx context.Context, id ID, action string, fn func([]string) ([]string, error)) (Server, error) {
	return s.changeServer(ctx, id, func(_ *change, row *ServerRow) error {
		if err := row.in(action, tagStates...); err != nil {
			return err
		}
		tags, err := fn(slices.Clone(row.Tags))
		row.Tags = slices.Compact(slices.Sorted(slices.Values(tags)))
		return err
	})
}
