package dbtool_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// small is a dump of two providers, the first below the second.
const small = `{"format":"berth placement dump","version":1,"schema":"422ece571366"}
{"table":"resource_classes","columns":["created_at","updated_at","id","name"]}
["2026-01-31 12:00:00",null,0,"VCPU"]
{"table":"traits","columns":["created_at","updated_at","id","name"]}
{"table":"consumer_types","columns":["created_at","updated_at","id","name"]}
{"table":"projects","columns":["created_at","updated_at","id","external_id"]}
{"table":"users","columns":["created_at","updated_at","id","external_id"]}
{"table":"placement_aggregates","columns":["created_at","updated_at","id","uuid"]}
{"table":"resource_providers","columns":["created_at","updated_at","id","uuid","name","generation","root_provider_id","parent_provider_id"]}
[null,"2026-01-31 12:00:01",1,"p1","<é \"\\\n>",3,2,2]
[null,null,2,"p2",null,null,2,null]
{"table":"resource_provider_traits","columns":["created_at","updated_at","trait_id","resource_provider_id"]}
{"table":"resource_provider_aggregates","columns":["created_at","updated_at","resource_provider_id","aggregate_id"]}
{"table":"inventories","columns":["created_at","updated_at","id","resource_provider_id","resource_class_id","total","reserved","min_unit","max_unit","step_size","allocation_ratio"]}
[null,null,5,1,0,8,0,1,8,1,1.1]
[null,null,6,2,0,8,0,1,8,1,16]
{"table":"consumers","columns":["created_at","updated_at","id","uuid","project_id","user_id","generation","consumer_type_id"]}
{"table":"allocations","columns":["created_at","updated_at","id","resource_provider_id","consumer_id","resource_class_id","used"]}
{"counts":[{"table":"resource_classes","rows":1},{"table":"traits","rows":0},{"table":"consumer_types","rows":0},{"table":"projects","rows":0},{"table":"users","rows":0},{"table":"placement_aggregates","rows":0},{"table":"resource_providers","rows":2},{"table":"resource_provider_traits","rows":0},{"table":"resource_provider_aggregates","rows":0},{"table":"inventories","rows":2},{"table":"consumers","rows":0},{"table":"allocations","rows":0}],"sha256":"` + smallSum + `"}
`

const smallSum = "0bb413d0f51f9f7b0919f80d949db78ebc6ec6ede3d0abf83fa41ee4c0981479"

// smallRows make what small is the dump of.
var smallRows = []string{
	`INSERT INTO resource_classes (created_at, id, name) VALUES ('2026-01-31 12:00:00.999999', 0, 'VCPU')`,
	`INSERT INTO resource_providers (id, uuid, root_provider_id) VALUES (2, 'p2', 2)`,
	`INSERT INTO resource_providers (updated_at, id, uuid, name, generation, root_provider_id, parent_provider_id)
VALUES ('2026-01-31 12:00:01', 1, 'p1', '<é "\` + "\n" + `>', 3, 2, 2)`,
	`INSERT INTO inventories (id, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (5, 1, 0, 8, 0, 1, 8, 1, 1.1), (6, 2, 0, 8, 0, 1, 8, 1, 16.0)`,
}

func TestDumpIsText(t *testing.T) {
	url := synced(t, newFile(t))
	execute(t, url, smallRows...)
	if diff := cmp.Diff(small, dump(t, url)); diff != "" {
		t.Errorf("the dump (-want +got):\n%s", diff)
	}
}

func TestDumpsAreTheSameOnEveryDatabase(t *testing.T) {
	source := synced(t, newFile(t))
	inhabit(t, source, 50, 120)
	want := dump(t, source)
	onPlaces(t, func(t *testing.T, url string) {
		inhabit(t, synced(t, url), 50, 120)
		if diff := cmp.Diff(want, dump(t, url)); diff != "" {
			t.Errorf("rows inserted here are dumped otherwise (-SQLite +here):\n%s", diff)
		}
	})
	onPlaces(t, func(t *testing.T, url string) {
		if err := restore(t, url, want); err != nil {
			t.Fatalf("Restore: %v", err)
		}
		if diff := cmp.Diff(want, dump(t, url)); diff != "" {
			t.Errorf("what was restored is dumped otherwise (-dump +again):\n%s", diff)
		}
	})
}

