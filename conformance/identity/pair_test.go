package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
)

type section = map[string]string

// settings are those of a placement service in front of a Keystone.
func settings(k *keystonetest.Keystone, more section) map[string]section {
	auth := server.Login(k)
	auth["www_authenticate_uri"], auth["service_type"] = "http://public.example:5000", "placement"
	for name, value := range more {
		auth[name] = value
	}
	return map[string]section{"api": {"auth_strategy": "keystone"}, "keystone_authtoken": auth}
}

// A pair is Berth and upstream's Placement with one Keystone.
type pair struct{ berth, upstream *server.Server }

func startPair(t *testing.T, k *keystonetest.Keystone, more section) pair {
	t.Helper()
	config := settings(k, more)
	return pair{
		berth:    server.StartBerth(t, server.Options{Config: config}),
		upstream: server.StartUpstream(t, server.Options{Config: config, Policy: projectsOnly(t)}),
	}
}

// projectsOnly is upstream's current policy for the distribution's release, which
// refuses tokens of a domain as it does those of the system.
func projectsOnly(t *testing.T) string {
	t.Helper()
	const noSystem, noDomain = "(system_scope:None or system_scope:)", " and (domain_id:None or domain_id:)"
	policy := server.MasterPolicy()
	if !strings.Contains(policy, noSystem) {
		t.Fatalf("the policy does not speak of system scope:\n%s", policy)
	}
	return strings.ReplaceAll(policy, noSystem, noSystem+noDomain)
}

// aboutTheCaller are the statuses whose bodies are compared: other answers of operations are not
// tested here.
var aboutTheCaller = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusServiceUnavailable: true,
}

// A request is sent to both.
type request struct {
	method, path, body string
	header             http.Header

	// anyReason ignores the texts of 403: later releases than the distribution's check the scope
	// before the rule.
	anyReason bool
}

// An answer is a response without the expected differences.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

var requestID = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// compared are the headers that clients read. Retry-After is Berth's own.
var compared = []string{"Content-Type", "WWW-Authenticate", "Openstack-Api-Version", "Vary", "Allow"}

// client opens a connection for each request, since upstream's server closes them without
// announcing it. It accepts no compression, which upstream does not have.
var client = http.Client{
	Timeout:   60 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
}

func send(t *testing.T, s *server.Server, q request) answer {
	t.Helper()
	r, err := http.NewRequest(q.method, s.URL()+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{
		Status: res.StatusCode, Header: make(http.Header), Body: requestID.ReplaceAllString(string(body), "req-ID"),
	}
	for _, name := range compared {
		if v := res.Header.Values(name); len(v) > 0 {
			a.Header[name] = v
		}
	}
	if res.Header.Get("X-Openstack-Request-Id") == "" {
		t.Errorf("%s %s: no request id", q.method, q.path)
	}
	return a
}

// compare sends a request to both, expects equal answers, and returns one.
func (p pair) compare(t *testing.T, what string, q request) answer {
	t.Helper()
	upstream, berth := send(t, p.upstream, q), send(t, p.berth, q)
	if upstream.Status == berth.Status &&
		(!aboutTheCaller[berth.Status] || q.anyReason && berth.Status == http.StatusForbidden) {
		upstream.Body, berth.Body = "", ""
	}
	if diff := cmp.Diff(normal(upstream), normal(berth)); diff != "" {
		t.Errorf("%s: %s %s (-upstream +berth):\n%s", what, q.method, q.path, diff)
	}
	return berth
}

// normal undoes differences in how JSON is written.
func normal(a answer) answer {
	var v any
	if json.Unmarshal([]byte(a.Body), &v) == nil {
		if b, err := json.Marshal(v); err == nil {
			a.Body = string(b)
		}
	}
	return a
}

// as returns headers with a token, of the newest version of the API.
func as(token string) http.Header {
	h := http.Header{"Openstack-Api-Version": {"placement 1.39"}}
	if token != "" {
		h["X-Auth-Token"] = []string{token}
	}
	return h
}

// writeConfig writes a placement.conf and returns its path.
func writeConfig(t *testing.T, sections map[string]section) string {
	t.Helper()
	var b strings.Builder
	for name, options := range sections {
		b.WriteString("[" + name + "]\n")
		for option, value := range options {
			b.WriteString(option + " = " + value + "\n")
		}
	}
	path := filepath.Join(t.TempDir(), "placement.conf")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
