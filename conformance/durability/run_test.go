package durability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/server"
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

// A run is one run of Berth whose exit code is checked.
type run struct {
	*process.Process
	t   *testing.T
	cmd *exec.Cmd
	out process.Log
}

// serve starts Berth with a configuration file.
func serve(t *testing.T, conf, addr string) *run {
	t.Helper()
	return start(t, "placement", "serve", "--config", conf, "--listen", addr)
}

func start(t *testing.T, args ...string) *run {
	t.Helper()
	r := &run{t: t, cmd: exec.Command(server.Berth(t), args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	r.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	var err error
	if r.Process, err = process.Start(r.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Kill)
	return r
}

// exit waits for the end and returns the exit code and the output.
func (r *run) exit() (int, string) {
	r.t.Helper()
	select {
	case <-r.Ended():
	case <-time.After(endTime):
		r.t.Fatalf("%v has not ended after %v", r.cmd.Args[1:], endTime)
	}
	return r.cmd.ProcessState.ExitCode(), r.out.String()
}

// await returns when the service answers.
func (r *run) await(addr string) {
	r.t.Helper()
	if err := r.Await("http://"+addr+"/", endTime, 10*time.Millisecond); err != nil {
		r.t.Fatalf("%v\n%s", err, r.out.String())
	}
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
