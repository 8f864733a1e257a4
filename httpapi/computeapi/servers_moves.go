package computeapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

// moveActions are the actions that move servers.
var moveActions = []action{
	{"resize", (*request).resizeServer},
	{"migrate", (*request).migrateServer},
	{"confirmResize", (*request).confirmResize},
	{"revertResize", (*request).revertResize},
	{"os-migrateLive", (*request).migrateLive},
	{"evacuate", (*request).evacuateServer},
}

var (
	resizeSchema = bodySchema("resize", objectPart(
		`"flavorRef": {"type": ["string", "integer"], "minLength": 1}, "OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]}`, `"flavorRef"`))
	migrateSchema2_56 = bodySchema("migrate", `{"type": ["object", "null"], "properties": {"host": `+maybeHostPart+`}, "additionalProperties": false}`)
)

// maybeHostPart is the name of a host, or null for any.
const maybeHostPart = `{"type": ["string", "null"], "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-._]*$"}`

func (q *request) resizeServer() error {
	v, err := q.checked(resizeSchema, "resize")
	if err != nil {
		return err
	}
	ref, _ := v.Get("flavorRef")
	to := compute.Resizing{Flavor: compute.ID(shown(ref))}
	if disk := textOf(v, "OS-DCF:diskConfig"); disk != nil {
		to.DiskConfig = *disk
	}
	return q.onServer("servers:resize", func(s compute.Server) error {
		return q.api.Compute.ResizeServer(q.Context(), q.by(), s.ID, to)
	})
}

// migrateServer moves a server to any host or, since 2.56, to the one that is named. Before, Nova does not look at what
// is in the body.
func (q *request) migrateServer() error {
	host := ""
	if q.minor >= 56 {
		v, err := q.checked(migrateSchema2_56, "migrate")
		if err != nil {
			return err
		}
		if name := textOf(v, "host"); name != nil {
			host = *name
		}
	}
	return q.onServer("os-migrate-server:migrate", func(s compute.Server) error {
		return q.api.Compute.MigrateServer(q.Context(), q.by(), s.ID, host)
	})
}

// confirmResize answers 204, where other actions answer 202.
func (q *request) confirmResize() error {
	s, err := q.serverInPath("servers:confirm_resize")
	if err != nil {
		return err
	}
	if err := q.api.Compute.ConfirmResize(q.Context(), q.by(), s.ID); err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}

func (q *request) revertResize() error {
	return q.onServer("servers:revert_resize", func(s compute.Server) error {
		return q.api.Compute.RevertResize(q.Context(), q.by(), s.ID)
	})
}

// A destined is an action that names a host, or none. A host that is named is forced in the oldest versions, then where "force" says
// so, and never since 2.68, where the schema is again the one before "force".
type destined struct {
	name                  string
	oldest, plain, forces *pyschema.Schema
	since, forcesSince    int
}

var (
	liveMigration = destined{
		"os-migrateLive",
		bodySchema("os-migrateLive", objectPart(`"host": `+maybeHostPart+`, "block_migration": `+booleanPart+`, "disk_over_commit": `+booleanPart,
			`"block_migration", "disk_over_commit", "host"`)),
		bodySchema("os-migrateLive", objectPart(`"host": `+maybeHostPart+`, "block_migration": `+autoPart, `"block_migration", "host"`)),
		bodySchema("os-migrateLive", objectPart(`"host": `+maybeHostPart+`, "block_migration": `+autoPart+`, "force": `+booleanPart, `"block_migration", "host"`)),
		25, 30,
	}
	evacuation = destined{
		"evacuate",
		bodySchema("evacuate", objectPart(`"host": `+hostPart+`, "onSharedStorage": `+booleanPart+`, "adminPass": `+stringPart, `"onSharedStorage"`)),
		bodySchema("evacuate", objectPart(`"host": `+hostPart+`, "adminPass": `+stringPart, "")),
		bodySchema("evacuate", objectPart(`"host": `+hostPart+`, "adminPass": `+stringPart+`, "force": `+booleanPart, "")),
		14, 29,
	}
)

