package migrations

import "fmt"

// OwnVersion is the version of Berth's own tables, the one row of berth_version.
// It is not part of upstream's chain.
const OwnVersion = 1

// Own are the names of Berth's own tables, each behind those that it refers to:
// drop them in the opposite order. They hold nothing that upstream's service
// needs or looks at. The list is not to be changed.
var Own = []string{"berth_version", "berth_writers", "berth_changes", "berth_holds"}

// OwnTables returns the statements that make Berth's own tables in the named
// database. What is there already is left as it is, so they may be run at any
// time; two programs that run them at the same moment may get into each other's
// way on PostgreSQL, where trying again helps. The row of berth_version is left
// to the caller.
func OwnTables(database string) ([]string, error) {
	text, err := files.ReadFile(database + "/berth.sql")
	if err != nil {
		return nil, fmt.Errorf("reading Berth's own tables for %q: %w", database, err)
	}
	return statements(string(text)), nil
}
