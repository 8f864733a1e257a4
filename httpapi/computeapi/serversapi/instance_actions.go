package serversapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func instanceActionRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/servers/{server}/os-instance-actions", "/servers/{server}/os-instance-actions/{request}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 1, listActions),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showAction)),
	}
}

var (
	actionsQuery2_58 = wire.NewQuery(true, "limit", wire.Once(wire.CountPart), "marker", wire.Once(wire.StringPart),
		"changes-since", wire.Once(timePart))
	actionsQuery2_66 = wire.NewQuery(true, "limit", wire.Once(wire.CountPart), "marker", wire.Once(wire.StringPart),
		"changes-since", wire.Once(timePart),
		"changes-before", wire.Once(timePart))
)

// checkActionsQuery checks the query of versions that have pages.
func checkActionsQuery(q *wire.Request) error {
	switch {
	case q.Minor >= 66:
		return q.CheckQuery(actionsQuery2_66)
	case q.Minor >= 58:
		return q.CheckQuery(actionsQuery2_58)
	}
	return nil
}

// actionsInPath are the actions of the server in the path, if policy allows the caller to read
// them. Since 2.21 the server may be deleted.
func actionsInPath(q *wire.Request, rule string) (project string, all []compute.ActionRow, err error) {
	s, err := q.ServerInPath(rule)
	deleted := wire.IsFault(err, "InstanceNotFound") && q.Minor >= 21
	if err != nil && !deleted {
		return "", nil, err
	}
	all, listErr := q.API.Servers.Actions(q.Context(), compute.ID(q.Param("server")))
	if listErr != nil || !deleted {
		return s.Project, all, listErr
	}
	if len(all) == 0 {
		return "", nil, err
	}
	project = all[len(all)-1].Project // its creator: later ones may be those of administrators
	if project != q.Caller.ProjectID && !q.IsAdmin() {
		return "", nil, err
	}
	return project, all, q.Can(rule, wire.OfProject(project))
}

func listActions(q *wire.Request) error {
	if err := checkActionsQuery(q); err != nil {
		return err
	}
	_, all, err := actionsInPath(q, "os-instance-actions:list")
	if err != nil {
		return err
	}
	if all, err = actionPage(q, all); err != nil {
		return err
	}
	answer := view.Object{view.List("instanceActions", all, func(a compute.ActionRow) view.Object { return action(q, a) })}
	if n := len(all); n > 0 && q.Minor >= 58 {
		answer = append(answer,
			q.NextLink("links", "servers/"+q.Param("server")+"/os-instance-actions", n, all[n-1].Request)...)
	}
	return q.Respond(http.StatusOK, answer)
}

// actionPage is the page of actions that the query selects.
func actionPage(q *wire.Request, all []compute.ActionRow) ([]compute.ActionRow, error) {
	if q.Minor < 58 {
		return all, nil
	}
	since, before, err := times(q)
	if err != nil {
		return nil, err
	}
	p := q.Page()
	marked := compute.ActionRow{}
	if i := slices.IndexFunc(all, func(a compute.ActionRow) bool { return p.HasMarker && a.Request == p.Marker }); i >= 0 {
		marked, all = all[i], all[i+1:]
	}
	if p.HasMarker && marked.ID == "" {
		return nil, wire.BadRequest("Marker %s could not be found.", p.Marker)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(a compute.ActionRow) bool {
		return !since.IsZero() && a.UpdatedAt.Before(since) || !before.IsZero() && a.UpdatedAt.After(before)
	})
	return all[:min(len(all), p.Limit)], nil
}

// action is what lists show of an action.
func action(q *wire.Request, a compute.ActionRow) view.Object {
	return view.Object{
		view.Text("action", a.Action), view.Text("instance_uuid", a.Server), view.Text("request_id", a.Request),
		view.Text("user_id", a.User),
		view.Text("project_id", a.Project), wire.Time("start_time", a.StartedAt), view.TextOrNull("message", a.Message),
	}.If(q.Minor >= 58, wire.Time("updated_at", a.UpdatedAt))
}

func showAction(q *wire.Request) error {
	project, all, err := actionsInPath(q, "os-instance-actions:show")
	if err != nil {
		return err
	}
	id := q.Param("request")
	if !slices.ContainsFunc(all, func(a compute.ActionRow) bool { return a.Request == id }) {
		return fault.New(fault.NotFound, "ActionNotFound", "Action %s not found", id)
	}
	a, err := q.API.Servers.Action(q.Context(), compute.ID(q.Param("server")), id)
	if err != nil {
		return err
	}
	whole := q.May("os-instance-actions:events", wire.OfProject(project))
	details := q.Minor >= 84 && q.May("os-instance-actions:events:details", wire.OfProject(project))
	return q.Respond(http.StatusOK, wire.Single("instanceAction", action(q, a.ActionRow).
		If(whole || q.Minor >= 51, view.List("events", a.Events, func(e compute.EventRow) view.Object {
			return event(q, e, project, whole, details)
		}))))
}

// event is an event of an action. Its host, and the error, are only for callers who may see
// the whole, and the details of the error for those who may see details.
func event(q *wire.Request, e compute.EventRow, project string, whole, details bool) view.Object {
	return view.Object{
		view.Text("event", e.Event), wire.Time("start_time", e.StartedAt), wire.Time("finish_time", e.FinishedAt),
		view.TextOrNull("result", e.Result),
	}.
		If(whole, view.TextOrNull("traceback", e.Traceback)).
		If(details, view.TextOrNull("details", e.Details)).
		If(q.Minor >= 62 && whole, view.TextOrNull("host", e.Host)).
		If(q.Minor >= 62, view.Text("hostId", hostID(project, e.Host)))
}
