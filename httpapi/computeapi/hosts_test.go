package computeapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
)

// A host that knows the revision is answered when the list changes, and not before.
func TestHostsWaitForNews(t *testing.T) {
	s := newSide(t)
	s.options.Network = somePorts()
	s.Reset(t)
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	const vm = "33333333-0000-4000-8000-000000000001"
	s.makeServer(t, neutron.Agent{
		Kind: nova.Server, Host: "vm0",
		Configurations: map[string]any{"id": vm, "flavor": "c1", "image": image, "host": "cn1"},
	})

	_, first := s.say(t, said{"service", "GET", "/berth/v1/hosts/cn1/servers", "", ""})
	var known struct{ Revision string }
	if err := json.Unmarshal([]byte(first), &known); err != nil || known.Revision == "" {
		t.Fatalf("the host is to do %s: %v", first, err)
	}
	query := "/berth/v1/hosts/cn1/servers?revision=" + known.Revision
	if _, same := s.say(t, said{"service", "GET", query, "", ""}); same != first {
		t.Errorf("without a change the host is to do %s, then %s", first, same)
	}
	answers := make(chan string)
	go func() {
		_, answer := s.say(t, said{"service", "GET", query + "&wait=60", "", ""})
		answers <- answer
	}()
	if status, answer := s.say(t, said{"member", "POST", "/v2.1/servers/" + vm +
		"/action", "", `{"os-stop": null}`}); status != http.StatusAccepted {
		t.Fatalf("os-stop is answered %d %s", status, answer)
	}
	select {
	case answer := <-answers:
		if strings.Contains(answer, known.Revision) || !strings.Contains(answer, `"running":false`) {
			t.Errorf("the answer is %s", answer)
		}
	case <-time.After(30 * time.Second):
		t.Error("the host waits still")
	}
}

// A host reads its own list and reports for itself only, however it is identified; a token
// identifies no host, an administrator's neither. What is refused changes nothing.
func TestHostsActForThemselves(t *testing.T) {
	s := newSide(t)
	s.options.Network = somePorts()
	s.Reset(t)
	for _, host := range []string{"cn1", "cn2"} {
		s.Heartbeat(t, neutron.Agent{Host: host})
	}
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	const vm = "33333333-0000-4000-8000-000000000002"
	s.makeServer(t, neutron.Agent{
		Kind: nova.Server, Host: "vm",
		Configurations: map[string]any{"id": vm, "flavor": "c1", "image": image, "host": "cn2"},
	})
	s.Silence(t, "", "cn2")
	keys := hostkey.New("the secret of this service")
	agents := httpapi.Agents{Keys: keys, Others: authenticate}
	own, others := map[string]string{}, map[string]string{}
	for host, requests := range map[string]map[string]string{"cn1": own, "cn2": others} {
		_, node := computetest.Host(host, 0)
		report := fmt.Sprintf(`{"host": {"host": %q, "version": 66, "node": {"id": %q, "name": %q, "type": "fake", `+
			`"vcpus": 9999, "memory_mb": 1, "disk_gb": 1}}}`,
			host, node.ID, node.Name)
		requests["POST /berth/v1/heartbeats"] = report
		requests["GET /berth/v1/hosts/"+host+"/servers"] = ""
		requests["GET /berth/v1/hosts/"+host+"/servers?wait=60&revision=x"] = ""
		requests["POST /berth/v1/hosts/"+host+"/servers"] = fmt.Sprintf(
			`{"results": [{"server": %q, "event": %q, "everywhere": true}]}`, vm, vm)
	}
	for name, tc := range map[string]struct {
		agents       httpapi.Agents
		token, key   string
		own, another bool
	}{
		"TokenOfAService":    {agents, "service", "", false, false},
		"TokenOfAnAdmin":     {agents, "admin", "", false, false},
		"KeyAlone":           {agents, "", keys.Key("cn1"), true, false},
		"KeyAndToken":        {agents, "admin", keys.Key("cn1"), true, false},
		"KeyOfAnotherSecret": {agents, "admin", hostkey.New("another").Key("cn1"), false, false},
		"KeyWithoutASecret":  {httpapi.Agents{Others: authenticate}, "service", keys.Key("cn1"), false, false},
		"TokensForAll": {
			httpapi.Agents{Keys: keys, TokensForAll: true, Others: authenticate}, "service", "", true, true,
		},
		"TokensForAllWithKey": {
			httpapi.Agents{Keys: keys, TokensForAll: true, Others: authenticate}, "service", keys.Key("cn1"), true, false,
		},
		"TokensWithoutTheRole": {
			httpapi.Agents{Keys: keys, TokensForAll: true, Others: authenticate}, "member", "", false, false,
		},
	} {
		h := handlerOf(t, s.service, tc.agents.Authenticate, policy.Options{})
		for _, about := range []struct {
			requests map[string]string
			allowed  bool
		}{{own, tc.own}, {others, tc.another}} {
			for line, body := range about.requests {
				if about.allowed && tc.another && line == "POST /berth/v1/heartbeats" {
					continue // would keep the dead host up, which the end of the test looks for
				}
				method, path, _ := strings.Cut(line, " ")
				r := httptest.NewRequest(method, path, strings.NewReader(body))
				r.Header.Set("X-Auth-Token", tc.token)
				if tc.key != "" {
					r.Header.Set(hostkey.Header, tc.key)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if about.allowed && w.Code >= 300 || !about.allowed && w.Code != http.StatusForbidden {
					t.Errorf("%s: %s is answered %d %s, want it to be allowed: %v", name, line, w.Code, w.Body, about.allowed)
				}
			}
		}
	}
	if status, answer := s.say(t, said{"member", "GET", "/v2.1/servers/" + vm, "", ""}); status != http.StatusOK ||
		!strings.Contains(answer, `"ACTIVE"`) {
		t.Errorf("the server is answered %d %s", status, answer)
	}
	all, err := s.service.fleet.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range all {
		if service.Host == "cn2" && service.Up {
			t.Error("the dead host is up")
		}
	}
}

// What hosts send is read only after it is clear that they may send it.
func TestReportsAreNotReadBeforeThePolicy(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	keys := hostkey.New("the secret of this service")
	h := handlerOf(t, s.service, httpapi.Agents{Keys: keys, Others: authenticate}.Authenticate, policy.Options{})
	for _, tc := range []struct{ token, key, path string }{
		{"member", "", "/berth/v1/heartbeats"},
		{"service", "", "/berth/v1/heartbeats"},
		{"member", "", "/berth/v1/hosts/cn1/servers"},
		{"service", "", "/berth/v1/hosts/cn1/servers"},
		{"", keys.Key("cn2"), "/berth/v1/hosts/cn1/servers"},
	} {
		r := httptest.NewRequest("POST", tc.path, unread{t})
		r.ContentLength = 14 << 20
		r.Header.Set("X-Auth-Token", tc.token)
		r.Header.Set(hostkey.Header, tc.key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%+v: answered %d %s, want 403", tc, w.Code, w.Body)
		}
	}
}

// An unread body fails the test when it is read.
type unread struct{ testing.TB }

func (u unread) Read([]byte) (int, error) {
	u.Helper()
	u.Error("the body is read")
	return 0, io.EOF
}
