package dbtool_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/sqlstore"
)

// A place is a kind of database that tools work on.
type place struct {
	name string
	url  func(testing.TB) string
}

// places are all kinds.
var places = []place{
	{"SQLite", newFile},
	{"MariaDB", func(tb testing.TB) string { return dbtest.MariaDB(tb).NewDatabase(tb) }},
	{"PostgreSQL", func(tb testing.TB) string { return dbtest.PostgreSQL(tb).NewDatabase(tb) }},
}

// onPlaces runs a test on every kind of database, with the URL of a new one; of
// files only when it is to be short.
func onPlaces(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			if p.name != "SQLite" {
				needServers(t)
			}
			test(t, p.url(t))
		})
	}
}

// newFile returns the URL of a file that is not there yet.
func newFile(tb testing.TB) string { return "sqlite:///" + filepath.Join(tb.TempDir(), "placement.db") }

// at returns the options that lead to a URL.
func at(tb testing.TB, url string) sqlstore.Options {
	tb.Helper()
	if path, ok := strings.CutPrefix(url, "sqlite:///"); ok {
		return sqlstore.Options{Path: path}
	}
	return sqlstore.Options{Server: server(tb, url)}
}

// tables opens a database for tools.
func tables(tb testing.TB, url string, access dbtool.Access) *dbtool.Tables {
	tb.Helper()
	t, err := dbtool.OpenTables(tb.Context(), at(tb, url), access)
	if err != nil {
		tb.Fatalf("OpenTables: %v", err)
	}
	tb.Cleanup(func() { _ = t.Close() })
	return t
}

// with opens a database for the time of a function.
func with[T any](tb testing.TB, url string, access dbtool.Access, fn func(*dbtool.Tables) (T, error)) (T, error) {
	tb.Helper()
	t := tables(tb, url, access)
	v, err := fn(t)
	if end := t.Close(); end != nil {
		tb.Errorf("Close: %v", end)
	}
	return v, err
}

// synced makes the tables of a database.
func synced(tb testing.TB, url string) string {
	tb.Helper()
	if _, err := with(tb, url, dbtool.Make, func(t *dbtool.Tables) (dbtool.Upgrade, error) {
		return t.Sync(tb.Context())
	}); err != nil {
		tb.Fatalf("Sync: %v", err)
	}
	return url
}

// execute runs statements without values.
func execute(tb testing.TB, url string, statements ...string) {
	tb.Helper()
	all := make([][]any, len(statements))
	for i, s := range statements {
		all[i] = []any{s}
	}
	if _, err := with(tb, url, dbtool.Change, func(t *dbtool.Tables) (any, error) {
		return nil, t.Exec(tb.Context(), all...)
	}); err != nil {
		tb.Fatal(err)
	}
}

// numbers returns the first column of an answer.
func numbers(tb testing.TB, url, query string) []int64 {
	tb.Helper()
	all, err := with(tb, url, dbtool.Look, func(t *dbtool.Tables) ([]int64, error) {
		return t.Numbers(tb.Context(), query)
	})
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return all
}

// dump returns the dump of a database.
func dump(tb testing.TB, url string) string {
	tb.Helper()
	var b bytes.Buffer
	if _, err := with(tb, url, dbtool.Look, func(t *dbtool.Tables) ([]dbtool.TableCount, error) {
		return t.Dump(tb.Context(), &b, nil)
	}); err != nil {
		tb.Fatalf("Dump: %v", err)
	}
	return b.String()
}

// restore fills a database from a dump.
func restore(tb testing.TB, url, text string) error {
	tb.Helper()
	_, err := with(tb, url, dbtool.Make, func(t *dbtool.Tables) ([]dbtool.TableCount, error) {
		return t.Restore(tb.Context(), strings.NewReader(text), nil)
	})
	return err
}

// copied copies a database.
func copied(tb testing.TB, from, to string, opts dbtool.CopyOptions) (dbtool.CopyPlan, error) {
	tb.Helper()
	return with(tb, from, dbtool.Hold, func(source *dbtool.Tables) (dbtool.CopyPlan, error) {
		return with(tb, to, dbtool.Make, func(target *dbtool.Tables) (dbtool.CopyPlan, error) {
			return dbtool.Copy(tb.Context(), source, target, opts)
		})
	})
}

// A filler makes rows of a cloud.
type filler struct {
	statements [][]any
}

// rows adds n rows, numbered from 1, some in a statement.
func (f *filler) rows(table, columns string, n int, row func(i int) []any) {
	const most = 400
	for first := 1; first <= n; first += most {
		last := min(n, first+most-1)
		var args []any
		for i := first; i <= last; i++ {
			args = append(args, row(i)...)
		}
		one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(args)/(last-first+1)), ", ") + ")"
		text := "INSERT INTO " + table + " (" + columns + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(one+", ", last-first+1), ", ")
		f.statements = append(f.statements, append([]any{text}, args...))
	}
}

