package documents

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/server"
)

var update = flag.Bool("update", false, "write what the requests of make-inventories.md answer into the page")

// inventoriesPage is the page whose requests this test types.
const inventoriesPage = "make-inventories.md"

// TestMakeInventories types the requests of the page, in their order, into Berth and into the
// distribution's Placement, and expects the answers that the page has of both.
func TestMakeInventories(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: apt-get install -y --no-install-recommends curl jq", err)
		}
	}
	path := filepath.Join(operations, inventoriesPage)
	p := page{inventoriesPage, read(t, path)}
	t.Run("Berth", func(t *testing.T) {
		got := p.typed(t, server.StartBerth(t, server.Options{}).URL())
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			p.text = got
		}
		p.equal(t, got)
	})
	t.Run("Upstream", func(t *testing.T) {
		got := ofDatabase.ReplaceAllString(p.typed(t, server.StartUpstream(t, server.Options{}).URL()),
			`Update conflict: Inventory for 'VCPU' on resource provider '11111111-0000-4000-8000-000000000001' `+
				`already exists."`)
		p.equal(t, got)
	})
}

// ofDatabase is how upstream's Placement reports that a provider has the class already: with the
// error of the database.
var ofDatabase = regexp.MustCompile(`Update conflict: \((?:[^"\\]|\\.)*"`)

// typed returns the page with what its commands, the lines that begin with a dollar, print with a
// placement service. What they printed before, up to the next command or the end of the block, is
// replaced.
func (p page) typed(t *testing.T, url string) string {
	t.Helper()
	function := strings.Join(p.block(t, "api() {"), "\n")
	function, _, _ = strings.Cut(function, "\n```")
	dir, commands := t.TempDir(), 0
	var lines []string
	answered := false // the lines of a block that follow are the answer to a command
	for line := range strings.SplitSeq(p.text, "\n") {
		command, ok := strings.CutPrefix(line, "    $ ")
		if !ok {
			if answered = answered && strings.HasPrefix(line, "    "); !answered {
				lines = append(lines, line)
			}
			continue
		}
		cmd := exec.Command("timeout", "60", "bash", "-c", function+"\n"+command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PLACEMENT="+url, "TOKEN=admin")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		lines = append(lines, line)
		for answer := range strings.Lines(string(out)) {
			lines = append(lines, "    "+strings.TrimRight(answer, " \n"))
		}
		answered = true
		commands++
	}
	if commands < 30 {
		t.Fatalf("%s has %d commands: this test looks for the wrong thing", p.name, commands)
	}
	return strings.Join(lines, "\n")
}

// equal compares the page with what was typed, line by line.
func (p page) equal(t *testing.T, got string) {
	t.Helper()
	want, typed := strings.Split(p.text, "\n"), strings.Split(got, "\n")
	for i := range min(len(want), len(typed)) {
		if want[i] != typed[i] {
			t.Fatalf("%s:%d (after %s)\n%s\nit is answered\n%s", p.name, i+1, want[max(0, i-1)], want[i], typed[i])
		}
	}
	if len(want) != len(typed) {
		t.Errorf("%s has %d lines, and with what was answered %d", p.name, len(want), len(typed))
	}
}
