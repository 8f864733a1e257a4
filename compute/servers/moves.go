package servers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/lifecycle"
	"github.com/berthcloud/berth/compute/scheduler"
)

// The actions of moves, as Nova calls them.
const (
	resizeAction  = "resize"
	migrateAction = "migrate"
	confirmAction = "confirmResize"
	revertAction  = "revertResize"
)

// A Resizing is a request to give a server another flavor.
type Resizing struct {
	Flavor     compute.ID
	DiskConfig string // "AUTO", "MANUAL", "" for the latter
}

// ResizeServer begins to give a server another flavor, on another host unless Settings.ResizeOnHost
// allows its own. The server then waits to be confirmed or reverted. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, InstanceNotReady, ServiceUnavailable,
// ExtendedResourceRequestOldCompute, FlavorNotFound, CannotResizeDisk, CannotResizeToSameFlavor,
// TooManyInstances, and those of a server's creation that are about the flavor and the image.
func (s *Service) ResizeServer(ctx context.Context, by compute.Caller, id compute.ID, to Resizing) error {
	row, err := s.movable(ctx, by, id, resizeAction)
	if err != nil {
		return err
	}
	flavor, err := s.flavor(ctx, by, to.Flavor)
	if err != nil {
		return compute.AsInvalid(err)
	}
	old, err := row.StoredFlavor()
	switch {
	case err != nil:
		return err
	case flavor.RootGB == 0 && old.RootGB != 0:
		return compute.Invalid("CannotResizeDisk",
			"Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.")
	case flavor.ID == row.FlavorID:
		return compute.Invalid("CannotResizeToSameFlavor", "When resizing, instances must change flavor!")
	case flavor.Disabled:
		return compute.AsInvalid(compute.NoFlavor(to.Flavor))
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	if image.Status != "" { // it still exists
		if err := checkRoom(flavor, image); err != nil {
			return err
		}
	}
	settings, err := s.hosts.Requests(ctx)
	if err != nil {
		return err
	}
	if err := honoured(extraSpecsOf(flavor), image, settings); err != nil {
		return err
	}
	m := s.coldMove(by, id, resizeAction, compute.TypeResize)
	m.data = lifecycle.MoveData{
		HostChoice: scheduler.HostChoice{Image: image.Image}, Flavor: flavor.Keep(), FlavorID: flavor.ID,
	}
	m.prepare = func(c *lifecycle.Change, row *compute.ServerRow) error {
		if row.DiskConfig = "MANUAL"; to.DiskConfig != "" {
			row.DiskConfig = to.DiskConfig
		}
		return enoughToGrow(c, *row, old, flavor)
	}
	_, err = s.beginMove(ctx, by, id, m)
	return err
}

// MigrateServer begins to move a server, which is stopped meanwhile, to another host: the one with
// the name, or any when it is "". The server then waits to be confirmed or reverted. Faults:
// InstanceNotFound, InstanceIsLocked, InvalidState, InstanceNotReady, ServiceUnavailable,
// ExtendedResourceRequestOldCompute, ComputeHostNotFound, CannotMigrateToSameHost.
func (s *Service) MigrateServer(ctx context.Context, by compute.Caller, id compute.ID, host string) error {
	row, err := s.movable(ctx, by, id, migrateAction)
	if err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	m := s.coldMove(by, id, migrateAction, compute.TypeMigrate)
	m.host, m.data = host, lifecycle.MoveData{
		HostChoice: scheduler.HostChoice{Image: image.Image}, Flavor: row.Flavor, FlavorID: row.FlavorID,
	}
	m.prepare = func(_ *lifecycle.Change, row *compute.ServerRow) error {
		row.DiskConfig = "MANUAL"
		return nil
	}
	_, err = s.beginMove(ctx, by, id, m)
	return err
}

// coldMove is what resizes and migrations have in common.
func (s *Service) coldMove(by compute.Caller, id compute.ID, action, kind string) moveRequest {
	return moveRequest{
		operation: lifecycle.KindMove, elsewhere: true, action: action, kind: kind, task: compute.ResizePrep,
		status: compute.StatusPreMigrating,
		events: []string{"conductor_migrate_server", "cold_migrate"},
		may:    func(c *lifecycle.Change) (compute.ServerRow, error) { return s.movableIn(c, by, id, action) },
	}
}

// movable returns a server that can be resized or migrated now.
func (s *Service) movable(
	ctx context.Context, by compute.Caller, id compute.ID, action string,
) (row compute.ServerRow, err error) {
	if err := s.mayMove(ctx, id, action, action); err != nil {
		return row, err
	}
	err = s.store.View(ctx, func(r compute.Reader) error {
		row, err = s.movableIn(r, by, id, action)
		return err
	})
	return row, err
}

func (s *Service) movableIn(
	r compute.Reader, by compute.Caller, id compute.ID, action string,
) (compute.ServerRow, error) {
	row, err := compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.CheckUnlocked(by); err != nil {
		return row, err
	}
	if err := row.CheckState(action, compute.Active, compute.Stopped); err != nil {
		return row, err
	}
	if err := s.lifecycle.Idle(r, row, action); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, compute.Conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	return row, mustBeUp(s.rules, r, row.Host)
}

// enoughToGrow refuses a larger flavor for which the quotas have not enough.
func enoughToGrow(c *lifecycle.Change, row compute.ServerRow, old extraspecs.Flavor, to compute.FlavorRow) error {
	free, limits, err := headroom(c, row.Project, row.User)
	if err != nil {
		return err
	}
	more := map[string]int64{compute.Cores: to.VCPUs - old.VCPUs, compute.RAM: to.MemoryMB - old.MemoryMB}
	var over, requested, used, allowed []string
	for _, resource := range []string{compute.Cores, compute.RAM} {
		remaining, limited := free[resource]
		if !limited || more[resource] <= 0 || remaining >= more[resource] {
			continue
		}
		over, requested = append(over, resource), append(requested, strconv.FormatInt(more[resource], 10))
		used, allowed = append(used, strconv.FormatInt(limits[resource]-remaining, 10)),
			append(allowed, strconv.FormatInt(limits[resource], 10))
	}
	if len(over) == 0 {
		return nil
	}
	all := func(words []string) string { return strings.Join(words, ", ") }
	return compute.OverQuota("TooManyInstances", "Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		all(over), all(requested), all(used), all(allowed), all(over))
}

// A moveRequest is a move that begins.
type moveRequest struct {
	operation    string   // its kind
	elsewhere    bool     // the source is refused as the destination
	action, kind string   // of the action and the migration
	task, status string   // of the server and the migration
	events       []string // of the action
	host         string   // the destination, "" for any
	data         lifecycle.MoveData
	// may returns the server, and refuses to move it in another state.
	may func(*lifecycle.Change) (compute.ServerRow, error)
	// prepare, unless nil, changes the server's row, and refuses what cannot be.
	prepare func(*lifecycle.Change, *compute.ServerRow) error
}

// beginMove records a move. Its worker carries it out.
func (s *Service) beginMove(
	ctx context.Context, by compute.Caller, id compute.ID, m moveRequest,
) (migration compute.MigrationRow, err error) {
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := m.may(c)
		if err != nil {
			return err
		}
		d := m.data
		if m.host != "" {
			switch {
			case m.host == row.Host && m.elsewhere:
				return compute.Invalid("CannotMigrateToSameHost", "Cannot migrate to the host where the server exists.")
			case m.host == row.Host && d.Forced:
				return compute.Invalid("UnableToMigrateToSelf", "Unable to migrate instance (%s) to current host (%s).", id, m.host)
			}
			if d.Node, err = wantedNode(c, &validatedSpec{ServerSpec: ServerSpec{Host: m.host}}); err != nil {
				return err
			}
		}
		source, err := json.Marshal(lifecycle.SourceState{
			State: row.State, Power: row.Power, Flavor: row.Flavor, FlavorID: row.FlavorID,
		})
		if err != nil {
			return err
		}
		if m.prepare != nil {
			if err := m.prepare(c, &row); err != nil {
				return err
			}
		}
		row.Task, row.Progress, row.UpdatedAt = m.task, 0, c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		migration = compute.MigrationRow{
			ID: compute.NewID(), Server: id, Project: row.Project, User: by.User, Type: m.kind, Status: m.status,
			Source: row.Host, SourceNode: row.Node, OldFlavor: row.FlavorID, NewFlavor: d.FlavorID, Former: source,
			CreatedAt: c.At, UpdatedAt: c.At,
		}
		if d.Forced {
			node, err := compute.One[compute.NodeRow](c, compute.Where(compute.ByID, d.Node))
			if err != nil {
				return err
			}
			migration.Dest, migration.DestNode = node.Host, node.Name
		}
		if m.kind == compute.TypeEvacuate {
			migration.OldFlavor, migration.NewFlavor = "", ""
		}
		if migration.Number, err = c.NextNumber("migrations"); err != nil {
			return err
		}
		if err := c.Insert(&migration); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, m.action)
		if err != nil {
			return err
		}
		for _, event := range m.events {
			if _, err := c.StartEvent(action.ID, event, ""); err != nil {
				return err
			}
		}
		d.Host, d.Action, d.Migration = m.host, action.ID, migration.ID
		return c.NewOperation(id, m.operation, &d)
	})
	s.lifecycle.Wake()
	return migration, err
}

