package networkapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
)

// TestListsReadNoOtherProjects compares what is read for the list of a member when there are few objects of other projects, and many. The
// list has what it had: ports of the project's own, and those of others on its networks.
func TestListsReadNoOtherProjects(t *testing.T) {
	store := storetest.Count(newStore(t))
	settings := network.DefaultSettings()
	settings.ProjectTypes, settings.Tunnels = []string{network.VXLAN}, map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1000}}}
	service := network.NewService(store, settings, network.Neighbours{})
	s := httptest.NewServer(handler(newAPI(t, service), httpapi.NoAuth))
	t.Cleanup(s.Close)
	c := &cloud{t, s.URL, service, nil}
	ids := map[string]string{}
	made := func(user, plural, name, body string) string {
		t.Helper()
		id, _ := c.made(user, plural, name, body)["id"].(string)
		return id
	}
	for _, user := range []string{"ann:red", "bob:blue"} {
		ids[user] = made(user, "networks", "network", `{"name": "net"}`)
	}
	shared := made("admin", "networks", "network", `{"name": "shared", "shared": true}`)
	made("ann:red", "ports", "port", fmt.Sprintf(`{"name": "own", "network_id": %q}`, ids["ann:red"]))
	made("ann:red", "ports", "port", fmt.Sprintf(`{"name": "own on shared", "network_id": %q}`, shared))
	made("admin", "ports", "port", fmt.Sprintf(`{"name": "dhcp on own", "project_id": "infra", "network_id": %q}`, ids["ann:red"]))
	made("admin", "ports", "port", fmt.Sprintf(`{"name": "another's on shared", "project_id": "infra", "network_id": %q}`, shared))
	list := func(path string) (storetest.Reads, string) {
		t.Helper()
		store.Take()
		status, answer := c.ask("ann:red", "GET", "/v2.0/"+path, "")
		if status != http.StatusOK {
			t.Fatalf("GET %s = %d %s", path, status, answer)
		}
		return store.Take(), answer
	}
	paths := map[string]string{"ports": "own,own on shared,dhcp on own", "ports?name=own": "own", "security-groups": "default", "trunks": ""}
	before := map[string]storetest.Reads{}
	for path := range paths {
		list(path) // makes the default security group
		before[path], _ = list(path)
	}
	for i := range 60 {
		user := "bob:blue"
		if i >= 30 {
			user = fmt.Sprintf("carl:green%d", i)
			c.ask(user, "GET", "/v2.0/security-groups", "")
			continue
		}
		made(user, "ports", "port", fmt.Sprintf(`{"name": "p%d", "network_id": %q}`, i, ids[user]))
	}
	for path, names := range paths {
		reads, answer := list(path)
		if reads != before[path] {
			t.Errorf("GET %s reads %+v when other projects have much, and %+v when they have nothing", path, reads, before[path])
		}
		for name := range strings.SplitSeq(names, ",") {
			if name != "" && !strings.Contains(answer, `"name": "`+name) {
				t.Errorf("GET %s has no %q: %s", path, name, answer)
			}
		}
		if strings.Contains(answer, "another's") || strings.Contains(answer, `"p1`) {
			t.Errorf("GET %s has objects of others: %s", path, answer)
		}
	}
}
