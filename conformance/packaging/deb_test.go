package packaging

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLintian checks the package against Debian's policy; overrides are in
// packaging/debian/lintian-overrides, with reasons.
func TestLintian(t *testing.T) {
	need(t, "lintian", "lintian")
	deb, _ := pkg(t)
	args := []string{"--fail-on", "error,warning", deb}
	if os.Getuid() == 0 {
		args = append([]string{"--allow-root"}, args...)
	}
	if out := run(t, "lintian", args...); out != "" {
		t.Errorf("lintian says:\n%s", out)
	}
}

// TestFields checks the control fields for apt and dpkg.
func TestFields(t *testing.T) {
	deb, unpacked := pkg(t)
	for field, want := range map[string]string{
		"Package":      "berth",
		"Version":      version + "-1",
		"Architecture": strings.TrimSpace(run(t, "dpkg", "--print-architecture")),
	} {
		if got := strings.TrimSpace(run(t, "dpkg-deb", "-f", deb, field)); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	out := run(t, filepath.Join(unpacked, "usr/bin/berth"), "version")
	if !strings.HasPrefix(out, "berth "+version+", revision "+revision+" ") {
		t.Errorf("the program says %q, want version %s", out, version)
	}
	conffiles := read(t, filepath.Join(tree, "packaging/debian/conffiles"))
	if out := run(t, "dpkg-deb", "-I", deb, "conffiles"); out != conffiles {
		t.Errorf("conffiles:\n%s", out)
	}
}

// TestModesAndOwners requires that root owns everything and is the only one that may write; only
// the settings are not world-readable.
func TestModesAndOwners(t *testing.T) {
	deb, _ := pkg(t)
	listed := 0
	for line := range strings.Lines(run(t, "dpkg-deb", "-c", deb)) {
		f := strings.Fields(line)
		mode, owner, path := f[0], f[1], f[5]
		want := "-rw-r--r--"
		switch {
		case mode[0] == 'd', path == "./usr/bin/berth":
			want = mode[:1] + "rwxr-xr-x"
		case strings.HasPrefix(path, "./etc/berth/"):
			want = "-rw-r-----"
		}
		if mode != want || owner != "root/root" {
			t.Errorf("%s is %s of %s, want %s of root/root", path, mode, owner, want)
		}
		listed++
	}
	if listed < 30 {
		t.Errorf("only %d files and directories", listed)
	}
}

// TestProgramIsStatic requires that the program needs no shared libraries.
func TestProgramIsStatic(t *testing.T) {
	need(t, "ldd", "libc-bin")
	_, unpacked := pkg(t)
	out, _ := output(exec.Command("ldd", filepath.Join(unpacked, "usr/bin/berth"))) // ldd fails for what is static
	if !strings.Contains(out, "not a dynamic executable") && !strings.Contains(out, "statically linked") {
		t.Errorf("ldd says:\n%s", out)
	}
}

// TestNotices requires the licence of each linked module in the package.
func TestNotices(t *testing.T) {
	need(t, "gzip", "gzip")
	_, unpacked := pkg(t)
	notices := run(t, "gzip", "-dc", filepath.Join(unpacked, "usr/share/doc/berth/third-party-notices.gz"))
	listed := run(t, "go", "version", "-m", filepath.Join(unpacked, "usr/bin/berth"))
	modules := 0
	for line := range strings.Lines(listed) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "dep" {
			continue
		}
		modules++
		_, text, ok := strings.Cut(notices, "================ "+f[1]+" "+f[2]+"\n")
		text, _, _ = strings.Cut(text, "================ ")
		if !ok || !strings.Contains(strings.ToLower(text), "copyright") {
			t.Errorf("no licence of %s %s", f[1], f[2])
		}
	}
	if modules < 10 {
		t.Errorf("only %d modules in the program:\n%s", modules, listed)
	}
}

// TestBuildIsReproducible builds from a copy of the tree in another directory, without the
// repository and in another environment: the bytes are the same. Without a repository there is a
// version too.
func TestBuildIsReproducible(t *testing.T) {
	first, _ := pkg(t)
	dir := filepath.Join(t.TempDir(), "another place")
	copyTree(t, dir)
	second, err := build(dir, filepath.Join(dir, "out"), "umask 077; export TZ=Asia/Tokyo LC_ALL=C.UTF-8")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, first) != read(t, second) {
		t.Errorf("two builds differ:\n%s", cmp.Diff(listing(t, first), listing(t, second)))
	}
	out := run(t, filepath.Join(dir, "scripts", "version"))
	if !regexp.MustCompile(`^\d+\.\d+\.\d+~git\d{8}\n$`).MatchString(out) {
		t.Errorf("without a repository the version is %q", out)
	}
}

// TestVersionOfTheTree requires that dpkg accepts the version of this tree.
func TestVersionOfTheTree(t *testing.T) {
	need(t, "dpkg", "dpkg")
	run(t, "dpkg", "--validate-version", strings.TrimSpace(run(t, filepath.Join(tree, "scripts", "version")))+"-1")
}

func listing(t *testing.T, deb string) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "raw")
	run(t, "dpkg-deb", "-R", deb, dir)
	return slices.Collect(strings.Lines(run(t, "sh", "-c", `cd "$0" && find . -type f | sort | xargs sha256sum`, dir)))
}

// copyTree copies the sources, but for tests' data and what is not theirs.
func copyTree(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (rel == "dist" || // of releases; console/dist is a source
			slices.Contains([]string{".git", ".cache", "bin", "node_modules", "testdata"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || rel == ".git" || strings.HasSuffix(rel, "_test.go"): // a worktree has a file .git
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyFile copies a file with its permissions.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}
