package keystonetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Packages says how to install what Start needs.
const Packages = "apt-get install -y --no-install-recommends keystone uwsgi-core uwsgi-plugin-python3"

// Bounds of what is waited for, generous because machines that run tests are
// busy.
const (
	startTime = 60 * time.Second
	stopTime  = 15 * time.Second
	setUpTime = 120 * time.Second
)

// Options say how a Keystone is configured. The zero value is what most
// deployments have.
type Options struct {
	// TokenLife is how long tokens are valid, in whole seconds; 0 means an hour.
	TokenLife time.Duration
}

// A Keystone is a running Keystone. Its methods are for one goroutine, the
// test's.
type Keystone struct {
	t    testing.TB
	dir  string
	addr string
	http http.Client

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	log  logBuffer

	ids map[string]string // of projects, users and roles, by "project/demo"

	life       time.Duration // of tokens
	adminToken string        // of the administrator
	adminSince time.Time
}

// Start starts a Keystone with the personas, or ends the test.
func Start(t testing.TB, opts Options) *Keystone {
	t.Helper()
	require(t)
	base := prepared(t)
	k := newKeystone(t)
	if err := os.CopyFS(k.dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	k.readIDs()
	k.writeConfig(opts)
	k.launch()
	return k
}

func newKeystone(t testing.TB) *Keystone {
	t.Helper()
	k := &Keystone{t: t, dir: tempDir(t), ids: make(map[string]string), http: http.Client{Timeout: 30 * time.Second}}
	t.Cleanup(k.finish)
	return k
}

// URL returns the address of Keystone, without the version and without a slash
// at its end. It stays the same when Keystone is started again.
func (k *Keystone) URL() string { return "http://" + k.addr }

// Stop ends Keystone and waits until it is gone.
func (k *Keystone) Stop() {
	k.t.Helper()
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-k.done:
	case <-time.After(stopTime):
		k.t.Errorf("Keystone did not end within %v", stopTime)
		k.kill()
	}
	k.cmd = nil
}

// Restart starts a stopped Keystone again, with its data and address.
func (k *Keystone) Restart() {
	k.t.Helper()
	k.Stop()
	if err := k.start(); err != nil {
		k.t.Fatalf("starting Keystone again: %v\n%s", err, k.log.tail())
	}
}

// Freeze stops Keystone from answering, though connections to it are still
// made, until Thaw.
func (k *Keystone) Freeze() { k.signal(syscall.SIGSTOP) }

// Thaw ends what Freeze began.
func (k *Keystone) Thaw() { k.signal(syscall.SIGCONT) }

func (k *Keystone) signal(sig syscall.Signal) {
	k.t.Helper()
	if err := k.cmd.Process.Signal(sig); err != nil {
		k.t.Fatalf("signalling Keystone: %v", err)
	}
}

func (k *Keystone) kill() {
	_ = k.cmd.Process.Kill() // it may have ended
	<-k.done
}

func (k *Keystone) finish() {
	if k.cmd != nil {
		k.kill()
	}
	if k.t.Failed() {
		k.t.Logf("log of Keystone:\n%s", k.log.tail())
	}
}

// launch starts Keystone on a free port. Another process may take the port
// between its choice and its use, so a few are tried.
func (k *Keystone) launch() {
	k.t.Helper()
	var err error
	for range 3 {
		k.addr = freeAddr(k.t)
		k.moveEndpoints()
		if err = k.start(); err == nil {
			return
		}
	}
	k.t.Fatalf("starting Keystone: %v\n%s", err, k.log.tail())
}

func (k *Keystone) start() error {
	cmd := exec.Command(uwsgi, "--plugin", "python3", "--http-socket", k.addr, "--wsgi-file", script,
		"--need-app", "--die-on-term", "--processes", "1", "--threads", "4", "--buffer-size", "65535",
		"--add-header", "Connection: close")
	cmd.Env = append(os.Environ(), "OS_KEYSTONE_CONFIG_FILES="+filepath.Join(k.dir, "keystone.conf"), "HOME="+k.dir)
	cmd.Stdout, cmd.Stderr = &k.log, &k.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := parent()(cmd.Start); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in the log
		close(done)
	}()
	k.cmd, k.done = cmd, done
	if err := k.await(); err != nil {
		k.kill()
		k.cmd = nil
		return err
	}
	return nil
}

// parent returns a function that runs others on one thread that never ends: to
// the kernel, the parent of a process is the thread that started it, and a
// process dies with it.
var parent = sync.OnceValue(func() func(func() error) error {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for call := range calls {
			call()
		}
	}()
	return func(f func() error) error {
		result := make(chan error)
		calls <- func() { result <- f() }
		return <-result
	}
})

// await returns when the list of versions is served.
func (k *Keystone) await() error {
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		select {
		case <-k.done:
			return errors.New("the process ended before it served")
		case <-time.After(50 * time.Millisecond):
		}
		res, err := k.http.Get(k.URL() + "/v3")
		if err != nil {
			continue
		}
		_ = res.Body.Close() // only the status matters
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("no answer within %v", startTime)
}

// freeAddr returns an address that nobody listens on, of a range that the kernel
// gives to nobody by itself.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 61000+rand.IntN(4500)))
		if err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port from 61000 to 65500")
	return ""
}

// tempDir makes a directory that goes away with the test: in memory where the
// system has such a place.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "berth-keystone-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("removing %s: %v", dir, err)
		}
	})
	return dir
}

// A logBuffer keeps what Keystone writes.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

// Write appends p.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// tail returns the last lines, enough to see why Keystone failed.
func (l *logBuffer) tail() string {
	const keep = 3 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := l.buf.String(); len(text) > keep {
		return "…" + text[len(text)-keep:]
	}
	return l.buf.String()
}