// unconfirmed returns the move of a resized server that can be confirmed or reverted. Fault:
// MigrationNotFound.
func unconfirmed(c *lifecycle.Change, row compute.ServerRow) (compute.MigrationRow, error) {
	all, err := compute.Rows[compute.MigrationRow](c, compute.Where(compute.ByServer, row.ID))
	for _, m := range all {
		if m.Status == compute.StatusFinished {
			return m, err
		}
	}
	if err == nil {
		err = compute.Invalid("MigrationNotFound", "Instance has not been resized.")
	}
	return compute.MigrationRow{}, err
}

// ConfirmResize begins to remove from its former host a server that was resized or migrated.
// Faults: InstanceNotFound, InstanceIsLocked, InvalidState, MigrationNotFound, ServiceUnavailable.
func (s *Service) ConfirmResize(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.beginConfirmOrRevert(ctx, by, id, confirmAction,
		func(c *lifecycle.Change, row *compute.ServerRow, m compute.MigrationRow,
			action compute.ID,
		) (string, *lifecycle.MoveData, error) {
			if err := mustBeUp(c.Tx.Rules, c, m.Source); err != nil {
				return "", nil, err
			}
			if err := c.SetMigration(m.ID, func(m *compute.MigrationRow) { m.Status = compute.StatusConfirming }); err != nil {
				return "", nil, err
			}
			event, err := c.StartEvent(action, "compute_confirm_resize", m.Source)
			return lifecycle.KindConfirm, &lifecycle.MoveData{Common: lifecycle.Common{Event: event.ID}}, err
		})
}

