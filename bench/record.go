package main

import (
	"fmt"
	"io"
)

// recordRuns measures the chosen rows several times, all of them in each run, so that what else the
// machine does falls on all rows alike, and writes their figures into the baseline of the form.
// Rows that are not chosen keep what the baseline has of them. It reports whether every row was
// measured.
func (l *lab) recordRuns(out io.Writer) (ok bool, err error) {
	b, err := builtInBaseline()
	if err != nil {
		return false, err
	}
	start := newReport(l)
	under := conditions{start.Date, start.Machine, start.Load}
	rows, err := l.chosen()
	if err != nil {
		return false, err
	}
	runs, ok := map[string][]figures{}, true
	for n := range l.runs {
		fmt.Fprintf(out, "run %d of %d\n", n+1, l.runs)
		for _, row := range rows {
			if l.ctx.Err() != nil {
				return false, l.ctx.Err()
			}
			row.bars = nil // it is measured, not compared
			line := l.measure(row)
			if line.Outcome != reached {
				fmt.Fprint(out, line)
				ok = ok && line.Outcome == notRun
				continue
			}
			runs[row.name] = append(runs[row.name], line.Figures)
		}
	}
	for _, row := range rows {
		if measured := runs[row.name]; len(measured) > 0 {
			b.put(row.name, measured, under)
		}
	}
	for _, r := range b.Figures {
		if len(runs[r.Row]) > 0 {
			fmt.Fprintf(out, "%-30s %-18s %.3f to %.3f, median %.3f of %d; fails when %.2f times worse\n",
				r.Row, r.Figure, r.Min, r.Max, r.Median, r.N, r.sensitivity())
		}
	}
	return ok, b.write(shortBaseline)
}
