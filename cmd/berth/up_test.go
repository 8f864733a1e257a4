package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// What "berth up" documents about its cloud.
const (
	upHostName  = "devstack0"
	upAgentName = "5e57b85f-b017-419a-8745-9c406e149f9e" // as the guide prints it
	upImage     = "c1440051-0000-4000-8000-000000000051"
	upProjectID = "d3e0000000000000000000000000d3e0"
	upLogName   = "berth.log"
)

// An upRun is a running "berth up".
type upRun struct {
	*running
	network, compute string // addresses; that of placement is its url
}

func startUp(t *testing.T, dir string) *upRun {
	t.Helper()
	r := launch(t, nil, nil, append(upArgs(dir), "--hosts", "3")...)
	r.url, r.token = r.served("listen"), upToken(t, dir)
	return &upRun{r, r.served("network-listen") + "/v2.0", r.served("compute-listen")}
}

// request sends a request as the administrator. The answer must be a success.
func (u *upRun) request(method, url string, body, answer any) {
	u.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			u.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(u.t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		u.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Auth-Token": u.token, "Content-Type": "application/json", "OpenStack-API-Version": "compute 2.72, placement 1.39",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	var raw json.RawMessage
	if res.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(res.Body).Decode(&raw); err != nil {
			u.t.Fatalf("%s %s = %s: %v", method, url, res.Status, err)
		}
	}
	if res.StatusCode > 299 {
		u.t.Fatalf("%s %s = %s %s", method, url, res.Status, raw)
	}
	if answer != nil {
		if err := json.Unmarshal(raw, answer); err != nil {
			u.t.Fatalf("%s %s = %s: %v", method, url, raw, err)
		}
	}
}

// made creates an object of a kind and returns its id.
func (u *upRun) made(url, kind string, o map[string]any) string {
	u.t.Helper()
	var answer map[string]struct{ ID string }
	u.request(http.MethodPost, url, map[string]any{kind: o}, &answer)
	return answer[kind].ID
}

// servers counts the servers by their status, and by the host of those that have one.
func (u *upRun) servers() (statuses, hosts map[string]int) {
	u.t.Helper()
	var all struct {
		Servers []struct {
			Status string
			Host   string `json:"OS-EXT-SRV-ATTR:host"`
		}
	}
	u.request(http.MethodGet, u.compute+"/servers/detail", nil, &all)
	statuses, hosts = map[string]int{}, map[string]int{}
	for _, s := range all.Servers {
		statuses[s.Status]++
		if s.Host != "" {
			hosts[s.Host]++
		}
	}
	return statuses, hosts
}

// await waits until the numbers of servers by status are exactly want.
func (u *upRun) await(want map[string]int) {
	u.t.Helper()
	var statuses map[string]int
	for end := time.Now().Add(hangTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if statuses, _ = u.servers(); fmt.Sprint(statuses) == fmt.Sprint(want) {
			return
		}
	}
	u.t.Fatalf("the servers are %v, want %v", statuses, want)
}

// used is how much of a class is allocated on br-physnet0.
func (u *upRun) used() int {
	u.t.Helper()
	var answer struct{ Usages map[string]int }
	u.request(http.MethodGet, u.url+"/resource_providers/4a6f5f40-b7a1-5df4-9938-63983543f365/usages", nil, &answer)
	return answer.Usages["NET_BW_EGR_KILOBIT_PER_SEC"]
}

