package servers_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/bench/canned"
	"github.com/berthcloud/berth/bench/load"
	"github.com/berthcloud/berth/bench/servers"
)

// TestMain lets the test program act as the canned server.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == servers.CannedCommand {
		_ = canned.Main(os.Stdin, os.Stdout)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestCannedRunsInAProcessOfItsOwn(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 1<<20)
	s, err := servers.Canned(t.TempDir(), canned.Pages{Paths: []string{"/"}, Bodies: [][]byte{body}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if s.Pid() == os.Getpid() {
		t.Error("it is this very process")
	}
	c, err := load.Dial(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	status, got, err := c.Fetch(load.Request{Method: "GET", Path: "/"})
	if err != nil || status != http.StatusOK || !bytes.Equal(got, body) {
		t.Errorf("got %d, %d bytes, %v", status, len(got), err)
	}
}

func TestSettings(t *testing.T) {
	some := servers.Settings{"api": {"auth_strategy": "noauth2"}, "berth": {"pprof": "false"}}
	all := some.With(servers.Settings{"berth": {"pprof": "true", "log": "a$b"}})
	dir := t.TempDir()
	path, err := servers.Write(all, dir)
	if err != nil || path != filepath.Join(dir, "placement.conf") {
		t.Fatalf("%s, %v", path, err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "[api]\nauth_strategy = noauth2\n[berth]\nlog = a$$b\n[berth]\npprof = true\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if some["berth"]["pprof"] != "false" {
		t.Error("With changed what it was called on")
	}
}

func TestProgramsThatEndAreReported(t *testing.T) {
	program, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = servers.Berth(program, t.TempDir(), servers.SQLite("/nowhere"), nil)
	if err == nil || !strings.Contains(err.Error(), "ended before it served") {
		t.Errorf("got %v", err)
	}
}
