package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// A textHandler writes lines in the style of oslo.log.
type textHandler struct {
	// mu is shared by all handlers that WithAttrs and WithGroup derive, as they write to the same
	// w.
	mu     *sync.Mutex // guards w
	w      io.Writer
	level  slog.Leveler
	name   string
	prefix string // of keys: the open groups
	fixed  []byte // preformatted attributes
}

// newText returns a handler without attributes and groups.
func newText(w io.Writer, level slog.Leveler, name string) *textHandler {
	return &textHandler{mu: new(sync.Mutex), w: w, level: level, name: name}
}

// Enabled reports whether records of the level are written.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs returns a handler whose records have attrs as well.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.fixed = append([]byte(nil), h.fixed...)
	for _, a := range attrs {
		c.fixed = appendAttr(c.fixed, h.prefix, a)
	}
	return &c
}

// WithGroup returns a handler whose keys begin with the group's name.
func (h *textHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.prefix += name + "."
	return &c
}

// pid is the process id as it stands in each line.
var pid = strconv.Itoa(os.Getpid())

// A line is a buffer for one.
type line struct{ b []byte }

// lines are pooled unless they grew beyond keptLine bytes.
var lines = sync.Pool{New: func() any { return &line{make([]byte, 0, 512)} }}

// keptLine bounds the buffers in the pool, in bytes: a long line is seldom, and would keep its
// memory.
const keptLine = 4 << 10

// Handle writes the record as one line.
func (h *textHandler) Handle(ctx context.Context, r slog.Record) error {
	l := lines.Get().(*line)
	l.b = h.appendRecord(l.b[:0], ctx, r)
	h.mu.Lock()
	_, err := h.w.Write(l.b)
	h.mu.Unlock()
	if cap(l.b) <= keptLine {
		lines.Put(l)
	}
	return err
}

// appendRecord appends the line of a record. Line ends in the message are escaped, so that a record
// is one line whatever a client sent.
func (h *textHandler) appendRecord(b []byte, ctx context.Context, r slog.Record) []byte {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	b = r.Time.AppendFormat(b, "2006-01-02 15:04:05.000")
	for _, s := range [...]string{pid, levelName(r.Level), h.name} {
		b = append(b, ' ')
		b = append(b, s...)
	}
	b = appendOrigin(b, origin(ctx))
	b = append(b, ' ')
	b = append(b, strings.ReplaceAll(r.Message, "\n", `\n`)...)
	b = append(b, h.fixed...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.prefix, a)
		return true
	})
	return append(b, '\n')
}

// levelName is the level as Python calls it.
func levelName(l slog.Level) string {
	if l == slog.LevelWarn {
		return "WARNING"
	}
	return l.String()
}

// appendOrigin appends " [request user project]", " [-]" without an origin.
func appendOrigin(b []byte, o *Origin) []byte {
	if o == nil {
		return append(b, " [-]"...)
	}
	b = append(b, " ["...)
	if o.GlobalID != "" {
		b = append(append(b, o.GlobalID...), ' ')
	}
	b = appendValue(b, dash(o.RequestID))
	b = append(b, ' ')
	b = appendValue(b, dash(o.User))
	b = append(b, ' ')
	b = appendValue(b, dash(o.Project))
	return append(b, ']')
}

// dash returns what stands for a field: "-" for one that is unknown, as in oslo.log.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// appendAttr appends " key=value", with the names of the groups before the key. A group of
// attributes is written one by one, an empty attribute not at all, as slog.Handler demands.
func appendAttr(b []byte, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return b
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, m := range v.Group() {
			b = appendAttr(b, prefix, m)
		}
		return b
	}
	b = append(b, ' ')
	b = append(b, prefix...)
	b = append(b, a.Key...)
	b = append(b, '=')
	if v.Kind() == slog.KindInt64 {
		return strconv.AppendInt(b, v.Int64(), 10)
	}
	return appendValue(b, v.String())
}

// appendValue appends s, quoted when a reader could misread it.
func appendValue(b []byte, s string) []byte {
	if s == "" || strings.IndexFunc(s, isOdd) >= 0 {
		return strconv.AppendQuote(b, s)
	}
	return append(b, s...)
}

// isOdd reports whether a value with this character has to be quoted. Brackets are among them
// because the origin stands in brackets.
func isOdd(r rune) bool {
	return r == utf8.RuneError || r == '"' || r == '=' || r == '[' || r == ']' || unicode.IsSpace(r) || !unicode.IsPrint(r)
}