// autoPart is a truth value or "auto".
var autoPart = strings.TrimSuffix(booleanPart, "]}") + `, "auto"]}`

// destined reads such an action: the host, "" for any, and whether it is forced.
func (q *request) destined(d destined) (v pyjson.Value, host string, forced bool, err error) {
	schema := d.plain
	switch {
	case q.minor < d.since:
		schema = d.oldest
	case q.minor >= d.forcesSince && q.minor < 68:
		schema = d.forces
	}
	if v, err = q.checked(schema, d.name); err != nil {
		return v, "", false, err
	}
	if name := textOf(v, "host"); name != nil {
		host = *name
	}
	force, said := v.Get("force")
	return v, host, said && truth(force) || q.minor < d.forcesSince && host != "", nil
}

// noForcedHost is the fault of a request that forces a host and names none.
func noForcedHost() error { return badRequest("Can't force to a non-provided destination") }

// migrateLive moves a running server. Since 2.34 the answer does not wait for the choice of a host.
func (q *request) migrateLive() error {
	_, host, forced, err := q.destined(liveMigration)
	if err != nil {
		return err
	}
	return q.onServer("os-migrate-server:migrate_live", func(s compute.Server) error {
		if forced && host == "" {
			return noForcedHost()
		}
		return q.api.Compute.LiveMigrateServer(q.Context(), q.by(), s.ID, compute.LiveMigration{Host: host, Forced: forced, Wait: q.minor < 34})
	})
}

// evacuateServer builds a server whose host is down on another one. Before 2.14 the answer has the administrator's password.
func (q *request) evacuateServer() error {
	v, host, forced, err := q.destined(evacuation)
	if err != nil {
		return err
	}
	password := newPassword()
	if said := textOf(v, "adminPass"); said != nil {
		shared, _ := v.Get("onSharedStorage")
		if truth(shared) {
			return badRequest("admin password can't be changed on existing disk")
		}
		password = *said
	}
	s, err := q.serverInPath("os-evacuate")
	if err != nil {
		return err
	}
	if forced && host == "" {
		return noForcedHost()
	}
	if err := q.api.Compute.EvacuateServer(q.Context(), q.by(), s.ID, compute.Evacuation{Host: host, Forced: forced}); err != nil {
		return err
	}
	if q.minor >= 14 {
		return q.done(http.StatusOK)
	}
	return q.respond(http.StatusOK, view.Object{view.Text("adminPass", password)})
}

// liveMigrationRoutes are those about a live migration in progress.
func (a *API) liveMigrationRoutes() []httpapi.Route {
	const one = "/servers/{server}/migrations/{migration}"
	return []httpapi.Route{
		a.route(http.MethodPost, one+"/action", 22, act(action{"force_complete", (*request).completeLiveMigration})),
		a.route(http.MethodDelete, one, 24, (*request).abortLiveMigration),
	}
}

var completeSchema = bodySchema("force_complete", `{"type": "null"}`)

// migrationInPath is the number of the migration in the path; what is no number is that of none.
func (q *request) migrationInPath() int64 {
	n, err := strconv.ParseInt(q.param("migration"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (q *request) completeLiveMigration() error {
	if _, err := q.checked(completeSchema, "force_complete"); err != nil {
		return err
	}
	return q.onServer("servers:migrations:force_complete", func(s compute.Server) error {
		err := q.api.Compute.CompleteLiveMigration(q.Context(), q.by(), s.ID, q.migrationInPath())
		if isFault(err, "MigrationNotFoundForInstance") {
			err = fault.New(fault.Invalid, "MigrationNotFoundForInstance", "Migration %s not found for instance %s", q.param("migration"), s.ID)
		}
		return err
	})
}

func (q *request) abortLiveMigration() error {
	return q.onServer("servers:migrations:delete", func(s compute.Server) error {
		return q.api.Compute.AbortLiveMigration(q.Context(), q.by(), s.ID, q.migrationInPath(), q.minor >= 65)
	})
}
