// Package migrations holds the schema of the placement tables as upstream's
// releases made it, step by step, so that upstream's own tools keep working on
// a database that Berth made. It is not for applying them: it has texts and
// their order, and sqlstore runs them.
//
// The steps are upstream's revisions, in one chain. Their statements are in a
// folder per database, named after the revision; a step that only checks has no
// file. schema.sql next to them is the sum, kept true by a test.
//
// MySQL and MariaDB commit each statement that changes a table by itself, so
// their steps are written to be run again after one was cut short: what it did
// is found and left alone. On SQLite and PostgreSQL a step belongs into one
// transaction.
//
// [Tables] are upstream's tables for programs that copy rows. [OwnScript] makes and upgrades the
// tables that Berth adds for itself, [RowsScript] those of the network and the compute service, in
// versions of their own.
package migrations

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// files has a folder for each database: the revisions and schema.sql.
//
//go:embed sqlite mysql postgresql
var files embed.FS

// Target is the revision that new databases get and old ones are brought to. It
// is not upstream's newest: all releases since Xena accept it, while the newest
// merely drops indexes that double others.
const Target = "422ece571366"

// VersionTable is the statement that makes upstream's table of the revision.
const VersionTable = `CREATE TABLE IF NOT EXISTS alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)`

// A Revision is one step of upstream's chain.
type Revision struct {
	ID string
	// Blockers is a query that counts the rows which forbid the step, empty
	// when nothing does.
	Blockers string
	// Remedy says what the blocking rows are and what to do about them.
	Remedy string
}

// chain is upstream's history, oldest first.
var chain = []Revision{
	{ID: "b4ed3a175331"},
	{
		ID: "611cd6dffd7b",
		Blockers: `
SELECT COUNT(*)
FROM resource_providers
WHERE root_provider_id IS NULL`,
		Remedy: "resource providers without a root provider; run `berth db online-data-migrations` (or upstream's " +
			"`placement-manage db online_data_migrations`) first",
	},
	{
		ID: "b5c396305c25",
		Blockers: `
SELECT COUNT(*)
FROM allocations a
LEFT JOIN consumers c ON c.uuid = a.consumer_id
WHERE c.id IS NULL`,
		Remedy: "allocations without a consumer; run `berth db online-data-migrations` (or upstream's `placement-manage db " +
			"online_data_migrations`) first",
	},
	{ID: Target},
	// The newest drops indexes whose columns a unique constraint covers, so
	// no statement may name one:
	//
	//	inventories_resource_provider_id_idx
	//	inventories_resource_provider_resource_class_idx
	//	ix_placement_aggregates_uuid
	//	resource_providers_name_idx
	//	resource_providers_uuid_idx
	{ID: "a082b8bb98d0"},
}

// Known returns the ids of all revisions that this program understands, oldest
// first.
func Known() []string {
	ids := make([]string, len(chain))
	for i, r := range chain {
		ids[i] = r.ID
	}
	return ids
}

// Index returns the place of a revision in the chain, -1 when it is not known.
func Index(id string) int { return slices.Index(Known(), id) }

// After returns the steps that lead from a known revision to Target, none when
// it is Target or newer. The empty id stands for an empty database.
func After(id string) []Revision {
	last := Index(Target) + 1
	return chain[min(Index(id)+1, last):last]
}

// Script returns the statements of a step for the named database ("sqlite",
// "mysql" or "postgresql"), none for a step that only checks. They are to be run
// one by one, in their order and on one connection. They have no placeholders.
func Script(database, id string) ([]string, error) {
	if _, err := files.ReadDir(database); err != nil {
		return nil, fmt.Errorf("there are no migrations for %q: %w", database, err)
	}
	text, err := files.ReadFile(database + "/" + id + ".sql")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading migration %s: %w", id, err)
	}
	return statements(string(text)), nil
}

// statements splits a file behind the semicolons that end a line and leaves out
// the lines that are comments.
func statements(text string) []string {
	var code strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			code.WriteString(line)
		}
	}
	var all []string
	for s := range strings.SplitSeq(code.String(), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// Schema returns the sum of all steps up to Target for the named database.
func Schema(database string) (string, error) {
	text, err := files.ReadFile(database + "/schema.sql")
	if err != nil {
		return "", fmt.Errorf("reading the %s schema: %w", database, err)
	}
	return string(text), nil
}
