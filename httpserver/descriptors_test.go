package httpserver_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/httpserver"
)

// exhausted is a listener in a process without file descriptors.
type exhausted struct {
	closed chan struct{}
	tries  atomic.Int64
}

func (l *exhausted) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	l.tries.Add(1)
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
}

func (l *exhausted) Close() error   { close(l.closed); return nil }
func (l *exhausted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Who runs out of file descriptors is warned, and not each time.
func TestNoDescriptorsIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		lines := make(chan string, 100)
		go func() {
			b := make([]byte, 4096)
			for {
				n, err := r.Read(b)
				if err != nil {
					close(lines)
					return
				}
				lines <- string(b[:n])
			}
		}()
		log := slog.New(slog.NewTextHandler(w, nil))
		ln := &exhausted{closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- httpserver.Serve(ctx, ln, seen, httpserver.ServeOptions{
				Log: log, Limit: httpserver.NewConnLimit(httpserver.LimitSettings{}, nil),
			})
		}()
		time.Sleep(70 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.Close()
		var warnings int
		for line := range lines {
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "file descriptors") {
				warnings++
			}
		}
		if warnings != 3 || ln.tries.Load() < 10 {
			t.Errorf("%d attempts in 70 s bring %d warnings, want 3: at once and after 30 and 60 s", ln.tries.Load(), warnings)
		}
	})
}
