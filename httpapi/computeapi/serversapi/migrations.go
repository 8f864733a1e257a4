package serversapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func migrationRoutes(a *wire.API) []httpapi.Route {
	const ofServer = "/servers/{server}/migrations"
	return []httpapi.Route{
		a.List("/os-migrations", 1, listMigrations),
		a.Route(http.MethodGet, ofServer, 23, wire.NoQuery(listServerMigrations)),
		a.Route(http.MethodGet, ofServer+"/{migration}", 23, wire.NoQuery(showServerMigration)),
	}
}

var (
	migrationParams = []string{
		"hidden", wire.Repeated(wire.StringPart), "host", wire.Repeated(wire.StringPart),
		"instance_uuid", wire.Repeated(wire.StringPart),
		"source_compute", wire.Repeated(wire.StringPart), "status", wire.Repeated(wire.StringPart),
		"migration_type", wire.Repeated(wire.StringPart),
	}
	migrationPages = append(slices.Clone(migrationParams),
		"limit", wire.Once(wire.CountPart), "marker", wire.Once(wire.StringPart), "changes-since", wire.Once(timePart))

	migrationsQuery2_1  = wire.NewQuery(false, migrationParams...)
	migrationsQuery2_59 = wire.NewQuery(true, migrationPages...)
	migrationsQuery2_66 = wire.NewQuery(true,
		append(slices.Clone(migrationPages), "changes-before", wire.Once(timePart))...)
	migrationsQuery2_80 = wire.NewQuery(true, append(slices.Clone(migrationPages), "changes-before", wire.Once(timePart),
		"user_id", wire.Once(wire.StringPart), "project_id", wire.Once(wire.StringPart))...)
)

func listMigrations(q *wire.Request) error {
	schema := migrationsQuery2_1
	switch {
	case q.Minor >= 80:
		schema = migrationsQuery2_80
	case q.Minor >= 66:
		schema = migrationsQuery2_66
	case q.Minor >= 59:
		schema = migrationsQuery2_59
	}
	if err := q.CheckQuery(schema); err != nil {
		return err
	}
	if err := q.Can("os-migrations:index", wire.OwnTarget); err != nil {
		return err
	}
	if project, _ := q.Last("project_id"); project == "" || project != q.Caller.ProjectID {
		if err := q.Can("os-migrations:index:all_projects", wire.OwnTarget); err != nil {
			return err
		}
	}
	showsHosts := q.May("os-migrations:index:host", wire.OwnTarget)
	all, err := migrations(q)
	if err != nil {
		return err
	}
	answer := view.Object{view.List("migrations", all, func(m servers.Migration) view.Object {
		return migration(q, m, showsHosts)
	})}
	if n := len(all); n > 0 && q.Minor >= 59 {
		answer = append(answer, q.NextLink("migrations_links", "os-migrations", n, string(all[n-1].ID))...)
	}
	return q.Respond(http.StatusOK, answer)
}

// migrations are those that the query selects.
func migrations(q *wire.Request) ([]servers.Migration, error) {
	text := func(name string) string { t, _ := q.Last(name); return t }
	if hidden, _ := wire.ParseBool(text("hidden")); hidden {
		return nil, nil // none is
	}
	f := servers.MigrationFilter{
		Server: compute.ID(text("instance_uuid")), Status: text("status"), Type: text("migration_type"),
		Host: text("host"), Source: text("source_compute"), User: text("user_id"), Project: text("project_id"),
	}
	if q.Minor < 59 {
		return q.API.Servers.Migrations(q.Context(), f, servers.Page{})
	}
	var err error
	if f.Since, f.Before, err = times(q); err != nil {
		return nil, err
	}
	p := q.Page()
	switch {
	case p.HasMarker && p.Marker == "":
		return nil, wire.BadRequest("Marker %s could not be found.", p.Marker)
	case p.Limit == 0 && !p.HasMarker:
		return nil, nil
	}
	all, err := q.API.Servers.Migrations(q.Context(), f, servers.Page{
		Marker: compute.ID(p.Marker), Limit: max(p.Limit, 1),
	})
	return all[:min(len(all), p.Limit)], err
}

