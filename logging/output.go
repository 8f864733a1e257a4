package logging

import (
	"bytes"
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
	// watchInterval is the least time between two checks whether the file was renamed.
	watchInterval = time.Second
	// A system call per line would be a considerable part of the cost of a small request, so lines
	// are buffered: up to this size, and for this long.
	bufferSize = 32 << 10
	bufferTime = 50 * time.Millisecond
	// lossInterval is the least time between two reports of lines that could not be written.
	lossInterval = time.Minute
)

// An Output is the destination of an open logger, and its settings that can change meanwhile. Its
// methods may be called concurrently.
//
// A record is written 50 ms after it was logged at the latest; a warning or an error is written at
// once, with all before it.
//
// Lines that cannot be written to the file, as on a full disk, are dropped, since the disk may stay
// full for long. How many, and why, is reported on the writer that Open got for logs without a
// file: with the first, then once a minute while there are more, and at Close.
type Output struct {
	path  string // "" for a writer that was given to Open
	watch bool
	text  bool
	level slog.LevelVar

	fallback io.Writer // the writer that was given to Open; nil for none

	mu     sync.Mutex // guards all below
	to     io.Writer  // the file, or the writer; nil when the file is closed
	file   *os.File   // nil without a path, and when closed
	closed bool
	buffer []byte // records that are not written yet
	timer  *time.Timer
	// looked is when the name of the file was last compared with the open file.
	looked   time.Time
	lost     int   // lines that could not be written, since the last report
	lostBy   error // why the last of them could not
	reported time.Time
}

// SetDebug sets whether debug messages are written.
func (o *Output) SetDebug(on bool) { o.level.Set(levelOf(on)) }

// Reopen opens the file by its name again, as is needed after it was renamed. On an error the old
// one remains in use. Without a file it does nothing.
func (o *Output) Reopen() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.path == "" {
		return nil
	}
	return errors.Join(o.flush(), o.open())
}

// open opens the file by its name; the caller has locked mu.
func (o *Output) open() error {
	f, err := os.OpenFile(o.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("opening the log file: %w", err)
	}
	if o.file != nil {
		o.file.Close() // Write has passed on everything
	}
	o.file, o.to = f, f
	return nil
}

// Write appends a record to the buffer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.to == nil:
		return 0, fs.ErrClosed
	case o.closed:
		return o.to.Write(p)
	case len(o.buffer) == 0:
		o.wake()
	}
	o.buffer = append(o.buffer, p...)
	if len(o.buffer) < bufferSize {
		return len(p), nil
	}
	return len(p), o.flush()
}

// wake schedules a flush; the caller has locked mu. It is called when the buffer was empty: the
// first record of a buffer decides when it is written.
func (o *Output) wake() {
	if o.timer == nil {
		o.timer = time.AfterFunc(bufferTime, func() { _ = o.Flush() }) // flush reports the error
		return
	}
	o.timer.Reset(bufferTime)
}

// Flush writes the buffered lines.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flush()
}

// flush is Flush for callers that have locked mu. The buffer is empty afterwards also when the
// write failed: lines that could not be written are counted as lost, not kept.
func (o *Output) flush() error {
	if o.to == nil || len(o.buffer) == 0 {
		return nil
	}
	now := time.Now()
	if o.watch && now.Sub(o.looked) >= watchInterval {
		o.looked = now
		o.follow()
	}
	lines := o.buffer
	o.buffer = lines[:0]
	n, err := o.to.Write(lines)
	if err != nil {
		o.lost, o.lostBy = o.lost+bytes.Count(lines[n:], []byte("\n")), err
	}
	if now.Sub(o.reported) >= lossInterval {
		o.reportLoss(now)
	}
	return err
}

// reportLoss reports the lines that were lost since the last report, if any. Without a file there
// is nowhere to report them. The caller has locked mu.
func (o *Output) reportLoss(now time.Time) {
	if o.lost == 0 || o.path == "" || o.fallback == nil {
		return
	}
	fmt.Fprintf(o.fallback, "berth: %d log lines are lost: %v\n", o.lost, o.lostBy)
	o.lost, o.reported = 0, now
}

// follow reopens the file when its name refers to another one, or to none. On an error, the old one
// remains in use until the next check. The caller has locked mu, and the file is open.
func (o *Output) follow() {
	named, err := os.Stat(o.path)
	if err == nil {
		if mine, err := o.file.Stat(); err == nil && os.SameFile(named, mine) {
			return
		}
	}
	_ = o.open() // on an error the old file remains in use
}

// Close writes the buffered lines and closes the file; later lines are lost. A writer is not
// closed, and gets later lines at once.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.flush()
	o.reportLoss(time.Now())
	o.closed = true
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
		o.file, o.to = nil, nil
	}
	return err
}

// A prompt handler flushes after records above the level of information.
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

// WithAttrs returns a handler whose records have attrs as well.
func (h prompt) WithAttrs(attrs []slog.Attr) slog.Handler {
	return prompt{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup returns a handler whose records nest in the group.
func (h prompt) WithGroup(name string) slog.Handler {
	return prompt{h.Handler.WithGroup(name), h.out}
}

// levelOf returns the least level that is written.
func levelOf(debug bool) slog.Level {
	if debug {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
