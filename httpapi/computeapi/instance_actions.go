package computeapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
)

func (a *API) instanceActionRoutes() []httpapi.Route {
	const all, one = "/servers/{server}/os-instance-actions", "/servers/{server}/os-instance-actions/{request}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 1, (*request).listActions),
		a.route(http.MethodGet, one, 1, (*request).showAction),
	}
}

var (
	actionsQuery2_58 = newQuery(true, "limit", once(countPart), "marker", once(stringPart), "changes-since", once(timePart))
	actionsQuery2_66 = newQuery(true, "limit", once(countPart), "marker", once(stringPart), "changes-since", once(timePart),
		"changes-before", once(timePart))
)

// checkActionsQuery checks the query of versions that have pages.
func (q *request) checkActionsQuery() error {
	switch {
	case q.minor >= 66:
		return q.checkQuery(actionsQuery2_66)
	case q.minor >= 58:
		return q.checkQuery(actionsQuery2_58)
	}
	return nil
}

// actionsInPath are the actions of the server in the path, if policy allows the caller to read
// them. Since 2.21 the server may be deleted.
func (q *request) actionsInPath(rule string) (project string, all []compute.ActionRow, err error) {
	s, err := q.serverInPath(rule)
	gone := isFault(err, "InstanceNotFound") && q.minor >= 21
	if err != nil && !gone {
		return "", nil, err
	}
	all, listErr := q.api.Compute.Actions(q.Context(), compute.ID(q.param("server")))
	if listErr != nil || !gone {
		return s.Project, all, listErr
	}
	if len(all) == 0 {
		return "", nil, err
	}
	project = all[len(all)-1].Project // its creator: later ones may be those of administrators
	if project != q.caller.ProjectID && !q.isAdmin() {
		return "", nil, err
	}
	return project, all, q.can(rule, ofProject(project))
}

func (q *request) listActions() error {
	if err := q.checkActionsQuery(); err != nil {
		return err
	}
	_, all, err := q.actionsInPath("os-instance-actions:list")
	if err != nil {
		return err
	}
	if all, err = q.actionPage(all); err != nil {
		return err
	}
	return q.respond(http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		put(j, "instanceActions", array(all, func(j *httpapi.JSON, a compute.ActionRow) {
			j.Object()
			q.putAction(j, a)
			j.EndObject()
		}))
		if n := len(all); n > 0 && q.minor >= 58 {
			q.nextLink(j, "links", "servers/"+q.param("server")+"/os-instance-actions", n, all[n-1].Request)
		}
		j.EndObject()
	})
}

// actionPage is the page of actions that the query selects.
func (q *request) actionPage(all []compute.ActionRow) ([]compute.ActionRow, error) {
	if q.minor < 58 {
		return all, nil
	}
	since, before, err := q.times()
	if err != nil {
		return nil, err
	}
	p := q.page()
	marked := compute.ActionRow{}
	if i := slices.IndexFunc(all, func(a compute.ActionRow) bool { return p.marked && a.Request == p.marker }); i >= 0 {
		marked, all = all[i], all[i+1:]
	}
	if p.marked && marked.ID == "" {
		return nil, badRequest("Marker %s could not be found.", p.marker)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(a compute.ActionRow) bool {
		return !since.IsZero() && a.UpdatedAt.Before(since) || !before.IsZero() && a.UpdatedAt.After(before)
	})
	return all[:min(len(all), p.limit)], nil
}

// putAction writes what is shown of an action.
func (q *request) putAction(j *httpapi.JSON, a compute.ActionRow) {
	put(j, "action", a.Action, "instance_uuid", a.Server, "request_id", a.Request, "user_id", a.User, "project_id", a.Project,
		"start_time", a.StartedAt, "message", orNull(a.Message))
	if q.minor >= 58 {
		put(j, "updated_at", a.UpdatedAt)
	}
}

func (q *request) showAction() error {
	project, all, err := q.actionsInPath("os-instance-actions:show")
	if err != nil {
		return err
	}
	id := q.param("request")
	if !slices.ContainsFunc(all, func(a compute.ActionRow) bool { return a.Request == id }) {
		return fault.New(fault.NotFound, "ActionNotFound", "Action %s not found", id)
	}
	a, err := q.api.Compute.Action(q.Context(), compute.ID(q.param("server")), id)
	if err != nil {
		return err
	}
	whole := q.may("os-instance-actions:events", ofProject(project))
	details := q.minor >= 84 && q.may("os-instance-actions:events:details", ofProject(project))
	return q.respond(http.StatusOK, members("instanceAction", func(j *httpapi.JSON) {
		j.Object()
		q.putAction(j, a.ActionRow)
		if whole || q.minor >= 51 {
			put(j, "events", array(a.Events, func(j *httpapi.JSON, e compute.EventRow) { q.putEvent(j, e, project, whole, details) }))
		}
		j.EndObject()
	}))
}

// putEvent writes an event of an action. Its host, and the error, are only for callers who may see
// the whole, and what is said of the error for those who may see details.
func (q *request) putEvent(j *httpapi.JSON, e compute.EventRow, project string, whole, details bool) {
	j.Object()
	put(j, "event", e.Event, "start_time", e.StartedAt, "finish_time", e.FinishedAt, "result", orNull(e.Result))
	if whole {
		put(j, "traceback", orNull(e.Traceback))
	}
	if details {
		put(j, "details", orNull(e.Details))
	}
	if q.minor >= 62 {
		if whole {
			put(j, "host", orNull(e.Host))
		}
		put(j, "hostId", hostID(project, e.Host))
	}
	j.EndObject()
}
