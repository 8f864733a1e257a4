package dbtool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/sqlstore/logtable"
	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// A Verdict is the result of a check, with the numbers of upstream's upgrade checks
// (oslo.upgradecheck), which are also exit codes.
type Verdict int

// The verdicts, each worse than the one before.
const (
	Success Verdict = iota
	Warning         // an operator should look at it
	Failure         // it must be corrected
)

// String returns the verdict as upstream's checks print it.
func (v Verdict) String() string { return [...]string{"Success", "Warning", "Failure"}[v] }

// A Finding is the result of one check.
type Finding struct {
	Check   string
	Verdict Verdict
	// Details say what was found and what to do about it; "" on success.
	Details string
}

// A check looks at a database of a known revision.
type check struct {
	name string
	run  func(*inspection) (Verdict, string, error)
}

// checks are upstream's checks by their names, and Berth's own.
var checks = []check{
	{
		"Missing Root Provider IDs",
		counted(rootless, Failure, "%d resource providers have no root provider. Run `berth db online-data-migrations`."),
	},
	{"Incomplete Consumers", counted(unrecorded, Warning,
		"%d consumers have allocations and no record of their own. Run `berth db online-data-migrations`.")},
	{"Schema Revision", checkRevision},
	{"Provider Trees", checkTrees},
	{"Dangling Allocations", checkAllocations},
	{"Dangling References", checkReferences},
	{"Usage Over Capacity", checkUsage},
	{"Idle Consumers", counted(idle, Warning, "%d consumers have no allocations. They do no harm; DELETE FROM consumers "+
		"WHERE uuid NOT IN (SELECT consumer_id FROM allocations) removes them while no service runs.")},
	{"Character Set", checkCharset},
	{"Change Log", checkLog},
	{"Unfinished Copy", checkCopy},
}

// An inspection is a consistent snapshot of a database that checks read.
type inspection struct {
	*sqlconn.Tx
	revision string
}

// Check runs all checks on a consistent snapshot, at every known revision and while services run.
// It only reads. The findings are in the order of upstream's checks, followed by Berth's own; of an
// empty database and of an unknown revision there is that finding only.
func (t *Tables) Check(ctx context.Context) (all []Finding, err error) {
	err = t.Read(ctx, func(r *sqlconn.Tx) error {
		revision, standing, err := t.standing(r)
		if err != nil {
			return err
		}
		if standing == StandsEmpty || standing == StandsUnknown {
			all = []Finding{unfit(revision, standing)}
			return nil
		}
		in := &inspection{r, revision}
		for _, c := range checks {
			verdict, details, err := c.run(in)
			if err != nil {
				return fmt.Errorf("checking %s: %w", strings.ToLower(c.name), err)
			}
			all = append(all, Finding{c.name, verdict, details})
		}
		return nil
	})
	return all, err
}

// unfit is the finding about a database that is not checked further.
func unfit(revision string, s Standing) Finding {
	f := Finding{Check: "Schema Revision", Verdict: Failure, Details: "The database is empty. Run `berth db sync`."}
	if s == StandsUnknown {
		f.Details = fmt.Sprintf(
			"Revision %q is not known to this version of Berth, which knows %s. Upgrade Berth, or name the right database.",
			revision, strings.Join(migrations.Known(), ", "))
	}
	return f
}

// checkRevision compares the revision with the one that Berth works on. A newer one that Berth
// knows is good: it differs in indexes.
func checkRevision(in *inspection) (Verdict, string, error) {
	switch {
	case in.revision == "":
		return Warning, fmt.Sprintf(
			"There is no table alembic_version: tools cannot tell the revision. The tables are those of %s; "+
				"`placement-manage db stamp %s` notes it.", migrations.Target, migrations.Target), nil
	case len(migrations.After(in.revision)) > 0:
		return Failure, fmt.Sprintf("The database is at revision %s, Berth needs %s. Run `berth db sync`.", in.revision,
			migrations.Target), nil
	}
	return Success, "", nil
}

// number returns the number that a query selects.
func (in *inspection) number(query string) (int64, error) {
	return sqlconn.First(in.Tx, sqlconn.Integer, query)
}