// RevertResize begins to bring a server that was resized or migrated back to its former host.
// Faults: InstanceNotFound, InstanceIsLocked, InvalidState, MigrationNotFound.
func (s *Service) RevertResize(ctx context.Context, by compute.Caller, id compute.ID) error {
	return s.beginConfirmOrRevert(ctx, by, id, revertAction,
		func(c *lifecycle.Change, row *compute.ServerRow, m compute.MigrationRow,
			action compute.ID,
		) (string, *lifecycle.MoveData, error) {
			if err := c.SetMigration(m.ID, func(m *compute.MigrationRow) { m.Status = compute.StatusReverting }); err != nil {
				return "", nil, err
			}
			row.Task = compute.ResizeReverting
			event, err := c.StartEvent(action, "compute_revert_resize", m.Dest)
			return lifecycle.KindRevert, &lifecycle.MoveData{Common: lifecycle.Common{Event: event.ID}}, err
		})
}

// beginConfirmOrRevert begins the end of a move.
func (s *Service) beginConfirmOrRevert(
	ctx context.Context, by compute.Caller, id compute.ID, action string,
	begin func(c *lifecycle.Change, row *compute.ServerRow, m compute.MigrationRow,
		action compute.ID) (kind string, d *lifecycle.MoveData, err error),
) error {
	err := s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := compute.OneOr[compute.ServerRow](c, compute.NoServer(id), compute.Where(compute.ByID, id))
		if err != nil {
			return err
		}
		if err := row.CheckUnlocked(by); err != nil {
			return err
		}
		if err := row.CheckState(action, compute.Resized); err != nil {
			return err
		}
		if row.Task != "" {
			return compute.Busy(id, action, "task_state", row.Task)
		}
		m, err := unconfirmed(c, row)
		if err != nil {
			return err
		}
		recorded, err := c.RecordAction(by, id, action)
		if err != nil {
			return err
		}
		kind, d, err := begin(c, &row, m, recorded.ID)
		if err != nil {
			return err
		}
		row.UpdatedAt = c.At
		if err := c.Replace(&row); err != nil {
			return err
		}
		d.Action, d.Migration = recorded.ID, m.ID
		return c.NewOperation(id, kind, d)
	})
	s.lifecycle.Wake()
	return err
}

// confirmInterval is how often resizes are looked for that are to be confirmed by themselves.
const confirmInterval = time.Minute

// RunConfirmations confirms resizes that have waited for Settings.ConfirmWindow, until ctx ends.
func (s *Service) RunConfirmations(ctx context.Context) {
	if s.rules.Settings.ConfirmWindow == 0 {
		return
	}
	tick := time.NewTicker(confirmInterval)
	defer tick.Stop()
	for {
		if err := s.confirmOld(ctx); err != nil && ctx.Err() == nil {
			s.rules.Log.ErrorContext(ctx, "resizes cannot be confirmed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// confirmOld confirms the resizes that have waited for Settings.ConfirmWindow.
func (s *Service) confirmOld(ctx context.Context) error {
	var due []compute.MigrationRow
	err := s.store.View(ctx, func(r compute.Reader) error {
		all, err := compute.Rows[compute.MigrationRow](r, compute.Where(compute.ByStatus, compute.StatusFinished))
		due = slices.DeleteFunc(all, func(m compute.MigrationRow) bool {
			return s.rules.Now().Sub(m.UpdatedAt) < s.rules.Settings.ConfirmWindow
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range due {
		if err := s.ConfirmResize(ctx, compute.Caller{Admin: true}, m.Server); err != nil {
			s.rules.Log.WarnContext(ctx, "a resize cannot be confirmed", "server", m.Server, "error", err)
		}
	}
	return nil
}
