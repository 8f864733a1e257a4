package logging

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// watchInterval is the least time between two looks at whether the file was
// moved away.
const watchInterval = time.Second

// An Output is where an open logger writes, and what can be changed about that
// while it does. Its methods may be called from many goroutines.
type Output struct {
	path  string // "" for a writer that was given to Open
	watch bool
	level slog.LevelVar

	mu     sync.Mutex // guards all below
	file   *os.File   // nil without a path, and when closed
	looked time.Time
}

// SetDebug says whether debug messages are written from now on.
func (o *Output) SetDebug(on bool) { o.level.Set(levelOf(on)) }

// Reopen opens the file by its name again, as is needed after it was moved
// away. On an error the old one stays in use. Without a file it does nothing.
func (o *Output) Reopen() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.path == "" {
		return nil
	}
	return o.open()
}

// open opens the file by its name; the caller holds mu.
func (o *Output) open() error {
	f, err := os.OpenFile(o.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("opening the log file: %w", err)
	}
	if o.file != nil {
		o.file.Close() // every record was written with a call of its own
	}
	o.file = f
	return nil
}

// Write appends p to the file.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return 0, fs.ErrClosed
	}
	if now := time.Now(); o.watch && now.Sub(o.looked) >= watchInterval {
		o.looked = now
		o.follow()
	}
	return o.file.Write(p)
}

// follow opens the file anew when its name stands for another one, or for none.
// When that fails, the old one stays in use until the next look.
func (o *Output) follow() {
	named, err := os.Stat(o.path)
	if err == nil {
		if mine, err := o.file.Stat(); err == nil && os.SameFile(named, mine) {
			return
		}
	}
	_ = o.open() // there is no better place to say so than the old file
}

// Close closes the file; what is logged later is lost.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	return err
}
