package logging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// watchInterval is the least time between two looks at whether the file
	// was moved away.
	watchInterval = time.Second
	// A call to the system for every line would be a good part of what a
	// small request costs, so that lines are written together: when there
	// are so many bytes, or after so long.
	holdSize = 32 << 10
	holdTime = 50 * time.Millisecond
)

// An Output is where an open logger writes, and what can be changed about that
// while it does. Its methods may be called from many goroutines.
//
// A record is written 50 ms after it was logged at the latest; a warning or an
// error is written at once, with all before it.
type Output struct {
	path  string // "" for a writer that was given to Open
	watch bool
	text  bool
	level slog.LevelVar

	mu     sync.Mutex // guards all below
	to     io.Writer  // the file, or the writer; nil when the file is closed
	file   *os.File   // nil without a path, and when closed
	closed bool
	held   []byte // records that are not written yet
	timer  *time.Timer
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
	return errors.Join(o.flush(), o.open())
}

// open opens the file by its name; the caller holds mu.
func (o *Output) open() error {
	f, err := os.OpenFile(o.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("opening the log file: %w", err)
	}
	if o.file != nil {
		o.file.Close()
	}
	o.file, o.to = f, f
	return nil
}

// Write appends a record to what is on its way.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.to == nil:
		return 0, fs.ErrClosed
	case o.closed:
		return o.to.Write(p)
	case len(o.held) == 0:
		o.wake()
	}
	o.held = append(o.held, p...)
	if len(o.held) < holdSize {
		return len(p), nil
	}
	return len(p), o.flush()
}

// wake has what is held written in a while; the caller holds mu.
func (o *Output) wake() {
	if o.timer == nil {
		o.timer = time.AfterFunc(holdTime, func() { _ = o.Flush() })
		return
	}
	o.timer.Reset(holdTime)
}

// Flush writes what is held.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flush()
}

// flush is Flush for those that hold mu. What cannot be written is dropped: the
// disk may stay full for long.
func (o *Output) flush() error {
	if o.to == nil || len(o.held) == 0 {
		return nil
	}
	if now := time.Now(); o.watch && now.Sub(o.looked) >= watchInterval {
		o.looked = now
		o.follow()
	}
	held := o.held
	o.held = held[:0]
	_, err := o.to.Write(held)
	return err
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

// Close writes what is held and closes the file; what is logged later is lost. A
// writer stays open, and gets what is logged later at once.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.flush()
	o.closed = true
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
		o.file, o.to = nil, nil
	}
	return err
}

// A prompt handler has nothing but information wait.
type prompt struct {
	slog.Handler
	out *Output
}

// Handle writes the record.
func (h prompt) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level > slog.LevelInfo {
		err = errors.Join(err, h.out.Flush())
	}
	return err
}

// WithAttrs returns a handler whose records carry attrs as well.
func (h prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup returns a handler whose records nest in the group.
func (h prompt) WithGroup(name string) slog.Handler {
	return prompt{h.Handler.WithGroup(name), h.out}
}
