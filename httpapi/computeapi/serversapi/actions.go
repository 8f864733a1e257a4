package serversapi

import (
	"maps"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

func serverActionRoutes(a *wire.API) []httpapi.Route {
	actions := wire.Actions{
		"os-start": startServer, "os-stop": stopServer, "reboot": rebootServer, "rebuild": rebuildServer,
		"pause": pauseServer, "unpause": unpauseServer, "suspend": suspendServer, "resume": resumeServer,
		"lock": lockServer, "unlock": unlockServer, "os-resetState": resetServer,
	}
	maps.Copy(actions, moveActions)
	maps.Copy(actions, shelveActions)
	return []httpapi.Route{a.Route(http.MethodPost, "/servers/{server}/action", 1, wire.ByAction(actions))}
}

var (
	rebootSchema = wire.BodySchema("reboot", wire.ObjectPart(
		`"type": {"type": "string", "enum": ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"]}`, `"type"`))
	lockSchema2_73 = wire.BodySchema("lock",
		`{"type": ["object", "null"], "properties": {"locked_reason": `+wire.TextPart+`}, "additionalProperties": false}`)
	resetSchema = wire.BodySchema("os-resetState",
		wire.ObjectPart(`"state": {"type": "string", "enum": ["active", "error"]}`, `"state"`))
)

// onServer does something to the server in the path that is not waited for.
func onServer(q *wire.Request, rule string, do func(servers.Server) error) error {
	s, err := q.ServerInPath(rule)
	if err != nil {
		return err
	}
	if err := do(s); err != nil {
		return err
	}
	return q.Done(http.StatusAccepted)
}

func startServer(q *wire.Request) error {
	return onServer(q, "servers:start", func(s servers.Server) error {
		return q.API.Servers.StartServer(q.Context(), q.Author(), s.ID)
	})
}

func stopServer(q *wire.Request) error {
	return onServer(q, "servers:stop", func(s servers.Server) error {
		return q.API.Servers.StopServer(q.Context(), q.Author(), s.ID)
	})
}

func rebootServer(q *wire.Request) error {
	v, err := q.CheckMember(rebootSchema, "reboot")
	if err != nil {
		return err
	}
	hard := strings.EqualFold(*wire.TextOf(v, "type"), "hard")
	return onServer(q, "servers:reboot", func(s servers.Server) error {
		return q.API.Servers.RebootServer(q.Context(), q.Author(), s.ID, hard)
	})
}

func pauseServer(q *wire.Request) error {
	return onServer(q, "os-pause-server:pause", func(s servers.Server) error {
		return q.API.Servers.PauseServer(q.Context(), q.Author(), s.ID)
	})
}

func unpauseServer(q *wire.Request) error {
	return onServer(q, "os-pause-server:unpause", func(s servers.Server) error {
		return q.API.Servers.UnpauseServer(q.Context(), q.Author(), s.ID)
	})
}

func suspendServer(q *wire.Request) error {
	return onServer(q, "os-suspend-server:suspend", func(s servers.Server) error {
		return q.API.Servers.SuspendServer(q.Context(), q.Author(), s.ID)
	})
}

func resumeServer(q *wire.Request) error {
	return onServer(q, "os-suspend-server:resume", func(s servers.Server) error {
		return q.API.Servers.ResumeServer(q.Context(), q.Author(), s.ID)
	})
}

// lockServer locks a server, for a reason since 2.73. Before, nothing of the body matters but its
// name.
func lockServer(q *wire.Request) error {
	var reason pyjson.Value
	if q.Minor >= 73 {
		v, err := q.CheckMember(lockSchema2_73, "lock")
		if err != nil {
			return err
		}
		reason, _ = v.Get("locked_reason")
	}
	return onServer(q, "os-lock-server:lock", func(s servers.Server) error {
		return q.API.Servers.Lock(q.Context(), q.Author(), s.ID, reason.Str())
	})
}

// unlockServer takes a lock away. One that is not the caller's to take, policy must let
// the caller override.
func unlockServer(q *wire.Request) error {
	return onServer(q, "os-lock-server:unlock", func(s servers.Server) error {
		holder := servers.LockedByAdmin
		if s.Project == q.Caller.ProjectID {
			holder = servers.LockedByOwner
		}
		if s.Locked != "" && s.Locked != holder {
			if err := q.Can("os-lock-server:unlock:unlock_override", wire.OfProject(s.Project)); err != nil {
				return err
			}
		}
		return q.API.Servers.Unlock(q.Context(), q.Author(), s.ID)
	})
}

func resetServer(q *wire.Request) error {
	v, err := q.CheckMember(resetSchema, "os-resetState")
	if err != nil {
		return err
	}
	return onServer(q, "os-admin-actions:reset_state", func(s servers.Server) error {
		return q.API.Servers.ResetState(q.Context(), q.Author(), s.ID, *wire.TextOf(v, "state"))
	})
}
