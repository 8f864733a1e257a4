package networkapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
)

// Who sees what, and who changes it, by route; the dialogues people_*.txt hold the same of
// Neutron. The objects are the member's; those called open or shared are the
// administrator's, for all. The columns are what the owner's reader, the owner, a member of
// another project and the administrator are answered. What policy lets through changes
// nothing that other rows are about, or is refused for what the request says. There is a row
// for each route.
//
// The rows were held to the distribution's Neutron, whose answers stand above those that
// differ. On purpose these do: tags are changed by those who may change the object (Neutron
// checks no rule), and those of policies can be read by either path, where Neutron fails;
// policy is checked before the body of a binding is read; rules are seen by who sees their
// policy, and those about packet rates by its project too, of which Neutron shows them to
// administrators only; a PUT that can change nothing is no 500.
func TestAccess(t *testing.T) {
	s := newSide(t)
	table, err := os.ReadFile("testdata/access.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := access(t, s, string(table))
	if *updateDifferences {
		if err := os.WriteFile("testdata/access.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(table) {
		t.Errorf("answers are\n%s\nwant\n%s", got, table)
	}
	routes, requested := newAPI(t, s.service).Routes(), map[string]bool{}
	for line := range strings.Lines(got) {
		if fields := strings.Fields(line); fields[0] != "#" {
			requested[routeOf(routes, fields[4], fields[5])] = true
		}
	}
	for _, r := range routes {
		if name := r.Method + " " + r.Pattern; !requested[name] {
			t.Errorf("no row requests %s", name)
		}
	}
}

// access sends any side, ours or the reference, the requests of a table, and returns the table with
// the answers. Before is called when the objects of the requests exist.
func access(t *testing.T, s neutron.Side, table string, before ...func()) string {
	t.Helper()
	s.Reset(t)
	c := &cloud{t: t, url: s.URL()}
	id := func(user, path, name, body string) string {
		return c.made(s.Token(t, user), path, name, body)["id"].(string)
	}
	ids := map[string]string{"demo": s.Projects()["demo"]}
	ids["net"] = id("member", "networks", "network", `{"name": "net"}`)
	ids["shared"] = id("admin", "networks", "network", `{"name": "shared", "shared": true}`)
	ids["subnet"] = id("member", "subnets", "subnet",
		`{"network_id": "`+ids["net"]+`", "ip_version": 4, "cidr": "10.0.0.0/24"}`)
	ids["open"] = id("admin", "subnets", "subnet",
		`{"network_id": "`+ids["shared"]+`", "ip_version": 4, "cidr": "10.1.0.0/24"}`)
	ids["group"] = id("member", "security-groups", "security_group", `{"name": "group"}`)
	ids["port"] = id("member", "ports", "port",
		`{"network_id": "`+ids["net"]+`", "security_groups": ["`+ids["group"]+`"]}`)
	id("admin", "ports", "port", `{"network_id": "`+ids["shared"]+`"}`)
	ids["trunk"] = id("member", "trunks", "trunk", `{"port_id": "`+ids["port"]+`"}`)
	ids["policy"] = id("admin", "qos/policies", "policy", `{"name": "policy"}`)
	ids["openpolicy"] = id("admin", "qos/policies", "policy", `{"name": "open", "shared": true}`)
	for _, p := range []string{"policy", "openpolicy"} {
		ids[p+"rule"] = id("admin", "qos/policies/"+ids[p]+"/bandwidth_limit_rules", "bandwidth_limit_rule",
			`{"max_kbps": 1}`)
		id("admin", "networks", "network", `{"name": "with policy", "qos_policy_id": "`+ids[p]+`"}`)
	}
	kinds := map[string]string{
		"bandwidth_limit": `{"max_kbps": 9}`, "dscp_marking": `{"dscp_mark": 8}`, "minimum_bandwidth": `{"min_kbps": 1}`,
		"minimum_packet_rate": `{"min_kpps": 1}`, "packet_rate_limit": `{"max_kpps": 9}`,
	}
	ids["kinds"] = id("admin", "qos/policies", "policy", `{"name": "kinds"}`)
	ids["openkinds"] = id("admin", "qos/policies", "policy", `{"name": "open kinds", "shared": true}`)
	for kind, body := range kinds {
		ids[kind] = id("admin", "qos/policies/"+ids["kinds"]+"/"+kind+"_rules", kind+"_rule", body)
		ids["open_"+kind] = id("admin", "qos/policies/"+ids["openkinds"]+"/"+kind+"_rules", kind+"_rule", body)
	}
	rule := func() string {
		group := c.made(s.Token(t, "member"), "security-groups", "security_group", `{"name": "rules"}`)
		return group["security_group_rules"].([]any)[0].(map[string]any)["id"].(string)
	}
	segment := func() string {
		net := id("admin", "networks", "network",
			`{"provider:network_type": "vlan", "provider:physical_network": "physnet0"}`)
		_, answer := c.request(s.Token(t, "admin"), "GET", "/v2.0/segments?network_id="+net, "")
		var all struct{ Segments []struct{ ID string } }
		if err := json.Unmarshal([]byte(answer), &all); err != nil || len(all.Segments) != 1 {
			t.Fatal(answer, err)
		}
		return all.Segments[0].ID
	}
	agent := func() string {
		s.Heartbeat(t, neutron.Agent{Kind: neutron.OVS, Host: "h", Start: true, Configurations: map[string]any{}})
		_, answer := c.request(s.Token(t, "admin"), "GET", "/v2.0/agents", "")
		var all struct{ Agents []struct{ ID string } }
		if err := json.Unmarshal([]byte(answer), &all); err != nil || len(all.Agents) != 1 {
			t.Fatal(answer, err)
		}
		return all.Agents[0].ID
	}
	ids["rule"], ids["segment"], ids["agent"] = rule(), segment(), agent()
	// What is called fresh is made for each caller, as those who may remove it do so.
	remake := func(path string) {
		switch collection := path[:strings.LastIndex(path, "/")]; collection {
		case "/v2.0/security-group-rules":
			ids["fresh"] = rule()
		case "/v2.0/segments":
			ids["fresh"] = segment()
		case "/v2.0/agents":
			ids["fresh"] = agent()
		case "/v2.0/trunks":
			ids["fresh"] = id("member", "trunks", "trunk",
				`{"port_id": "`+id("member", "ports", "port", `{"network_id": "`+ids["net"]+`"}`)+`"}`)
		default:
			_, kind, _ := strings.Cut(strings.TrimSuffix(strings.ReplaceAll(collection, "/alias_", "/@freshpolicy@/"), "_rules"),
				"/@freshpolicy@/")
			ids["freshpolicy"] = id("admin", "qos/policies", "policy", `{"name": "fresh"}`)
			ids["fresh"] = id("admin", "qos/policies/"+ids["freshpolicy"]+"/"+kind+"_rules", kind+"_rule", kinds[kind])
		}
	}
	for _, do := range before {
		do()
	}
	var got strings.Builder
	for line := range strings.Lines(table) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 7)
		if strings.HasPrefix(line, "#") || len(fields) < 6 {
			got.WriteString(line)
			continue
		}
		path, body := fields[5], ""
		if len(fields) == 7 {
			body = fields[6]
		}
		var answers []string
		for _, user := range []string{"reader", "member", "other", "admin"} {
			if strings.Contains(path, "@fresh@") {
				remake(path)
			}
			at, sent := path, body
			for name, value := range ids {
				at, sent = strings.ReplaceAll(at, "@"+name+"@", value), strings.ReplaceAll(sent, "@"+name+"@", value)
			}
			status, answer := c.request(s.Token(t, user), fields[4], at, sent)
			answers = append(answers, fmt.Sprint(status)+listed(answer))
		}
		fmt.Fprintf(&got, "%s %s\n", strings.Join(answers, " "), strings.Join(fields[4:], " "))
	}
	return got.String()
}

// routeOf is the method and the pattern of the route that a path takes, "" for none. Of
// several it is the one with fewest variables.
func routeOf(routes []httpapi.Route, method, path string) (found string) {
	segments, least := strings.Split(path, "/"), len(path)
	for _, r := range routes {
		pattern, variables := strings.Split(r.Pattern, "/"), 0
		if r.Method != method || len(pattern) != len(segments) {
			continue
		}
		fits := true
		for i, part := range pattern {
			if strings.HasPrefix(part, "{") {
				variables++
			} else if part != segments[i] {
				fits = false
			}
		}
		if fits && variables < least {
			found, least = method+" "+r.Pattern, variables
		}
	}
	return found
}

// listed is how many objects an answer lists, "" when it is no list.
func listed(answer string) string {
	var all map[string][]json.RawMessage
	if err := json.Unmarshal([]byte(answer), &all); err != nil || len(all) != 1 {
		return ""
	}
	for _, list := range all {
		return fmt.Sprintf("/%d", len(list))
	}
	return ""
}
