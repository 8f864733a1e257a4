package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

// The actions of moves, as Nova calls them, and the types of migrations.
const (
	resizeAction  = "resize"
	migrateAction = "migrate"
	confirmAction = "confirmResize"
	revertAction  = "revertResize"

	typeResize  = "resize"
	typeMigrate = "migration"
)

// The statuses of migrations.
const (
	preMigrating  = "pre-migrating"  // a host is chosen
	migrating     = "migrating"      // the source stops the server
	postMigrating = "post-migrating" // the destination builds it
	finished      = "finished"       // it waits to be confirmed or reverted
	confirming    = "confirming"
	confirmed     = "confirmed"
	reverting     = "reverting"
	reverted      = "reverted"
	migrationFail = "error"
)

// migrationsUnderWay are the statuses of migrations that are not over, and migrationsOver those of the others.
var (
	migrationsUnderWay = []string{preMigrating, migrating, postMigrating, finished, confirming, reverting, enqueued, preparing, running}
	migrationsOver     = []string{accepted, confirmed, reverted, migrationFail, "failed", completed, cancelled, done}
)

// A sourceState is what a server had before a move, for its way back. Its names are not to change.
type sourceState struct {
	State    string          `json:"state"` // vm_state
	Power    Power           `json:"power"`
	Flavor   json.RawMessage `json:"flavor"` // as in ServerRow
	FlavorID ID              `json:"flavor_id"`
	// Amounts are its allocations on the source, and Ports its ports there. They are known once a
	// destination is chosen.
	Amounts allocations.Amounts `json:"amounts,omitempty"`
	Ports   []sourceBinding     `json:"ports,omitempty"`
}

// A sourceBinding is the binding of a port to the source.
type sourceBinding struct {
	Port       ID                          `json:"port"`
	Allocation guarantee.ProfileAllocation `json:"allocation"`
	Device     *Device                     `json:"device,omitempty"`
	// Amounts are what the server had for the port.
	Amounts allocations.Amounts `json:"amounts,omitempty"`
}

// port returns the binding that a port had.
func (f sourceState) port(id ID) (sourceBinding, bool) {
	i := slices.IndexFunc(f.Ports, func(p sourceBinding) bool { return p.Port == id })
	if i < 0 {
		return sourceBinding{}, false
	}
	return f.Ports[i], true
}

// serving is the allocation on the former host for what the port requests now: each group has the provider that had its
// classes there. It is an error when there is none.
func (b sourceBinding) serving(requested request.Port) (guarantee.ProfileAllocation, error) {
	m := request.Mappings{}
	for _, g := range requested.Groups {
		for provider, had := range b.Amounts {
			lacks := slices.ContainsFunc(slices.Collect(maps.Keys(g.Resources)), func(class string) bool { return had[class] == 0 })
			if !lacks {
				m[g.ID] = append(m[g.ID], placement.UUID(provider))
			}
		}
	}
	return requested.Binding(m)
}

// source reads what the server had before the move.
func (m MigrationRow) source() (state sourceState, err error) {
	if err = json.Unmarshal(m.Former, &state); err != nil {
		err = fmt.Errorf("reading migration %s: %w", m.ID, err)
	}
	return state, err
}

// over reports whether a migration has ended.
func (m MigrationRow) over() bool { return slices.Contains(migrationsOver, m.Status) }

// setMigration changes a migration.
func (c *change) setMigration(id ID, fn func(*MigrationRow)) error {
	row, err := One[MigrationRow](c, Where(ByID, id))
	if err != nil {
		return err
	}
	fn(&row)
	if !slices.Contains(migrationsUnderWay, row.Status) && !row.over() { // those are searched for
		return fmt.Errorf("compute: migration %s has the status %q, which is neither under way nor over", id, row.Status)
	}
	row.UpdatedAt = c.At
	return c.Replace(&row)
}

// A Resizing is a request to give a server another flavor.
type Resizing struct {
	Flavor     ID
	DiskConfig string // "AUTO", "MANUAL", "" for the latter
}

