package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A root is the smallest system that dpkg can install the package on: what the
// maintainer scripts call, an administrative directory in which the package's
// dependencies count as installed, and the units of systemd itself.
type root string

// scriptPrograms are the programs that the maintainer scripts and the unit files call, each with
// its Debian package.
var scriptPrograms = []struct{ path, debian string }{
	{"/usr/bin/sh", "dash"},
	{"/usr/bin/install", "coreutils"},
	{"/usr/bin/chown", "coreutils"},
	{"/usr/bin/chmod", "coreutils"},
	{"/usr/bin/rm", "coreutils"},
	{"/usr/bin/rmdir", "coreutils"},
	{"/usr/bin/sed", "sed"},
	{"/usr/bin/kill", "procps"},
	{"/usr/bin/perl", "perl-base"},
	{"/usr/bin/dpkg-statoverride", "dpkg"},
	{"/usr/bin/deb-systemd-helper", "init-system-helpers"},
	{"/usr/bin/systemd-sysusers", "systemd"},
}

// newRoot creates one in a directory of the test.
func newRoot(t *testing.T) root {
	t.Helper()
	for _, p := range scriptPrograms {
		need(t, p.path, p.debian)
	}
	r := root(filepath.Join(t.TempDir(), "root"))
	r.directories(t)
	for _, p := range scriptPrograms {
		r.copyProgram(t, p.path)
	}
	for file := range strings.Lines(run(t, "dpkg", "-L", "perl-base")) {
		r.copyRegular(t, strings.TrimSpace(file))
	}
	units, err := filepath.Glob("/usr/lib/systemd/system/*.target")
	if err != nil || len(units) == 0 {
		t.Fatalf("systemd's own units are not here: %v", err)
	}
	for _, unit := range units {
		r.copyRegular(t, unit)
	}
	r.write(t, "dev/null", "") // a file is enough: it is not read
	r.write(t, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	r.write(t, "etc/group", "root:x:0:\n")
	r.write(t, "var/lib/dpkg/status", stubs("procps", "systemd"))
	return r
}

func (r root) path(name string) string { return filepath.Join(string(r), name) }

func (r root) directories(t *testing.T) {
	t.Helper()
	for _, dir := range []string{
		"dev", "etc", "tmp", "run", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "var/log", "var/lib/dpkg/info",
		"var/lib/dpkg/updates",
	} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, r.path(dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// copyProgram copies a program and the libraries that it is linked with.
func (r root) copyProgram(t *testing.T, path string) {
	t.Helper()
	r.copyRegular(t, path)
	libraries, _ := output(exec.Command("ldd", path)) // ldd fails for scripts, which have none
	for _, word := range strings.Fields(libraries) {
		if strings.HasPrefix(word, "/") && strings.Contains(filepath.Base(word), ".so") {
			r.copyRegular(t, word)
		}
	}
}

// copyRegular copies a file to the same path; links are followed.
func (r root) copyRegular(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return // directories are created with their files
	}
	if err := copyFile(path, r.path(path)); err != nil {
		t.Fatal(err)
	}
}

func (r root) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dpkg runs dpkg on the root, with the maintainer scripts inside of it, and returns the output. It
// ignores the machine's settings of dpkg.
func (r root) dpkg(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("dpkg", append([]string{"--root=" + string(r), "--log=" + r.path("var/log/dpkg.log")}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8")
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stubs are entries for packages that count as installed.
func stubs(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "Package: %s\nStatus: install ok installed\nMaintainer: nobody <nobody@localhost>\n"+
			"Architecture: all\nVersion: 1:999\nDescription: stub\n\n", name)
	}
	return b.String()
}
