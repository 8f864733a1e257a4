package server

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Run runs a program to its end and returns its exit code and all that it
// printed. One that does not end within limit is killed and fails the test.
// The program sees a home directory of its own, and HOME aside the environment
// of the test.
func Run(t testing.TB, limit time.Duration, program string, args ...string) (code int, out string) {
	t.Helper()
	var text bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() }) // it may have ended
	err := cmd.Wait()
	if !late.Stop() {
		t.Fatalf("%v has not ended after %v\n%s", cmd.Args, limit, text.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), text.String()
}

// ConfigFile writes a placement.conf for a database, with noauth2 and the given
// options: section, option, value. It returns the path.
func ConfigFile(t testing.TB, database string, config map[string]map[string]string) string {
	t.Helper()
	return writeFile(t, t.TempDir(), "placement.conf", render(baseConfig(database), config))
}