// ResizeServer begins to give a server another flavor, on another host unless Settings.ResizeOnHost allows its own. The
// server then waits to be confirmed or reverted. Faults: InstanceNotFound, InstanceIsLocked, InvalidState,
// InstanceNotReady, ServiceUnavailable, ExtendedResourceRequestOldCompute, FlavorNotFound, CannotResizeDisk, CannotResizeToSameFlavor, TooManyInstances,
// and those of a server's creation that are about the flavor and the image.
func (s *Service) ResizeServer(ctx context.Context, by Caller, id ID, to Resizing) error {
	row, err := s.movable(ctx, by, id, resizeAction)
	if err != nil {
		return err
	}
	flavor, err := s.flavor(ctx, by, to.Flavor)
	if err != nil {
		return asInvalid(err)
	}
	old, err := row.StoredFlavor()
	switch {
	case err != nil:
		return err
	case flavor.RootGB == 0 && old.RootGB != 0:
		return invalid("CannotResizeDisk", "Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.")
	case flavor.ID == row.FlavorID:
		return invalid("CannotResizeToSameFlavor", "When resizing, instances must change flavor!")
	case flavor.Disabled:
		return asInvalid(NoFlavor(to.Flavor))
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	if image.Status != "" { // it still exists
		if err := flavor.holds(image); err != nil {
			return err
		}
	}
	if err := extraspecs.Supported(flavor.extra(), image.Image); err != nil {
		return err
	}
	m := s.coldMove(by, id, resizeAction, typeResize)
	m.data = moveData{hostChoice: hostChoice{Image: image.Image}, Flavor: flavor.Keep(), FlavorID: flavor.ID}
	m.prepare = func(c *change, row *ServerRow) error {
		if row.DiskConfig = "MANUAL"; to.DiskConfig != "" {
			row.DiskConfig = to.DiskConfig
		}
		return c.enoughToGrow(*row, old, flavor)
	}
	_, err = s.beginMove(ctx, by, id, m)
	return err
}

// MigrateServer begins to move a server, which is stopped meanwhile, to another host: the one with the name, or any
// when it is "". The server then waits to be confirmed or reverted. Faults: InstanceNotFound, InstanceIsLocked,
// InvalidState, InstanceNotReady, ServiceUnavailable, ExtendedResourceRequestOldCompute, ComputeHostNotFound,
// CannotMigrateToSameHost.
func (s *Service) MigrateServer(ctx context.Context, by Caller, id ID, host string) error {
	row, err := s.movable(ctx, by, id, migrateAction)
	if err != nil {
		return err
	}
	image, err := s.imageOf(ctx, row)
	if err != nil {
		return err
	}
	m := s.coldMove(by, id, migrateAction, typeMigrate)
	m.host, m.data = host, moveData{hostChoice: hostChoice{Image: image.Image}, Flavor: row.Flavor, FlavorID: row.FlavorID}
	m.prepare = func(_ *change, row *ServerRow) error {
		row.DiskConfig = "MANUAL"
		return nil
	}
	_, err = s.beginMove(ctx, by, id, m)
	return err
}

// coldMove is what resizes and migrations have in common.
func (s *Service) coldMove(by Caller, id ID, action, kind string) moveRequest {
	return moveRequest{
		operation: kindMove, elsewhere: true, action: action, kind: kind, task: ResizePrep, status: preMigrating,
		events: []string{"conductor_migrate_server", "cold_migrate"},
		may:    func(c *change) (ServerRow, error) { return s.movableIn(c, by, id, action) },
	}
}

// movable returns a server that can be resized or migrated now.
func (s *Service) movable(ctx context.Context, by Caller, id ID, action string) (row ServerRow, err error) {
	if err := s.mayMoveGroups(ctx, id); err != nil {
		return row, err
	}
	err = s.store.View(ctx, func(r Reader) error {
		row, err = s.movableIn(r, by, id, action)
		return err
	})
	return row, err
}

func (s *Service) movableIn(r Reader, by Caller, id ID, action string) (ServerRow, error) {
	row, err := OneOr[ServerRow](r, noServer(id), Where(ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.unlocked(by); err != nil {
		return row, err
	}
	if err := row.in(action, Active, Stopped); err != nil {
		return row, err
	}
	if err := s.kinds.idle(r, row, action); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, conflict("InstanceNotReady", "Instance %s is not ready", row.ID)
	}
	return row, s.rules.mustBeUp(r, row.Host)
}

// mustBeUp refuses a move from a host that is down. The fault does not name the host, which users may not know.
func (rules Rules) mustBeUp(r Reader, host string) error {
	up, err := rules.HostIsUp(r, host)
	if err == nil && !up {
		err = conflict("ServiceUnavailable", "Service is unavailable at this time.")
	}
	return err
}

// imageOf returns the image of a server. One that does not exist any more has no Status, and the properties that it
// had when the server was created.
func (s *Service) imageOf(ctx context.Context, row ServerRow) (image Image, err error) {
	if s.images == nil {
		return image, absent("image")
	}
	if row.Image == "" {
		return image, nil
	}
	image, err = s.images.Image(ctx, row.Project, row.Image)
	switch {
	case err != nil && !errors.Is(err, ErrNoImage):
		return image, err
	case err != nil:
		image = Image{Image: extraspecs.Image{ID: string(row.Image)}}
	}
	if len(row.ImageMeta) > 0 {
		err = json.Unmarshal(row.ImageMeta, &image.Image)
	} else {
		err = nil
	}
	return image, err
}

// holds refuses an image that a server of the flavor has no room for.
func (f FlavorRow) holds(image Image) error {
	disk := f.RootGB * gib
	switch {
	case f.MemoryMB < image.MinMemoryMB:
		return invalid("FlavorMemoryTooSmall", "Flavor's memory is too small for requested image.")
	case disk > 0 && image.Size > disk:
		return invalid("FlavorDiskSmallerThanImage", "Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.",
			disk, image.Size)
	case disk > 0 && image.MinDiskGB*gib > disk:
		return invalid("FlavorDiskSmallerThanMinDisk", "Flavor's disk is smaller than the minimum size specified in image metadata. "+
			"Flavor disk is %d bytes, minimum size is %d bytes.", disk, image.MinDiskGB*gib)
	}
	return nil
}

// enoughToGrow refuses a larger flavor for which the quotas have not enough.
func (c *change) enoughToGrow(row ServerRow, old extraspecs.Flavor, to FlavorRow) error {
	free, limits, err := c.headroom(row.Project, row.User)
	if err != nil {
		return err
	}
	more := map[string]int64{Cores: to.VCPUs - old.VCPUs, RAM: to.MemoryMB - old.MemoryMB}
	var over, requested, used, allowed []string
	for _, resource := range []string{Cores, RAM} {
		remaining, limited := free[resource]
		if !limited || more[resource] <= 0 || remaining >= more[resource] {
			continue
		}
		over, requested = append(over, resource), append(requested, strconv.FormatInt(more[resource], 10))
		used, allowed = append(used, strconv.FormatInt(limits[resource]-remaining, 10)), append(allowed, strconv.FormatInt(limits[resource], 10))
	}
	if len(over) == 0 {
		return nil
	}
	all := func(words []string) string { return strings.Join(words, ", ") }
	return overQuota("TooManyInstances", "Quota exceeded for %s: Requested %s, but already used %s of %s %s",
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
	data         moveData
	// may returns the server, and refuses to move it in another state.
	may func(*change) (ServerRow, error)
	// prepare, unless nil, changes the server's row, and refuses what cannot be.
	prepare func(*change, *ServerRow) error
}

// beginMove records a move. Its worker carries it out.
func (s *Service) beginMove(ctx context.Context, by Caller, id ID, m moveRequest) (migration MigrationRow, err error) {
	err = s.update(ctx, func(c *change) error {
		row, err := m.may(c)
		if err != nil {
			return err
		}
		d := m.data
		if m.host != "" {
			switch {
			case m.host == row.Host && m.elsewhere:
				return invalid("CannotMigrateToSameHost", "Cannot migrate to the host where the server exists.")
			case m.host == row.Host && d.Forced:
				return invalid("UnableToMigrateToSelf", "Unable to migrate instance (%s) to current host (%s).", id, m.host)
			}
			if d.Node, err = c.wantedNode(&draft{ServerSpec: ServerSpec{Host: m.host}}); err != nil {
				return err
			}
		}
		source, err := json.Marshal(sourceState{State: row.State, Power: row.Power, Flavor: row.Flavor, FlavorID: row.FlavorID})
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
		migration = MigrationRow{
			ID: NewID(), Server: id, Project: row.Project, User: by.User, Type: m.kind, Status: m.status, Source: row.Host, SourceNode: row.Node,
			OldFlavor: row.FlavorID, NewFlavor: d.FlavorID, Former: source, CreatedAt: c.At, UpdatedAt: c.At,
		}
		if d.Forced {
			node, err := One[NodeRow](c, Where(ByID, d.Node))
			if err != nil {
				return err
			}
			migration.Dest, migration.DestNode = node.Host, node.Name
		}
		if m.kind == typeEvacuate {
			migration.OldFlavor, migration.NewFlavor = "", ""
		}
		if migration.Number, err = c.NextNumber("migrations"); err != nil {
			return err
		}
		if err := c.Insert(&migration); err != nil {
			return err
		}
		action, err := c.act(by, id, m.action)
		if err != nil {
			return err
		}
		for _, event := range m.events {
			if _, err := c.begin(action.ID, event, ""); err != nil {
				return err
			}
		}
		d.Host, d.Action, d.Migration = m.host, action.ID, migration.ID
		return c.newOperation(id, m.operation, &d)
	})
	s.wake()
	return migration, err
}

// unconfirmed returns the move of a resized server that can be confirmed or reverted. Fault: MigrationNotFound.
func (c *change) unconfirmed(row ServerRow) (MigrationRow, error) {
	all, err := Rows[MigrationRow](c, Where(ByServer, row.ID))
	for _, m := range all {
		if m.Status == finished {
			return m, err
		}
	}
	if err == nil {
		err = invalid("MigrationNotFound", "Instance has not been resized.")
	}
	return MigrationRow{}, err
}

// ConfirmResize begins to remove from its former host a server that was resized or migrated. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, MigrationNotFound, ServiceUnavailable.
func (s *Service) ConfirmResize(ctx context.Context, by Caller, id ID) error {
	return s.beginConfirmOrRevert(ctx, by, id, confirmAction, func(c *change, row *ServerRow, m MigrationRow, action ID) (string, *moveData, error) {
		if err := c.mustBeUp(c, m.Source); err != nil {
			return "", nil, err
		}
		if err := c.setMigration(m.ID, func(m *MigrationRow) { m.Status = confirming }); err != nil {
			return "", nil, err
		}
		event, err := c.begin(action, "compute_confirm_resize", m.Source)
		return kindConfirm, &moveData{common: common{Event: event.ID}}, err
	})
}

// RevertResize begins to bring a server that was resized or migrated back to its former host. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, MigrationNotFound.
func (s *Service) RevertResize(ctx context.Context, by Caller, id ID) error {
	return s.beginConfirmOrRevert(ctx, by, id, revertAction, func(c *change, row *ServerRow, m MigrationRow, action ID) (string, *moveData, error) {
		if err := c.setMigration(m.ID, func(m *MigrationRow) { m.Status = reverting }); err != nil {
			return "", nil, err
		}
		row.Task = ResizeReverting
		event, err := c.begin(action, "compute_revert_resize", m.Dest)
		return kindRevert, &moveData{common: common{Event: event.ID}}, err
	})
}

// beginConfirmOrRevert begins the end of a move.
func (s *Service) beginConfirmOrRevert(ctx context.Context, by Caller, id ID, action string, begin func(c *change, row *ServerRow, m MigrationRow, action ID) (kind string, d *moveData, err error)) error {
	err := s.update(ctx, func(c *change) error {
		row, err := OneOr[ServerRow](c, noServer(id), Where(ByID, id))
		if err != nil {
			return err
		}
		if err := row.unlocked(by); err != nil {
			return err
		}
		if err := row.in(action, Resized); err != nil {
			return err
		}
		if row.Task != "" {
			return busy(id, action, "task_state", row.Task)
		}
		m, err := c.unconfirmed(row)
		if err != nil {
			return err
		}
		recorded, err := c.act(by, id, action)
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
		return c.newOperation(id, kind, d)
	})
	s.wake()
	return err
}

// confirmInterval is how often resizes are looked for that are to be confirmed by themselves.
const confirmInterval = time.Minute

// runConfirmations confirms resizes that have waited for Settings.ConfirmWindow, until ctx ends.
func (s *Service) runConfirmations(ctx context.Context) {
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
	var due []MigrationRow
	err := s.store.View(ctx, func(r Reader) error {
		all, err := Rows[MigrationRow](r, Where(ByStatus, finished))
		due = slices.DeleteFunc(all, func(m MigrationRow) bool { return s.rules.Now().Sub(m.UpdatedAt) < s.rules.Settings.ConfirmWindow })
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range due {
		if err := s.ConfirmResize(ctx, Caller{Admin: true}, m.Server); err != nil {
			s.rules.Log.WarnContext(ctx, "a resize cannot be confirmed", "server", m.Server, "error", err)
		}
	}
	return nil
}
