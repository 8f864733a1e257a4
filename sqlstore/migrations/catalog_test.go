package migrations_test

import (
	"database/sql"
	"regexp"
	"testing"
)

// A catalog is all that a database says about its tables, under names.
type catalog map[string]string

// query adds rows of a name and a description.
func (c catalog) query(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, description string
		if err := rows.Scan(&name, &description); err != nil {
			t.Fatal(err)
		}
		c[name] += description + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// counter is where a table's ids are, which is no part of its structure.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// mysqlCatalog is what SHOW CREATE TABLE prints: columns, keys and their order,
// engine, character set.
func mysqlCatalog(t *testing.T, db *sql.DB) catalog {
	t.Helper()
	names := make(catalog)
	names.query(t, db, `
SELECT
    table_name,
    ''
FROM information_schema.tables
WHERE table_schema = DATABASE()`)
	all := make(catalog)
	for name := range names {
		all.query(t, db, "SHOW CREATE TABLE "+name)
		all[name] = counter.ReplaceAllString(all[name], "")
	}
	return all
}

// postgresCatalog puts the catalogs of columns, constraints, indexes and
// sequences together.
func postgresCatalog(t *testing.T, db *sql.DB) catalog {
	t.Helper()
	all := make(catalog)
	for _, text := range []string{`
SELECT
    table_name,
    CONCAT_WS(' ', ordinal_position, column_name, data_type, character_maximum_length, numeric_precision,
        datetime_precision, is_nullable, column_default, collation_name)
FROM information_schema.columns
WHERE table_schema = 'public'
ORDER BY table_name, ordinal_position`, `
SELECT
    conrelid::regclass::text,
    CONCAT_WS(' ', conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
ORDER BY conrelid::regclass::text, conname`, `
SELECT
    tablename,
    indexdef
FROM pg_indexes
WHERE schemaname = 'public'
ORDER BY tablename, indexname`, `
SELECT
    sequencename,
    CONCAT_WS(' ', data_type, start_value, increment_by, min_value, max_value, cycle, cache_size)
FROM pg_sequences
WHERE schemaname = 'public'`, `
SELECT
    c.relname,
    CONCAT_WS(' ', 'owned by', d.refobjid::regclass, d.refobjsubid)
FROM pg_depend d
JOIN pg_class c ON c.oid = d.objid
WHERE d.deptype = 'a' AND c.relkind = 'S' AND c.relnamespace = 'public'::regnamespace`} {
		all.query(t, db, text)
	}
	return all
}
