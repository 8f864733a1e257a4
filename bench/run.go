package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthcloud/berth/bench/servers"
)

// How the short form differs from the table. It is run next to whatever else a machine does: a row
// fails when none of its tries is within the limits of the baseline.
const (
	shortSmaller = 10
	shortTries   = 3
)

// do executes the options and reports whether every bar is reached.
func (o *options) do(ctx context.Context, out, log io.Writer) (ok bool, err error) {
	l, err := o.open(ctx, log)
	if err != nil {
		return false, err
	}
	defer l.close()
	if o.record {
		return l.recordRuns(out)
	}
	return l.table(out)
}

// open prepares a lab, with a program to measure at least.
func (o *options) open(ctx context.Context, log io.Writer) (*lab, error) {
	root, err := os.MkdirTemp(o.scratch, "berth-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{options: *o, ctx: ctx, root: root, log: log, theirs: map[string]float64{}}
	err = os.Chmod(root, 0o711)
	if err == nil && l.profile != "" {
		err = os.MkdirAll(l.profile, 0o755)
	}
	if err == nil && len(l.programs) == 0 {
		err = l.build()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	l.program = l.programs[0]
	return l, nil
}

func (l *lab) build() error {
	program := filepath.Join(l.root, "berth")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/berthcloud/berth").Output()
	if err != nil {
		return fmt.Errorf("looking for the module: %w", err)
	}
	l.programs = []string{program}
	return servers.Build(strings.TrimSpace(string(root)), program)
}

// close stops what still runs and removes all files.
func (l *lab) close() {
	if err := os.RemoveAll(l.root); err != nil {
		fmt.Fprintln(l.log, "bench:", err)
	}
}

// table measures the chosen rows, each with all programs in turn, prints each line when it is done,
// and reports whether none falls short.
func (l *lab) table(out io.Writer) (ok bool, err error) {
	r := newReport(l)
	fmt.Fprintln(out, r.where()+"\n")
	rows, err := l.chosen()
	if err != nil {
		return false, err
	}
	ok = true
	for _, row := range rows {
		for _, l.program = range l.programs {
			if l.ctx.Err() != nil {
				return false, l.ctx.Err()
			}
			line := l.try(row)
			r.Rows = append(r.Rows, line)
			fmt.Fprint(out, line)
			ok = ok && line.Outcome != short && line.Outcome != broken
		}
	}
	fmt.Fprintln(out, r.summary())
	if l.json == "" {
		return ok, nil
	}
	return ok, r.write(l.json)
}

// chosen returns the rows to measure. In the short form they are smaller, with the bars of that,
// and only those with any; of them those with a limit are recorded.
func (l *lab) chosen() ([]row, error) {
	if !l.short {
		return chosen(table(1), l.rows), nil
	}
	b, err := builtInBaseline()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, r := range chosen(table(shortSmaller), l.rows) {
		r.bars = b.shortBars(r)
		if len(r.bars) > 0 && (!l.record || r.hasLimit()) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// try measures one row, and retries in the short form when a bar is not reached.
func (l *lab) try(r row) line {
	result := l.measure(r)
	for n := 1; l.short && n < shortTries && result.Outcome == short && l.ctx.Err() == nil; n++ {
		fmt.Fprintf(l.log, "  %s falls short, once more: %s\n", r.name, strings.Join(result.Reasons, "; "))
		result = l.measure(r)
	}
	return result
}

// measure measures one row.
func (l *lab) measure(r row) line {
	result := line{Name: r.name, Title: r.title}
	l.row = r.name
	if len(l.programs) > 1 {
		result.Program = l.program
		l.row += "-" + filepath.Base(l.program) // a profile of each
	}
	begin := time.Now()
	f, err := r.work.measure(l)
	l.tidy()
	result.Outcome, result.Reasons = evaluate(r.bars, f, err)
	result.Figures, result.Seconds = f, time.Since(begin).Seconds()
	return result
}
