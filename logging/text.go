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
)

// A textHandler writes lines in the style of oslo.log.
type textHandler struct {
	mu     *sync.Mutex // guards w
	w      io.Writer
	level  slog.Leveler
	name   string
	prefix string // of keys: the open groups
	fixed  []byte // attributes given beforehand, formatted
}

func newText(w io.Writer, level slog.Leveler, name string) *textHandler {
	if name == "" {
		name = "berth"
	}
	return &textHandler{mu: new(sync.Mutex), w: w, level: level, name: name}
}

// Enabled reports whether records of the level are written.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs returns a handler whose records carry attrs as well.
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

var pid = strconv.Itoa(os.Getpid())

// Handle writes the record as one line.
func (h *textHandler) Handle(ctx context.Context, r slog.Record) error {
	b := make([]byte, 0, 512)
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
	b = append(b, '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b)
	return err
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

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

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
	return appendValue(b, v.String())
}

// appendValue appends s, quoted when a reader could take it for something else.
func appendValue(b []byte, s string) []byte {
	odd := func(r rune) bool {
		return r == '"' || r == '=' || r == '[' || r == ']' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if s == "" || strings.IndexFunc(s, odd) >= 0 {
		return strconv.AppendQuote(b, s)
	}
	return append(b, s...)
}
