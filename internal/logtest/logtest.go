// Package logtest has the logger of tests that look at no lines. A handler that discards formats
// nothing, so that the race detector does not see what a line reads while others write it.
package logtest

import (
	"io"
	"log/slog"
)

// Logger returns a logger that formats all lines, of every level, and drops the text.
func Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
