package console

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// TestFrame logs in, goes through the pages by the menu, by the history and by their addresses, and
// logs out.
func TestFrame(t *testing.T) {
	f := newFake(t)
	p := browser.Start(t).Open(t, f.URL+"/console/", browser.Views()["laptop"])
	p.Wait("Log in")
	checkViews(t, p, "login", "")

	p.Look(browser.Views()["laptop"])
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
	checkViews(t, p, "login refused", "")
	p.Type("Password", "right")
	p.Click("Log in")
	p.Wait("operator in infra")
	checkViews(t, p, "hosts of a user", "")
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
	p.Click("Log out")
	p.Wait("With")
	if path := p.Path(); path != "/console/now" {
		t.Errorf("after the logout the path is %q", path)
	}
}

// TestErrors looks at the pages when their requests are refused, and when nothing answers.
func TestErrors(t *testing.T) {
	f := newFake(t)
	f.become("operator")
	p := browser.Start(t).Open(t, f.URL+"/console/pony", browser.Views()["laptop"])
	p.Wait("There is no page of this name.")
	checkViews(t, p, "no such page", "")
	for _, c := range []struct {
		status           int
		path, text, name string
	}{
		{0, "hosts/0a1b", "There is no such data.", "no such host"},
		{0, "consumers/0a1b", "There is no such data.", "no such consumer"},
		{http.StatusForbidden, "hosts", "does not allow it", "hosts refused"},
		{http.StatusServiceUnavailable, "servers", "the cloud cannot be read", "servers failed"},
		{http.StatusServiceUnavailable, "why?query=resources%3DVCPU%3A1", "the cloud cannot be read", "why failed"},
		{http.StatusServiceUnavailable, "howmuch?drain=0a1b", "the cloud cannot be read", "drain failed"},
	} {
		f.refuseWith(c.status)
		p.Go(f.URL + "/console/" + c.path)
		p.Wait(c.text)
		lookViews(t, p, c.name, "")
	}

	f.refuseWith(0)
	lost := make(chan struct{})
	f.events = func(w http.ResponseWriter, _ *http.Request) {
		send(w, ": connected\n\n")
		<-lost
	}
	p.Go(f.URL + "/console/hosts")
	p.Wait("host1")
	f.refuseWith(http.StatusServiceUnavailable)
	close(lost)
	p.Wait("The console does not answer")
	lookViews(t, p, "console lost", "")

	f.dist = t.TempDir()
	p.Click("Now") // which this browser has not loaded yet
	p.Wait("The page could not be loaded.")
	lookViews(t, p, "page not loaded", "")
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

// TestFirstReading looks at a page while the cloud is read for the first time: it says how far that
// is, and shows the hosts when they are there.
func TestFirstReading(t *testing.T) {
	f := newFake(t)
	f.become("operator")
	f.read("The cloud is being read for the first time: providers, 3,000 of 9,000.")
	p := browser.Start(t).Open(t, f.URL+"/console/", browser.Views()["laptop"])
	p.Wait("providers, 3,000 of 9,000.")
	lookViews(t, p, "first reading", "")
	f.read("The cloud is being read for the first time: providers, 6,000 of 9,000.")
	p.Wait("providers, 6,000 of 9,000.")
	f.read("")
	p.Wait("host1")
	p.Until(`!document.body.innerText.includes("for the first time")`)
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "503") {
			t.Error(problem)
		}
	}
}

// TestTraffic looks at the requests to the services, on the page Now.
func TestTraffic(t *testing.T) {
	f := newFake(t)
	f.become("operator")
	f.traffic = map[string]any{
		"measured": true, "since": "2026-01-02T03:04:05Z", "window": 60.2,
		"requests": []any{
			map[string]any{
				"service": "placement", "request": "GET /allocation_candidates", "rate": 12.345, "median": 0.0042, "p99": 1.53,
				"total": 98765, "conflicts": 0, "refused": 3, "failed": 1,
			},
			map[string]any{
				"service": "placement", "request": "PUT /allocations/{consumer_uuid}", "rate": 0, "median": 0, "p99": 0,
				"total": 17, "conflicts": 5, "refused": 0, "failed": 0,
			},
		},
		"outcomes": []any{map[string]any{"what": "searches without candidates: VCPU", "count": 4}},
	}
	p := browser.Start(t).Open(t, f.URL+"/console/now", browser.Views()["laptop"])
	p.Wait("Requests to the services")
	checkViews(t, p, "requests", "")
	p.Look(browser.Views()["laptop"])
	var rows [][]string
	p.Eval(`[...document.querySelectorAll("section[aria-labelledby=requests] tbody tr")].map(
		(row) => [...row.cells].map((cell) => cell.innerText))`, &rows)
	want := [][]string{
		{"placement GET /allocation_candidates", "12", "4.2 ms", "1.5 s", "98765", "0", "3", "1"},
		{"placement PUT /allocations/{consumer_uuid}", "0", "–", "–", "17", "5", "0", "0"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("the table is %q, want %q", rows, want)
	}
	p.Wait("4 searches without candidates: VCPU")
	p.Wait("of the last 60 s")
}
