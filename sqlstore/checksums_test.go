package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/migrations"
)

// summed are the tables that checksums sum up, with one row of each that populate makes. The
// snapshot reads the others whole.
var summed = map[string]string{
	"resource_providers":           "uuid = 'c1'",
	"inventories":                  "resource_provider_id = 1 AND resource_class_id = 0",
	"allocations":                  "resource_provider_id = 1 AND resource_class_id = 0",
	"resource_provider_traits":     "resource_provider_id = 2",
	"resource_provider_aggregates": "resource_provider_id = 1",
}

// unsummed are the columns of these tables that checksums leave out, with the reason.
var unsummed = map[string]string{
	"resource_providers.uuid":                 "is never changed",
	"resource_providers.created_at":           "counts where updated_at is NULL",
	"inventories.created_at":                  "is not in the snapshot",
	"inventories.updated_at":                  "is not in the snapshot",
	"inventories.id":                          "is not in the snapshot",
	"allocations.created_at":                  "is not in the snapshot",
	"allocations.updated_at":                  "is not in the snapshot",
	"allocations.id":                          "is not in the snapshot",
	"allocations.consumer_id":                 "is not in the snapshot",
	"resource_provider_traits.created_at":     "is not in the snapshot",
	"resource_provider_traits.updated_at":     "is not in the snapshot",
	"resource_provider_aggregates.created_at": "is not in the snapshot",
	"resource_provider_aggregates.updated_at": "is not in the snapshot",
}

// otherValue is an expression for another value of a column.
func otherValue(table string, c migrations.Column) string {
	switch {
	case table == "resource_providers" && c.Name == "updated_at" || c.Name == "created_at":
		return "'2031-02-03 04:05:06'"
	case c.Kind == migrations.Text:
		return "'another text, which is longer'"
	case c.Name == "id" || strings.HasSuffix(c.Name, "_id"):
		return "9999"
	case c.Kind == migrations.Time:
		return "'2030-01-01 00:00:00'"
	}
	return "COALESCE(" + c.Name + ", 0) + 1"
}

// checksumsOf returns the sums of a database by the first id.
func checksumsOf(t *testing.T, s *sqlstore.Store) map[int64]placement.Checksum {
	t.Helper()
	sums := make(map[int64]placement.Checksum)
	err := s.View(context.Background(), func(r placement.Reader) error {
		all, err := r.Checksums()
		for _, c := range all {
			sums[c.First] = c
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestChecksumsSumUpEveryColumn changes one column of one row after the other: the sums differ,
// unless the column is in unsummed. A column that a later revision adds has to be summed up, or
// gets a reason there.
func TestChecksumsSumUpEveryColumn(t *testing.T) {
	path := fresh(t)
	s := open(t, sqlstore.Options{Path: path})
	if err := populate(serve(t, s), 5); err != nil {
		t.Fatal(err)
	}
	do(t, s, "UPDATE resource_providers SET updated_at = created_at")
	before, reasons := checksumsOf(t, s), 0
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, table := range migrations.Tables {
		row, ok := summed[table.Name]
		if !ok {
			continue
		}
		for _, column := range table.Columns {
			name := table.Name + "." + column.Name
			changed := filepath.Join(t.TempDir(), name+".db")
			copyFile(t, path, changed)
			makeFile(t, changed, fmt.Sprintf(
				"UPDATE %[1]s SET %[2]s = %[3]s WHERE rowid = (SELECT MIN(rowid) FROM %[1]s WHERE %[4]s)",
				table.Name, column.Name, otherValue(table.Name, column), row))
			differs := !cmp.Equal(before, checksumsOf(t, open(t, sqlstore.Options{Path: changed})))
			reason, exempt := unsummed[name]
			switch {
			case exempt && differs:
				t.Errorf("checksums differ with %s, which %s", name, reason)
			case exempt:
				reasons++
			case !differs:
				t.Errorf("checksums are the same with another %s", name)
			}
		}
	}
	if reasons != len(unsummed) {
		t.Errorf("%d of %d reasons are about columns", reasons, len(unsummed))
	}
}

// TestChecksumsHaveNoEmptyField wants every field of a checksum to be set by the database and by
// the snapshot alike: one that only the struct has would never differ.
func TestChecksumsHaveNoEmptyField(t *testing.T) {
	s := openTemp(t)
	svc := serve(t, s)
	if err := populate(svc, 70); err != nil { // 140 providers have two sums
		t.Fatal(err)
	}
	snap, _ := svc.Ready()
	got := snap.Checksums()
	if diff := cmp.Diff(checksumsOf(t, s), got); diff != "" {
		t.Errorf("checksums (-database +snapshot):\n%s", diff)
	}
	sum := reflect.ValueOf(got[placement.ChecksumSize])
	for i := range sum.NumField() {
		if sum.Field(i).IsZero() {
			t.Errorf("%s is 0", sum.Type().Field(i).Name)
		}
	}
}
