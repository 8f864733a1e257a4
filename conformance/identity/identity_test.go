package identity_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// TestKeystone puts Berth and upstream's Placement behind one Keystone.
func TestKeystone(t *testing.T) {
	k := keystonetest.Start(t, keystonetest.Options{})
	p := startPair(t, k, nil)
	t.Run("EverybodyTriesEverything", func(t *testing.T) { testPersonas(t, k, p) })
	t.Run("WhoIsRefused", func(t *testing.T) { testRefusals(t, k, p) })
	t.Run("Delayed", func(t *testing.T) { testDelayed(t, k) })
	t.Run("CheckAuth", func(t *testing.T) { testCheckAuth(t, k) })
	t.Run("Console", func(t *testing.T) { testConsole(t, k, p) })
	t.Run("KeystoneStopsAndComesBack", func(t *testing.T) { testOutage(t, k, p) })
}

// mayDo returns the permissions: administrators and services may do everything but reshape, which
// only services may, and readers may read the usages of their own project. A token of the system or
// a domain allows nothing.
func mayDo(who keystonetest.Persona, rule string) bool {
	switch {
	case who.Scope != "project", rule == "berth:placement:explain:own": // off by default
		return false
	case rule == "reshaper:reshape":
		return who.Role == "service"
	case who.Role == "admin", who.Role == "service":
		return true
	}
	return rule == "usages" && who.Project == keystonetest.Demo && (who.Role == "reader" || who.Role == "member")
}

// testPersonas has every persona try every operation, in a sample every fourth persona.
func testPersonas(t *testing.T, k *keystonetest.Keystone, p pair) {
	for _, who := range sweep.Sample(t, keystonetest.Personas(), 4) {
		token := k.Token(who)
		for _, op := range operations(k.ProjectID(keystonetest.Demo)) {
			op.header, op.anyReason = as(token), who.Scope != "project"
			what := who.Name + ", " + op.rule
			got := p.compare(t, what, op.request)
			if denied := got.Status == http.StatusForbidden; denied == mayDo(who, op.rule) ||
				got.Status == http.StatusUnauthorized {
				t.Errorf("%s: status %d, want it to be allowed: %v", what, got.Status, mayDo(who, op.rule))
			}
		}
	}
}

func testRefusals(t *testing.T, k *keystonetest.Keystone, p pair) {
	good, service := k.Token(keystonetest.Find("project-admin")), k.Token(keystonetest.Find("nova"))
	reader := k.Token(keystonetest.Find("project-reader"))
	revoked := k.Token(keystonetest.Find("project-admin"))
	k.Revoke(revoked)
	header := func(pairs ...string) http.Header {
		h := as("")
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = []string{pairs[i+1]}
		}
		return h
	}
	for _, tc := range []struct {
		name   string
		method string
		path   string
		header http.Header
		want   int
	}{
		{"NoToken", "GET", "/resource_providers", header(), 401},
		{"NoTokenNoPath", "GET", "/nothing/here", header(), 401},
		{"NoTokenNoVersion", "GET", "/traits", header("Openstack-Api-Version", "placement 99.0"), 401},
		{"NoTokenHead", "HEAD", "/traits", header(), 401},
		{"NoTokenNeeded", "GET", "/", header(), 200},
		{"Empty", "GET", "/traits", header("X-Auth-Token", ""), 401},
		{"Garbage", "GET", "/traits", header("X-Auth-Token", "garbage"), 401},
		{"GarbageForHTML", "GET", "/traits", header("X-Auth-Token", "garbage", "Accept", "text/html"), 401},
		{"GarbageForText", "GET", "/traits", header("X-Auth-Token", "garbage", "Accept", "text/plain"), 401},
		{"WithSpaces", "GET", "/traits", header("X-Auth-Token", "no good at all"), 401},
		{"NotASCII", "GET", "/traits", header("X-Auth-Token", "caf\u00e9"), 401},
		{"Long", "GET", "/traits", header("X-Auth-Token", strings.Repeat("a", 6000)), 401},
		{"Revoked", "GET", "/traits", header("X-Auth-Token", revoked), 401},
		{"Good", "GET", "/traits", header("X-Auth-Token", good), 200},
		{"Padded", "GET", "/traits", header("X-Auth-Token", "  "+good+"  "), 200},
		{"OlderHeader", "GET", "/traits", header("X-Storage-Token", good), 200},
		{"OlderHeaderBesideAnEmptyOne", "GET", "/traits", header("X-Storage-Token", good, "X-Auth-Token", ""), 401},
		{"WithAService", "GET", "/traits", header("X-Auth-Token", good, "X-Service-Token", service), 200},
		{"WithNoService", "GET", "/traits", header("X-Auth-Token", good, "X-Service-Token", "garbage"), 401},
		{"WithAnEmptyService", "GET", "/traits", header("X-Auth-Token", good, "X-Service-Token", ""), 200},
		{"WithAUserAsService", "GET", "/traits", header("X-Auth-Token", good, "X-Service-Token", reader), 200},
		{"ServiceAlone", "GET", "/traits", header("X-Service-Token", service), 401},
		{
			"HeadersAreNotBelieved", "GET", "/traits",
			header("X-Auth-Token", reader, "X-Roles", "admin", "X-User-Id", "x", "X-Project-Id", "x"), 403,
		},
		{
			"HeadersAreNoToken", "GET", "/traits",
			header("X-Roles", "admin", "X-User-Id", "x", "X-Identity-Status", "Confirmed"), 401,
		},
		{"SystemScopeIsNotBelieved", "GET", "/traits", header("X-Auth-Token", reader, "Openstack-System-Scope", "all"), 403},
		{"DeniedOldVersion", "GET", "/traits", header("X-Auth-Token", reader, "Openstack-Api-Version", "placement 1.6"), 403},
		{"NotAcceptable", "GET", "/traits", header("X-Auth-Token", reader, "Accept", "text/html"), 406},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := p.compare(t, tc.name, request{method: tc.method, path: tc.path, header: tc.header})
			if got.Status != tc.want {
				t.Errorf("status %d, want %d", got.Status, tc.want)
			}
		})
	}
}

