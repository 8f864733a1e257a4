package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A progress prints how much of a task is done: on a terminal in one line that changes, elsewhere
// in a line every ten seconds.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	last     time.Time
	shown    bool
}

// NewProgress returns a progress on standard error, since standard output may be the dump itself,
// or JSON. Nothing is printed for a task that is done within the first interval.
func NewProgress(env Env) *progress {
	p := &progress{w: env.Stderr, terminal: IsTerminal(env.Stderr), every: 10 * time.Second, last: time.Now()}
	if p.terminal {
		p.every = 200 * time.Millisecond
	}
	return p
}

// Of returns a function that prints the progress of one kind of work.
func (p *progress) Of(doing string) func(table string, rows, total int64) {
	return func(table string, rows, total int64) {
		p.Show(func() string {
			return fmt.Sprintf("%s %s: %d of %d rows (%d %%)", doing, table, rows, total, percent(rows, total))
		})
	}
}

// Show prints a text unless the last one is too recent.
func (p *progress) Show(text func() string) {
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

// End clears the line of a terminal for the following output.
func (p *progress) End() {
	if p.terminal && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// percent returns how much of a task is done; all of it when there is nothing to do.
func percent(rows, total int64) int64 {
	if total == 0 {
		return 100
	}
	return 100 * rows / total
}

// IsTerminal reports whether a stream is a terminal: a character device other than /dev/null, which
// cron and systemd give to jobs.
func IsTerminal(stream any) bool {
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