// Ids go on behind those that were restored, and the first class keeps its 0.
func TestIDsGoOnBehindWhatWasRestored(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		if err := restore(t, url, small); err != nil {
			t.Fatal(err)
		}
		execute(t, url,
			`INSERT INTO resource_providers (uuid, name) VALUES ('p3', 'c')`,
			`INSERT INTO traits (name) VALUES ('CUSTOM_FIRST')`,
			`INSERT INTO resource_classes (name) VALUES ('CUSTOM_NEXT')`)
		for query, want := range map[string][]int64{
			`SELECT id FROM resource_providers WHERE uuid = 'p3'`:            {3},
			`SELECT id FROM traits`:                                          {1},
			`SELECT COUNT(*) FROM resource_classes WHERE id = 0`:             {1},
			`SELECT parent_provider_id FROM resource_providers WHERE id = 1`: {2},
		} {
			if diff := cmp.Diff(want, numbers(t, url, query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	})
}

// damages are what can happen to a dump on its way.
var damages = map[string]func(string) string{
	"Empty":         func(string) string { return "" },
	"SomethingElse": func(string) string { return "CREATE TABLE resource_providers (id);\n" },
	"HeadOnly":      func(s string) string { return s[:strings.Index(s, "\n")+1] },
	"NoHead":        func(s string) string { return s[strings.Index(s, "\n")+1:] },
	"CutOff":        func(s string) string { return s[:len(s)/2] },
	"CutOffAtARow":  func(s string) string { return s[:strings.Index(s, "[null,null,6")] },
	"NoLastLine":    func(s string) string { return s[:strings.Index(s, `{"counts"`)] },
	"NoLastLineEnd": func(s string) string { return strings.TrimSuffix(s, "\n") },
	"OtherValue":    func(s string) string { return strings.Replace(s, ",1.1]", ",1.2]", 1) },
	"OtherKind":     func(s string) string { return strings.Replace(s, ",1.1]", `,"1.1"]`, 1) },
	"NoInteger":     func(s string) string { return strings.Replace(s, "6,2,0,8", "6,2,0,8.5", 1) },
	"NoTime":        func(s string) string { return strings.Replace(s, "2026-01-31", "2026-02-31", 1) },
	"RowGone":       func(s string) string { return strings.Replace(s, "[null,null,2,\"p2\",null,null,2,null]\n", "", 1) },
	"RowTwice": func(s string) string {
		return strings.Replace(s, "[null,null,6,2,0,8,0,1,8,1,16]\n",
			"[null,null,6,2,0,8,0,1,8,1,16]\n[null,null,6,2,0,8,0,1,8,1,16]\n", 1)
	},
	"ValueMissing": func(s string) string { return strings.Replace(s, "6,2,0,8,", "6,2,0,", 1) },
	"TableGone": func(s string) string {
		return strings.Replace(s, `{"table":"traits","columns":["created_at","updated_at","id","name"]}`+"\n", "", 1)
	},
	"LinesOfWindows": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"MoreBehind":     func(s string) string { return s + s },
	"OtherSum":       func(s string) string { return strings.Replace(s, smallSum, strings.Repeat("0", 64), 1) },
	"OtherCount": func(s string) string {
		return strings.Replace(s, `"resource_providers","rows":2`, `"resource_providers","rows":3`, 1)
	},
	"EndlessLine": func(s string) string { return s[:strings.Index(s, "\n")+1] + strings.Repeat("[", 2<<20) },
}

func TestDamagedDumpsAreRefused(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			text := damage(small)
			if text == small {
				t.Fatal("the damage does nothing")
			}
			url := newFile(t)
			if err := restore(t, url, text); !errors.Is(err, dbtool.ErrDamaged) {
				t.Errorf("Restore = %v, want ErrDamaged", err)
			}
			if left, _ := os.ReadDir(filepath.Dir(at(t, url).Path)); len(left) > 0 {
				t.Errorf("Restore left %v", left)
			}
		})
	}
}

func TestDumpOfAnotherVersionIsRefused(t *testing.T) {
	for _, text := range []string{
		strings.Replace(small, `"version":1`, `"version":2`, 1),
		strings.Replace(small, `"schema":"422ece571366"`, `"schema":"a082b8bb98d0"`, 1),
	} {
		err := restore(t, newFile(t), text)
		if err == nil || !strings.Contains(err.Error(), "use the berth that made it") {
			t.Errorf("Restore = %v", err)
		}
	}
}

func TestDamagedDumpWritesNothingOnServers(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		if err := restore(t, url, damages["CutOff"](small)); !errors.Is(err, dbtool.ErrDamaged) {
			t.Errorf("Restore = %v, want ErrDamaged", err)
		}
		v, err := with(t, url, dbtool.Make, func(tb *dbtool.Tables) (dbtool.Upgrade, error) { return tb.Plan(t.Context()) })
		if err != nil || len(v.Steps) != 4 {
			t.Errorf("Plan = %+v, %v: the database is not empty any more", v, err)
		}
	})
}

// A dump may be whole and yet hold what a database refuses; then none of it is
// there.
func TestRestoreIsAllOrNothing(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		source := synced(t, newFile(t))
		execute(t, source, append(smallRows, `INSERT INTO inventories (id, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
VALUES (7, 1, 1, 8589934592, 0, 1, 8, 1, 1)`)...)
		text := dump(t, source)
		err := restore(t, url, text)
		if strings.HasPrefix(url, "sqlite") {
			if err != nil {
				t.Errorf("Restore = %v: SQLite keeps it", err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), "filling inventories") {
			t.Errorf("Restore = %v, want an error about inventories", err)
		}
		if n := numbers(t, url, `SELECT COUNT(*) FROM resource_classes`); n[0] != 0 {
			t.Errorf("%d rows are there", n[0])
		}
		if err := restore(t, url, small); err != nil {
			t.Errorf("the next Restore: %v", err)
		}
	})
}

