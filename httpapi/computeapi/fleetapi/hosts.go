package fleetapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
)

func hostRoutes(a *wire.API) []httpapi.Route {
	const servers = wire.HostsPrefix + "/hosts/{host}/servers"
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: wire.HostsPrefix + "/heartbeats", Unversioned: true, Handle: a.Serve(takeReport)},
		{Method: http.MethodGet, Pattern: servers, Unversioned: true, Handle: a.Serve(wantedOfHost)},
		{Method: http.MethodPost, Pattern: servers, Unversioned: true, Handle: a.Serve(takeResults)},
	}
}

var resultsSchema = wire.BodySchema("results", `{"type": "array", "maxItems": 4096, "items": `+wire.ObjectPart(`"server": `+wire.UUIDPart+`, "event": `+wire.UUIDPart+`,
		"generation": {"type": "integer", "minimum": 0}, "power": {"type": "string", "maxLength": 255},
		"error": `+wire.StringPart+`, "everywhere": {"type": "boolean"}`, `"server", "event"`)+`}`)

// actsFor is the rule of hosts: only the host itself reads and reports what is its own.
func actsFor(q *wire.Request, host string) error {
	return cmp.Or(q.Can(hostRule, wire.CloudTarget), httpapi.CheckHost(q.Context(), host))
}

const hostRule = "berth-hosts:report"

// wantedOfHost answers with the list of a host, as soon as its revision differs from the host's, or
// after the requested wait.
func wantedOfHost(q *wire.Request) error {
	host := q.Param("host")
	if err := actsFor(q, host); err != nil {
		return err
	}
	return q.API.HostPoll.Serve(q.Writer, q.Request, "servers",
		func(ctx context.Context, known string, wait time.Duration, revision func([]byte) string) error {
			_, err := q.API.Fleet.AwaitWanted(ctx, host, known, wait, func(all []fleet.Wanted) (string, error) {
				list, err := json.Marshal(append([]hostlist.Server{}, all...))
				return revision(list), err
			})
			return err
		})
}

// takeResults reads the results of a host.
func takeResults(q *wire.Request) error {
	if err := actsFor(q, q.Param("host")); err != nil {
		return err
	}
	v, err := q.CheckMember(resultsSchema, "results")
	if err != nil {
		return err
	}
	var results []hostlist.Result
	if err := json.Unmarshal(textIn(v), &results); err != nil {
		return wire.BadRequest("results: %v", err)
	}
	if err := q.API.Fleet.Done(q.Context(), q.Param("host"), results); err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}
