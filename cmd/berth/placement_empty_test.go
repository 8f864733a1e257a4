package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// With the id of the request that found no host, an operator finds in the log the query and the
// constraint that left nothing; the metrics count it.
func TestNoCandidatesLeaveATrace(t *testing.T) {
	ops := filepath.Join(t.TempDir(), "ops.sock")
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nmetrics_listen = unix:"+ops)
	r := start(t, t.TempDir(), "placement", "serve", "--config", conf, "--listen", "127.0.0.1:0")
	const host, nova = "6f1b1a5e-0000-4000-8000-000000000001", "req-11111111-1111-1111-1111-111111111111"
	query := func(method, path, body string, want int) {
		t.Helper()
		res, text := call(t, &http.Transport{}, method, r.url+path, body, "X-Openstack-Request-Id: "+nova)
		if res.StatusCode != want {
			t.Fatalf("%s %s = %d %s", method, path, res.StatusCode, text)
		}
	}
	query("POST", "/resource_providers", `{"name": "h", "uuid": "`+host+`"}`, http.StatusOK)
	query("PUT", "/resource_providers/"+host+"/inventories",
		`{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`, http.StatusOK)
	query("GET", "/allocation_candidates?resources=VCPU:4", "", http.StatusOK)
	r.logged(`(?m) \[` + nova + ` .* request .*(candidates=1)$`)
	query("GET", "/allocation_candidates?resources=VCPU:64&limit=7", "", http.StatusOK)
	access, why := `request .* candidates=0 query="resources=VCPU:64&limit=7"`,
		`no allocation candidates constraint=capacity reason="VCPU: no host remains; `+
			`1 host \(1 provider\) dropped: no free capacity for VCPU:64"`
	either := `(?m) \[` + nova + ` \S+ admin admin\] (` + access + `|` + why + `)$`
	if first, second := r.logged(either),
		r.logged(either); strings.HasPrefix(first, "request") == strings.HasPrefix(second, "request") {
		t.Errorf("the log has twice %s", first)
	}
	_, metrics := call(t, overUnix(ops), "GET", "http://h/metrics", "")
	if want := `berth_candidates_empty_total{constraint="capacity"} 1`; !strings.Contains(metrics, want) {
		t.Errorf("the metrics have no %s", want)
	}
}
