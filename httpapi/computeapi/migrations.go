package computeapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) migrationRoutes() []httpapi.Route {
	const ofServer = "/servers/{server}/migrations"
	return []httpapi.Route{
		a.list("/os-migrations", 1, (*request).listMigrations),
		a.route(http.MethodGet, ofServer, 23, (*request).listServerMigrations),
		a.route(http.MethodGet, ofServer+"/{migration}", 23, (*request).showServerMigration),
	}
}

var (
	migrationParams = []string{
		"hidden", many(stringPart), "host", many(stringPart), "instance_uuid", many(stringPart),
		"source_compute", many(stringPart), "status", many(stringPart), "migration_type", many(stringPart),
	}
	migrationPages = append(slices.Clone(migrationParams),
		"limit", once(countPart), "marker", once(stringPart), "changes-since", once(timePart))

	migrationsQuery2_1  = newQuery(false, migrationParams...)
	migrationsQuery2_59 = newQuery(true, migrationPages...)
	migrationsQuery2_66 = newQuery(true, append(slices.Clone(migrationPages), "changes-before", once(timePart))...)
	migrationsQuery2_80 = newQuery(true, append(slices.Clone(migrationPages), "changes-before", once(timePart),
		"user_id", once(stringPart), "project_id", once(stringPart))...)
)

func (q *request) listMigrations() error {
	schema := migrationsQuery2_1
	switch {
	case q.minor >= 80:
		schema = migrationsQuery2_80
	case q.minor >= 66:
		schema = migrationsQuery2_66
	case q.minor >= 59:
		schema = migrationsQuery2_59
	}
	if err := q.checkQuery(schema); err != nil {
		return err
	}
	if err := q.can("os-migrations:index", own); err != nil {
		return err
	}
	all, err := q.migrations()
	if err != nil {
		return err
	}
	answer := view.Object{view.List("migrations", all, q.migration)}
	if n := len(all); n > 0 && q.minor >= 59 {
		answer = append(answer, q.nextLink("migrations_links", "os-migrations", n, string(all[n-1].ID))...)
	}
	return q.respond(http.StatusOK, answer)
}

// migrations are those that the query selects.
func (q *request) migrations() ([]compute.Migration, error) {
	text := func(name string) string { t, _ := q.last(name); return t }
	if hidden, _ := parseBool(text("hidden")); hidden {
		return nil, nil // none is
	}
	all, err := q.api.Compute.Migrations(q.Context(), compute.MigrationFilter{
		Server: compute.ID(text("instance_uuid")), Status: text("status"), Type: text("migration_type"),
		Host: text("host"), Source: text("source_compute"), User: text("user_id"), Project: text("project_id"),
	})
	if err != nil || q.minor < 59 {
		return all, err
	}
	since, before, err := q.times()
	if err != nil {
		return nil, err
	}
	p := q.page()
	if p.marked {
		at := slices.IndexFunc(all, func(m compute.Migration) bool { return string(m.ID) == p.marker })
		if at < 0 {
			return nil, badRequest("Marker %s could not be found.", p.marker)
		}
		all = all[at+1:]
	}
	all = slices.DeleteFunc(all, func(m compute.Migration) bool {
		return !since.IsZero() && m.UpdatedAt.Before(since) || !before.IsZero() && m.UpdatedAt.After(before)
	})
	return all[:min(len(all), p.limit)], nil
}

// migration is a move of a server. A live one that is in progress can be read by itself.
func (q *request) migration(m compute.Migration) view.Object {
	number := func(name string, n int64) view.Member {
		if n == 0 {
			return view.Null(name)
		}
		return view.Int(name, n)
	}
	return append(q.move(m), view.Text("instance_uuid", m.Server),
		number("old_instance_type_id", m.OldNumber), number("new_instance_type_id", m.NewNumber)).
		If(q.minor >= 23, view.Text("migration_type", m.Type)).
		If(q.minor >= 23 && m.MovesLive(), q.links("servers/"+string(m.Server)+"/migrations", strconv.FormatInt(m.Number, 10)))
}

// move is what every answer says of a move.
func (q *request) move(m compute.Migration) view.Object {
	return view.Object{
		view.Int("id", m.Number), view.TextOrNull("source_compute", m.Source), view.TextOrNull("source_node", m.SourceNode),
		view.TextOrNull("dest_compute", m.Dest), view.TextOrNull("dest_node", m.DestNode), view.TextOrNull("dest_host", m.DestAddress),
		view.Text("status", m.Status), moment("created_at", m.CreatedAt), moment("updated_at", m.UpdatedAt),
	}.
		If(q.minor >= 59, view.Text("uuid", m.ID)).
		If(q.minor >= 80, view.Text("user_id", m.User), view.Text("project_id", m.Project))
}

// serverMoves are the migrations of the server in the path.
func (q *request) serverMoves(rule string) (compute.Server, []compute.Migration, error) {
	s, err := q.serverInPath(rule)
	if err != nil {
		return s, nil, err
	}
	all, err := q.api.Compute.Migrations(q.Context(), compute.MigrationFilter{Server: s.ID})
	return s, all, err
}

func (q *request) listServerMigrations() error {
	_, all, err := q.serverMoves("servers:migrations:index")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m compute.Migration) bool { return !m.MovesLive() })
	return q.respond(http.StatusOK, view.Object{view.List("migrations", all, q.liveMove)})
}

func (q *request) showServerMigration() error {
	s, all, err := q.serverMoves("servers:migrations:show")
	if err != nil {
		return err
	}
	number := q.param("migration")
	at := slices.IndexFunc(all, func(m compute.Migration) bool { return strconv.FormatInt(m.Number, 10) == number })
	switch {
	case at < 0:
		return notFound("In-progress live migration %s is not found for server %s.", number, s.ID)
	case !all[at].Live():
		return notFound("Migration %s for server %s is not live-migration.", number, s.ID)
	case !all[at].MovesLive():
		return notFound("Live migration %s for server %s is not in progress.", number, s.ID)
	}
	return q.respond(http.StatusOK, single("migration", q.liveMove(all[at])))
}

// liveMove is what is shown of a live migration in progress. How much of it is copied no host says.
func (q *request) liveMove(m compute.Migration) view.Object {
	return append(q.move(m), view.Text("server_uuid", m.Server),
		view.Null("memory_total_bytes"), view.Null("memory_processed_bytes"), view.Null("memory_remaining_bytes"),
		view.Null("disk_total_bytes"), view.Null("disk_processed_bytes"), view.Null("disk_remaining_bytes"))
}
