package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// recordRuns measures the chosen rows several times, all of them in each run, so that what else the
// machine does falls on all rows alike, and writes their figures into the baseline of the form.
// Rows that are not chosen keep what the baseline has of them. It reports whether every row was
// measured.
func (l *lab) recordRuns(out io.Writer) (ok bool, err error) {
	b, err := readBaseline(shortBaseline)
	if err != nil {
		return false, err
	}
	b.Date, b.Machine, b.Load = newReport(l).Date, thisMachine(), loadAverage()
	runs, ok := map[string][]figures{}, true
	rows, err := l.chosen()
	if err != nil {
		return false, err
	}
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
		if len(runs[row.name]) > 0 {
			b.put(row.name, runs[row.name])
		}
	}
	for _, r := range b.Figures {
		if len(runs[r.Row]) > 0 && (figure{Name: r.Figure, Unit: r.Unit}).gated() {
			fmt.Fprintf(out, "%-30s %-18s %.3f to %.3f, median %.3f of %d; fails when %.2f times worse\n",
				r.Row, r.Figure, r.Min, r.Max, r.Median, r.N, r.sensitivity())
		}
	}
	return ok, b.write(shortBaseline)
}

// readBaseline reads a baseline; one that is not there is empty.
func readBaseline(file string) (*baseline, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &baseline{}, nil
	}
	if err != nil {
		return nil, err
	}
	b := &baseline{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}
