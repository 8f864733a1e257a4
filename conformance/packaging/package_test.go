package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The parameters of the package under test: fixed, so that two builds can be compared.
const (
	version  = "1.2.3"
	revision = "0123456789ab"
	epoch    = "1795186529" // 2026-11-20 14:55:29 UTC
)

// tree is the top of the source tree.
var tree = func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}()

// shared is a directory for what all tests use; it is removed at the end of the process.
var shared string

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "berth-packaging-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared = dir
	return m.Run()
}

var built struct {
	once          sync.Once
	deb, unpacked string
	err           error
}

// pkg returns the package and the directory where it is unpacked, both built
// once. The test must not change them.
func pkg(t *testing.T) (deb, unpacked string) {
	t.Helper()
	need(t, "dpkg-deb", "dpkg")
	built.once.Do(func() {
		if built.deb, built.err = build(tree, filepath.Join(shared, "dist"), "umask 022"); built.err != nil {
			return
		}
		built.unpacked = filepath.Join(shared, "unpacked")
		_, built.err = output(exec.Command("dpkg-deb", "-x", built.deb, built.unpacked))
	})
	if built.err != nil {
		t.Fatalf("building the package: %v", built.err)
	}
	return built.deb, built.unpacked
}

// build runs scripts/deb of a tree and returns the package's path. Setup is run
// by the shell before it.
func build(tree, dist, setup string) (string, error) {
	cmd := exec.Command("sh", "-c", setup+`; exec "$0"`, filepath.Join(tree, "scripts", "deb"))
	cmd.Env = append(os.Environ(), "VERSION="+version, "REVISION="+revision, "SOURCE_DATE_EPOCH="+epoch, "DIST="+dist,
		"DPKG_DEB_COMPRESSOR_LEVEL=1") // a release has the default, which takes three times as long
	out, err := output(cmd)
	return strings.TrimSpace(out), err
}

// output runs a command and returns its output on both streams; the error contains it too.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out), nil
}

// run is output for commands that have to succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(exec.Command(name, args...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// need ends the test when a program is missing: it fails, so that a missing program is not mistaken
// for success, unless the developer has chosen to skip what needs Debian's packages.
func need(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("BERTH_TEST_NO_UPSTREAM") == "1" {
		t.Skipf("NOT TESTED: there is no %s here, and BERTH_TEST_NO_UPSTREAM=1", program)
	}
	t.Fatalf("there is no %s here: install Debian's %s, or set BERTH_TEST_NO_UPSTREAM=1 to go without", program, debian)
}

// needRoot skips the test for users other than root, and reports what is not tested then.
func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("NOT TESTED without root: %s", what)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
