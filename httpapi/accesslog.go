package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/berthcloud/berth/microversion"
)

// logAccess writes the one line that every request gets. Query strings are left
// out, and so is every header: tokens travel there.
func (a *API) logAccess(x *exchange, r *http.Request) {
	if !a.cfg.Log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("method", r.Method),
		slog.String("path", x.mount+r.URL.Path),
		slog.String("route", x.routeName()),
		slog.String("microversion", x.versionText()),
		slog.Int("status", x.status),
		slog.Duration("duration", time.Since(x.start)),
		slog.Int64("bytes", x.bytes),
		slog.String("client", clientText(r.RemoteAddr)),
	)
	a.cfg.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// clientText is the client's address without its port; one who comes over a Unix
// socket has none.
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

func (x *exchange) versionText() string {
	if x.version == (microversion.Version{}) {
		return "-"
	}
	return x.version.String()
}
