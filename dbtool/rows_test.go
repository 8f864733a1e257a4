package dbtool

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/sqlstore/migrations"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// anyRow draws a row of a table.
func anyRow(table migrations.Table) *rapid.Generator[tuple] {
	return rapid.Custom(func(t *rapid.T) tuple {
		row := make(tuple, len(table.Columns))
		for i, c := range table.Columns {
			if rapid.Bool().Draw(t, "null") {
				continue
			}
			switch c.Kind {
			case migrations.Int:
				row[i] = rapid.Int64Range(math.MinInt32, math.MaxInt32).Draw(t, c.Name)
			case migrations.Float:
				row[i] = rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, c.Name)
			case migrations.Text:
				row[i] = rapid.String().Draw(t, c.Name)
			case migrations.Time:
				row[i] = time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, c.Name))
			}
		}
		return row
	})
}

// The form of a row is the whole row, as far as every database keeps it.
func TestRowsSurviveTheirForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(migrations.Tables).Draw(t, "table")
		row := anyRow(table).Draw(t, "row")
		line, err := row.line()
		if err != nil {
			t.Fatalf("line of %v: %v", row, err)
		}
		read, err := parseLine(table, line)
		if err != nil {
			t.Fatalf("parseLine(%s): %v", line, err)
		}
		for i, v := range row {
			switch v := v.(type) {
			case time.Time:
				row[i] = v.UTC().Truncate(time.Second)
			case float64:
				row[i] = toFloat(sqlconn.MySQLDialect, v)
			}
		}
		if diff := cmp.Diff(row, read); diff != "" {
			t.Errorf("%s reads as (-written +read):\n%s", line, diff)
		}
		if again, err := read.line(); err != nil || string(again) != string(line) {
			t.Errorf("%s is written again as %s, %v", line, again, err)
		}
	})
}

func TestSinglePrecision(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want string
	}{
		{16, "16"},
		{1.1, "1.1"},
		{float64(float32(1.1)), "1.1"},
		{0.333333343267, "0.33333334"},
		{1234567.5, "1234567.5"},
		{1e7, "10000000"},
		{0, "0"},
	} {
		if got := single(tc.in); got != tc.want {
			t.Errorf("single(%v) = %s, want %s", tc.in, got, tc.want)
		}
	}
}
