package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
)

// TestNetworkLogsIn has the network service log in to placement with [placement] of its settings.
// With a wrong password, and with a user who may not write, it serves, its agents are not synced,
// and their records say why; with the right one they are.
func TestNetworkLogsIn(t *testing.T) {
	k := keystonetest.Start(t, keystonetest.Options{})
	placement := server.StartBerth(t, server.Options{Config: settings(k, nil)})
	k.Service("placement", "placement", placement.URL())
	root := request{
		method: "POST", path: "/resource_providers", body: `{"name": "cn1"}`, header: as(k.Token(keystonetest.Find("nova"))),
	}
	if got := send(t, placement, root); got.Status != http.StatusOK {
		t.Fatalf("the provider of the host: %d: %s", got.Status, got.Body)
	}
	const wrong = "wrong-password-of-a-test"
	for _, tc := range []struct {
		name   string
		user   string
		change section
		synced bool
		failed string // what the record of the agent says
	}{
		{"WrongPassword", keystonetest.Placement, section{"password": wrong}, false, "placement"},
		{"NoRight", "project-reader", nil, false, "placement"},
		{"Right", keystonetest.Placement, nil, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			login := server.LoginAs(k, tc.user)
			login["endpoint_override"] = "" // that of the catalogue
			for name, value := range tc.change {
				login[name] = value
			}
			network := server.StartNetwork(t, placement.URL(), server.Options{Config: map[string]section{"placement": login}})
			heartbeat(t, network, "POST", "/berth/v1/heartbeats", `{"agent": {"agent_type": "Open vSwitch agent",
				"binary": "neutron-openvswitch-agent", "host": "cn1", "start_flag": true, "configurations": {
				"bridge_mappings": {"physnet0": "br-ex"}, "resource_provider_hypervisors": {"br-ex": "cn1"},
				"resource_provider_bandwidths": {"br-ex": {"egress": 1000, "ingress": 1000}}}}}`)
			synced, failed := awaitSync(t, network)
			if synced != tc.synced || (failed != "") != (tc.failed != "") || !strings.Contains(failed, tc.failed) {
				t.Errorf("the agent is synced: %v, %q, want %v, %q", synced, failed, tc.synced, tc.failed)
			}
			heartbeat(t, network, "POST", "/v2.0/networks", `{"network": {"name": "n"}}`)
			network.Stop()
			for _, secret := range []string{wrong, keystonetest.Find(tc.user).Password} {
				if strings.Contains(network.Log()+failed, secret) {
					t.Errorf("a password is in the log or the record: %s\n%s", failed, network.Log())
				}
			}
		})
	}
}

// heartbeat sends a request to a network service that accepts any token, and returns its answer,
// which has to be a success.
func heartbeat(t *testing.T, network *server.Server, method, path, body string) string {
	t.Helper()
	r, err := http.NewRequest(method, network.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		t.Fatalf("%s %s: %d, %v: %s", method, path, res.StatusCode, err, text)
	}
	return string(text)
}

// awaitSync waits until the one agent is synced, or is known not to be, and returns why.
func awaitSync(t *testing.T, network *server.Server) (synced bool, failed string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var list struct {
			Agents []struct {
				Synced  *bool  `json:"resources_synced"`
				Failure string `json:"berth:sync_error"`
			}
		}
		text := heartbeat(t, network, "GET", "/v2.0/agents", "")
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Agents) != 1 {
			t.Fatalf("%v in %s", err, text)
		}
		if a := list.Agents[0]; a.Synced != nil && (*a.Synced || a.Failure != "") {
			return *a.Synced, a.Failure
		}
	}
	t.Fatal("the agent is neither synced nor failed after two minutes")
	return false, ""
}
