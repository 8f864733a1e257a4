package durability

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
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/server"
)

// The exit codes that berth placement serve --help documents.
const (
	exitUsage    = 2
	exitDatabase = 3
	exitInUse    = 4
	exitAddress  = 5
)

// endTime bounds how long a process may take to refuse or to end.
const endTime = 20 * time.Second

// A process is one run of Berth whose exit code matters.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  bytes.Buffer // written by the process, read when it has ended
	done chan error
}

// serve starts Berth with a configuration file.
func serve(t *testing.T, conf, addr string) *process {
	t.Helper()
	return start(t, "placement", "serve", "--config", conf, "--listen", addr)
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(server.Berth(t), args...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	return p
}

// exit waits for the end and returns the exit code and what was printed.
func (p *process) exit() (int, string) {
	p.t.Helper()
	select {
	case err := <-p.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
		return p.cmd.ProcessState.ExitCode(), p.out.String()
	case <-time.After(endTime):
		p.t.Fatalf("%v has not ended after %v", p.cmd.Args[1:], endTime)
		return 0, ""
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// await returns when the service answers.
func (p *process) await(addr string) {
	p.t.Helper()
	client := http.Client{Timeout: time.Second}
	for end := time.Now().Add(endTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		res, err := client.Get("http://" + addr + "/")
		if err != nil {
			continue
		}
		_ = res.Body.Close() // only the status matters
		if res.StatusCode == http.StatusOK {
			return
		}
	}
	p.t.Fatalf("no service at %s after %v", addr, endTime)
}

// configure writes a configuration for a database and returns its path.
func configure(t *testing.T, database string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "placement.conf")
	text := fmt.Sprintf("[api]\nauth_strategy = noauth2\n\n[placement_database]\nconnection = sqlite:///%s\n", database)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// address returns a free loopback address outside the range that the kernel
// gives to outgoing connections.
func address(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err != nil {
			continue
		}
		addr := l.Addr().String()
		if err := l.Close(); err == nil {
			return addr
		}
	}
	t.Fatal("no free port between 20000 and 32000")
	return ""
}
