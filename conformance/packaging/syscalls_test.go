package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody is the user of the traced service when the test is root: root's SQLite makes calls that
// the service's does not.
const nobody = 65534

// TestServiceStaysWithinItsConfinement traces the program while it serves and compares its use of
// the kernel with the restrictions of the unit file: system calls, families of sockets, memory that
// is never both writable and executable, and files that it writes to.
func TestServiceStaysWithinItsConfinement(t *testing.T) {
	need(t, "strace", "strace")
	need(t, "systemd-analyze", "systemd")
	_, unpacked := pkg(t)
	u := unit(t, unpacked)
	dir := openDir(t)
	trace := traced(t, unpacked, dir)
	t.Logf("%d lines of trace", strings.Count(trace, "\n"))

	allowed := allowedCalls(t, u["SystemCallFilter"])
	families := strings.Fields(u.only(t, "RestrictAddressFamilies"))
	calls := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\d+ +(\w+)\((.*)$`).FindAllStringSubmatch(trace, -1) {
		name, args := m[1], m[2]
		if !calls[name] && !allowed[name] {
			t.Errorf("the filter does not allow %s(%s", name, args)
		}
		calls[name] = true
		checkCall(t, name, args, dir, families)
	}
	if !calls["accept4"] || !calls["fsync"] && !calls["fdatasync"] {
		t.Errorf("the trace does not show a service at work: %v", calls)
	}
	if u.only(t, "MemoryDenyWriteExecute") != "yes" || u.only(t, "ProtectSystem") != "strict" {
		t.Error("the unit file is less strict than this test")
	}
}

// openDir creates a directory that all users may read, unlike the test's own.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-traced-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkCall checks the arguments of one call.
func checkCall(t *testing.T, name, args, dir string, families []string) {
	t.Helper()
	switch name {
	case "mmap", "mprotect":
		if strings.Contains(args, "PROT_WRITE|PROT_EXEC") {
			t.Errorf("memory is writable and executable: %s(%s", name, args)
		}
	case "socket":
		family, _, _ := strings.Cut(args, ",")
		for _, f := range families {
			if f == family {
				return
			}
		}
		t.Errorf("a socket of another family: %s(%s", name, args)
	case "open", "openat":
		m := regexp.MustCompile(`"([^"]*)".*O_(WRONLY|RDWR|CREAT)`).FindStringSubmatch(args)
		if m != nil && !strings.HasPrefix(m[1], dir+"/") && m[1] != "/dev/null" {
			t.Errorf("a file outside of the service's directories is written to: %s(%s", name, args)
		}
	}
}

// traced serves for a moment with the database in dir and returns the trace.
func traced(t *testing.T, unpacked, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "trace")
	settings := filepath.Join(dir, "placement.conf")
	if err := os.WriteFile(settings, []byte(read(t, filepath.Join(unpacked, settingsPath))), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "berth") // the user nobody cannot read root's directories
	if err := copyFile(filepath.Join(unpacked, programPath), program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("strace", "-D", "-f", "-q", "-o", file, program, "placement", "serve", "--config", settings)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, cmd, "OS_PLACEMENT_DATABASE__CONNECTION=sqlite:///"+filepath.Join(dir, "placement.db"))
	s.awaitTrace(file)
	s.answers()
	s.stop()
	return s.wholeTrace(file)
}

// awaitTrace skips the test where processes may not be traced, as in some
// containers.
func (s *service) awaitTrace(file string) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(s.log.String(), "ptrace") {
			s.t.Skipf("NOT TESTED: processes may not be traced here: %s", s.log.String())
		}
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
	}
	s.t.Fatalf("no trace\n%s", s.log.String())
}

// wholeTrace returns the trace when the tracer, which outlives the service, has
// written its end.
func (s *service) wholeTrace(file string) string {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text := read(s.t, file)
		if regexp.MustCompile(`\+\+\+ exited with 0 \+\+\+\n$`).MatchString(text) {
			return text
		}
	}
	s.t.Fatal("the trace has no end")
	return ""
}

// allowedCalls returns the calls that the lines of a filter allow: the first lists allowed ones,
// lines that begin with ~ remove some.
func allowedCalls(t *testing.T, lines []string) map[string]bool {
	t.Helper()
	groups := callGroups(t)
	allowed := map[string]bool{}
	var set func(name string, value bool)
	set = func(name string, value bool) {
		if strings.HasPrefix(name, "@") {
			for _, member := range groups[name] {
				set(member, value)
			}
			return
		}
		allowed[name] = value
	}
	for _, line := range lines {
		line, denied := strings.CutPrefix(line, "~")
		for _, name := range strings.Fields(line) {
			set(name, !denied)
		}
	}
	set("@default", true) // systemd allows these with every list
	if len(allowed) < 100 {
		t.Fatalf("the filter is about %d calls only", len(allowed))
	}
	return allowed
}

// callGroups reads systemd's groups of system calls.
func callGroups(t *testing.T) map[string][]string {
	t.Helper()
	groups := map[string][]string{}
	group := ""
	for line := range strings.Lines(run(t, "systemd-analyze", "--no-pager", "syscall-filter")) {
		word := strings.TrimSpace(line)
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case strings.HasPrefix(line, "@"):
			group = word
		default:
			groups[group] = append(groups[group], word)
		}
	}
	return groups
}
