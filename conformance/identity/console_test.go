package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// testConsole logs users in at the console of Berth's service, with passwords and an application
// credential, and has berth console read upstream's Placement.
func testConsole(t *testing.T, k *keystonetest.Keystone, p pair) {
	admin, reader := keystonetest.Find("project-admin"), keystonetest.Find("project-reader")
	id, secret := k.ApplicationCredential(admin, "console")
	for _, test := range []struct {
		name  string
		login object
		// What the login and then the table of hosts are answered with.
		want, hosts int
	}{
		{"an administrator", password(admin, admin.Password), http.StatusNoContent, http.StatusOK},
		{
			"an application credential",
			object{"application_credential_id": id, "application_credential_secret": secret},
			http.StatusNoContent, http.StatusOK,
		},
		{"a reader", password(reader, reader.Password), http.StatusNoContent, http.StatusForbidden},
		{"a wrong password", password(admin, "guessed"), http.StatusUnauthorized, http.StatusUnauthorized},
		{"no password", object{"user": admin.Name}, http.StatusBadRequest, http.StatusUnauthorized},
		{"something else", object{"pony": "x"}, http.StatusBadRequest, http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			body, err := json.Marshal(test.login)
			if err != nil {
				t.Fatal(err)
			}
			got, cookie := console(t, p.berth.URL(), "POST", "session", string(body), "")
			if got.Status != test.want || strings.Contains(got.Body, secret) {
				t.Fatalf("the login is answered with %d: %s", got.Status, got.Body)
			}
			if got, _ = console(t, p.berth.URL(), "GET", "hosts", "", cookie); got.Status != test.hosts {
				t.Errorf("the hosts are answered with %d: %s", got.Status, got.Body)
			}
			if test.want != http.StatusNoContent {
				return
			}
			if got, _ = console(t, p.berth.URL(), "DELETE", "session", "", cookie); got.Status != http.StatusNoContent {
				t.Errorf("the logout is answered with %d: %s", got.Status, got.Body)
			}
			if got, _ = console(t, p.berth.URL(), "GET", "hosts", "", cookie); got.Status != http.StatusUnauthorized {
				t.Errorf("after the logout the hosts are answered with %d", got.Status)
			}
		})
	}
	t.Run("Upstream", func(t *testing.T) { testConsoleOfUpstream(t, k, p) })
	t.Run("Session", func(t *testing.T) { testConsoleSession(t, k) })
}

func password(who keystonetest.Persona, text string) object {
	return object{"user": who.Name, "password": text, "domain": "Default", "project": who.Project}
}

// testConsoleOfUpstream has berth console read upstream's Placement, as an administrator.
func testConsoleOfUpstream(t *testing.T, k *keystonetest.Keystone, p pair) {
	k.Service("placement", "placement", p.upstream.URL())
	admin := keystonetest.Find("project-admin")
	claim(t, p.upstream, k.Token(admin), k.ProjectID(keystonetest.Demo), k.UserID(admin.Name))
	program := server.Berth(t)
	x := servertest.Start(t, "berth console", "/console/", func(addr string) *exec.Cmd {
		cmd := exec.Command(program, "console", "--listen", addr)
		cmd.Env = append(os.Environ(), "OS_AUTH_URL="+k.URL()+"/v3", "OS_USERNAME="+admin.Name,
			"OS_PASSWORD="+admin.Password, "OS_PROJECT_NAME="+admin.Project, "OS_USER_DOMAIN_NAME=Default",
			"OS_PROJECT_DOMAIN_NAME=Default", "OS_IDENTITY_API_VERSION=3")
		return cmd
	})
	defer x.Stop()
	_, key, found := strings.Cut(x.Log(), "?key=")
	if !found {
		t.Fatalf("the command prints no URL with a key:\n%s", x.Log())
	}
	key, _, _ = strings.Cut(key, "\n")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(x.URL() + "/console/?key=" + key)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	got, _ := console(t, x.URL(), "GET", "hosts", "", res.Header.Get("Set-Cookie"))
	for end := time.Now().Add(time.Minute); got.Status == http.StatusServiceUnavailable && time.Now().Before(end); {
		time.Sleep(time.Second) // as Retry-After says: the cloud is being read for the first time
		got, _ = console(t, x.URL(), "GET", "hosts", "", res.Header.Get("Set-Cookie"))
	}
	var hosts struct {
		Name    []string
		Classes []string
		Used    [][]int64
	}
	if err := json.Unmarshal([]byte(got.Body), &hosts); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %v: %s", got.Status, err, got.Body)
	}
	if len(hosts.Name) != 1 || hosts.Name[0] != "cn1" || len(hosts.Used) != 1 || hosts.Used[0][0] != 18 {
		t.Errorf("the hosts are %+v", hosts)
	}
}

// console sends a request to a console, as its page does, and returns the answer with the cookie
// that it sets.
func console(t *testing.T, url, method, path, body, cookie string) (answer, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url+"/console/api/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie, _, _ = strings.Cut(cookie, ";"); cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Status: res.StatusCode, Body: string(text)}, res.Header.Get("Set-Cookie")
}
