package dbtool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/racetest"
)

// From one kind of database to the next and back, the dump is the same: ids, times, numbers, texts.
func TestCopyRoundTheDatabases(t *testing.T) {
	providers, allocations := 10_000, 100_000
	stops := places
	if racetest.Enabled {
		providers, allocations = 1000, 4500
	}
	if testing.Short() {
		providers, allocations = 2500, 5000
		stops = places[:1]
	}
	from := synced(t, newFile(t))
	inhabit(t, from, providers, allocations)
	want := dump(t, from)
	for _, stop := range append(stops[1:len(stops):len(stops)], stops[0]) {
		to := stop.url(t)
		plan, err := copied(t, from, to, dbtool.CopyOptions{})
		if err != nil {
			t.Fatalf("Copy to %s: %v", stop.name, err)
		}
		if n := plan.Tables[len(plan.Tables)-1]; n.Table != "allocations" || n.Rows != int64(allocations) {
			t.Errorf("Copy to %s reports %+v", stop.name, n)
		}
		if got := dump(t, to); got != want {
			t.Fatalf("the copy on %s is another: %s", stop.name, firstDifference(want, got))
		}
		if own, err := with(t, to, dbtool.Look, func(t *dbtool.Tables) ([]dbtool.TableCount, error) {
			return t.Own(context.Background())
		}); err != nil || len(own) > 0 {
			t.Errorf("Copy to %s leaves the tables %v, %v", stop.name, own, err)
		}
		from = to
	}
}

// firstDifference shows the first lines that differ, of texts too big to show.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return cmp.Diff(a[i:min(i+3, len(a))], b[min(i, len(b)):min(i+3, len(b))])
		}
	}
	return "something is behind the end"
}

