package migrations

// OwnVersion is the version of Berth's own tables, the one row of berth_version.
// It is not part of upstream's chain.
//
// Programs of two versions share the tables during a rolling upgrade: the older one runs on after
// the tables were upgraded, until it is replaced. So a script only adds, and what it adds has a
// default or may be NULL, since the older program does not write it. What no program uses any more
// is removed by a later version than the one that ended its use.
const OwnVersion = 1

// Own are the names of Berth's own tables, each after those that it refers to:
// drop them in the opposite order. They hold nothing that upstream's service
// needs or looks at.
var Own = []string{"berth_version", "berth_writers", "berth_changes", "berth_holds"}

// OwnScript returns the statements that bring Berth's own tables in the named database from the
// version before to a version, 1 being the first. They are as those of [RowsScript].
func OwnScript(database string, version int) ([]string, error) {
	return RowsScript("own", database, version, "")
}
