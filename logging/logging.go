// Package logging writes Berth's logs: log/slog records as JSON, or as lines in OpenStack's format.
// It has no global logger.
//
// A text line is
//
//	2026-11-20 12:00:00.123 4711 INFO berth [req-… user project] message key=value
//
// and in JSON the process id is "process" and the part of the program "name", which are oslo.log's
// names for them. Records that are logged with the context of a request carry its origin.
package logging

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
)

// Options are the destination and format of the log.
type Options struct {
	File  string // appended to; "" means the writer given to Open
	Watch bool   // reopen File after it was renamed
	Text  bool   // lines rather than JSON
	Debug bool   // everything, rather than INFO and above
	Name  string // the program's part that logs; "" means "berth"
}

// Open returns a logger and its Output, which must be closed at the end. The file is opened for
// appending, so that it may be truncated while in use, and created with mode 0640. The fallback is
// where the log goes without a file, and where an Output with one reports lines that it lost; it
// may be nil when there is a file.
func Open(opts Options, fallback io.Writer) (*slog.Logger, *Output, error) {
	out := &Output{path: opts.File, watch: opts.Watch, text: opts.Text, fallback: fallback, to: fallback}
	out.level.Set(levelOf(opts.Debug))
	if err := out.Reopen(); err != nil {
		return nil, nil, err
	}
	return out.Logger(opts.Name), out, nil
}

// Logger returns a logger that writes to o as the one of Open does, under the name of another part
// of the program.
func (o *Output) Logger(name string) *slog.Logger {
	return slog.New(prompt{newHandler(o, &o.level, Options{Text: o.text, Name: name}), o})
}

// NewHandler returns a handler that writes to w, one Write a record. It may be
// used from many goroutines.
func NewHandler(w io.Writer, opts Options) slog.Handler {
	return newHandler(w, levelOf(opts.Debug), opts)
}

// newHandler returns the handler of a format. The level is looked at with each record, so that it
// may change while the handler is in use.
func newHandler(w io.Writer, level slog.Leveler, opts Options) slog.Handler {
	name := cmp.Or(opts.Name, "berth")
	if opts.Text {
		return newText(w, level, name)
	}
	attrs := []slog.Attr{slog.String("name", name), slog.Int("process", os.Getpid())}
	return jsonHandler{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}).WithAttrs(attrs)}
}

// A jsonHandler adds the origin to each record. The fields of the origin come after those of the
// record; inside a group they are nested in it.
type jsonHandler struct{ slog.Handler }

// Handle writes the record with its origin.
func (h jsonHandler) Handle(ctx context.Context, r slog.Record) error {
	if o := origin(ctx); o != nil {
		r = r.Clone()
		r.AddAttrs(o.attrs()...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler whose records have attrs as well.
func (h jsonHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return jsonHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup returns a handler whose records nest in the group.
func (h jsonHandler) WithGroup(name string) slog.Handler {
	return jsonHandler{h.Handler.WithGroup(name)}
}
