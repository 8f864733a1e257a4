package computeapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
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

// maxWait bounds the delay of a host's answer.
const maxWait = time.Minute

// wantedOfHost answers with the list of a host, as soon as its revision differs from the host's, or
// after the requested wait.
func (q *request) wantedOfHost() error {
	if err := q.actsFor(q.param("host")); err != nil {
		return err
	}
	wait, err := q.wait()
	if err != nil {
		return err
	}
	if n := q.api.waits.Add(1); q.api.MaxWaits > 0 && n > int64(q.api.MaxWaits) {
		wait = 0
	}
	defer q.api.waits.Add(-1)
	known := q.URL.Query().Get("revision")
	var text []byte
	var revision string
	_, err = q.api.Compute.AwaitWanted(q.Context(), q.param("host"), wait, func(all []compute.Wanted) bool {
		text, err = json.Marshal(append([]hostlist.Server{}, all...))
		sum := sha256.Sum256(text)
		revision = hex.EncodeToString(sum[:8])
		return revision != known
	})
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, members("revision", revision, "servers", func(j *httpapi.JSON) { j.Raw(text) }))
}

func (q *request) wait() (time.Duration, error) {
	text := q.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badRequest("wait: want seconds, not '%s'", text)
	}
	return time.Duration(min(n, int(maxWait/time.Second))) * time.Second, nil
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
