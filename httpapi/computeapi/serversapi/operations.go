package serversapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

// operationRoutes are the routes by which operators read what is under way with servers. They are
// Berth's own.
func operationRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: wire.HostsPrefix + "/operations", Unversioned: true, Lists: true,
		Handle: a.Serve(listOperations),
	}}
}

var operationsQuery = wire.NewQuery(true, "server", wire.Once(wire.UUIDPart), "min_age", wire.Once(wire.CountPart),
	"limit", wire.Once(wire.CountPart))

func listOperations(q *wire.Request) error {
	if err := q.Can("berth-operations:index", wire.CloudTarget); err != nil {
		return err
	}
	if err := q.CheckQuery(operationsQuery); err != nil {
		return err
	}
	f := servers.OperationFilter{Limit: q.Page().Limit}
	if server, ok := q.Last("server"); ok {
		f.Server = compute.ID(server)
	}
	if seconds, ok := q.Last("min_age"); ok {
		f.Before = q.API.Catalog.Now().Add(-time.Duration(wire.ParseCount(seconds)) * time.Second)
	}
	all, more, err := q.API.Servers.OperationViews(q.Context(), f)
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.List("operations", all, operation), view.Bool("more", more)})
}

// operation is an operation as it is listed.
func operation(o servers.OperationView) view.Object {
	direction := "forward"
	if o.Undoing {
		direction = "back"
	}
	awaits := view.Null("awaits")
	if o.State == servers.OperationWaiting {
		awaits = view.Nested("awaits", view.Object{
			view.TextOrNull("event", o.Event), view.Text("host", o.Host), view.Bool("host_up", o.HostUp),
		})
	}
	return view.Object{
		view.Text("id", o.ID), view.Text("server", o.Server.ID), view.TextOrNull("project_id", o.Server.Project),
		view.Text("kind", o.Kind),
		view.Text("step", o.Step), view.Text("direction", direction), view.Time("created_at", o.CreatedAt, time.RFC3339),
		view.Text("state", o.State),
		view.TextOrNull("worker", o.Worker), view.Time("until", o.Until, time.RFC3339), awaits,
		view.TextOrNull("cause", o.Cause),
	}
}