// counted returns a check that counts bad rows; details has a place for their number.
func counted(query string, v Verdict, details string) func(*inspection) (Verdict, string, error) {
	return func(in *inspection) (Verdict, string, error) {
		n, err := in.number(query)
		if err != nil || n == 0 {
			return Success, "", err
		}
		return v, fmt.Sprintf(details, n), nil
	}
}

// The queries of checks that count rows.
const (
	rootless = `
SELECT COUNT(*)
FROM resource_providers
WHERE root_provider_id IS NULL`
	unrecorded = `
SELECT COUNT(DISTINCT a.consumer_id)
FROM allocations a
LEFT JOIN consumers c ON c.uuid = a.consumer_id
WHERE c.id IS NULL`
	idle = `
SELECT COUNT(*)
FROM consumers c
LEFT JOIN allocations a ON a.consumer_id = c.uuid
WHERE a.id IS NULL`
)

// checkLog warns about a change log that is not trimmed. Services trim it at intervals, so that up
// to twice the number of entries that they keep is normal.
func checkLog(in *inspection) (Verdict, string, error) {
	existing, err := in.Tx.HasTable("berth_changes")
	if err != nil || !existing {
		return Success, "", err
	}
	entries, err := in.number(`SELECT COUNT(*) FROM berth_changes`)
	if err != nil {
		return Success, "", err
	}
	writers, err := in.number(`SELECT COUNT(*) FROM berth_writers`)
	if err != nil || entries <= 2*logtable.KeepEntries*max(1, writers) {
		return Success, "", err
	}
	return Warning, fmt.Sprintf(
		"The change log has %d entries of %d writers: they are not cleaned up. Services do while they run; "+
			"where none is to run any more, run `berth db uninstall`.", entries, writers), nil
}

// checkCopy finds the target of an interrupted copy: berth_copy is there until all rows were
// compared.
func checkCopy(in *inspection) (Verdict, string, error) {
	existing, err := in.Tx.HasTable("berth_copy")
	if err != nil || !existing {
		return Success, "", err
	}
	return Failure, "A copy into this database was interrupted: it is not whole. Go on with `berth db copy --resume`, " +
		"or drop the database and copy again.", nil
}

// checkCharset warns about encodings that cannot store every character, and about columns whose
// collations differ: MySQL refuses to compare some of those (error 1267), and uses no index for
// others.
func checkCharset(in *inspection) (Verdict, string, error) {
	sets, err := sqlconn.List(in.Tx, func(one *sqlconn.Row) string { return one.Text(0) },
		charsetQuery[in.Dialect().Name])
	if err != nil {
		return Success, "", err
	}
	// Collations of MySQL begin with the name of their character set; others are names of encodings.
	unicode := func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "utf") }
	if bad := slices.DeleteFunc(slices.Clone(sets), unicode); len(bad) > 0 {
		return Warning, fmt.Sprintf("Text is kept as %s: names with other letters cannot be kept. Dump the database, "+
			"make it again with UTF-8 (MariaDB: utf8mb4) and restore it.", strings.Join(bad, ", ")), nil
	}
	if len(sets) > 1 {
		return Warning, fmt.Sprintf("Columns have different collations (%s): statements that compare them are slow or fail. "+
			"Convert the tables to one with ALTER TABLE … CONVERT TO CHARACTER SET.", strings.Join(sets, ", ")), nil
	}
	return Success, "", nil
}

// charsetQuery selects the encodings of texts, by dialect.
var charsetQuery = map[string]string{
	"sqlite":     `PRAGMA encoding`,
	"postgresql": `SHOW server_encoding`,
	"mysql": `
SELECT DISTINCT collation_name
FROM information_schema.columns
WHERE table_schema = DATABASE() AND collation_name IS NOT NULL AND table_name IN ('` + strings.Join(tableNames(), "', '") + `')
ORDER BY collation_name`,
}

// tableNames lists upstream's tables: other tables in the database are not looked at.
func tableNames() []string {
	var all []string
	for _, table := range migrations.Tables {
		all = append(all, table.Name)
	}
	return all
}
