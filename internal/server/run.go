package server

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
)

// Run runs a program to its end and returns its exit code and all its output. One that does not end
// within limit is killed and fails the test. The program has a separate home directory, and except
// for HOME the environment of the test.
func Run(t testing.TB, limit time.Duration, program string, args ...string) (code int, out string) {
	t.Helper()
	var text bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Ended():
	case <-time.After(limit):
		p.Kill()
		t.Fatalf("%v has not ended after %v\n%s", cmd.Args, limit, text.String())
	}
	return cmd.ProcessState.ExitCode(), text.String()
}

// ConfigFile writes a placement.conf for a database, with noauth2 and the given
// options: section, option, value. It returns the path.
func ConfigFile(t testing.TB, database string, config map[string]map[string]string) string {
	t.Helper()
	return writeFile(t, t.TempDir(), "placement.conf", Render(baseConfig(database), config))
}
