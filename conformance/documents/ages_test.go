package documents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// An aged is a "berth up" whose databases are restored one by one.
type aged struct {
	*testing.T
	up   *server.Server
	dir  string
	urls map[string]string
}

func newAged(t *testing.T) *aged {
	a := &aged{T: t, urls: make(map[string]string)}
	var more []string
	for _, service := range []string{"network", "compute", "image"} {
		at := servertest.FreeAddress(t)
		a.urls[service] = "http://" + at
		more = append(more, "--"+service+"-listen", at)
	}
	a.up, a.dir = server.StartBerthUp(t, more...)
	a.urls["placement"] = a.up.URL()
	a.ready()
	return a
}

// ready waits until the host reports, and placement has the devices of its two agents.
func (a *aged) ready() {
	a.Helper()
	a.until("the host is up", func() bool {
		return strings.Contains(a.get("compute", "GET", "/v2.1/os-services", ""), `"up"`)
	})
	a.until("the agents are synced", func() bool {
		return strings.Count(strings.ReplaceAll(a.get("network", "GET", "/v2.0/agents", ""), " ", ""),
			`"resources_synced":true`) == 2
	})
}

func (a *aged) until(what string, cur func() bool) {
	a.Helper()
	for end := time.Now().Add(2 * time.Minute); !cur(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			a.Fatalf("never: %s", what)
		}
	}
}

// get sends a request and returns the answer, "" for a 404.
func (a *aged) get(service, method, path, body string) string {
	a.Helper()
	req, err := http.NewRequest(method, a.urls[service]+path, strings.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", server.UpToken(a, a.dir))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("OpenStack-API-Version", service+" "+map[string]string{"placement": "1.39", "compute": "2.72"}[service])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		a.Fatal(err)
	case res.StatusCode == 404 || res.StatusCode == 503:
		return ""
	case res.StatusCode >= 300:
		a.Fatalf("%s %s of %s = %d %s", method, path, service, res.StatusCode, text)
	}
	return string(text)
}

// id returns the id in an answer.
func (a *aged) id(kind, answer string) string {
	a.Helper()
	var object map[string]struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &object); err != nil || object[kind].ID == "" {
		a.Fatalf("%v in %s", err, answer)
	}
	return object[kind].ID
}

// A vm is a server with its port.
type vm struct{ server, port string }

// boot boots a server with a port that guarantees bandwidth.
func (a *aged) boot(name, network, policy, image string) vm {
	a.Helper()
	port := a.id("port", a.get("network", "POST", "/v2.0/ports",
		fmt.Sprintf(`{"port": {"network_id": %q, "qos_policy_id": %q}}`, network, policy)))
	id := a.id("server", a.get("compute", "POST", "/v2.1/servers",
		fmt.Sprintf(`{"server": {"name": %q, "flavorRef": "c1", "imageRef": %q, "networks": [{"port": %q}]}}`, name, image,
			port)))
	a.until(name+" is active", func() bool {
		return strings.Contains(a.get("compute", "GET", "/v2.1/servers/"+id, ""), `"ACTIVE"`)
	})
	return vm{id, port}
}

// state is a server's state in each service: in compute whether it is listed, in network whether
// its port is bound, in placement whether it has an allocation of bandwidth.
func (a *aged) state(v vm) string {
	a.Helper()
	var said []string
	if a.get("compute", "GET", "/v2.1/servers/"+v.server, "") != "" {
		said = append(said, "listed")
	}
	port := a.get("network", "GET", "/v2.0/ports/"+v.port, "")
	if strings.Contains(port, `"binding:host_id": "devstack0"`) ||
		strings.Contains(port, `"binding:host_id":"devstack0"`) {
		said = append(said, "bound")
	} else if port != "" {
		said = append(said, "port")
	}
	if strings.Contains(a.get("placement", "GET", "/allocations/"+v.server, ""), "NET_BW_EGR_KILOBIT_PER_SEC") {
		said = append(said, "allocated")
	}
	return strings.Join(said, " ")
}

