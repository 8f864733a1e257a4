package serversapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

// moveActions are the actions that move servers.
var moveActions = wire.Actions{
	"resize":         resizeServer,
	"migrate":        migrateServer,
	"confirmResize":  confirmResize,
	"revertResize":   revertResize,
	"os-migrateLive": migrateLive,
	"evacuate":       evacuateServer,
}

var (
	resizeSchema = wire.BodySchema("resize", wire.ObjectPart(
		`"flavorRef": {"type": ["string", "integer"], "minLength": 1}, "OS-DCF:diskConfig": {"type": "string", `+
			`"enum": ["AUTO", "MANUAL"]}`, `"flavorRef"`))
	migrateSchema2_56 = wire.BodySchema("migrate",
		`{"type": ["object", "null"], "properties": {"host": `+maybeHostPart+`}, "additionalProperties": false}`)
)

// maybeHostPart is the name of a host, or null for any.
const maybeHostPart = `{"type": ["string", "null"], "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-._]*$"}`

func resizeServer(q *wire.Request) error {
	v, err := q.CheckMember(resizeSchema, "resize")
	if err != nil {
		return err
	}
	ref, _ := v.Get("flavorRef")
	to := servers.Resizing{Flavor: compute.ID(pyjson.Str(ref))}
	if disk := wire.TextOf(v, "OS-DCF:diskConfig"); disk != nil {
		to.DiskConfig = *disk
	}
	return onServer(q, "servers:resize", func(s servers.Server) error {
		return q.API.Servers.ResizeServer(q.Context(), q.Author(), s.ID, to)
	})
}

// migrateServer moves a server to any host or, since 2.56, to the one that is named. Before, Nova
// ignores what is in the body.
func migrateServer(q *wire.Request) error {
	host := ""
	if q.Minor >= 56 {
		v, err := q.CheckMember(migrateSchema2_56, "migrate")
		if err != nil {
			return err
		}
		if name := wire.TextOf(v, "host"); name != nil {
			host = *name
		}
	}
	return onServer(q, "os-migrate-server:migrate", func(s servers.Server) error {
		if host != "" {
			if err := q.Can("os-migrate-server:migrate:host", wire.OfServer(s)); err != nil {
				return err
			}
		}
		return q.API.Servers.MigrateServer(q.Context(), q.Author(), s.ID, host)
	})
}

// confirmResize answers 204, where other actions answer 202.
func confirmResize(q *wire.Request) error {
	s, err := q.ServerInPath("servers:confirm_resize")
	if err != nil {
		return err
	}
	if err := q.API.Servers.ConfirmResize(q.Context(), q.Author(), s.ID); err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}

func revertResize(q *wire.Request) error {
	return onServer(q, "servers:revert_resize", func(s servers.Server) error {
		return q.API.Servers.RevertResize(q.Context(), q.Author(), s.ID)
	})
}

// A hostAction is an action that names a host, or none. A host that is named is forced in the
// oldest versions, then where "force" says so, and never since 2.68, where the schema is again the
// one before "force": see _migrate_live in Nova's migrate_server.py and _evacuate in evacuate.py.
type hostAction struct {
	name                  string
	oldest, plain, forces *pyschema.Schema
	since, forcesSince    int
}

var (
	liveMigration = hostAction{
		"os-migrateLive",
		wire.BodySchema("os-migrateLive", wire.ObjectPart(
			`"host": `+maybeHostPart+`, "block_migration": `+wire.BooleanPart+`, "disk_over_commit": `+wire.BooleanPart,
			`"block_migration", "disk_over_commit", "host"`)),
		wire.BodySchema("os-migrateLive",
			wire.ObjectPart(`"host": `+maybeHostPart+`, "block_migration": `+autoPart, `"block_migration", "host"`)),
		wire.BodySchema("os-migrateLive", wire.ObjectPart(
			`"host": `+maybeHostPart+`, "block_migration": `+autoPart+`, "force": `+wire.BooleanPart,
			`"block_migration", "host"`)),
		25, 30,
	}
	evacuation = hostAction{
		"evacuate",
		wire.BodySchema("evacuate", wire.ObjectPart(
			`"host": `+wire.HostPart+`, "onSharedStorage": `+wire.BooleanPart+`, "adminPass": `+wire.StringPart,
			`"onSharedStorage"`)),
		wire.BodySchema("evacuate", wire.ObjectPart(`"host": `+wire.HostPart+`, "adminPass": `+wire.StringPart, "")),
		wire.BodySchema("evacuate",
			wire.ObjectPart(`"host": `+wire.HostPart+`, "adminPass": `+wire.StringPart+`, "force": `+wire.BooleanPart, "")),
		14, 29,
	}
)