// written is when the i-th row was written, to the microsecond.
func written(i int) string {
	return time.Date(2026, 1, 31, 23, 59, 58, 999999000, time.UTC).Add(time.Duration(i) * 1234567 * time.Microsecond).
		Format("2006-01-02 15:04:05.000000")
}

// oddNames are texts that do not survive careless hands.
var oddNames = []string{
	`quotes ' " and \ and ` + "`", "line\nbreak\ttab", "Zürich ≠ 東京 🚢", "<a&b>", `null`, `%s ? $1 :x`, "\u2028\u007f",
}

// oddRatios are numbers that single precision has and six digits have not.
var oddRatios = []float64{1, 16, 1.5, 0.1, 1.1, 0.333333343, 1234567.5, 9.9e-7, 3.4e20}

// inhabit puts a cloud of so many providers and allocations into a database with
// empty tables. The last provider is the parent of the first one.
func inhabit(tb testing.TB, url string, providers, allocations int) {
	tb.Helper()
	f := &filler{}
	f.names()
	f.providers(providers)
	f.consumers(providers, allocations)
	if _, err := with(tb, url, dbtool.Change, func(t *dbtool.Tables) (any, error) {
		return nil, t.Exec(tb.Context(), f.statements...)
	}); err != nil {
		tb.Fatal(err)
	}
}

func (f *filler) names() {
	f.rows("resource_classes", "created_at, updated_at, id, name", 3, func(i int) []any {
		return []any{written(i), nil, i - 1, []string{"VCPU", "MEMORY_MB", "DISK_GB"}[i-1]}
	})
	f.rows("traits", "created_at, id, name", 5, func(i int) []any {
		return []any{written(i), i * 7, fmt.Sprint("CUSTOM_T", i)}
	})
	f.rows("consumer_types", "created_at, id, name", 2, func(i int) []any {
		return []any{nil, i, []string{"INSTANCE", "MIGRATION"}[i-1]}
	})
	f.rows("projects", "created_at, updated_at, id, external_id", len(oddNames), func(i int) []any {
		return []any{written(i), written(i + 1), i, oddNames[i-1]}
	})
	f.rows("users", "id, external_id", 2, func(i int) []any { return []any{i, fmt.Sprint("user", i)} })
	f.rows("placement_aggregates", "created_at, id, uuid", 4, func(i int) []any {
		return []any{written(i), i, fmt.Sprintf("a%035d", i)}
	})
}

func (f *filler) providers(n int) {
	f.rows("resource_providers",
		"created_at, updated_at, id, uuid, name, generation, root_provider_id, parent_provider_id", n, func(i int) []any {
			name := fmt.Sprintf("host%d", i)
			if i <= len(oddNames) {
				name = oddNames[i-1]
			}
			root, parent := i, any(nil)
			if i%3 == 0 {
				root, parent = i-2, i-1
			}
			if i%3 == 2 {
				root, parent = i-1, i-1
			}
			return []any{written(i), nil, i, fmt.Sprintf("p%035d", i), name, i % 5, root, parent}
		})
	f.statements = append(f.statements, []any{`
UPDATE resource_providers
SET parent_provider_id = ?, root_provider_id = ?, name = NULL
WHERE id = 1`, n, n})
	f.rows("resource_provider_traits", "created_at, trait_id, resource_provider_id", 2*n, func(i int) []any {
		return []any{written(i), 7 * (1 + i%2), 1 + i/2%n}
	})
	f.rows("resource_provider_aggregates", "resource_provider_id, aggregate_id", n, func(i int) []any {
		return []any{i, 1 + i%4}
	})
	f.rows("inventories", "created_at, updated_at, id, resource_provider_id, resource_class_id, total, reserved, "+
		"min_unit, max_unit, step_size, allocation_ratio",
		3*n, func(i int) []any {
			return []any{
				written(i), written(i), i + 100, 1 + (i-1)/3, (i - 1) % 3, 1<<31 - 1, i % 3, 1, 1<<31 - 1, 1,
				oddRatios[i%len(oddRatios)],
			}
		})
}

func (f *filler) consumers(providers, allocations int) {
	f.rows("consumers", "created_at, updated_at, id, uuid, project_id, user_id, generation, consumer_type_id",
		(allocations+1)/2, func(i int) []any {
			return []any{
				written(i), written(i), i, fmt.Sprintf("c%035d", i), 1 + i%len(oddNames), 1 + i%2, i % 4, []any{nil, 1, 2}[i%3],
			}
		})
	f.rows("allocations", "created_at, updated_at, id, resource_provider_id, consumer_id, resource_class_id, used",
		allocations, func(i int) []any {
			return []any{written(i), nil, 2*i + 1, 1 + i%providers, fmt.Sprintf("c%035d", (i+1)/2), i % 3, 1}
		})
}
