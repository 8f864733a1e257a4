package documents

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
)

// A shell runs lines of a page, with paths and addresses of the test in place of the page's.
type shell struct {
	t     *testing.T
	page  page
	dir   string // replaces /root
	bin   string
	paths *strings.Replacer
}

// newShell returns a shell whose settings name a database. /root/mariadb-url has the URL of an
// empty one, and the database of the rehearsal is also the one that is moved.
func newShell(t *testing.T, name, database string) *shell {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: apt-get install -y --no-install-recommends curl jq", err)
		}
	}
	s := &shell{t: t, page: page{name, read(t, filepath.Join(operations, name))}, dir: t.TempDir(), bin: server.Berth(t)}
	conf := server.ConfigFile(t, strings.ReplaceAll(database, "$", "$$"), nil)
	s.paths = strings.NewReplacer(
		"/etc/berth/placement.conf", conf, "/etc/placement/placement.conf", conf,
		"/var/lib/berth/", s.dir+"/rehearsal/", "/root/", s.dir+"/")
	s.write("database-url", database, 0o600)
	s.write("mariadb-url", server.NewDatabase(t, server.MariaDB).Berth, 0o600)
	// With noauth2 the token is the user's name.
	s.write("bin/openstack", "#!/bin/sh\necho admin", 0o700)
	s.write("rehearsal/compare.sh", "", 0o600)
	if err := os.Symlink(s.bin, filepath.Join(s.dir, "bin/berth")); err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes a file below the directory.
func (s *shell) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), mode); err != nil {
		s.t.Fatal(err)
	}
}

// types runs the first line of the page that begins with the given words, with more words appended
// if it does not have them.
func (s *shell) types(first string, more ...string) {
	s.t.Helper()
	code := s.page.code()
	at := slices.IndexFunc(code, func(line string) bool {
		return strings.HasPrefix(line, first) && !strings.Contains(line, "--dry-run")
	})
	if at < 0 {
		s.t.Fatalf("%s has no line %q", s.page.name, first)
	}
	s.run(strings.Join(append([]string{code[at]}, more...), " "))
}

// run runs a line with bash, with the directory of the rehearsal as the current
// one, and returns what it printed on standard output.
func (s *shell) run(line string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", s.paths.Replace(line))
	cmd.Dir = filepath.Join(s.dir, "rehearsal")
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "PATH="+filepath.Join(s.dir, "bin")+":/usr/bin:/bin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s%s", line, err, out, &stderr)
	}
	return string(out)
}

// compare runs the script of the page that sends the same requests to two services, and returns its
// verdicts by path.
func (s *shell) compare(old, rehearsal string) map[string]string {
	s.t.Helper()
	script, _, ok := strings.Cut(strings.Join(s.page.block(s.t, "cat > compare.sh")[1:], "\n"), "\nEOF\n")
	if !ok {
		s.t.Fatalf("the script in %s has no end", s.page.name)
	}
	addresses := strings.NewReplacer("http://placement.example.org:8778", old, "http://127.0.0.1:18778", rehearsal)
	s.write("rehearsal/compare.sh", addresses.Replace(script), 0o600)
	verdicts := make(map[string]string)
	for line := range strings.Lines(s.run("bash compare.sh")) {
		verdict, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		verdicts[path] = verdict
	}
	if len(verdicts) < 7 {
		s.t.Errorf("the script compared %d answers, want 7 and more: %v", len(verdicts), verdicts)
	}
	return verdicts
}
