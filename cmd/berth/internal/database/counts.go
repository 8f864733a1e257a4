package database

import (
	"fmt"
	"io"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// rate formats a number of rows and the rows per second.
func rate(rows int64, took time.Duration) string {
	return fmt.Sprintf("%d rows in %.1f s, %.0f a second", rows, took.Seconds(), float64(rows)/max(took.Seconds(), 0.001))
}

// printCounts lists tables with their rows.
func printCounts(w io.Writer, counts []dbtool.TableCount) {
	for _, c := range counts {
		fmt.Fprintf(w, "%-30s %9d\n", c.Table, c.Rows)
	}
}

var countColumns = []string{"Table", "Rows"}

// countsResult is tables with their rows, as programs get them.
func countsResult(counts []dbtool.TableCount) cli.Result {
	r := cli.Result{Columns: countColumns}
	for _, c := range counts {
		r.Rows = append(r.Rows, []any{c.Table, c.Rows})
	}
	return r
}

// sumRows returns the rows of all tables together.
func sumRows(counts []dbtool.TableCount) (n int64) {
	for _, c := range counts {
		n += c.Rows
	}
	return n
}
