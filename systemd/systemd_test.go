package systemd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berthcloud/berth/systemd"
)

// asActivated in the environment makes the test binary a service that systemd starts: it greets the
// clients of the sockets that were passed to it.
const asActivated = "BERTH_TEST_AS_ACTIVATED"

func TestMain(m *testing.M) {
	if os.Getenv(asActivated) != "" {
		if err := greet(os.Stdout); err != nil {
			fmt.Println("error:", err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// greet answers one connection at each socket with the socket's name.
func greet(out io.Writer) error {
	all, err := systemd.Listeners()
	if err != nil {
		return err
	}
	again, err := systemd.Listeners()
	fmt.Fprintf(out, "%d sockets, then %d, %v, LISTEN_FDS=%q\n", len(all), len(again), err, os.Getenv("LISTEN_FDS"))
	for _, ln := range all {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		io.WriteString(c, ln.Name)
		c.Close()
	}
	return nil
}

// A manager is systemd's end of the notify socket.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

func newManager(t *testing.T) (*manager, *systemd.Notifier) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &manager{t, conn}, systemd.NewNotifier()
}

// next returns the next message, "" when there is none within the time.
func (m *manager) next(wait time.Duration) string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		m.t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := m.conn.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.t.Fatal(err)
	}
	return string(b[:n])
}

func TestMessages(t *testing.T) {
	m, n := newManager(t)
	for _, tc := range []struct {
		name string
		send func() error
		want string
	}{
		{
			"Starting", func() error { return n.Starting("reading:\n40000 providers", time.Minute) },
			"STATUS=reading: 40000 providers\nEXTEND_TIMEOUT_USEC=60000000",
		},
		{"Ready", func() error { return n.Ready("serving") }, "READY=1\nSTATUS=serving"},
		{"Lines", func() error { return n.Ready("forged\nSTOPPING=1") }, "READY=1\nSTATUS=forged STOPPING=1"},
		{"Reloading", n.Reloading, "RELOADING=1\nMONOTONIC_USEC=[0-9]{6,}\nSTATUS=reloading"},
		{
			"Stopping", func() error { return n.Stopping("finishing", 30*time.Second) },
			"STOPPING=1\nSTATUS=finishing\nEXTEND_TIMEOUT_USEC=30000000",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.send(); err != nil {
				t.Fatal(err)
			}
			if got := m.next(time.Second); !regexp.MustCompile("^" + tc.want + "$").MatchString(got) {
				t.Errorf("the manager got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWithoutSystemdNothingHappens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	if err := systemd.NewNotifier().Ready("x"); err != nil {
		t.Error(err)
	}
	var none *systemd.Notifier
	if err := none.Ready("x"); err != nil {
		t.Error(err)
	}
	if d, err := systemd.WatchdogInterval(); d != 0 || err != nil {
		t.Errorf("WatchdogInterval = %v, %v", d, err)
	}
	if all, err := systemd.Listeners(); len(all) > 0 || err != nil {
		t.Errorf("Listeners = %v, %v", all, err)
	}
}

func TestNobodyAtTheSocketIsAnError(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	if err := systemd.NewNotifier().Ready("x"); err == nil || !strings.Contains(err.Error(), "service manager") {
		t.Errorf("Ready = %v", err)
	}
}

// TestManagerThatDoesNotReadIsGivenUp: a manager that does not read blocks callers no longer than
// the bound.
func TestManagerThatDoesNotReadIsGivenUp(t *testing.T) {
	m, n := newManager(t)
	begin := time.Now()
	var err error
	for range 2000 { // more than any queue of datagrams takes
		if err = n.Ready(strings.Repeat("x", 1000)); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) > 10*time.Second {
		t.Errorf("Ready = %v after %v, want it to give up", err, time.Since(begin))
	}
	for m.next(time.Millisecond) != "" { // the queue is drained, and messages are accepted again
		continue
	}
	if err := n.Ready("x"); err != nil {
		t.Error(err)
	}
}

func TestWatchdogInterval(t *testing.T) {
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
		ok        bool
	}{
		{"3000000", "", 3 * time.Second, true},
		{"3000000", fmt.Sprint(os.Getpid()), 3 * time.Second, true},
		{"3000000", "1", 0, true}, // meant for another process
		{"soon", "", 0, false},
	} {
		t.Setenv("WATCHDOG_USEC", tc.usec)
		t.Setenv("WATCHDOG_PID", tc.pid)
		if d, err := systemd.WatchdogInterval(); d != tc.want || (err == nil) != tc.ok {
			t.Errorf("WATCHDOG_USEC=%s WATCHDOG_PID=%s: %v, %v", tc.usec, tc.pid, d, err)
		}
	}
}

// watch runs Watch until the test ends and returns its failures.
func watch(t *testing.T, n *systemd.Notifier, interval time.Duration, alive func(context.Context) error) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	failures, ended := make(chan error, 1000), make(chan struct{})
	go func() {
		defer close(ended)
		n.Watch(ctx, interval, alive, func(err error) { failures <- err })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return failures
}

func TestWatchdogIsFedWhileAlive(t *testing.T) {
	m, n := newManager(t)
	watch(t, n, 30*time.Millisecond, func(context.Context) error { return nil })
	for range 3 {
		if got := m.next(5 * time.Second); got != "WATCHDOG=1" {
			t.Fatalf("the manager got %q", got)
		}
	}
}

func TestWatchdogStarvesWhenTheCheckFails(t *testing.T) {
	m, n := newManager(t)
	failures := watch(t, n, 30*time.Millisecond, func(context.Context) error { return errors.New("dead") })
	for range 2 {
		if err := <-failures; err.Error() != "dead" {
			t.Errorf("failure is %v", err)
		}
	}
	if got := m.next(20 * time.Millisecond); got != "" {
		t.Errorf("the manager got %q", got)
	}
}

// TestWatchdogStarvesWhileTheCheckHangs: a check that hangs resets no watchdog; when it returns, it
// does.
func TestWatchdogStarvesWhileTheCheckHangs(t *testing.T) {
	m, n := newManager(t)
	release := make(chan struct{})
	failures := watch(t, n, 30*time.Millisecond, func(context.Context) error { <-release; return nil })
	for range 2 {
		if err := <-failures; !strings.Contains(err.Error(), "does not come back") {
			t.Errorf("failure is %v", err)
		}
	}
	if got := m.next(20 * time.Millisecond); got != "" {
		t.Errorf("the manager got %q", got)
	}
	close(release)
	if got := m.next(5 * time.Second); got != "WATCHDOG=1" {
		t.Errorf("the manager got %q", got)
	}
}

// TestWatchdogIsFedWhenTheCheckKeepsToItsContext: a check that uses all of its time resets the
// watchdog.
func TestWatchdogIsFedWhenTheCheckKeepsToItsContext(t *testing.T) {
	m, n := newManager(t)
	failures := watch(t, n, 300*time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return nil })
	for range 3 {
		if got := m.next(5 * time.Second); got != "WATCHDOG=1" {
			t.Fatalf("the manager got %q", got)
		}
	}
	if len(failures) > 0 {
		t.Errorf("a failure: %v", <-failures)
	}
}

// activated starts this test binary as systemd would, with sockets from
// descriptor 3 on.
func activated(t *testing.T, names string, sockets ...*os.File) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), asActivated+"=1", fmt.Sprintf("LISTEN_FDS=%d", len(sockets)), "LISTEN_FDNAMES="+names)
	cmd.ExtraFiles = sockets
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &out
}

type filer interface{ File() (*os.File, error) }

func file(t *testing.T, f filer) *os.File {
	t.Helper()
	got, err := f.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Close() })
	return got
}

func TestSocketsAreTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	var sockets []*os.File
	var addrs []net.Addr
	for _, at := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", path}} {
		ln, err := net.Listen(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		sockets, addrs = append(sockets, file(t, ln.(filer))), append(addrs, ln.Addr())
	}
	cmd, out := activated(t, "api:metrics", sockets...)
	for i, want := range []string{"api", "metrics"} {
		c, err := net.Dial(addrs[i].Network(), addrs[i].String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		c.Close()
		if string(got) != want || err != nil {
			t.Errorf("socket %d says %q, %v; want %q", i, got, err, want)
		}
	}
	if err := cmd.Wait(); err != nil || out.String() != "2 sockets, then 0, <nil>, LISTEN_FDS=\"\"\n" {
		t.Errorf("the service ended with %v and said %q", err, out)
	}
}

func TestSocketWithoutConnectionsIsRefused(t *testing.T) {
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	cmd, out := activated(t, "api", file(t, pc.(filer)))
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "error: socket api from systemd") {
		t.Errorf("the service ended with %v and said %q", err, out)
	}
}
