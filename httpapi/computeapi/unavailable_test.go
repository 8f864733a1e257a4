package computeapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/glanceclient"
	"github.com/berthcloud/berth/client/neutronclient"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// internals is what callers must not read of other services: addresses, requests, and what these
// answered.
var internals = regexp.MustCompile(`127\.0\.0\.1|https?:|dial|refused|/v2\.0|/v2/|Get \\?"|secret`)

// unavailables are ways in which a service does not work, each as access to it.
func unavailables(t *testing.T) map[string]client.Access {
	t.Helper()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"NeutronError": {"type": "secret", "message": "http://127.0.0.1/ is secret"}}`)
	}))
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	t.Cleanup(other.Close)
	all := map[string]client.Access{}
	for name, url := range map[string]string{
		"Refuses": "http://127.0.0.1:1", "Broken": broken.URL, "AnotherProgram": other.URL,
	} {
		a, err := client.Fixed(url, client.NoAuth)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = a
	}
	s, err := keystone.NewSession(keystone.Options{
		Credentials: keystone.Credentials{Type: keystone.Password, Auth: keystone.Auth{
			AuthURL: "http://127.0.0.1:1", Username: "nova", Password: "secret", UserDomainID: "default", ProjectName: "service",
			ProjectDomainID: "default",
		}},
		Timeout: time.Second,
	}, keystone.Target{Type: "network", Interfaces: []string{"internal"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	all["Keystone"] = s
	return all
}

// A caller reads of an unavailable service no more than its name, on whatever route.
func TestUnavailableServicesAreOnlyNamed(t *testing.T) {
	calling := []access{
		{
			route: "POST /v2.1/servers", path: "/v2.1/servers", body: `{"server": {"name": "n", "imageRef": "` + string(image) +
				`", "flavorRef": "c1", "networks": [{"uuid": "55555555-0000-4000-8000-000000000001"}]}}`,
		},
		{
			route: "POST /v2.1/servers/{server}/os-interface", path: ownServer + "/os-interface",
			body: `{"interfaceAttachment": {"net_id": "55555555-0000-4000-8000-000000000001"}}`,
		},
		{
			route: "POST /v2.1/servers/{server}/os-interface", path: ownServer + "/os-interface",
			body: `{"interfaceAttachment": {}}`,
		},
		{route: "GET /v2.1/servers/{server}/os-interface/{port}", path: ownServer + "/os-interface/" + string(used)},
	}
	some := 4
	if racetest.Enabled {
		some = 16
	}
	for way, to := range unavailables(t) {
		for _, service := range []string{"network", "image"} {
			t.Run(service+way, func(t *testing.T) {
				s := newAccessSide(t, policy.Options{EnforceNewDefaults: true})
				options := client.Options{Access: to, Timeout: time.Second}
				if service == "network" {
					s.options.Network = neutronclient.New(options)
				} else {
					s.options.Images = glanceclient.New(options)
				}
				name := service
				if way == "Keystone" {
					name = "Keystone"
				}
				named := 0
				for _, row := range append(sweep.Sample(t, accesses(), some), calling...) {
					for _, who := range []string{"member", "admin"} {
						status, answer := s.answered(t, row, who)
						if strings.Contains(answer, "The "+name+" service is unavailable.") && status == http.StatusServiceUnavailable {
							named++
						}
						if status >= 400 && internals.MatchString(answer) {
							t.Errorf("%s %s for %s: %d %s", row.route, row.body, who, status, answer)
						}
					}
				}
				if named < 2 {
					t.Errorf("%d answers say that the service is unavailable", named)
				}
			})
		}
	}
}

// A caller without a project cannot have servers, which is the caller's fault, and known before
// another service is called.
func TestServersBelongToProjects(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	h := handler(t, s.service, func(*http.Request) (identity.Caller, error) {
		return identity.Caller{UserID: "u", Roles: []string{"admin", "member", "reader"}}, nil
	})
	s.handler.Store(&h)
	status, answer := s.say(t, said{
		"nobody", "POST", "/v2.1/servers", "compute 2.72",
		`{"server": {"name": "n", "imageRef": "` + string(image) + `", "flavorRef": "c1", "networks": "auto"}}`,
	})
	if status != http.StatusBadRequest || !strings.Contains(answer, "project") {
		t.Errorf("a server without a project: %d %s", status, answer)
	}
}
