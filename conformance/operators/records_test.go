package operators

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// records compares what "berth records export" reads over the APIs with what it reads from
// placement's database, and with what the openstack client prints.
func (s *stack) records(t *testing.T) {
	dir := t.TempDir()
	overAPIs, inRows := filepath.Join(dir, "apis.json"), filepath.Join(dir, "rows.json")
	for _, args := range [][]string{{"--all", overAPIs}, {"--connection", "@" + file(t, "url", s.database), inRows}} {
		if got := s.berth(t, nil, append([]string{"records", "export"}, args...)...); got.code != 0 {
			t.Fatal(got)
		}
	}
	if got := s.berth(t, nil, "records", "diff", overAPIs, inRows); got.code != 0 {
		t.Errorf("the records over the APIs and from the database differ (records diff): %s", got)
	}
	apis, rows := read(t, overAPIs), read(t, inRows)
	if diff := cmp.Diff(rows["placement"], apis["placement"]); diff != "" {
		t.Errorf("the records over the APIs and from the database differ (-database +APIs):\n%s", diff)
	}
	if apis["unread"] != nil {
		t.Errorf("an administrator cannot read %v", apis["unread"])
	}

	client := s.client("")
	for _, owner := range []struct {
		part, list, command string
		columns             []string // of the client's output
		keys                []string // of the records
	}{
		{
			"compute", "servers", "server list --all-projects --long",
			[]string{"ID", "Name", "Status", "Host"},
			[]string{"id", "name", "status", "host"},
		},
		{
			"compute", "services", "compute service list",
			[]string{"ID", "Binary", "Host", "Zone", "Status", "State"},
			[]string{"id", "binary", "host", "zone", "status", "state"},
		},
		{
			"compute", "hypervisors", "hypervisor list",
			[]string{"ID", "Hypervisor Hostname"},
			[]string{"id", "hypervisor_hostname"},
		},
		{"compute", "aggregates", "aggregate list", []string{"ID", "Name"}, []string{"id", "name"}},
		{
			"network", "agents", "network agent list",
			[]string{"ID", "Agent Type", "Host", "Alive", "Binary"},
			[]string{"id", "agent_type", "host", "alive", "binary"},
		},
		{
			"network", "ports", "port list --device-owner compute:nova --long",
			[]string{"ID", "Name", "Status"},
			[]string{"id", "name", "status"},
		},
		{"network", "networks", "network list", []string{"ID", "Name"}, []string{"id", "name"}},
		{"network", "policies", "network qos policy list", []string{"ID", "Name"}, []string{"id", "name"}},
	} {
		var printed []map[string]any
		if text := client.Run(owner.command + " -f json"); json.Unmarshal([]byte(text), &printed) != nil {
			t.Fatalf("openstack %s prints %s", owner.command, text)
		}
		var ours []map[string]any
		for _, one := range apis[owner.part].(map[string]any)[owner.list].([]any) {
			ours = append(ours, one.(map[string]any))
		}
		if diff := cmp.Diff(table(printed, owner.columns), table(ours, owner.keys)); diff != "" {
			t.Errorf("the records and what openstack %s prints differ (-client +records):\n%s", owner.command, diff)
		}
	}
	for _, one := range apis["network"].(map[string]any)["ports"].([]any) {
		port := one.(map[string]any)
		var shown map[string]any
		if text := client.Run("port show -f json " + fmt.Sprint(port["id"])); json.Unmarshal([]byte(text), &shown) != nil {
			t.Fatalf("openstack port show prints %s", text)
		}
		profile, _ := shown["binding_profile"].(map[string]any)
		shown["allocation"] = profile["allocation"]
		columns := []string{
			"binding_host_id", "binding_vif_type", "binding_vnic_type", "device_id", "device_owner", "allocation",
			"qos_policy_id", "resource_request",
		}
		keys := []string{
			"binding:host_id", "binding:vif_type", "binding:vnic_type", "device_id", "device_owner", "allocation",
			"qos_policy_id", "resource_request",
		}
		if diff := cmp.Diff(table([]map[string]any{shown}, columns), table([]map[string]any{port}, keys)); diff != "" {
			t.Errorf("the records and what openstack port show prints differ (-client +records):\n%s", diff)
		}
	}
}

// table returns columns of objects as text, sorted by lines.
func table(objects []map[string]any, columns []string) (lines []string) {
	for _, o := range objects {
		var cells []string
		for _, c := range columns {
			text, err := json.Marshal(o[c])
			if err != nil || o[c] == nil || string(text) == "{}" {
				text = []byte(`""`)
			}
			cells = append(cells, string(text))
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	slices.Sort(lines)
	return lines
}

// read reads a file of records.
func read(t *testing.T, path string) (records map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(contents(t, path)), &records); err != nil {
		t.Fatal(err)
	}
	return records
}
