package httpserver

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// shortInterval is the interval of the warnings that a listener is out of file descriptors.
const shortInterval = 30 * time.Second

// A shortListener warns when connections cannot be accepted because the process or the machine is
// out of file descriptors. Clients then wait, and net/http logs that for debugging only.
type shortListener struct {
	net.Listener
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	warned time.Time
	failed int // since then
}

// Accept waits for the next connection.
func (l *shortListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		l.short(err)
	}
	return c, err
}

// short notes that a connection could not be accepted. It logs at most one line in shortInterval,
// with the number of attempts since the line before.
func (l *shortListener) short(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed++
	if now := time.Now(); l.warned.IsZero() || now.Sub(l.warned) >= shortInterval {
		l.log.Warn("connections cannot be accepted and wait: there are no file descriptors left; "+
			"raise the limit (LimitNOFILE, ulimit -n) or lower [berth] max_connections",
			"attempts", l.failed, "error", err)
		l.warned, l.failed = now, 0
	}
}