// migration is a move of a server. A live one that is in progress can be read by itself.
func migration(q *wire.Request, m servers.Migration, showsHosts bool) view.Object {
	number := func(name string, n int64) view.Member {
		if n == 0 {
			return view.Null(name)
		}
		return view.Int(name, n)
	}
	return append(move(q, m, showsHosts), view.Text("instance_uuid", m.Server),
		number("old_instance_type_id", m.OldNumber), number("new_instance_type_id", m.NewNumber)).
		If(q.Minor >= 23, view.Text("migration_type", m.Type)).
		If(q.Minor >= 23 && m.MovesLive(),
			q.Links("servers/"+string(m.Server)+"/migrations", strconv.FormatInt(m.Number, 10)))
}

// move is what every answer shows of a move. Hosts are null to those who may not see them.
func move(q *wire.Request, m servers.Migration, showsHosts bool) view.Object {
	if !showsHosts {
		m.Source, m.SourceNode, m.Dest, m.DestNode, m.DestAddress = "", "", "", "", ""
	}
	return view.Object{
		view.Int("id", m.Number), view.TextOrNull("source_compute", m.Source), view.TextOrNull("source_node", m.SourceNode),
		view.TextOrNull("dest_compute", m.Dest), view.TextOrNull("dest_node", m.DestNode),
		view.TextOrNull("dest_host", m.DestAddress),
		view.Text("status", m.Status), wire.Time("created_at", m.CreatedAt), wire.Time("updated_at", m.UpdatedAt),
	}.
		If(q.Minor >= 59, view.Text("uuid", m.ID)).
		If(q.Minor >= 80, view.Text("user_id", m.User), view.Text("project_id", m.Project))
}

// serverMoves are the migrations of the server in the path.
func serverMoves(q *wire.Request, rule string) (servers.Server, []servers.Migration, error) {
	s, err := q.ServerInPath(rule)
	if err != nil {
		return s, nil, err
	}
	all, err := q.API.Servers.Migrations(q.Context(), servers.MigrationFilter{Server: s.ID}, servers.Page{})
	return s, all, err
}

func listServerMigrations(q *wire.Request) error {
	s, all, err := serverMoves(q, "servers:migrations:index")
	if err != nil {
		return err
	}
	showsHosts := q.May("servers:migrations:index:host", wire.OfServer(s))
	all = slices.DeleteFunc(all, func(m servers.Migration) bool { return !m.MovesLive() })
	return q.Respond(http.StatusOK, view.Object{view.List("migrations", all, func(m servers.Migration) view.Object {
		return liveMove(q, m, showsHosts)
	})})
}

func showServerMigration(q *wire.Request) error {
	s, all, err := serverMoves(q, "servers:migrations:show")
	if err != nil {
		return err
	}
	number := q.Param("migration")
	at := slices.IndexFunc(all, func(m servers.Migration) bool { return strconv.FormatInt(m.Number, 10) == number })
	switch {
	case at < 0:
		return wire.NotFound("In-progress live migration %s is not found for server %s.", number, s.ID)
	case !all[at].Live():
		return wire.NotFound("Migration %s for server %s is not live-migration.", number, s.ID)
	case !all[at].MovesLive():
		return wire.NotFound("Live migration %s for server %s is not in progress.", number, s.ID)
	}
	return q.Respond(http.StatusOK, wire.Single("migration", liveMove(q, all[at], true)))
}

// liveMove is what is shown of a live migration in progress. No host reports how much of it is
// copied.
func liveMove(q *wire.Request, m servers.Migration, showsHosts bool) view.Object {
	return append(move(q, m, showsHosts), view.Text("server_uuid", m.Server),
		view.Null("memory_total_bytes"), view.Null("memory_processed_bytes"), view.Null("memory_remaining_bytes"),
		view.Null("disk_total_bytes"), view.Null("disk_processed_bytes"), view.Null("disk_remaining_bytes"))
}
