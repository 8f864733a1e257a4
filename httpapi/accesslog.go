package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/berthcloud/berth/microversion"
)

// Note adds attributes to the access log line of a request, after the usual ones. They must not
// contain secrets. Only the goroutine of the request's handler may call it; it does nothing for a
// request that no API serves.
func Note(r *http.Request, attrs ...slog.Attr) {
	if x := exchangeOf(r.Context()); x != nil {
		x.notes = append(x.notes, attrs...)
	}
}

// logAccess writes the access log line of a request. It has no query string, unless a handler notes
// it, and no header, since headers have tokens. The record has no source position: determining it
// costs more than the rest of the line.
func (a *API) logAccess(x *exchange, r *http.Request, took time.Duration) {
	ctx, log := r.Context(), a.cfg.Log.Handler()
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	line := slog.NewRecord(x.start.Add(took), slog.LevelInfo, "request", 0)
	// The eight attributes of every line and two notes fit in here, so that the usual line
	// allocates no slice.
	var room [10]slog.Attr
	line.AddAttrs(append(append(room[:0],
		slog.String("method", r.Method),
		slog.String("path", x.mount+r.URL.Path),
		slog.String("route", x.routeName()),
		slog.String("microversion", a.versionText(x)),
		slog.Int("status", x.status),
		slog.Duration("duration", took),
		slog.Int64("bytes", x.bytes),
		slog.String("client", clientText(r.RemoteAddr)),
	), x.notes...)...)
	_ = log.Handle(ctx, line) // there is no better place to say that it cannot be written
}

// clientText is the client's address without its port; a client on a Unix socket has none.
func clientText(remote string) string {
	if remote == "" || remote == "@" {
		return "unix"
	}
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// routeName is the pattern of the path, or "none".
func (x *exchange) routeName() string {
	if x.pattern == nil {
		return "none"
	}
	return x.pattern.name
}

// versionText returns the version that was negotiated. It is "-" when the request ended before
// that, as in the lines of upstream's RequestLog, and for an API without versions.
func (a *API) versionText(x *exchange) string {
	if x.version == (microversion.Version{}) {
		return "-"
	}
	return a.versions[x.version].text
}
