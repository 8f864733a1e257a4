package computeapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
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
	return q.respond(http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		put(j, "migrations", array(all, q.putMigration))
		if n := len(all); n > 0 && q.minor >= 59 {
			q.nextLink(j, "migrations_links", "os-migrations", n, string(all[n-1].ID))
		}
		j.EndObject()
	})
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

// putMigration writes a move of a server. A live one that is in progress can be looked at by itself.
func (q *request) putMigration(j *httpapi.JSON, m compute.Migration) {
	number := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	j.Object()
	q.putMove(j, m)
	put(j, "instance_uuid", m.Server, "old_instance_type_id", number(m.OldNumber), "new_instance_type_id", number(m.NewNumber))
	if q.minor >= 23 {
		put(j, "migration_type", m.Type)
		if m.MovesLive() {
			put(j, "links", q.links("servers/"+string(m.Server)+"/migrations", strconv.FormatInt(m.Number, 10)))
		}
	}
	j.EndObject()
}

// putMove writes what every answer says of a move.
func (q *request) putMove(j *httpapi.JSON, m compute.Migration) {
	put(j, "id", m.Number, "source_compute", orNull(m.Source), "source_node", orNull(m.SourceNode), "dest_compute", orNull(m.Dest),
		"dest_node", orNull(m.DestNode), "dest_host", orNull(m.DestAddress), "status", m.Status,
		"created_at", m.CreatedAt, "updated_at", m.UpdatedAt)
	if q.minor >= 59 {
		put(j, "uuid", m.ID)
	}
	if q.minor >= 80 {
		put(j, "user_id", m.User, "project_id", m.Project)
	}
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
	return q.respond(http.StatusOK, members("migrations", array(all, func(j *httpapi.JSON, m compute.Migration) { q.liveMove(m)(j) })))
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
	return q.respond(http.StatusOK, members("migration", q.liveMove(all[at])))
}

// liveMove is what is shown of a live migration in progress. How much of it is copied no host says.
func (q *request) liveMove(m compute.Migration) writer {
	return func(j *httpapi.JSON) {
		j.Object()
		q.putMove(j, m)
		put(j, "server_uuid", m.Server, "memory_total_bytes", nil, "memory_processed_bytes", nil, "memory_remaining_bytes", nil,
			"disk_total_bytes", nil, "disk_processed_bytes", nil, "disk_remaining_bytes", nil)
		j.EndObject()
	}
}
