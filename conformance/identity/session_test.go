package identity_test

import (
	"net/http"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
)

// testConsoleSession has Keystone revoke the token of a session while a page is open in a browser:
// the page says so, and is shown again after a login, with what has changed meanwhile and after it.
func testConsoleSession(t *testing.T, k *keystonetest.Keystone) {
	berth := server.StartBerth(t, server.Options{Config: settings(k, section{"token_cache_time": "-1"})})
	admin := keystonetest.Find("project-admin")
	addHost(t, berth, k.Token(admin), "0a1b0000-0000-4000-8000-000000000001", "before")
	p := browser.Start(t).Open(t, berth.URL()+"/console/hosts?sort=-name", browser.Views()["laptop"])
	logIn := func() {
		t.Helper()
		p.Type("User", admin.Name)
		p.Type("Password", admin.Password)
		p.Type("Project", admin.Project)
		p.Click("Log in")
	}
	logIn()
	p.Wait("before")
	if p.Wait(admin.Name + " in " + admin.Project); len(p.Problems()) > 0 {
		t.Error("the browser reports problems before the end of the session")
	}

	k.ChangePassword(admin, admin.Password) // which revokes the tokens
	// A change wakes the stream, which checks the token. Until the next second Keystone refuses new
	// tokens too.
	nova := k.Token(keystonetest.Find("nova"))
	addHost(t, berth, nova, "0a1b0000-0000-4000-8000-000000000002", "meanwhile")
	p.Wait("The session has ended.")
	p.Until(`!document.body.innerText.includes("before") && !document.body.innerText.includes("Log out")`)
	awaitToken(t, k, berth, admin)
	logIn()
	p.Wait("meanwhile")
	if path := p.Path(); path != "/console/hosts?sort=-name" {
		t.Errorf("after the login the path is %q", path)
	}
	addHost(t, berth, nova, "0a1b0000-0000-4000-8000-000000000003", "afterwards")
	p.Wait("afterwards")
	p.Click("Log out")
	p.Wait("With")
	p.Until(`!document.body.innerText.includes("The session has ended")`)
}

// addHost creates a provider with processors.
func addHost(t *testing.T, s *server.Server, token, id, name string) {
	t.Helper()
	for _, q := range []request{
		{method: "POST", path: "/resource_providers", body: `{"uuid": "` + id + `", "name": "` + name + `"}`},
		{
			method: "PUT", path: "/resource_providers/" + id + "/inventories",
			body: `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}`,
		},
	} {
		q.header = as(token)
		if got := send(t, s, q); got.Status != http.StatusOK {
			t.Fatalf("%s %s: status %d: %s", q.method, q.path, got.Status, got.Body)
		}
	}
}

// awaitToken waits until new tokens of a persona are good.
func awaitToken(t *testing.T, k *keystonetest.Keystone, s *server.Server, who keystonetest.Persona) {
	t.Helper()
	for range 100 {
		if send(t, s, request{method: "GET", path: "/resource_providers", header: as(k.Token(who))}).Status == http.StatusOK {
			return
		}
	}
	t.Fatal("Keystone does not accept new tokens")
}
