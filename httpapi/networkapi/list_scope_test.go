package networkapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/networkapi"
	"github.com/berthcloud/berth/internal/storetest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/service"
)

// TestListsReadNoOtherProjects compares what is read for the list of a member when there are few
// objects of other projects, and many. The list has what it had: objects of the project's own,
// those that are for all projects, ports and subnets of others on its networks, and rules of others
// in its groups.
func TestListsReadNoOtherProjects(t *testing.T) {
	store := storetest.Count(newStore(t))
	settings := network.DefaultSettings()
	settings.ProjectTypes = []string{network.VXLAN}
	settings.Tunnels = map[string][]network.Range{network.VXLAN: {{Low: 1, High: 1000}}}
	service := service.New(store, settings, service.Peers{})
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
	made("admin", "ports", "port",
		fmt.Sprintf(`{"name": "dhcp on own", "project_id": "infra", "network_id": %q}`, ids["ann:red"]))
	made("admin", "ports", "port",
		fmt.Sprintf(`{"name": "another's on shared", "project_id": "infra", "network_id": %q}`, shared))
	external := made("admin", "networks", "network", `{"name": "external", "router:external": true}`)
	made("admin", "networks", "network", `{"name": "own and shared", "project_id": "red", "shared": true}`)
	made("ann:red", "subnets", "subnet",
		fmt.Sprintf(`{"name": "own", "network_id": %q, "ip_version": 4, "cidr": "10.0.0.0/24"}`, ids["ann:red"]))
	for name, id := range map[string]string{
		"infra's on own": ids["ann:red"], "infra's on shared": shared, "another's on external": external,
	} {
		made("admin", "subnets", "subnet", fmt.Sprintf(
			`{"name": %q, "project_id": "infra", "network_id": %q, "ip_version": 4, "cidr": "10.0.1.0/24"}`, name, id))
	}
	made("admin", "qos/policies", "policy", `{"name": "own policy", "project_id": "red"}`)
	made("admin", "qos/policies", "policy", `{"name": "policy for all", "project_id": "infra", "shared": true}`)
	group := made("ann:red", "security-groups", "security_group", `{"name": "own"}`)
	others := made("bob:blue", "security-groups", "security_group", `{"name": "other"}`)
	var rules []string // own, of another project in the own group, and own in the group of another project
	for _, r := range []struct{ project, group string }{{"red", group}, {"infra", group}, {"red", others}} {
		rules = append(rules, made("admin", "security-group-rules", "security_group_rule", fmt.Sprintf(
			`{"project_id": %q, "security_group_id": %q, "direction": "ingress", "protocol": %d}`, r.project, r.group,
			100+len(rules))))
	}
	list := func(path string) (storetest.Reads, string) {
		t.Helper()
		store.Take()
		status, answer := c.request("ann:red", "GET", "/v2.0/"+path, "")
		if status != http.StatusOK {
			t.Fatalf("GET %s = %d %s", path, status, answer)
		}
		return store.Take(), answer
	}
	paths := map[string]string{
		"ports": "own,own on shared,dhcp on own", "ports?name=own": "own", "security-groups": "default", "trunks": "",
		"networks": "net,shared,external,own and shared", "networks?shared=false": "net,external", "networks?name=net": "net",
		"networks?project_id=blue": "",
		"subnets":                  "own,infra's on shared", "subnets?name=own": "own",
		"subnets?network_id=" + shared: "infra's on shared",
		"segments":                     "", "agents": "",
		"qos/policies": "own policy,policy for all", "qos/policies?shared=true": "policy for all",
		"security-group-rules":                            strings.Join(rules, ","),
		"security-group-rules?security_group_id=" + group: rules[0] + "," + rules[1],
	}
	before, lists := map[string]storetest.Reads{}, map[string]string{}
	for path := range paths {
		list(path) // makes the default security group
		before[path], lists[path] = list(path)
	}
	for i := range 60 {
		user := "bob:blue"
		if i >= 30 {
			user = fmt.Sprintf("carl:green%d", i)
			c.request(user, "GET", "/v2.0/security-groups", "")
			continue
		}
		made(user, "ports", "port", fmt.Sprintf(`{"name": "p%d", "network_id": %q}`, i, ids[user]))
		id := made("admin", "networks", "network", fmt.Sprintf(`{"name": "net", "project_id": "green%d"}`, i))
		made("admin", "subnets", "subnet",
			fmt.Sprintf(`{"name": "own", "project_id": "green", "network_id": %q, "ip_version": 4, "cidr": "10.0.0.0/24"}`, id))
		made("admin", "qos/policies", "policy", fmt.Sprintf(`{"name": "policy", "project_id": "green%d"}`, i))
	}
	for path, names := range paths {
		reads, answer := list(path)
		if reads != before[path] {
			t.Errorf("GET %s reads %+v when other projects have much, and %+v when they have nothing", path, reads, before[path])
		}
		if answer != lists[path] {
			t.Errorf("GET %s answers, when other projects have much,\n%s\nand, when they have nothing,\n%s", path, answer,
				lists[path])
		}
		for name := range strings.SplitSeq(names, ",") {
			if name != "" && !strings.Contains(answer, `": "`+name+`"`) {
				t.Errorf("GET %s has no %q: %s", path, name, answer)
			}
		}
		want := len(strings.FieldsFunc(names, func(r rune) bool { return r == ',' }))
		if strings.Count(answer, `"revision_number"`) < want {
			t.Errorf("GET %s has fewer than %d objects: %s", path, want, answer)
		}
		if strings.Contains(answer, "another's") || strings.Contains(answer, `"p1`) {
			t.Errorf("GET %s has objects of others: %s", path, answer)
		}
	}
}

// TestPolicyMayShowRulesOfOthers lists security group rules with rules of policy that show them to
// more callers than the default one does.
func TestPolicyMayShowRulesOfOthers(t *testing.T) {
	for check, shown := range map[string]bool{
		"project_id:%(project_id)s": false,
		"@":                         true,
		"project_id:%(project_id)s or '103':%(protocol)s": true,
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "get_security_group_rule: %q\n", check), 0o600); err != nil {
			t.Fatal(err)
		}
		service := service.New(newStore(t), network.DefaultSettings(), service.Peers{})
		s := httptest.NewServer(handler(&networkapi.API{Network: service, Policy: newPolicy(t, file)}, httpapi.NoAuth))
		t.Cleanup(s.Close)
		c := &cloud{t, s.URL, service, nil}
		group := c.made("bob:blue", "security-groups", "security_group", `{"name": "other"}`)["id"]
		rule := c.made("bob:blue", "security-group-rules", "security_group_rule", fmt.Sprintf(
			`{"security_group_id": %q, "direction": "ingress", "protocol": 103}`, group))["id"]
		_, answer := c.request("ann:red", "GET", "/v2.0/security-group-rules", "")
		if strings.Contains(answer, fmt.Sprintf(`"id": %q`, rule)) != shown {
			t.Errorf("with %s, the rule of another project is shown: %v, want %v: %s", check, !shown, shown, answer)
		}
	}
}