// audit returns the codes that the audit finds, each once.
func (a *aged) audit() string {
	a.Helper()
	a.Setenv("OS_CLIENT_CONFIG_FILE", filepath.Join(a.dir, "clouds.yaml"))
	a.Setenv("OS_CLOUD", "berth-admin")
	code, out := server.Run(a, time.Minute, server.Berth(a), "audit", "-f", "json")
	var found struct{ Findings []struct{ Code string } }
	begin, end := strings.Index(out, "{"), strings.LastIndex(out, "}")
	if begin < 0 || json.Unmarshal([]byte(out[begin:end+1]), &found) != nil ||
		code != map[bool]int{true: 6}[len(found.Findings) > 0] {
		a.Fatalf("berth audit ends with %d:\n%s", code, out)
	}
	var codes []string
	for _, f := range found.Findings {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return strings.Join(slices.Compact(codes), " ")
}

// copies copies database files into a directory.
func (a *aged) copies(to, from string, services ...string) {
	a.Helper()
	for _, service := range services {
		text, err := os.ReadFile(filepath.Join(from, service+".db"))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, service+".db"), text, 0o600)
		}
		if err != nil {
			a.Fatal(err)
		}
	}
}

// TestDatabasesOfDifferentAge does the experiment of the table in backup.md: server A is deleted
// and B created after the backup, and some of the databases are restored. The audit finds then what
// after-a-restore.md says.
func TestDatabasesOfDifferentAge(t *testing.T) {
	a := newAged(t)
	all, older, newer := []string{"placement", "network", "compute"}, t.TempDir(), t.TempDir()
	var images struct{ Images []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.get("image", "GET", "/v2/images", "")), &images); err != nil ||
		len(images.Images) == 0 {
		t.Fatalf("there are no images: %v", err)
	}
	network := a.id("network", a.get("network", "POST", "/v2.0/networks",
		`{"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet0", `+
			`"provider:segmentation_id": 100}}`))
	a.get("network", "POST", "/v2.0/subnets",
		fmt.Sprintf(`{"subnet": {"network_id": %q, "cidr": "10.0.4.0/24", "ip_version": 4}}`, network))
	policy := a.id("policy", a.get("network", "POST", "/v2.0/qos/policies", `{"policy": {"name": "p"}}`))
	a.get("network", "POST", "/v2.0/qos/policies/"+policy+"/minimum_bandwidth_rules",
		`{"minimum_bandwidth_rule": {"min_kbps": 1000, "direction": "egress"}}`)
	deleted := a.boot("A", network, policy, images.Images[0].ID)
	a.up.Stop()
	a.copies(older, a.dir, all...)
	a.up.Restart()
	a.ready()
	a.get("compute", "DELETE", "/v2.1/servers/"+deleted.server, "")
	a.until("A is gone", func() bool { return a.state(deleted) == "port" })
	made := a.boot("B", network, policy, images.Images[0].ID)
	a.up.Stop()
	a.copies(newer, a.dir, all...)
	for _, tc := range []struct {
		restored        []string
		deleted, made   string
		deletedA, goneB string // after both were deleted as far as compute lists them
		findings        string // of the audit before
	}{
		{all, "listed bound allocated", "", "port", "", ""},
		{
			[]string{"compute"},
			"listed port", "bound allocated", "port", "bound allocated",
			"orphaned-allocation port-of-gone-server server-without-allocation",
		},
		{[]string{"network"}, "bound", "listed allocated", "bound", "", "port-amount-superfluous port-of-gone-server"},
		{
			[]string{"placement"},
			"port allocated", "listed bound", "port allocated", "port",
			"orphaned-allocation server-without-allocation",
		},
	} {
		t.Logf("%v are restored", tc.restored)
		a.copies(a.dir, newer, all...)
		a.copies(a.dir, older, tc.restored...)
		a.up.Restart()
		a.ready()
		if diff := cmp.Diff([]string{tc.deleted, tc.made}, []string{a.state(deleted), a.state(made)}); diff != "" {
			t.Errorf("A and B (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(tc.findings, a.audit()); diff != "" {
			t.Errorf("the audit finds (-want +got):\n%s", diff)
		}
		for _, v := range []vm{deleted, made} {
			if strings.Contains(a.state(v), "listed") {
				a.get("compute", "DELETE", "/v2.1/servers/"+v.server, "")
			}
		}
		want := []string{tc.deletedA, tc.goneB}
		a.until(fmt.Sprintf("A and B are %q", want), func() bool {
			return slices.Equal([]string{a.state(deleted), a.state(made)}, want)
		})
		a.boot("C", network, policy, images.Images[0].ID)
		a.up.Stop()
	}
}
