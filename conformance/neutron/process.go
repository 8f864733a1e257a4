package neutron

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTime is how long Neutron may take to answer its first request.
const startTime = 90 * time.Second

// A process is a running service. It ends with the test, however that ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	log  logBuffer
}

// launch starts a command and returns when url is answered with 200.
func launch(t testing.TB, cmd *exec.Cmd, url string) {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := parent()(cmd.Start); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is in the log
		close(p.done)
	}()
	t.Cleanup(func() { p.end(t) })
	if err := p.await(url); err != nil {
		t.Fatalf("starting %s: %v\n%s", cmd.Path, err, p.log.tail())
	}
}

func (p *process) end(t testing.TB) {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.done
	if t.Failed() {
		t.Logf("log of %s:\n%s", p.cmd.Path, p.log.tail())
	}
}

func (p *process) await(url string) error {
	client := http.Client{Timeout: time.Second}
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		select {
		case <-p.done:
			return errors.New("the process ended before it served")
		case <-time.After(50 * time.Millisecond):
		}
		res, err := client.Get(url)
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

// A logBuffer keeps what a service writes.
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

// tail returns the last lines, enough to see why a service failed.
func (l *logBuffer) tail() string {
	const keep = 6 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.buf.String()
	return text[max(0, len(text)-keep):]
}
