package computeapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
)

func (a *API) migrationRoutes() []httpapi.Route {
	return []httpapi.Route{a.route(http.MethodGet, "/os-migrations", 1, (*request).listMigrations)}
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
)

func (q *request) listMigrations() error {
	schema := migrationsQuery2_1
	switch {
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
func (q *request) migrations() ([]compute.MigrationRow, error) {
	text := func(name string) string { t, _ := q.last(name); return t }
	if hidden, _ := parseBool(text("hidden")); hidden {
		return nil, nil // none is
	}
	all, err := q.api.Compute.Migrations(q.Context(), compute.MigrationFilter{
		Server: compute.ID(text("instance_uuid")), Status: text("status"), Type: text("migration_type"),
		Host: text("host"), Source: text("source_compute"),
	})
	if err != nil || q.minor < 59 {
		return all, err
	}
	since, before, err := q.times()
	if err != nil {
		return nil, err
	}
	p := q.page()
	if p.marked && !slices.ContainsFunc(all, func(m compute.MigrationRow) bool { return string(m.ID) == p.marker }) {
		return nil, badRequest("Marker %s could not be found.", p.marker)
	}
	if p.marked {
		all = all[1+slices.IndexFunc(all, func(m compute.MigrationRow) bool { return string(m.ID) == p.marker }):]
	}
	all = slices.DeleteFunc(slices.Clone(all), func(m compute.MigrationRow) bool {
		return !since.IsZero() && m.UpdatedAt.Before(since) || !before.IsZero() && m.UpdatedAt.After(before)
	})
	return all[:min(len(all), p.limit)], nil
}

// putMigration writes a move of a server. Flavors are called by their ids, not by
// numbers of the database.
func (q *request) putMigration(j *httpapi.JSON, m compute.MigrationRow) {
	j.Object()
	put(j, "id", m.Number, "source_compute", orNull(m.Source), "source_node", orNull(m.SourceNode), "dest_compute", orNull(m.Dest),
		"dest_node", orNull(m.DestNode), "dest_host", nil, "status", m.Status, "instance_uuid", m.Server,
		"old_instance_type_id", orNull(string(m.OldFlavor)), "new_instance_type_id", orNull(string(m.NewFlavor)),
		"created_at", m.CreatedAt, "updated_at", m.UpdatedAt)
	if q.minor >= 23 {
		put(j, "migration_type", m.Type)
	}
	if q.minor >= 59 {
		put(j, "uuid", m.ID)
	}
	j.EndObject()
}
