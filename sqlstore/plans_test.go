package sqlstore_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// A statementList notes what a store requests.
type statementList struct {
	mu   sync.Mutex
	said map[string]bool
}

func (l *statementList) trace(_ context.Context, statement string) func(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = make(map[string]bool)
	}
	l.said[statement] = true
	return func(error) {}
}

// badPlan is what SQLite says of a statement for which it goes through a table that
// is not the one in question, to make an index that it throws away.
var badPlan = regexp.MustCompile(`AUTOMATIC|MATERIALIZE`)

// opened opens a store for a test.
func opened[S interface{ Close() error }](
	t *testing.T, o sqlstore.Options, open func(context.Context, sqlstore.Options) (S, error),
) S {
	t.Helper()
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// No statement has SQLite build what it needs out of a whole table every time: an
// answer would take as long as the cloud is big.
func TestPlans(t *testing.T) {
	racetest.Skip(t)
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		run  func(*testing.T, sqlstore.Options)
		open func(sqlstore.Options) (interface{ Close() error }, error) // makes the tables
		few  int                                                        // fewer statements cannot be all
	}{
		{
			"placement",
			func(t *testing.T, o sqlstore.Options) {
				placementtest.TestStore(t, func(t *testing.T) placement.Store { return open(t, o) })
			},
			func(o sqlstore.Options) (interface{ Close() error }, error) {
				return sqlstore.Open(context.Background(), o)
			},
			50,
		},
		{
			"network",
			func(t *testing.T, o sqlstore.Options) {
				networktest.TestStore(t, func(t *testing.T) []network.Store {
					return []network.Store{opened(t, o, rowtable.OpenNetwork)}
				})
			},
			func(o sqlstore.Options) (interface{ Close() error }, error) {
				return rowtable.OpenNetwork(context.Background(), o)
			},
			50,
		},
		{
			"compute",
			func(t *testing.T, o sqlstore.Options) {
				computetest.TestStore(t, func(t *testing.T) []compute.Store {
					return []compute.Store{opened(t, o, rowtable.OpenCompute)}
				})
			},
			func(o sqlstore.Options) (interface{ Close() error }, error) {
				return rowtable.OpenCompute(context.Background(), o)
			},
			50,
		},
	} {
		var list statementList
		t.Run(c.name, func(t *testing.T) { c.run(t, sqlstore.Options{Path: sqlstore.Memory, Trace: list.trace}) })
		if len(list.said) < c.few {
			t.Errorf("%s: %d statements", c.name, len(list.said))
		}
		file := filepath.Join(dir, c.name+".db")
		store, err := c.open(sqlstore.Options{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		for statement := range list.said {
			if plan := explained(t, db, statement); badPlan.MatchString(plan) {
				t.Errorf("%s\n%s", statement, plan)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// explained returns the plan of a statement, a step to a line; it is empty for what has
// none.
func explained(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement,
		make([]any, strings.Count(statement, "?"))...)
	if err != nil {
		t.Errorf("%s: %v", statement, err)
		return ""
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