// autoPart is a truth value or "auto".
var autoPart = strings.TrimSuffix(wire.BooleanPart, "]}") + `, "auto"]}`

// read reads the body of such an action: the host, "" for any, and whether it is forced.
func (d hostAction) read(q *wire.Request) (v pyjson.Value, host string, forced bool, err error) {
	schema := d.plain
	switch {
	case q.Minor < d.since:
		schema = d.oldest
	case q.Minor >= d.forcesSince && q.Minor < 68:
		schema = d.forces
	}
	if v, err = q.CheckMember(schema, d.name); err != nil {
		return v, "", false, err
	}
	if name := wire.TextOf(v, "host"); name != nil {
		host = *name
	}
	force, given := v.Get("force")
	return v, host, given && wire.Truth(force) || q.Minor < d.forcesSince && host != "", nil
}

// noForcedHost is the fault of a request that forces a host and names none.
func noForcedHost() error { return wire.BadRequest("Can't force to a non-provided destination") }

// migrateLive moves a running server. Since 2.34 the answer does not wait for the choice of a host.
func migrateLive(q *wire.Request) error {
	_, host, forced, err := liveMigration.read(q)
	if err != nil {
		return err
	}
	return onServer(q, "os-migrate-server:migrate_live", func(s servers.Server) error {
		if host != "" {
			if err := q.Can("os-migrate-server:migrate_live:host", wire.OfServer(s)); err != nil {
				return err
			}
		}
		if forced && host == "" {
			return noForcedHost()
		}
		return q.API.Servers.LiveMigrateServer(q.Context(), q.Author(), s.ID, servers.LiveMigration{
			Host: host, Forced: forced, Wait: q.Minor < 34,
		})
	})
}

// evacuateServer builds a server whose host is down on another one, where it is stopped since 2.95.
// Before 2.14 the answer has the administrator's password.
func evacuateServer(q *wire.Request) error {
	v, host, forced, err := evacuation.read(q)
	if err != nil {
		return err
	}
	password := newPassword()
	if given := wire.TextOf(v, "adminPass"); given != nil {
		shared, _ := v.Get("onSharedStorage")
		if wire.Truth(shared) {
			return wire.BadRequest("admin password can't be changed on existing disk")
		}
		password = *given
	}
	s, err := q.ServerInPath("os-evacuate")
	if err != nil {
		return err
	}
	if forced && host == "" {
		return noForcedHost()
	}
	if err := q.API.Servers.EvacuateServer(q.Context(), q.Author(), s.ID, servers.Evacuation{
		Host: host, Forced: forced, Stop: q.Minor >= 95,
	}); err != nil {
		return err
	}
	if q.Minor >= 14 {
		return q.Done(http.StatusOK)
	}
	return q.Respond(http.StatusOK, view.Object{view.Text("adminPass", password)})
}

// liveMigrationRoutes are those about a live migration in progress.
func liveMigrationRoutes(a *wire.API) []httpapi.Route {
	const one = "/servers/{server}/migrations/{migration}"
	return []httpapi.Route{
		a.Route(http.MethodPost, one+"/action", 22, wire.ByAction(wire.Actions{"force_complete": completeLiveMigration})),
		a.Route(http.MethodDelete, one, 24, abortLiveMigration),
	}
}

var completeSchema = wire.BodySchema("force_complete", `{"type": "null"}`)

// migrationInPath is the number of the migration in the path; what is no number is that of none.
func migrationInPath(q *wire.Request) int64 {
	n, err := strconv.ParseInt(q.Param("migration"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func completeLiveMigration(q *wire.Request) error {
	if _, err := q.CheckMember(completeSchema, "force_complete"); err != nil {
		return err
	}
	return onServer(q, "servers:migrations:force_complete", func(s servers.Server) error {
		err := q.API.Servers.CompleteLiveMigration(q.Context(), q.Author(), s.ID, migrationInPath(q))
		if wire.IsFault(err, "MigrationNotFoundForInstance") {
			err = fault.New(fault.Invalid, "MigrationNotFoundForInstance", "Migration %s not found for instance %s",
				q.Param("migration"), s.ID)
		}
		return err
	})
}

func abortLiveMigration(q *wire.Request) error {
	return onServer(q, "servers:migrations:delete", func(s servers.Server) error {
		return q.API.Servers.AbortLiveMigration(q.Context(), q.Author(), s.ID, migrationInPath(q), q.Minor >= 65)
	})
}
