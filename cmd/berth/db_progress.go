package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berthcloud/berth/dbtool"
)

// A progress prints how much of a task is done: on a terminal in one line that changes, elsewhere in
// a line every ten seconds.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	last     time.Time
	shown    bool
}

// newProgress returns a progress on standard error, since standard output may be the dump itself,
// or JSON. Nothing is printed for a task that is done within the first interval.
func newProgress(env environment) *progress {
	p := &progress{w: env.stderr, terminal: isTerminal(env.stderr), every: 10 * time.Second, last: time.Now()}
	if p.terminal {
		p.every = 200 * time.Millisecond
	}
	return p
}

// of returns a function that prints the progress of one kind of work.
func (p *progress) of(doing string) dbtool.Progress {
	return func(table string, rows, of int64) {
		p.show(func() string {
			return fmt.Sprintf("%s %s: %d of %d rows (%d %%)", doing, table, rows, of, percent(rows, of))
		})
	}
}

// show prints a text unless the last one is too recent.
func (p *progress) show(text func() string) {
	if time.Since(p.last) < p.every {
		return
	}
	p.last, p.shown = time.Now(), true
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", text())
	} else {
		fmt.Fprintln(p.w, text())
	}
}

// end clears the line of a terminal for the following output.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// percent returns how much of a task is done; all of it when there is nothing to do.
func percent(rows, of int64) int64 {
	if of == 0 {
		return 100
	}
	return 100 * rows / of
}

// isTerminal reports whether a stream is a terminal: a character device other than /dev/null, which cron and systemd give to jobs.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

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

// sumRows returns the rows of all tables together.
func sumRows(counts []dbtool.TableCount) (n int64) {
	for _, c := range counts {
		n += c.Rows
	}
	return n
}
