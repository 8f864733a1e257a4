package identity_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// vcpus are the series of unified limits and of what is used, of the class that this test limits.
const vcpus = `{project_id=%q,resource_class="VCPU"}`

// TestUnifiedLimits registers limits in a real Keystone, gives one project a limit of its own, and
// reads them as berth exporter exports them: those of its own project for a user with roles in that
// only, and those of all projects once the user has a role on the system.
func TestUnifiedLimits(t *testing.T) {
	k := keystonetest.Start(t, keystonetest.Options{})
	placement := server.StartBerth(t, server.Options{Config: settings(k, nil)})
	k.Service("placement", "placement", placement.URL())
	operator := keystonetest.Find("project-admin")
	a := limitsAdmin{t: t, k: k, token: k.Token(keystonetest.Find("system-admin"))}
	demo, other := k.ProjectID(keystonetest.Demo), k.ProjectID(keystonetest.Other)

	a.expect(operator, map[string]string{`berth_cloud_source_up{source="identity"}`: "1"}, "berth_cloud_project_limit",
		`source="limits"`)
	service := a.id("services", "?type=placement")
	for resource, n := range map[string]int{"class:VCPU": 20, "class:MEMORY_MB": -1, "servers": 7} {
		a.send("POST", "registered_limits",
			object{"registered_limits": []object{{"service_id": service, "resource_name": resource, "default_limit": n}}})
	}
	a.send("POST", "limits", object{
		"limits": []object{{"service_id": service, "project_id": other, "resource_name": "class:VCPU", "resource_limit": 64}},
	})
	claim(t, placement, k.Token(operator), demo, k.UserID(operator.Name))

	t.Run("OwnProject", func(t *testing.T) {
		a.t = t
		a.expect(operator, map[string]string{
			`berth_cloud_source_up{source="limits"}`:             "0",
			fmt.Sprintf("berth_cloud_project_limit"+vcpus, demo): "20",
			fmt.Sprintf("berth_cloud_project_used"+vcpus, demo):  "18",
		}, fmt.Sprintf("berth_cloud_project_limit"+vcpus, other))
	})
	t.Run("RoleOnTheSystem", func(t *testing.T) {
		a.t = t
		a.send("PUT", fmt.Sprintf("system/users/%s/roles/%s", k.UserID(operator.Name), a.id("roles", "?name=reader")), nil)
		a.expect(operator, map[string]string{
			`berth_cloud_source_up{source="limits"}`:                                                 "1",
			fmt.Sprintf("berth_cloud_project_limit"+vcpus, demo):                                     "20",
			fmt.Sprintf("berth_cloud_project_limit"+vcpus, other):                                    "64",
			fmt.Sprintf(`berth_cloud_project_limit{project_id=%q,resource_class="MEMORY_MB"}`, demo): "+Inf",
		}, `resource_class="servers"`)
	})
}

type object = map[string]any

// limitsAdmin sends requests to Keystone as the administrator of the system.
type limitsAdmin struct {
	t     *testing.T
	k     *keystonetest.Keystone
	token string
}

// send sends a request that has to succeed, and returns the body of its answer.
func (a *limitsAdmin) send(method, path string, body any) []byte {
	a.t.Helper()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			a.t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	q, err := http.NewRequest(method, a.k.URL()+"/v3/"+path, content)
	if err != nil {
		a.t.Fatal(err)
	}
	q.Header.Set("X-Auth-Token", a.token)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		a.t.Fatalf("%s %s: %d, %v: %s", method, path, res.StatusCode, err, text)
	}
	return text
}

// id returns the id of the first object of a list.
func (a *limitsAdmin) id(list, query string) string {
	a.t.Helper()
	var answer map[string]json.RawMessage
	var objects []struct{ ID string }
	text := a.send("GET", list+query, nil)
	if json.Unmarshal(text, &answer) != nil || json.Unmarshal(answer[list], &objects) != nil || len(objects) == 0 {
		a.t.Fatalf("%s%s: %s", list, query, text)
	}
	return objects[0].ID
}

// expect runs berth exporter with a persona until it has read the cloud once, and compares series
// with their values. What is absent must not be in the text.
func (a *limitsAdmin) expect(p keystonetest.Persona, want map[string]string, absent ...string) {
	a.t.Helper()
	text := a.exported(p)
	for series, n := range want {
		if !strings.Contains(text, "\n"+series+" "+n+"\n") {
			a.t.Errorf("%s is not %s", series, n)
		}
	}
	for _, s := range absent {
		if strings.Contains(text, s+" ") || strings.Contains(text, s+"{") || strings.Contains(text, s+"}") {
			a.t.Errorf("there is %s", s)
		}
	}
	if a.t.Failed() {
		a.t.Log(text)
	}
}

// exported returns the metrics that berth exporter has for a persona.
func (a *limitsAdmin) exported(p keystonetest.Persona) string {
	a.t.Helper()
	program := server.Berth(a.t)
	x := servertest.Start(a.t, "berth exporter", "/readyz", func(addr string) *exec.Cmd {
		cmd := exec.Command(program, "exporter", "--listen", addr, "--interval", "1h")
		cmd.Env = append(os.Environ(), "OS_AUTH_URL="+a.k.URL()+"/v3", "OS_USERNAME="+p.Name, "OS_PASSWORD="+p.Password,
			"OS_PROJECT_NAME="+p.Project, "OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_DOMAIN_NAME=Default",
			"OS_IDENTITY_API_VERSION=3")
		return cmd
	})
	res, err := http.Get(x.URL() + "/metrics")
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		a.t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
	}
	x.Stop()
	return string(text)
}

// claim makes a provider with CPUs, and a consumer of a project that uses 18 of them.
func claim(t *testing.T, placement *server.Server, token, project, user string) {
	t.Helper()
	const provider, consumer = "aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555"
	for _, q := range []struct{ method, path, body string }{
		{"POST", "/resource_providers", `{"name": "cn1", "uuid": "` + provider + `"}`},
		{
			"PUT", "/resource_providers/" + provider + "/inventories",
			`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 32}}}`,
		},
		{"PUT", "/allocations/" + consumer, fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 18}}}, `+
			`"project_id": %q, "user_id": %q, "consumer_generation": null, "consumer_type": "INSTANCE"}`, provider, project,
			user)},
	} {
		header := as(token)
		header.Set("Openstack-Api-Version", "placement 1.38")
		got := send(t, placement, request{method: q.method, path: q.path, body: q.body, header: header})
		if got.Status >= 300 {
			t.Fatalf("%s %s: %d: %s", q.method, q.path, got.Status, got.Body)
		}
	}
}
