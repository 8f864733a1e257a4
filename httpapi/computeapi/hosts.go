package computeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/httpapi"
)

// hosts is the prefix of the routes by which compute hosts report, read their lists of servers, and
// report results. They are Berth's own (decision 21), as those of network agents are.
const hosts = "/berth/v1"

func (a *API) hostRoutes() []httpapi.Route {
	const servers = hosts + "/hosts/{host}/servers"
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: hosts + "/heartbeats", Unversioned: true, Handle: a.serve((*request).takeReport)},
		{Method: http.MethodGet, Pattern: servers, Unversioned: true, Handle: a.serve((*request).wantedOfHost)},
		{Method: http.MethodPost, Pattern: servers, Unversioned: true, Handle: a.serve((*request).takeResults)},
	}
}

var resultsSchema = bodySchema("results", `{"type": "array", "maxItems": 4096, "items": `+objectPart(`"server": `+uuidPart+`, "event": `+uuidPart+`,
		"generation": {"type": "integer", "minimum": 0},
		"error": `+stringPart+`, "everywhere": {"type": "boolean"}`, `"server", "event"`)+`}`)

// actsFor is the rule of hosts: only the host itself reads and reports what is its own.
func (q *request) actsFor(host string) error {
	return cmp.Or(q.can(hostRule, nobodys), httpapi.CheckHost(q.Context(), host))
}

const hostRule = "berth-hosts:report"

// wantedOfHost answers with the list of a host, as soon as its revision differs from the host's, or
// after the requested wait.
func (q *request) wantedOfHost() error {
	host := q.param("host")
	if err := q.actsFor(host); err != nil {
		return err
	}
	return q.api.HostPoll.Serve(q.w, q.Request, "servers", func(ctx context.Context, wait time.Duration, changed func([]byte) bool) error {
		var encoding error
		_, err := q.api.Compute.AwaitWanted(ctx, host, wait, func(all []compute.Wanted) bool {
			var list []byte
			list, encoding = json.Marshal(append([]hostlist.Server{}, all...))
			return changed(list)
		})
		return cmp.Or(err, encoding)
	})
}

// takeResults reads the results of a host.
func (q *request) takeResults() error {
	if err := q.actsFor(q.param("host")); err != nil {
		return err
	}
	v, err := q.checked(resultsSchema, "results")
	if err != nil {
		return err
	}
	var results []hostlist.Result
	if err := json.Unmarshal(textIn(v), &results); err != nil {
		return badRequest("results: %v", err)
	}
	if err := q.api.Compute.Done(q.Context(), q.param("host"), results); err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}
