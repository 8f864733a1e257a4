package computeapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/racetest"
)

// The body of a caller whom no rule of a route lets through is not read: of somebody without a
// role, and of a reader. Servers are the project's own.
func TestBodiesAreNotReadBeforeThePolicy(t *testing.T) {
	s := newAccessSide(t, policy.Options{EnforceNewDefaults: true})
	s.seed(t)
	segment := regexp.MustCompile(`\{(\w+)\}`)
	named := map[string]string{
		"server": strings.TrimPrefix(ownServer, "/v2.1/servers/"), "flavor": "c1", "id": "1", "migration": "1", "host": "cn1",
	}
	routes := (&computeapi.API{Servers: s.service.Service, Catalog: s.service.catalog, Fleet: s.service.fleet}).Routes()
	for _, roles := range [][]string{nil, {"reader"}} {
		h := handlerOf(t, s.service, httpapi.Agents{Others: func(*http.Request) (identity.Caller, error) {
			return identity.Caller{UserID: "u", ProjectID: nova.Projects()["demo"], Roles: roles}, nil
		}}.Authenticate, policy.Options{EnforceNewDefaults: true})
		checked := 0
		for _, r := range routes {
			if r.Method != http.MethodPost && r.Method != http.MethodPut {
				continue
			}
			if r.Pattern == "/v2.1/os-keypairs" {
				continue // keypairs belong to users: everybody may have them, and an administrator names another user in the body
			}
			checked++
			path := segment.ReplaceAllStringFunc(r.Pattern, func(name string) string {
				if value, ok := named[name[1:len(name)-1]]; ok {
					return value
				}
				return "x"
			})
			req := httptest.NewRequest(r.Method, path, unread{t})
			req.ContentLength = 14 << 20
			req.Header.Set("Content-Type", "application/json")
			if !r.Unversioned {
				minor := 93
				if r.Until != 0 {
					minor = r.Until
				}
				req.Header.Set("OpenStack-API-Version", fmt.Sprintf("compute 2.%d", minor))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != http.StatusForbidden {
				t.Errorf("%s %s as %v is answered %d %s, want 403", r.Method, r.Pattern, roles, w.Code, w.Body)
			}
		}
		if checked < 20 {
			t.Errorf("%d routes were checked", checked)
		}
	}
}

// What is wrong with a body of megabytes is said in some kilobytes, and users send no more than
// what servers need.
func TestAnswersAboutBodiesAreBounded(t *testing.T) {
	racetest.Skip(t)
	s := newSide(t)
	s.Reset(t)
	const most = 1 << 20
	for name, tc := range map[string]struct {
		who, path, body string
		status          int
	}{
		"Text": {
			"admin", "/v2.1/flavors",
			`{"flavor": {"name": "` + strings.Repeat("x", most-100) + `", "ram": 1, "vcpus": 1, "disk": 1}}`, 400,
		},
		"Escapes": {
			"admin", "/v2.1/flavors",
			`{"flavor": {"name": "` + strings.Repeat(`\u0001`, most/6-50) + `", "ram": 1, "vcpus": 1, "disk": 1}}`, 400,
		},
		"List":        {"admin", "/v2.1/flavors", `{"flavor": [` + strings.Repeat("1,", most/2-50) + `1]}`, 400},
		"Keys":        {"admin", "/v2.1/flavors", `{"flavor": {` + strings.Repeat(`"k": 1, `, most/8-50) + `"k": 1}}`, 400},
		"Action":      {"member", ownServer + "/action", `{"` + strings.Repeat("x", most-100) + `": null}`, 400},
		"TooLarge":    {"admin", "/v2.1/flavors", `{"flavor": "` + strings.Repeat("x", most) + `"}`, 413},
		"KeypairText": {"reader", "/v2.1/os-keypairs", `{"keypair": {"name": "` + strings.Repeat("x", most-100) + `"}}`, 400},
		"OfAHost":     {"service", "/berth/v1/heartbeats", `{"host": "` + strings.Repeat("x", 4*most) + `"}`, 400},
	} {
		req := httptest.NewRequest("POST", tc.path, strings.NewReader(tc.body))
		req.Header.Set("X-Auth-Token", tc.who)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		(*s.handler.Load()).ServeHTTP(w, req)
		if w.Code != tc.status || w.Body.Len() > 128<<10 {
			t.Errorf("%s: answered %d with %d bytes: %.200s, want %d", name, w.Code, w.Body.Len(), w.Body, tc.status)
		}
	}
}

// An identified host cannot report a hypervisor that is called otherwise than it is, and so not one
// whose provider others keep.
func TestHostsReportTheirOwnHypervisor(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	report := func(host, node, id string, identified ...string) error {
		return s.service.fleet.Report(t.Context(), compute.Report{
			Host: host, Version: 66, Hosts: identified, Node: compute.NodeRow{
				ID: compute.ID("33333333-0000-4000-8000-00000000000" + id), Name: node, Type: "fake", CPU: []byte("{}"),
			},
		})
	}
	for _, tc := range []struct {
		host, node, id string
		identified     []string
		allowed        bool
	}{
		{"cn1", "cn1", "1", []string{"cn1"}, true},
		{"cn2", "cn2.example.org", "2", []string{"cn2"}, true},
		{"cn3.example.org", "cn3", "3", []string{"cn3.example.org"}, true},
		{"cn4", "rack7", "4", []string{"cn4", "rack7"}, true},
		{"cn5", "rack8", "5", []string{"cn5"}, false},
		{"cn5", "cn5", "1", []string{"cn5"}, false}, // the id of cn1's
		{"cn1", "cn1_pci_0000_84_00_0", "6", []string{"cn1"}, false},
		{"old", "rack9", "7", nil, true}, // by token
		{"old", "rack9", "7", []string{"old"}, true},
	} {
		if err := report(tc.host, tc.node, tc.id, tc.identified...); err == nil != tc.allowed {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
