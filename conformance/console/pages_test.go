package console

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
	"github.com/berthcloud/berth/internal/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// TestPages opens the pages of "berth console" that shows the cloud of "berth up", with a server
// that has a guarantee and one that has no host, in every view.
func TestPages(t *testing.T) {
	g := startGuide(t, "--hosts", "3")
	id := g.boot("server0", g.port("port-normal-qos", g.policy))
	g.boot("refused", g.port("port-vast", g.guarantee("vast", 100_000_000)))
	t.Setenv("OS_CLIENT_CONFIG_FILE", g.dir+"/clouds.yaml")
	t.Setenv("OS_CLOUD", "berth-admin")
	url := startConsole(t, "--interval", "1s")
	root, _, _ := strings.Cut(url, "?")
	p := browser.Start(t).Open(t, url, browser.Views()["laptop"])
	p.Wait("devstack2")
	if path := p.Path(); path != "/console/" {
		t.Errorf("the path is %q", path)
	}
	// The squares of the map are as wide as the page again.
	const drawn = `(() => {
		const canvas = document.querySelector("canvas"), width = canvas.parentElement.clientWidth;
		const used = parseInt(canvas.style.inlineSize);
		return used <= width && used > width - 40;
	})()`
	for _, page := range []struct{ name, path, text, until string }{
		{"hosts", "", "devstack2", ""},
		{"map", "?view=map&second=NET_BW_EGR_KILOBIT_PER_SEC", "below 60 %", drawn},
		{"servers", "servers", "why?", ""},
		{"server", "consumers/" + id, "Ports with a guarantee", ""},
		{"why", "why", "Explain", ""},
		{"why a query", "why?query=resources%3DVCPU%3A1", "of 3 hosts fit.", ""},
		{"why refused", "why?flavor=cirros256&port=port-vast", "No host fits.", ""},
		{"how much", "howmuch", "Free slots of each flavor", ""},
		{"how much a flavor", "howmuch?flavor=cirros256", "more fit", ""},
		{"drain", "howmuch?drain=devstack0", "be emptied", ""},
		{"now", "now", "What the audit finds", ""},
	} {
		p.Go(root + page.path)
		p.Wait(page.text)
		checkViews(t, p, page.name, page.until)
	}
	p.Go(root + "consumers/" + id)
	p.Click("devstack0")
	p.Until(`location.pathname.startsWith("/console/hosts/")`)
	p.Wait("Who has what")
	checkViews(t, p, "host", "")
}