// testDelayed leaves the decision to the service, which answers in its own
// format.
func testDelayed(t *testing.T, k *keystonetest.Keystone) {
	p := startPair(t, k, section{"delay_auth_decision": "True"})
	reader := k.Token(keystonetest.Find("project-reader"))
	for name, h := range map[string]http.Header{
		"no token": as(""), "garbage": as("garbage"), "reader": as(reader),
		"garbage, for HTML":     {"X-Auth-Token": {"garbage"}, "Accept": {"text/html"}},
		"headers":               {"X-User-Id": {"x"}, "X-Roles": {"admin"}},
		"reader and no service": {"X-Auth-Token": {reader}, "X-Service-Token": {"garbage"}},
	} {
		p.compare(t, name, request{method: "GET", path: "/traits", header: h})
	}
}

// testOutage stops Keystone under both, and starts Berth again without it.
func testOutage(t *testing.T, k *keystonetest.Keystone, p pair) {
	token := k.Token(keystonetest.Find("project-admin"))
	known := request{method: "GET", path: "/resource_providers", header: as(token)}
	if got := p.compare(t, "before", known); got.Status != http.StatusOK {
		t.Fatalf("before: status %d", got.Status)
	}
	k.Stop()
	if got := p.compare(t, "a token that is remembered", known); got.Status != http.StatusOK {
		t.Errorf("a token that is remembered: status %d, want 200", got.Status)
	}
	for i, accept := range []string{"", "application/json", "text/html", "text/plain"} {
		h := as(fmt.Sprint("unknown-", i))
		if accept != "" {
			h["Accept"] = []string{accept}
		}
		got := p.compare(t, "without Keystone, for "+accept, request{method: "GET", path: "/traits", header: h})
		if got.Status != http.StatusServiceUnavailable {
			t.Errorf("without Keystone: status %d, want 503", got.Status)
		}
	}
	p.berth.Restart()
	if got := send(t, p.berth, known); got.Status != http.StatusServiceUnavailable {
		t.Errorf("started without Keystone: status %d, want 503", got.Status)
	}
	k.Restart()
	awaitStatus(t, p.berth, known, http.StatusOK)
}

// awaitStatus repeats a request until it is answered as it should be.
func awaitStatus(t *testing.T, s *server.Server, q request, want int) {
	t.Helper()
	var got int
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if got = send(t, s, q).Status; got == want {
			return
		}
		time.Sleep(100 * time.Millisecond) // real time: Keystone is another process
	}
	t.Errorf("%s %s: status %d for 30s, want %d", q.method, q.path, got, want)
}