func TestRestoreWantsAnEmptyDatabase(t *testing.T) {
	onPlaces(t, func(t *testing.T, url string) {
		execute(t, synced(t, url), `INSERT INTO traits (name) VALUES ('CUSTOM_ONE')`)
		before := dump(t, url)
		if err := restore(t, url, small); !errors.Is(err, dbtool.ErrFilled) || !strings.Contains(err.Error(), "traits") {
			t.Errorf("Restore = %v, want ErrFilled about traits", err)
		}
		if diff := cmp.Diff(before, dump(t, url)); diff != "" {
			t.Errorf("Restore changed the database (-before +after):\n%s", diff)
		}
	})
}

func TestDumpWantsWholeTables(t *testing.T) {
	for name, tc := range map[string]struct{ path, want string }{
		"Older": {old(t, "b5c396305c25"), "berth db sync"},
		"Other": {other(t), "not a Placement database"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := with(t, "sqlite:///"+tc.path, dbtool.Look, func(tb *dbtool.Tables) ([]dbtool.TableCount, error) {
				return tb.Dump(t.Context(), new(bytes.Buffer), nil)
			})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Dump = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func other(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "other.db")
	makeFile(t, path, `CREATE TABLE notes (id INTEGER)`)
	return path
}

func TestDumpRefusesWhatNoOtherDatabaseKeeps(t *testing.T) {
	for name, value := range map[string]string{
		"NoUTF8":   `UPDATE resource_providers SET name = CAST(x'ff' AS TEXT) WHERE id = 1`,
		"Infinity": `UPDATE inventories SET allocation_ratio = 9e999 WHERE id = 5`,
		"NoNumber": `UPDATE inventories SET total = 'many' WHERE id = 5`,
		"NoTime":   `UPDATE inventories SET created_at = 'yesterday' WHERE id = 5`,
	} {
		t.Run(name, func(t *testing.T) {
			url := synced(t, newFile(t))
			execute(t, url, append(smallRows, value)...)
			var b bytes.Buffer
			_, err := with(t, url, dbtool.Look, func(tb *dbtool.Tables) ([]dbtool.TableCount, error) {
				return tb.Dump(t.Context(), &b, nil)
			})
			if err == nil {
				t.Fatal("Dump = nil, want an error")
			}
			if err := restore(t, newFile(t), b.String()); !errors.Is(err, dbtool.ErrDamaged) {
				t.Errorf("Restore of what was written = %v, want ErrDamaged", err)
			}
		})
	}
}

// A dump is one state, also while a berth serves the file and writes.
func TestDumpWhileBerthRuns(t *testing.T) {
	url := synced(t, newFile(t))
	execute(t, url, smallRows...)
	before := dump(t, url)
	s := open(t, at(t, url))
	tb := tables(t, url, dbtool.Look)
	var b bytes.Buffer
	_, err := tb.Dump(t.Context(), &b, func(table string, _, _ int64) {
		if table == "resource_classes" {
			err := s.Update(t.Context(), time.Now(), func(w placement.Writer) error {
				_, err := w.InsertProvider(placement.ProviderRow{UUID: "new", Name: "new"})
				return err
			})
			if err != nil {
				t.Errorf("writing during a dump: %v", err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.String()); diff != "" {
		t.Errorf("the dump has what was written after its start (-before +dump):\n%s", diff)
	}
}

func TestToolsWantTheFileForThemselves(t *testing.T) {
	url := synced(t, newFile(t))
	open(t, at(t, url))
	for name, access := range map[string]dbtool.Access{"Hold": dbtool.Hold, "Change": dbtool.Change, "Make": dbtool.Make} {
		if _, err := dbtool.OpenTables(t.Context(), at(t, url), access); !errors.Is(err, sqlstore.ErrInUse) {
			t.Errorf("OpenTables(%s) = %v, want ErrInUse", name, err)
		}
	}
}

func TestToolsDoNotMakeFilesByLooking(t *testing.T) {
	for name, access := range map[string]dbtool.Access{"Look": dbtool.Look, "Hold": dbtool.Hold, "Change": dbtool.Change} {
		url := newFile(t)
		if _, err := dbtool.OpenTables(t.Context(), at(t, url), access); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("OpenTables(%s) = %v, want ErrNotExist", name, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(at(t, url).Path)); len(left) > 0 {
			t.Errorf("OpenTables(%s) left %v", name, left)
		}
	}
}

func TestDumpEndsWithItsContext(t *testing.T) {
	dbtool.SmallPages(t)
	url := synced(t, newFile(t))
	inhabit(t, url, 300, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tb := tables(t, url, dbtool.Look)
	_, err := tb.Dump(ctx, new(bytes.Buffer), func(string, int64, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Dump = %v, want Canceled", err)
	}
}
