package guide

import (
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/conformance/clients/openstack"
	"github.com/berthcloud/berth/internal/server"
)

const numa = "../../docs/operations/numa.md"

// TestNUMA runs the commands of the page about NUMA nodes, with "berth up", which is started again
// with other hosts where the page says so, and compares their output with the page. With -record it
// writes the output.
func TestNUMA(t *testing.T) {
	openstack.Need(t)
	here := t.TempDir()
	var cloud *server.Page
	start := func(flags ...string) *terminal {
		if cloud != nil {
			if err := cloud.End(syscall.SIGTERM, bootTime); err != nil {
				t.Fatal(err)
			}
		}
		cloud = server.StartPage(t, bootTime, append(server.UpArgs("127.0.0.1:0", here), flags...)...)
		for cloud.Lines.Scan() {
			if strings.Contains(cloud.Lines.Text(), "Ctrl-C stops") {
				return newTerminal(t, openrc(t, here+"/admin-openrc"))
			}
		}
		t.Fatalf("berth up %s does not start: %v\n%s", flags, cloud.Lines.Err(), cloud.Log.String())
		return nil
	}
	admin := start("--hosts", "2")
	page := readPage(t, numa)
	page.play(t, page.printed(t, "openstack resource provider list"), func(line string) string {
		flags, starts := strings.CutPrefix(line, "bin/berth up ")
		switch program, rest, _ := strings.Cut(line, " "); {
		case starts:
			admin = start(strings.Fields(flags)...)
			return ""
		case program == "berth":
			return admin.shell(server.Berth(t)+" "+rest, "")
		}
		return admin.run(line)
	})
}
