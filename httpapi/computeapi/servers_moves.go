package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
)

// moveActions are the actions that move servers.
var moveActions = []action{
	{"resize", (*request).resizeServer},
	{"migrate", (*request).migrateServer},
	{"confirmResize", (*request).confirmResize},
	{"revertResize", (*request).revertResize},
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
