package networkapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/reallocation"
)

// maxChanges is the most changes in one answer.
const maxChanges = 1000

// changeRoutes are the routes by which operators see which changes of allocations are under way for
// ports. They are Berth's own.
func (a *API) changeRoutes() []httpapi.Route {
	return []httpapi.Route{{Method: http.MethodGet, Pattern: "/berth/v1/changes", Lists: true, Handle: a.listChanges}}
}

func (a *API) listChanges(w http.ResponseWriter, r *http.Request) error {
	if err := a.access().Allow(r.Context(), "get_change", resource.Target{}); err != nil {
		return err
	}
	f, err := changeFilter(r.URL.Query(), time.Now())
	if err != nil {
		return err
	}
	all, more, err := a.Network.ChangeViews(r.Context(), f)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("changes", resource.List(all, changeShown)), pyjson.M("more", more)))
	})
}

// changeFilter reads the query of a list of changes.
func changeFilter(query url.Values, now time.Time) (reallocation.ChangeFilter, error) {
	f := reallocation.ChangeFilter{Port: network.ID(query.Get("port")), Server: query.Get("server"), Limit: maxChanges}
	for name := range query {
		if !slices.Contains([]string{"port", "server", "min_age", "limit"}, name) {
			return f, resource.BadRequest("There is no parameter '%s'; the parameters are port, server, min_age and limit", name)
		}
	}
	for name, set := range map[string]func(n int){
		"limit":   func(n int) { f.Limit = min(n, maxChanges) },
		"min_age": func(n int) { f.Before = now.Add(-time.Duration(n) * time.Second) },
	} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return f, resource.BadRequest("%s: want a number, not '%s'", name, text)
		}
		set(int(n))
	}
	return f, nil
}

// changeShown is a change as it is listed.
func changeShown(c reallocation.ChangeView) pyjson.Value {
	at := pyjson.Value{}
	if !c.AttemptAt.IsZero() {
		at = timeOf(c.AttemptAt)
	}
	var differences []pyjson.Member
	for _, provider := range slices.Sorted(maps.Keys(c.Differences)) {
		var amounts []pyjson.Member
		for _, class := range slices.Sorted(maps.Keys(c.Differences[provider])) {
			amounts = append(amounts, pyjson.M(class, int64(c.Differences[provider][class])))
		}
		differences = append(differences, pyjson.M(provider, pyjson.NewObject(amounts...)))
	}
	return pyjson.NewObject(
		pyjson.M("id", string(c.ID)), pyjson.M("kind", c.Kind), pyjson.M("port", string(c.Port)),
		pyjson.M("server", c.Server),
		pyjson.M("created_at", timeOf(c.CreatedAt)), pyjson.M("state", c.State),
		pyjson.M("instance", resource.TextOrNull(c.Instance)),
		pyjson.M("abandoned", c.Abandoned), pyjson.M("attempted_at", at),
		pyjson.M("differences", pyjson.NewObject(differences...)),
	)
}
