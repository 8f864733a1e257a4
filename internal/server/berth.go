package server

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/servertest"
)

// StartBerth starts Berth's placement service, unless the options name a database
// on a fresh one of the kind that ChosenDatabase returns. The program is the one
// that the environment variable BERTH_BIN names, else it is built once for all
// tests of a binary. The test fails if it does not serve.
func StartBerth(t testing.TB, opts Options) *Server {
	t.Helper()
	bin := Berth(t)
	dir := servertest.Dir(t)
	base := baseConfig(connection(t, opts, dir).Berth)
	if opts.Policy != "" {
		base["oslo_policy"] = map[string]string{
			"policy_file": writeFile(t, dir, "policy.yaml", opts.Policy),
		}
	}
	conf := writeFile(t, dir, "placement.conf", Render(base, opts.Config))
	return servertest.Start(t, "berth", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(bin, "placement", "serve", "--config", conf, "--listen", addr)
		cmd.Env = append(os.Environ(), opts.Env...)
		return cmd
	})
}

// StartBerthUp starts "berth up" with separate databases, and the guide's host alone, and returns
// the directory with the credentials. It loads its example after it begins to answer. More are
// further flags.
func StartBerthUp(t testing.TB, more ...string) (s *Server, dir string) {
	t.Helper()
	bin := Berth(t)
	dir = servertest.Dir(t)
	s = servertest.Start(t, "berth up", "/", func(addr string) *exec.Cmd {
		args := UpArgs(addr, dir)
		return exec.Command(bin, append(append(args, "--verbose"), more...)...)
	})
	return s, dir
}

// UpArgs are the arguments of a "berth up" whose placement service has an address, whose other
// services have free ports, and whose files are in a directory.
func UpArgs(addr, dir string) []string {
	args := []string{"up", "--listen", addr, "--data", dir}
	for _, other := range []string{"network", "identity", "image", "compute"} {
		args = append(args, "--"+other+"-listen", "127.0.0.1:0")
	}
	return args
}

// A Page is a "berth up" that is printing its page.
type Page struct {
	*process.Process
	Lines *bufio.Scanner // of standard output; they end after a time limit
	Log   process.Log    // standard error
	Cmd   *exec.Cmd
}

// StartPage starts "berth up" with arguments. It is killed at the end of the test at the latest.
func StartPage(t testing.TB, limit time.Duration, args ...string) *Page {
	t.Helper()
	p := &Page{Cmd: exec.Command(Berth(t), args...)}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	p.Cmd.Stdout, p.Cmd.Stderr = w, &p.Log
	if p.Process, err = process.Start(p.Cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	_ = w.Close()
	if err := r.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	p.Lines = bufio.NewScanner(r)
	return p
}

// UpToken returns the administrator's token of "berth up" that serves from a directory.
func UpToken(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// baseConfig has the settings that all services of tests share. A dollar sign would refer to
// another option.
func baseConfig(database string) map[string]map[string]string {
	return map[string]map[string]string{
		"api":                {"auth_strategy": "noauth2"},
		"placement_database": {"connection": strings.ReplaceAll(database, "$", "$$")},
	}
}

var berth struct {
	once sync.Once
	path string
	err  error
}

// Berth returns the path of the program under test, and ends the test if it
// cannot be built.
func Berth(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("BERTH_BIN"); bin != "" {
		return bin
	}
	berth.once.Do(func() { berth.path, berth.err = build() })
	if berth.err != nil {
		t.Fatalf("building berth: %v", berth.err)
	}
	return berth.path
}

const buildPrefix = "berth-conformance-build-"

// build compiles the program into a directory whose name has this process's id. It cannot be
// removed with the first test that needs it, so a later build removes those of processes that have
// ended.
func build() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/berthcloud/berth").Output()
	if err != nil {
		return "", err
	}
	sweepBuilds()
	dir := filepath.Join(os.TempDir(), buildPrefix+strconv.Itoa(os.Getpid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "berth")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/berth")
	cmd.Dir = strings.TrimSpace(string(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
}

func sweepBuilds() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), buildPrefix+"*"))
	if err != nil {
		return // the pattern is constant
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), buildPrefix))
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir) // another sweep may be at it
		}
	}
}