// A copy between two databases of one kind keeps all that this kind keeps.
func TestCopyKeepsMicroseconds(t *testing.T) {
	onPlaces(t, func(t *testing.T, to string) {
		from := synced(t, newFile(t))
		execute(t, from, `INSERT INTO traits (id, name, created_at) VALUES (1, 'CUSTOM_A', '2026-01-31 12:00:00.999999')`)
		if _, err := copied(t, from, to, dbtool.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		micros := `SELECT CAST(EXTRACT(MICROSECONDS FROM created_at) AS INTEGER) - 0 FROM traits`
		want := int64(999_999)
		switch {
		case strings.HasPrefix(to, "sqlite"):
			micros = `SELECT CAST(SUBSTR(created_at, -6) AS INTEGER) FROM traits`
		case strings.HasPrefix(to, "mysql"):
			// It has no place for them, and must not round.
			micros, want = `SELECT SECOND(created_at) + MICROSECOND(created_at) FROM traits`, 0
		}
		if got := numbers(t, to, micros); got[0] != want {
			t.Errorf("the time has %d µs, want %d", got[0], want)
		}
	})
}

var errCut = errors.New("the line was cut")

// cutAt returns options under which a copy ends in the middle: in Go's way at a
// table, or as if the program were killed there.
func cutAt(cancel context.CancelFunc, table string) dbtool.CopyOptions {
	return dbtool.CopyOptions{Copying: func(at string, _, _ int64) {
		if at == table {
			cancel()
		}
	}}
}

func TestInterruptedCopyGoesOn(t *testing.T) {
	dbtool.SmallPages(t)
	source := synced(t, newFile(t))
	inhabit(t, source, 250, 450)
	want := dump(t, source)
	onPlaces(t, func(t *testing.T, to string) {
		for n, table := range []string{
			"resource_classes", "resource_providers", "resource_provider_traits", "inventories", "allocations",
		} {
			opts := dbtool.CopyOptions{Resume: n > 0}
			ctx, cancel := context.WithCancel(t.Context())
			opts.Copying = cutAt(cancel, table).Copying
			if _, err := copyUnder(t, ctx, source, to, opts); !errors.Is(err, context.Canceled) {
				t.Fatalf("Copy cut off at %s = %v", table, err)
			}
			if _, err := copied(t, source, to, dbtool.CopyOptions{}); !errors.Is(err, dbtool.ErrFilled) ||
				!strings.Contains(err.Error(), "--resume") {
				t.Fatalf("Copy without Resume after %s = %v, want ErrFilled", table, err)
			}
			if err := restore(t, to, want); !errors.Is(err, dbtool.ErrFilled) {
				t.Fatalf("Restore into a part of a copy = %v, want ErrFilled", err)
			}
		}
		plan, err := copied(t, source, to, dbtool.CopyOptions{Resume: true})
		if err != nil || plan.Done == 0 || plan.Done >= plan.Rows {
			t.Fatalf("the last Copy = %d of %d rows were there, %v", plan.Done, plan.Rows, err)
		}
		if got := dump(t, to); got != want {
			t.Errorf("the copy is another: %s", firstDifference(want, got))
		}
		if _, err := copied(t, source, to, dbtool.CopyOptions{Resume: true}); !errors.Is(err, dbtool.ErrFilled) {
			t.Errorf("one more Copy = %v, want ErrFilled", err)
		}
	})
}

// copyUnder is copied with a context.
func copyUnder(tb testing.TB, ctx context.Context, from, to string, opts dbtool.CopyOptions) (dbtool.CopyPlan, error) {
	tb.Helper()
	return with(tb, from, dbtool.Hold, func(source *dbtool.Tables) (dbtool.CopyPlan, error) {
		return with(tb, to, dbtool.Make, func(target *dbtool.Tables) (dbtool.CopyPlan, error) {
			return dbtool.Copy(ctx, source, target, opts)
		})
	})
}

func TestCopyNoticesThatItsSourceChanged(t *testing.T) {
	for name, change := range map[string]string{
		"RowChanged": `UPDATE traits SET name = 'CUSTOM_OTHER' WHERE id = 7`,
		"RowAdded":   `INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_FIRST')`,
		"RowGone":    `DELETE FROM consumer_types WHERE id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			dbtool.SmallPages(t)
			from, to := synced(t, newFile(t)), newFile(t)
			inhabit(t, from, 300, 10)
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := copyUnder(t, ctx, from, to, cutAt(cancel, "resource_providers")); !errors.Is(err, context.Canceled) {
				t.Fatalf("Copy = %v", err)
			}
			execute(t, from, change)
			if _, err := copied(t, from, to, dbtool.CopyOptions{Resume: true}); !errors.Is(err, dbtool.ErrMoved) {
				t.Errorf("Copy = %v, want ErrMoved", err)
			}
		})
	}
}

// What is written to a server after a copy began is no part of it. No other program writes
// to a file that is being copied.
func TestCopyIsOneState(t *testing.T) {
	onServers(t, func(t *testing.T, from string) {
		inhabit(t, synced(t, from), 100, 100)
		want, to := dump(t, from), newFile(t)
		_, err := copied(t, from, to, dbtool.CopyOptions{Planned: func(dbtool.CopyPlan) error {
			execute(t, from, `INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_LATE')`, `DELETE FROM allocations WHERE id = 3`)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(t, to); got != want {
			t.Errorf("the copy is another: %s", firstDifference(want, got))
		}
	})
}

func TestCopyThatIsNotPlannedWritesNothing(t *testing.T) {
	onPlaces(t, func(t *testing.T, to string) {
		from := synced(t, newFile(t))
		inhabit(t, from, 10, 10)
		if _, err := copied(t, from, to, dbtool.CopyOptions{Planned: func(dbtool.CopyPlan) error {
			return errCut
		}}); !errors.Is(err, errCut) {
			t.Errorf("Copy = %v, want the error of Planned", err)
		}
		u, err := with(t, to, dbtool.Make, func(tb *dbtool.Tables) (dbtool.Upgrade, error) { return tb.Plan(t.Context()) })
		if err != nil || len(u.Steps) != 4 {
			t.Errorf("Plan = %+v, %v: the target is not empty any more", u, err)
		}
	})
}

