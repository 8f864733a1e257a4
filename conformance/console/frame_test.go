package console

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// TestFrame logs in, goes through the pages by the menu, by the history and by their addresses, and
// logs out, at every size and in both colour schemes.
func TestFrame(t *testing.T) {
	b := browser.Start(t)
	for name, view := range browser.Views() {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			p := b.Open(t, f.URL+"/console/", view)
			p.Wait("Log in")
			check(t, p, "login")

			p.Type("User", "operator")
			p.Type("Password", "wrong")
			p.Type("Project", "infra")
			p.Click("Log in")
			p.Wait("the password is wrong")
			for _, problem := range p.Problems() {
				if !strings.Contains(problem, "401") {
					t.Error(problem)
				}
			}
			check(t, p, "login refused")
			p.Type("Password", "right")
			p.Click("Log in")
			p.Wait("operator in infra")
			check(t, p, "hosts")
			if title := p.Title(); title != "Hosts – Berth" {
				t.Errorf("the title is %q", title)
			}

			p.Click("How much?")
			p.Until(`document.title === "How much? – Berth"`)
			if path := p.Path(); path != "/console/howmuch" {
				t.Errorf("the path is %q", path)
			}
			p.Eval("history.back()", nil)
			p.Until(`document.title === "Hosts – Berth"`)
			for _, page := range []struct{ path, title string }{
				{"hosts/0a1b", "Hosts"}, {"consumers/0a1b", "Consumers"}, {"why?resources=VCPU:1", "Why not?"}, {"now", "Now"},
			} {
				p.Go(f.URL + "/console/" + page.path)
				p.Until(`document.title === "` + page.title + ` – Berth"`)
				p.Wait("operator in infra")
			}
			for _, problem := range p.Problems() {
				if !strings.Contains(problem, "404") { // of the host and the consumer, which do not exist
					t.Error(problem)
				}
			}
			check(t, p, "now")
			p.Click("Log out")
			p.Wait("With")
			if path := p.Path(); path != "/console/now" {
				t.Errorf("after the logout the path is %q", path)
			}
		})
	}
}

// TestApplicationCredential logs in with one.
func TestApplicationCredential(t *testing.T) {
	f := newFake(t)
	p := browser.Start(t).Open(t, f.URL+"/console/why", browser.Views()["laptop"])
	p.Click("an application credential")
	p.Type("ID", "0a1b")
	p.Type("Secret", "secret")
	p.Click("Log in")
	p.Wait("robot")
	if path := p.Path(); path != "/console/why" {
		t.Errorf("after the login the path is %q", path)
	}
	if problems := p.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}
