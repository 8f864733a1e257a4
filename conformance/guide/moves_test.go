package guide

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/conformance/server"
	"github.com/berthcloud/berth/internal/rotation"
)

const moves = "../../docs/operations/moves.md"

var (
	// shows are the commands that only show something: the page has them repeated until they do.
	shows = regexp.MustCompile(`^openstack [^$]*\b(?:show|list)\b`)
	// sets is a command that keeps what another one prints in a variable of the shell.
	sets = regexp.MustCompile(`^([A-Z]+)=\$\((.+)\)$`)
)

// TestMoves runs the commands of the page about moves of servers, with "berth up" and two hosts, and compares their output with
// the page. With -record it writes the output. Every second rotation leaves it out: those that run TestFirstSteps.
func TestMoves(t *testing.T) {
	openstack.Need(t)
	if first, step := rotation.Every(2); first == 0 && step > 1 {
		return
	}
	const dir = "/root/.local/share/berth/up" // on the page
	_, here := server.StartBerthUp(t, "--hosts", "2")
	admin := newTerminal(t, openrc(t, here+"/admin-openrc"))
	page := readPage(t, moves)
	known := page.printed(t, "openstack resource provider list") // ids that follow from names
	variables := map[string]string{}
	page.compare(t, known, func(c *typed) string {
		line := strings.ReplaceAll(c.line, dir, here)
		for name, value := range variables {
			line = strings.ReplaceAll(line, "$"+name, value)
		}
		if strings.HasPrefix(line, "export ") { // as in the file with the credentials
			return ""
		}
		if s := sets.FindStringSubmatch(line); s != nil {
			variables[s[1]] = strings.TrimSpace(admin.run(s[2]))
			return ""
		}
		run := admin.run
		if strings.Contains(line, `"`) { // which a client that reads commands does not know
			run = func(line string) string { return admin.shell(line, "") }
		}
		out := run(line)
		if !shows.MatchString(line) || *record {
			return out
		}
		for end := time.Now().Add(bootTime); stable(out, known) != stable(c.want, known) && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			out = run(line)
		}
		return out
	})
}
