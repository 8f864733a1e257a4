package computeapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
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
	answer := view.Object{view.List("instanceActions", all, q.action)}
	if n := len(all); n > 0 && q.minor >= 58 {
		answer = append(answer, q.nextLink("links", "servers/"+q.param("server")+"/os-instance-actions", n, all[n-1].Request)...)
	}
	return q.respond(http.StatusOK, answer)
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

// action is what lists show of an action.
func (q *request) action(a compute.ActionRow) view.Object {
	return view.Object{
		view.Text("action", a.Action), view.Text("instance_uuid", a.Server), view.Text("request_id", a.Request), view.Text("user_id", a.User),
		view.Text("project_id", a.Project), moment("start_time", a.StartedAt), view.TextOrNull("message", a.Message),
	}.If(q.minor >= 58, moment("updated_at", a.UpdatedAt))
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
	return q.respond(http.StatusOK, single("instanceAction", q.action(a.ActionRow).
		If(whole || q.minor >= 51, view.List("events", a.Events, func(e compute.EventRow) view.Object {
			return q.event(e, project, whole, details)
		}))))
}

// event is an event of an action. Its host, and the error, are only for callers who may see
// the whole, and what is said of the error for those who may see details.
func (q *request) event(e compute.EventRow, project string, whole, details bool) view.Object {
	return view.Object{
		view.Text("event", e.Event), moment("start_time", e.StartedAt), moment("finish_time", e.FinishedAt), view.TextOrNull("result", e.Result),
	}.
		If(whole, view.TextOrNull("traceback", e.Traceback)).
		If(details, view.TextOrNull("details", e.Details)).
		If(q.minor >= 62 && whole, view.TextOrNull("host", e.Host)).
		If(q.minor >= 62, view.Text("hostId", hostID(project, e.Host)))
}
