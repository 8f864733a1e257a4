package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/process"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

const firstSteps = "../../docs/first-steps.md"

// left marks lines that the page omits.
const left = "…"

// A typed is a command of a page, after its prompt, and its output according to the page.
type typed struct {
	line, want string
	end        int // the end of the output, in lines of the page
}

// commandsOf returns the commands in the blocks of a page.
func commandsOf(page []string) (all []*typed) {
	var c *typed
	for i, line := range page {
		text, block := strings.CutPrefix(line, "    ")
		command, prompt := strings.CutPrefix(text, "$ ")
		switch {
		case !block:
			c = nil
		case prompt:
			c = &typed{line: command, end: i + 1}
			all = append(all, c)
		case c == nil: // a block without a prompt
		case strings.HasSuffix(c.line, "\\"):
			c.line, c.end = strings.TrimSuffix(c.line, "\\")+strings.TrimSpace(text), i+1
		default:
			c.want, c.end = c.want+text+"\n", i+1
		}
	}
	return all
}

// A newcomer runs commands in a separate shell, with a "berth up" whose addresses and home
// directory differ from the page's.
type newcomer struct {
	t       *testing.T
	flags   []string
	here    *strings.Replacer // the page's values to the actual ones
	page    *strings.Replacer // and back
	dir     string
	home    string
	exports string
}

func newNewcomer(t *testing.T) *newcomer {
	n := &newcomer{t: t, dir: t.TempDir(), home: servertest.Dir(t)}
	here := []string{"/root/", n.home + "/"}
	for flag, address := range map[string]string{
		"listen": "127.0.0.1:8778", "network-listen": "127.0.0.1:9696", "compute-listen": "127.0.0.1:8774",
		"identity-listen": "127.0.0.1:5000", "image-listen": "127.0.0.1:9292",
	} {
		free := servertest.FreeAddress(t)
		n.flags = append(n.flags, "--"+flag, free)
		here = append(here, address, free)
	}
	back := make([]string, len(here))
	for i := 0; i < len(here); i += 2 {
		back[i], back[i+1] = here[i+1], here[i]
	}
	n.here, n.page = strings.NewReplacer(here...), strings.NewReplacer(back...)
	if err := os.Mkdir(filepath.Join(n.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(server.Berth(t), filepath.Join(n.dir, "bin", "berth")); err != nil {
		t.Fatal(err)
	}
	return n
}

// types runs a command and returns its output.
func (n *newcomer) types(line string) string {
	n.t.Helper()
	if strings.HasPrefix(line, "export ") {
		n.exports += n.here.Replace(line) + "\n"
		return ""
	}
	if line == "bin/berth up" {
		line += " " + strings.Join(n.flags, " ")
	}
	cmd := exec.CommandContext(n.t.Context(), "/bin/bash", "-c", n.exports+n.here.Replace(line))
	p, out := n.start(cmd)
	select {
	case <-p.Ended():
	case <-time.After(openstack.CommandTime):
		p.Kill()
		n.t.Fatalf("%s has not ended after %v\n%s", line, openstack.CommandTime, out.Tail())
	}
	return n.page.Replace(out.String())
}

// start starts a command at the newcomer's place.
func (n *newcomer) start(cmd *exec.Cmd) (*process.Process, *process.Log) {
	n.t.Helper()
	cmd.Dir, cmd.Env = n.dir, environment(n.home, nil)
	out := new(process.Log)
	cmd.Stdout, cmd.Stderr = out, out
	p, err := process.Start(cmd)
	if err != nil {
		n.t.Fatal(err)
	}
	return p, out
}

// makesUp does what "make up" does after the build, and returns its output up to the end of its
// page.
func (n *newcomer) makesUp() string {
	n.t.Helper()
	makes := exec.CommandContext(n.t.Context(), "make", "--no-print-directory", "-n", "up")
	makes.Dir = "../.."
	makes.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // of a make that runs this test
	if out, err := makes.Output(); err != nil || !strings.HasSuffix(string(out), "\nbin/berth up\n") {
		n.t.Fatalf("make up does not end in bin/berth up: %v\n%s", err, out)
	}
	cmd := exec.Command("bin/berth", append([]string{"up"}, n.flags...)...)
	p, out := n.start(cmd)
	n.t.Cleanup(func() {
		if err := p.End(syscall.SIGINT, bootTime); err != nil || cmd.ProcessState.ExitCode() != 0 {
			n.t.Errorf("Ctrl-C ends it with %v, %v\n%s", cmd.ProcessState, err, out.Tail())
		}
	})
	for end := time.Now().
		Add(bootTime); !strings.Contains(out.String(), "deletes them"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) || !p.Alive() {
			n.t.Fatalf("berth up does not show its page:\n%s", out.Tail())
		}
	}
	return n.page.Replace(out.String())
}

var (
	processForm = regexp.MustCompile(`process \d+ `)
	spaces      = regexp.MustCompile(`  +`) // as many as an address leaves
)

// stable is the part of an output that does not differ between runs.
func stable(out, known string) string {
	n := newNames()
	n.known = known
	return spaces.ReplaceAllString(processForm.ReplaceAllString(n.shown(out), "process <pid> "), "  ")
}

// TestFirstSteps runs the commands of the page for newcomers, and compares their output with the
// page. With -record it writes the output.
func TestFirstSteps(t *testing.T) {
	openstack.Need(t)
	known, err := os.ReadFile("testdata/guide.txt") // has the ids that do not differ
	if err != nil {
		t.Fatal(err)
	}
	page := readPage(t, firstSteps)
	checkPrerequisites(t, strings.Join(page.lines, "\n"))
	n := newNewcomer(t)
	page.compare(t, string(known), func(c *typed) string {
		if c.line == "make up" {
			return n.makesUp()
		}
		return n.types(c.line)
	})
}

// kept is the part of an output that a page contains, which marks its omissions.
func kept(want, printed string) string {
	var b strings.Builder
	rest := strings.Split(printed, "\n")
	for line := range strings.Lines(want) {
		if line == left+"\n" {
			b.WriteString(line)
			continue
		}
		for len(rest) > 0 {
			next := rest[0]
			rest = rest[1:]
			if next+"\n" == line {
				b.WriteString(line)
				break
			}
		}
	}
	return b.String()
}

var installed = regexp.MustCompile(`(?m)^    apt-get install -y (.+)$`)

// checkPrerequisites requires that the programs of the page are installed, and the version of Go in
// go.mod.
func checkPrerequisites(t *testing.T, page string) {
	t.Helper()
	m := installed.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page does not say what to install")
	}
	if out, err := exec.CommandContext(t.Context(), "dpkg", append([]string{"-s"}, strings.Fields(m[1])...)...).
		CombinedOutput(); err != nil {
		t.Errorf("not all that the page installs is there: %v\n%s", err, out)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(mod), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	if !strings.Contains(page, "/go"+version+".linux-amd64.tar.gz") {
		t.Errorf("the page does not install Go %s, which go.mod requests", version)
	}
}