func TestCopyRefusals(t *testing.T) {
	full := synced(t, newFile(t))
	inhabit(t, full, 3, 3)
	served := synced(t, newFile(t))
	open(t, at(t, served))
	classes := synced(t, newFile(t))
	execute(t, classes, `INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU')`)
	for name, tc := range map[string]struct {
		from, to string
		resume   bool
		want     string
	}{
		"TargetHasRows":         {full, classes, false, "resource_classes has rows"},
		"TargetHasOtherRows":    {full, classes, true, "resource_classes has rows"},
		"TargetIsServed":        {full, served, false, "in use"},
		"SourceIsServed":        {served, newFile(t), false, "in use"},
		"SourceIsTarget":        {full, full, false, "in use"},
		"SourceIsEmpty":         {"sqlite:///" + emptyFile(t), newFile(t), false, "it is empty"},
		"SourceIsOlder":         {"sqlite:///" + old(t, "b4ed3a175331"), newFile(t), false, "berth db sync"},
		"TargetIsSomethingElse": {full, "sqlite:///" + other(t), false, "not a Placement database"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refusal(t, tc.from, tc.to, tc.resume)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Copy = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func emptyFile(t *testing.T) string {
	path := strings.TrimPrefix(newFile(t), "sqlite:///")
	makeFile(t, path, `VACUUM`)
	return path
}

// refusal copies and returns whatever error comes first.
func refusal(t *testing.T, from, to string, resume bool) error {
	source, err := dbtool.OpenTables(t.Context(), at(t, from), dbtool.Hold)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := dbtool.OpenTables(t.Context(), at(t, to), dbtool.Make)
	if err != nil {
		return err
	}
	defer target.Close()
	_, err = dbtool.Copy(t.Context(), source, target, dbtool.CopyOptions{Resume: resume})
	return err
}

// A copy goes on only with the source that it began with.
func TestCopyGoesOnWithItsSource(t *testing.T) {
	from, to := synced(t, newFile(t)), newFile(t)
	inhabit(t, from, 3, 3)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := copyUnder(t, ctx, from, to, cutAt(cancel, "traits")); !errors.Is(err, context.Canceled) {
		t.Fatalf("Copy = %v", err)
	}
	if _, err := copied(t, to, newFile(t), dbtool.CopyOptions{}); err == nil ||
		!strings.Contains(err.Error(), "--resume") {
		t.Errorf("Copy of a part of a copy = %v, want an error", err)
	}
	another := synced(t, newFile(t))
	_, err := copied(t, another, to, dbtool.CopyOptions{Resume: true})
	if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(from, "sqlite:///")) {
		t.Errorf("Copy from another source = %v, want the name of the first", err)
	}
}

// crashables are servers that a test may kill.
var crashables = []struct {
	name  string
	start func(testing.TB, ...dbtest.Option) *dbtest.Server
}{
	{"MariaDB", dbtest.NewMariaDB},
	{"PostgreSQL", dbtest.NewPostgreSQL},
}

// The target is killed in the middle of a copy; nothing of the copy is lost or
// doubled.
func TestCopyGoesOnAfterItsTargetCrashed(t *testing.T) {
	needServers(t)
	dbtool.SmallPages(t)
	from := synced(t, newFile(t))
	inhabit(t, from, 250, 450)
	want := dump(t, from)
	for _, k := range crashables {
		t.Run(k.name, func(t *testing.T) {
			s := k.start(t)
			to := s.NewDatabase(t)
			_, err := copied(t, from, to, dbtool.CopyOptions{Copying: func(at string, rows, _ int64) {
				if at == "inventories" && rows%200 != 0 {
					s.Kill()
				}
			}})
			if err == nil {
				t.Fatal("Copy = nil, want an error")
			}
			s.Start()
			if _, err := copied(t, from, to, dbtool.CopyOptions{Resume: true}); err != nil {
				t.Fatal(err)
			}
			if got := dump(t, to); got != want {
				t.Errorf("the copy is another: %s", firstDifference(want, got))
			}
		})
	}
}

func TestCopyToACluster(t *testing.T) {
	needServers(t)
	from, to := synced(t, newFile(t)), dbtest.Galera(t).NewDatabase(t)
	inhabit(t, from, 300, 600)
	if _, err := copied(t, from, to, dbtool.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, to), dump(t, from); got != want {
		t.Errorf("the copy is another: %s", firstDifference(want, got))
	}
	if err := uninstall(t, to, false); err != nil {
		t.Errorf("Uninstall: %v", err)
	}
}
