package httpserver_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/httpserver"
)

// hangTime is after how long a test gives up on what ought to happen at once: a machine under load
// takes many seconds for it.
const hangTime = 2 * time.Minute

// readAll reads a connection to its end, within a bound.
func readAll(t *testing.T, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(hangTime)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return string(b)
}

// hold opens a connection on which one request was answered.
func hold(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, "GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
	b := make([]byte, 4096)
	if n, err := c.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "HTTP/1.1 200 OK") {
		t.Fatalf("a connection is answered with %q, %v", b[:n], err)
	}
	return c
}

func TestConnectionsBeyondTheBoundWait(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := httpserver.NewMetrics(reg)
	limit := httpserver.NewConnLimit(httpserver.LimitSettings{Max: 2}, m)
	one, _, _ := start(t, seen, httpserver.ServeOptions{Limit: limit, Metrics: m})
	two, _, _ := start(t, seen, httpserver.ServeOptions{Limit: limit, Metrics: m})
	first, second := hold(t, one), hold(t, two)

	waiting, err := net.Dial("tcp", one)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	io.WriteString(waiting, "GET /t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if err := waiting.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := waiting.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a connection beyond the bound read %d bytes, %v", n, err)
	}
	if open := value(t, reg, "berth_http_connections"); open != 2 {
		t.Errorf("%v connections are open, want 2", open)
	}
	first.Close()
	if got := readAll(t, waiting); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Errorf("after one ended, it is answered with %q", got)
	}
	if n := value(t, reg, "berth_http_connections_delayed_total"); n != 1 {
		t.Errorf("%v connections had to wait, want 1", n)
	}
	second.Close()
	eventually(t, "all are counted out", func() bool { return value(t, reg, "berth_http_connections") == 0 })
}

func TestHigherBoundLetsThoseInThatWait(t *testing.T) {
	limit := httpserver.NewConnLimit(httpserver.LimitSettings{Max: 1}, nil)
	addr, _, _ := start(t, seen, httpserver.ServeOptions{Limit: limit})
	hold(t, addr)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	limit.Set(httpserver.LimitSettings{Max: 2})
	if got := readAll(t, c); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Errorf("answer is %q", got)
	}
}

// Who waits for a place does not keep the service from stopping.
func TestStopWhileConnectionsWait(t *testing.T) {
	limit := httpserver.NewConnLimit(httpserver.LimitSettings{Max: 1}, nil)
	addr, stop, done := start(t, seen, httpserver.ServeOptions{Limit: limit})
	hold(t, addr)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestClientsWithTooManyConnectionsGetAnError(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := httpserver.NewMetrics(reg)
	bound := httpserver.LimitSettings{
		PerClient: 1, Exempt: httpserver.Proxies{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	}
	limit := httpserver.NewConnLimit(bound, m)
	addr, _, _ := start(t, seen, httpserver.ServeOptions{Limit: limit, Metrics: m})
	open := hold(t, addr)
	got := send(t, addr, "GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 503 Service Unavailable\r\n") ||
		!strings.Contains(got, "\r\nRetry-After: 1\r\n") ||
		!strings.Contains(got, "This client has too many connections.") {
		t.Errorf("a second connection is answered with %q", got)
	}
	if n := value(t, reg, "berth_http_connections_refused_total"); n != 1 {
		t.Errorf("%v connections were refused, want 1", n)
	}
	bound.Exempt.Networks = append(bound.Exempt.Networks, netip.MustParsePrefix("127.0.0.1/32"))
	limit.Set(bound)
	hold(t, addr) // exempt now
	bound.Exempt.Networks = nil
	limit.Set(bound)
	open.Close()
	eventually(t, "one is counted out", func() bool { return value(t, reg, "berth_http_connections") == 1 })
}

// The connection that the handshake is done on counts, however it fails.
func TestFailedHandshakesAreCountedOut(t *testing.T) {
	a := newAuthority(t)
	reg := prometheus.NewRegistry()
	m := httpserver.NewMetrics(reg)
	limit := httpserver.NewConnLimit(httpserver.LimitSettings{Max: 1}, m)
	files := a.files(t.TempDir(), "one", time.Now().Add(time.Hour))
	addr, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{Limit: limit, Metrics: m, HTTP2: true})
	for range 3 {
		send(t, addr, "GET / HTTP/1.1\r\n\r\n")
	}
	c := a.client(nil)
	if res, _ := a.get(c, "https://"+addr+"/t"); res.StatusCode != 200 {
		t.Errorf("status is %d", res.StatusCode)
	}
	c.CloseIdleConnections()
	eventually(t, "the connection of HTTP/2 is counted out", func() bool {
		return value(t, reg, "berth_http_connections") == 0
	})
}

func TestUnixSocket(t *testing.T) {
	for _, mode := range []fs.FileMode{0o660, 0o600, 0o666} {
		path := filepath.Join(t.TempDir(), "s.sock")
		ln, err := httpserver.ListenUnix(context.Background(), path, mode)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("the socket has mode %v, %v; want %v", info.Mode(), err, mode)
		}
		stop, done := serve(t, ln, seen, httpserver.ServeOptions{HTTP2: true})
		if res, body := do(t, unixClient(t, path), mustRequest(t, "http://anything/")); res.StatusCode != 200 ||
			!strings.HasPrefix(body, "/ http://anything/x ") {
			t.Errorf("answer is %d %s", res.StatusCode, body)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStaleSocketsAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if _, err := httpserver.ListenUnix(context.Background(), path, 0o600); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("ListenUnix where somebody listens = %v", err)
	}
	old.Close() // as a crash would leave it
	ln, err := httpserver.ListenUnix(context.Background(), path, 0o600)
	if err != nil {
		t.Fatalf("ListenUnix where no process listens any more = %v", err)
	}
	ln.Close()
}

func TestOtherFilesAreNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := httpserver.ListenUnix(context.Background(), path, 0o600); err == nil ||
		!strings.Contains(err.Error(), "is no socket") {
		t.Errorf("ListenUnix = %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "data" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}
