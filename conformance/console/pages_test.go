package console

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
	"github.com/berthcloud/berth/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m) }

// TestPages opens the pages of "berth console" that shows the cloud of "berth up".
func TestPages(t *testing.T) {
	_, dir := server.StartBerthUp(t, "--hosts", "3")
	t.Setenv("OS_CLIENT_CONFIG_FILE", dir+"/clouds.yaml")
	t.Setenv("OS_CLOUD", "berth-admin")
	awaitFile(t, dir+"/clouds.yaml")
	url := startConsole(t, "--interval", "1s")
	root, _, _ := strings.Cut(url, "?")
	b := browser.Start(t)
	for _, name := range []string{"telephone", "laptop dark", "wall"} {
		t.Run(name, func(t *testing.T) {
			p := b.Open(t, url, browser.Views()[name])
			p.Wait("devstack2")
			if path := p.Path(); path != "/console/" {
				t.Errorf("the path is %q", path)
			}
			check(t, p, "hosts")
			p.Click("devstack0")
			p.Until(`location.pathname.startsWith("/console/hosts/")`)
			p.Wait("VCPU")
			check(t, p, "host")
			for _, page := range []struct{ path, text string }{
				{"why?query=resources%3DVCPU%3A1", "Why not?"}, {"howmuch?query=resources%3DVCPU%3A1", "How much?"}, {"now", "Now"},
			} {
				p.Go(root + page.path)
				p.Wait(page.text)
				check(t, p, strings.TrimSpace(page.text))
			}
		})
	}
}
