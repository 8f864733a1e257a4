package computeapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

func (a *API) serverActionRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.route(http.MethodPost, "/servers/{server}/action", 1, act(slices.Concat([]action{
			{"os-start", (*request).startServer},
			{"os-stop", (*request).stopServer},
			{"reboot", (*request).rebootServer},
			{"rebuild", (*request).rebuildServer},
			{"lock", (*request).lockServer},
			{"unlock", (*request).unlockServer},
			{"os-resetState", (*request).resetServer},
		}, moveActions, shelveActions)...)),
	}
}

var (
	rebootSchema = bodySchema("reboot", objectPart(
		`"type": {"type": "string", "enum": ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"]}`, `"type"`))
	lockSchema2_73 = bodySchema("lock", `{"type": ["object", "null"], "properties": {"locked_reason": `+textPart+`}, "additionalProperties": false}`)
	resetSchema    = bodySchema("os-resetState", objectPart(`"state": {"type": "string", "enum": ["active", "error"]}`, `"state"`))
)

// onServer does something to the server in the path that is not waited for.
func (q *request) onServer(rule string, do func(compute.Server) error) error {
	s, err := q.serverInPath(rule)
	if err != nil {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	return q.done(http.StatusAccepted)
}

func (q *request) startServer() error {
	return q.onServer("servers:start", func(s compute.Server) error {
		return q.api.Compute.StartServer(q.Context(), q.by(), s.ID)
	})
}

func (q *request) stopServer() error {
	return q.onServer("servers:stop", func(s compute.Server) error {
		return q.api.Compute.StopServer(q.Context(), q.by(), s.ID)
	})
}

func (q *request) rebootServer() error {
	v, err := q.checked(rebootSchema, "reboot")
	if err != nil {
		return err
	}
	hard := strings.EqualFold(*textOf(v, "type"), "hard")
	return q.onServer("servers:reboot", func(s compute.Server) error {
		return q.api.Compute.RebootServer(q.Context(), q.by(), s.ID, hard)
	})
}

// lockServer locks a server, for a reason since 2.73. Before, nothing of the body matters but its name.
func (q *request) lockServer() error {
	var reason pyjson.Value
	if q.minor >= 73 {
		v, err := q.checked(lockSchema2_73, "lock")
		if err != nil {
			return err
		}
		reason, _ = v.Get("locked_reason")
	}
	return q.onServer("os-lock-server:lock", func(s compute.Server) error {
		return q.api.Compute.Lock(q.Context(), q.by(), s.ID, reason.Str())
	})
}

// unlockServer takes a lock away. One that is not the caller's to take, policy must let
// the caller override.
func (q *request) unlockServer() error {
	return q.onServer("os-lock-server:unlock", func(s compute.Server) error {
		holder := compute.LockedByAdmin
		if s.Project == q.caller.ProjectID {
			holder = compute.LockedByOwner
		}
		if s.Locked != "" && s.Locked != holder {
			if err := q.can("os-lock-server:unlock:unlock_override", ofProject(s.Project)); err != nil {
				return err
			}
		}
		return q.api.Compute.Unlock(q.Context(), q.by(), s.ID)
	})
}

func (q *request) resetServer() error {
	v, err := q.checked(resetSchema, "os-resetState")
	if err != nil {
		return err
	}
	return q.onServer("os-admin-actions:reset_state", func(s compute.Server) error {
		return q.api.Compute.ResetState(q.Context(), q.by(), s.ID, *textOf(v, "state"))
	})
}
