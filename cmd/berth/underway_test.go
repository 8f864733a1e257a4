package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
)

// servedUnderway are the variables of a cloud whose services of Berth's have something under way.
// Without lists the services are Nova and Neutron, which answer 404.
func servedUnderway(t *testing.T, lists map[string]string) map[string]string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, ok := lists[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !ok || r.Header.Get("X-Auth-Token") != "admin" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, list, r.URL.RawQuery)
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := "clouds: {c: {auth_type: admin_token, auth: {endpoint: \"URL\", token: admin}, compute_endpoint_override: " +
		"\"URL/v2.1\", network_endpoint_override: \"URL\"}}"
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "URL", s.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"OS_CLIENT_CONFIG_FILE": file, "OS_CLOUD": "c"}
}

// underwayLists are what the services answer: %s is the query.
func underwayLists() map[string]string {
	const server, port = "33333333-0000-4000-8000-000000000001", "44444444-0000-4000-8000-000000000001"
	created := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	operation := func(rest string) string {
		return `{"id": "o1", "server": "` + server +
			`", "project_id": "p", "kind": "live", "step": "prepare", "created_at": "` + created + `", ` + rest + `}`
	}
	return map[string]string{
		"/berth/v1/operations": `{"query": "%s", "more": true, "operations": [` + strings.Join([]string{
			operation(`"direction": "forward", "state": "waiting", "worker": null, "until": null, "cause": null, "awaits": ` +
				`{"event": "compute_pre_live_migration", "host": "cn2", "host_up": false}`),
			operation(`"direction": "back", "state": "delayed", "worker": null, "until": "2026-11-26T07:00:00Z", "awaits": ` +
				`null, "cause": "no answer from Neutron"`),
			operation(`"direction": "forward", "state": "running", "worker": "run1#w", "until": "2026-11-26T07:00:00Z", ` +
				`"awaits": null, "cause": null`),
		}, ", ") + `]}`,
		"/berth/v1/changes": `{"query": "%s", "more": false, "changes": [{"id": "i1", "kind": "release", "port": "` + port +
			`", "server": "` + server +
			`", "created_at": "` + created + `", "state": "unknown", "instance": "net1", "abandoned": true, "attempted_at": "` +
			created +
			`", "differences": {"77777777-0000-4000-8000-000000000001": {"NET_BW_EGR_KILOBIT_PER_SEC": -1000}}}]}`,
	}
}

// TestUnderway lists what is under way, as a table and for programs.
func TestUnderway(t *testing.T) {
	lists := underwayLists()
	cloud := servedUnderway(t, lists)
	for name, tc := range map[string]struct {
		args   string
		cloud  map[string]string
		code   int
		stdout []string
		stderr string
	}{
		"Operations": {
			"compute operations", cloud, cli.ExitOK,
			[]string{
				"| Waits For", "| live ", "1h0m", "host cn2, which is down: compute_pre_live_migration", "next attempt at ",
				"no answer from Neutron", "worker run1#w, lease until ",
			},
			"there is more than the 3 oldest",
		},
		"OperationsAsJSON": {
			"compute operations -f json", cloud, cli.ExitOK,
			[]string{`"host_up": false`, `"direction": "back"`, `"worker": "run1#w"`},
			"",
		},
		"OperationColumns": {
			"compute operations -f value -c Server -c Operation", cloud, cli.ExitOK,
			[]string{"33333333-0000-4000-8000-000000000001 live\n"},
			"",
		},
		"Changes": {
			"network changes", cloud, cli.ExitOK,
			[]string{
				"44444444-0000-4000-8000-000000000001", "| release ", "net1 (abandoned)", "NET_BW_EGR_KILOBIT_PER_SEC -1000",
				"unknown",
			},
			"",
		},
		"ChangesAsJSON": {"network changes -f json", cloud, cli.ExitOK, []string{`"abandoned": true`}, ""},
		"Nova":          {"compute operations", servedUnderway(t, nil), cli.ExitFailure, nil, "it is not Berth's"},
		"Neutron":       {"network changes", servedUnderway(t, nil), cli.ExitFailure, nil, "it is not Berth's"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berthIn(t, "", tc.cloud, strings.Fields(tc.args)...)
			if code != tc.code || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("it exits with %d, want %d, and says %q, want %q", code, tc.code, stderr, tc.stderr)
			}
			for _, want := range tc.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("it prints\n%s\nwithout %q", stdout, want)
				}
			}
		})
	}
}

// TestUnderwayQueries has the flags reach the services.
func TestUnderwayQueries(t *testing.T) {
	const server, port = "33333333-0000-4000-8000-000000000001", "44444444-0000-4000-8000-000000000001"
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.String()
		fmt.Fprint(w, `{"operations": [], "changes": [], "more": false}`)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf(
		"clouds: {c: {auth_type: none, auth: {endpoint: %q}, compute_endpoint_override: %q, network_endpoint_override: %q}}",
		s.URL, s.URL+"/compute/v2.1/p1", s.URL+"/v2.0")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"compute operations": "/compute/berth/v1/operations?limit=100",
		"compute operations --limit 5 --min-age 2m --server " +
			server: "/compute/berth/v1/operations?limit=5&min_age=120&server=" + server,
		"network changes --port " + port + " --server " + server +
			" -f json": "/berth/v1/changes?limit=100&port=" + port + "&server=" + server,
	} {
		code, _, stderr := berthIn(t, "", map[string]string{"OS_CLIENT_CONFIG_FILE": file},
			append(strings.Fields(args), "--os-cloud", "c")...)
		if code != cli.ExitOK || got != want {
			t.Errorf("berth %s requests %s, want %s, and exits with %d: %s", args, got, want, code, stderr)
		}
	}
}