// Servers with guaranteed ports are placed where the bandwidth is free, until there is none;
// further ones are refused. They exist after a restart, and leave nothing behind.
func TestUpBootsServers(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	var found struct {
		Requests []any `json:"allocation_requests"`
	}
	u.request(http.MethodGet,
		u.url+"/allocation_candidates?resources=VCPU:1&required=COMPUTE_IMAGE_TYPE_QCOW2,COMPUTE_IMAGE_TYPE_RAW", nil, &found)
	if len(found.Requests) != 3 {
		t.Errorf("%d hosts support the images' formats, want all 3", len(found.Requests))
	}
	net0 := u.made(u.network+"/networks", "network", map[string]any{
		"name": "net0", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
		"provider:segmentation_id": 100,
	})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": net0, "ip_version": 4, "cidr": "10.0.4.0/24"})
	gold := u.made(u.network+"/qos/policies", "policy", map[string]any{"name": "policy0"})
	u.made(u.network+"/qos/policies/"+gold+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", map[string]any{
		"min_kbps": 1_000_000, "direction": "egress",
	})
	u.request(http.MethodPut, u.compute+"/os-quota-sets/"+upProjectID,
		map[string]any{"quota_set": map[string]any{"instances": -1}}, nil)
	var servers, ports []string
	for i := range 12 {
		port := u.made(u.network+"/ports", "port", map[string]any{"network_id": net0, "qos_policy_id": gold})
		ports = append(ports, port)
		servers = append(servers, u.made(u.compute+"/servers", "server", map[string]any{
			"name": fmt.Sprint("server", i), "flavorRef": "c1", "imageRef": upImage,
			"networks": []map[string]any{{"port": port}},
		}))
	}
	u.await(map[string]int{"ACTIVE": 10, "ERROR": 2})
	if _, hosts := u.servers(); hosts[upHostName] != 10 || len(hosts) != 1 {
		t.Errorf("the servers are on %v, want 10 on %s", hosts, upHostName)
	}
	if n := u.used(); n != 10_000_000 {
		t.Errorf("%d kbit/s are allocated, want all", n)
	}
	u.stop()

	u = startUp(t, dir)
	u.await(map[string]int{"ACTIVE": 10, "ERROR": 2})
	for _, id := range servers {
		u.request(http.MethodDelete, u.compute+"/servers/"+id, nil, nil)
	}
	u.await(map[string]int{})
	for _, id := range ports {
		u.request(http.MethodDelete, u.network+"/ports/"+id, nil, nil)
	}
	if n := u.used(); n != 0 {
		t.Errorf("%d kbit/s are allocated, and there are no servers", n)
	}
	u.stop()
}

// Operations that were under way when the process was killed continue at once after a restart.
func TestUpGoesOnAtOnce(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, dir)
	id := compute.ID(u.made(u.compute+"/servers", "server",
		map[string]any{"name": "vm", "flavorRef": "c1", "imageRef": upImage, "networks": "none"}))
	u.await(map[string]int{"ACTIVE": 1})
	u.stop()
	store, err := rowtable.OpenCompute(t.Context(), sqlstore.Options{Path: filepath.Join(dir, "compute.db")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	err = store.Update(t.Context(), now, func(w compute.Writer) error {
		return w.Insert(&compute.OperationRow{
			ID: "0d000000-0000-4000-8000-000000000001", Server: id, Kind: "delete", Step: "bind", Back: true,
			Body:   []byte(`{"action": ""}`),
			Worker: "killed", Lease: now.Add(time.Hour), CreatedAt: now,
		})
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	u = startUp(t, dir)
	u.await(map[string]int{})
	u.stop()
}

// The README contains the output of "make demo".
func TestDemo(t *testing.T) {
	code, out, stderr := berth(t, "up", "--run-guide")
	if code != cli.ExitOK {
		t.Fatalf("it exits with %d:\n%s", code, stderr)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := "\n    make demo\n"
	_, after, ok := strings.Cut(string(readme), shown)
	if !ok {
		t.Fatal("the README does not have make demo")
	}
	var block strings.Builder
	for line := range strings.Lines(out) {
		block.WriteString("    " + line)
	}
	if !strings.Contains(after, "\n\n"+block.String()+"\n") {
		t.Errorf("the README does not show what make demo prints:\n%s", block.String())
	}
}

// The guide's host has a NIC whose functions servers can have as ports, and no other host has.
func TestUpTakesDirectPorts(t *testing.T) {
	u := startUp(t, t.TempDir())
	n := u.made(u.network+"/networks", "network", map[string]any{
		"name": "n", "provider:network_type": "vlan", "provider:physical_network": "physnet0",
	})
	u.made(u.network+"/subnets", "subnet", map[string]any{"network_id": n, "ip_version": 4, "cidr": "192.0.2.0/24"})
	for range 2 {
		port := u.made(u.network+"/ports", "port", map[string]any{"network_id": n, "binding:vnic_type": "direct"})
		u.made(u.compute+"/servers", "server", map[string]any{
			"name": "vm", "flavorRef": "c1", "imageRef": upImage, "networks": []map[string]any{{"port": port}},
		})
	}
	u.await(map[string]int{"ACTIVE": 2})
	u.stop()
}
