package networkapi_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Who sees what, and who changes it, by route; the dialogues people_*.txt hold the same of
// Neutron. The objects are the member's; those called open or shared are the
// administrator's, for all. The columns are what the owner's reader, the owner, a member of
// another project and the administrator are answered. What policy lets through changes
// nothing that other rows ask about, or is refused for what the request says.
func TestAccess(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	c := &cloud{t: t, url: s.URL()}
	id := func(user, path, name, body string) string { return c.made(user, path, name, body)["id"].(string) }
	ids := map[string]string{"demo": demo}
	ids["net"] = id("member", "networks", "network", `{"name": "net"}`)
	ids["shared"] = id("admin", "networks", "network", `{"name": "shared", "shared": true}`)
	ids["subnet"] = id("member", "subnets", "subnet", `{"network_id": "`+ids["net"]+`", "ip_version": 4, "cidr": "10.0.0.0/24"}`)
	ids["open"] = id("admin", "subnets", "subnet", `{"network_id": "`+ids["shared"]+`", "ip_version": 4, "cidr": "10.1.0.0/24"}`)
	ids["group"] = id("member", "security-groups", "security_group", `{"name": "group"}`)
	ids["port"] = id("member", "ports", "port", `{"network_id": "`+ids["net"]+`", "security_groups": ["`+ids["group"]+`"]}`)
	id("admin", "ports", "port", `{"network_id": "`+ids["shared"]+`"}`)
	ids["trunk"] = id("member", "trunks", "trunk", `{"port_id": "`+ids["port"]+`"}`)
	ids["policy"] = id("admin", "qos/policies", "policy", `{"name": "policy"}`)
	ids["openpolicy"] = id("admin", "qos/policies", "policy", `{"name": "open", "shared": true}`)
	for _, p := range []string{"policy", "openpolicy"} {
		ids[p+"rule"] = id("admin", "qos/policies/"+ids[p]+"/bandwidth_limit_rules", "bandwidth_limit_rule", `{"max_kbps": 1}`)
		id("admin", "networks", "network", `{"name": "with policy", "qos_policy_id": "`+ids[p]+`"}`)
	}
	table, err := os.ReadFile("testdata/access.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(table)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 7)
		if strings.HasPrefix(line, "#") || len(fields) < 6 {
			got.WriteString(line)
			continue
		}
		path, body := fields[5], ""
		if len(fields) == 7 {
			body = fields[6]
		}
		for name, value := range ids {
			path, body = strings.ReplaceAll(path, "@"+name+"@", value), strings.ReplaceAll(body, "@"+name+"@", value)
		}
		var answers []string
		for _, user := range []string{"reader", "member", "other", "admin"} {
			status, _ := c.ask(user, fields[4], path, body)
			answers = append(answers, fmt.Sprint(status))
		}
		fmt.Fprintf(&got, "%s %s\n", strings.Join(answers, " "), strings.Join(fields[4:], " "))
	}
	if *updateDifferences {
		if err := os.WriteFile("testdata/access.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(table) {
		t.Errorf("answers are\n%s\nwant\n%s", got.String(), table)
	}
}
