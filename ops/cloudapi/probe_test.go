package cloudapi_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// roots answers the root documents of compute and of the network service, the latter's extensions
// and types of rules too.
func roots(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/v2.1/":
		fmt.Fprint(w, `{"version": {"id": "v2.1", "version": "2.96", "min_version": "2.1"}}`)
	case "/":
		w.WriteHeader(http.StatusMultipleChoices)
		fmt.Fprint(w, `{"versions": [{"id": "v2.0", "status": "CURRENT"}]}`)
	case "/v2.0/extensions":
		fmt.Fprint(w, `{"extensions": [{"alias": "qos"}, {"alias": "binding"}]}`)
	case "/v2.0/qos/rule-types":
		fmt.Fprint(w, `{"rule_types": [{"type": "minimum_bandwidth"}]}`)
	default:
		return false
	}
	return true
}

func survey(t *testing.T, url string) *cloud.Cloud {
	t.Helper()
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(url, nil), Wait: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func endpointOf(t *testing.T, c *cloud.Cloud, service string) cloud.Endpoint {
	t.Helper()
	i := slices.IndexFunc(c.Environment.Endpoints, func(e cloud.Endpoint) bool { return e.Service == service })
	if i < 0 {
		t.Fatalf("there is no endpoint of %s", service)
	}
	return c.Environment.Endpoints[i]
}

// A survey measures every service of the catalog and reads the records, which are those of Read.
func TestSurvey(t *testing.T) {
	url := stackWith(t, healthy(), roots)
	c := survey(t, url)
	for service, want := range map[string]cloud.Endpoint{
		"placement": {Min: "1.0", Max: "1.39", Status: 200},
		"compute":   {URL: url + "/v2.1/", Min: "2.1", Max: "2.96", Status: 200},
		"network":   {URL: url + "/", Max: "v2.0", Status: 300},
		"image":     {URL: url + "/", Max: "v2.0", Status: 300},
		"identity": {Problem: cloud.Problem{
			Kind: cloud.ProblemAbsent,
			Text: "the catalog of the cloud at " + url + "/v3 has no public endpoint of the identity service in the region one",
		}},
	} {
		got := endpointOf(t, c, service)
		if service != "identity" && (got.Ahead == nil || *got.Ahead < -2 || *got.Ahead > 2) {
			t.Errorf("the clock of %s is ahead by %v", service, got.Ahead)
		}
		want.Service, got.Ahead = service, nil
		if service == "placement" {
			got.URL = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("endpoint of %s (-want +got):\n%s", service, diff)
		}
	}
	env := c.Environment
	if diff := cmp.Diff([]string{"binding", "qos"}, env.Extensions); diff != "" {
		t.Errorf("extensions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"minimum_bandwidth"}, env.RuleTypes); diff != "" {
		t.Errorf("types of rules (-want +got):\n%s", diff)
	}
	if env.Login.URL != url+"/v3" || env.Login.Problem.Kind != "" || len(env.Unread) > 0 || c.Unread != nil {
		t.Errorf("the surroundings are %+v, unread %q", env, c.Unread)
	}
	read := readStack(t, healthy(), cloud.All)
	if read.Compute.Version != "" {
		t.Errorf("the newest version of a service without a root document is %q", read.Compute.Version)
	}
	read.Compute.Version = "2.96" // of roots
	if diff := cmp.Diff(read.Compute, c.Compute); diff != "" {
		t.Errorf("compute's records (-Read +Survey):\n%s", diff)
	}
	if diff := cmp.Diff(read.Network, c.Network); diff != "" {
		t.Errorf("the network's records (-Read +Survey):\n%s", diff)
	}
	if diff := cmp.Diff(read.Placement, c.Placement); diff != "" {
		t.Errorf("placement's records (-Read +Survey):\n%s", diff)
	}
}

// Whatever is wrong with one service is a problem of its endpoint, and the others are read.
func TestSurveyOfASickService(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		kind   cloud.ProblemKind
		text   string
	}{
		"Unauthorized": {
			func(w http.ResponseWriter) { w.WriteHeader(401) }, cloud.ProblemCredentials, "does not accept the token",
		},
		"NotFound": {func(w http.ResponseWriter) { w.WriteHeader(404) }, cloud.ProblemAnswer, "with 404 Not Found"},
		"Broken": {
			func(w http.ResponseWriter) { w.WriteHeader(503) }, cloud.ProblemAnswer, "with 503 Service Unavailable",
		},
		"Page": {
			func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }, cloud.ProblemAnswer, "something else than its versions",
		},
		"Elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(302)
		}, cloud.ProblemAnswer, "with 302 Found"},
		"Cut": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, cloud.ProblemOther, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := survey(t, stackWith(t, healthy(), func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/v2.1/" {
					return roots(w, r)
				}
				tc.answer(w)
				return true
			}))
			p := endpointOf(t, c, "compute").Problem
			if p.Kind != tc.kind || !strings.Contains(p.Text, tc.text) {
				t.Errorf("the problem is %+v", p)
			}
			if c.Compute != nil || c.Network == nil || c.Placement == nil ||
				!strings.Contains(c.Environment.Unread["compute"], tc.text) {
				t.Errorf("compute %v, unread %q", c.Compute, c.Environment.Unread)
			}
		})
	}
	// A list that is refused.
	denied := healthy()
	denied["/v2.1/os-services"] = ""
	if c := survey(t, stackWith(t, denied, roots)); c.Compute != nil ||
		!strings.Contains(c.Environment.Unread["compute"], "403 Forbidden") {
		t.Errorf("compute %v, unread %q", c.Compute, c.Environment.Unread)
	}
	// A token that is refused when lists are requested only, since services show their versions to
	// everyone.
	c := survey(t, stackWith(t, healthy(), func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v2.1/os-services" {
			http.Error(w,
				`{"error": {"message": "The request you have made requires authentication."}}`, http.StatusUnauthorized)
			return true
		}
		return roots(w, r)
	}))
	want := cloud.Problem{
		Kind: cloud.ProblemCredentials,
		Text: "the compute service does not accept the token: the compute service answers GET /v2.1/os-services with 401 " +
			"Unauthorized: The request you have made requires authentication",
	}
	if p := endpointOf(t, c, "compute").Problem; p != want || c.Compute != nil || c.Network == nil {
		t.Errorf("of a service that does not accept the token: %+v", p)
	}
	// A list that is no list.
	denied["/v2.1/os-services"] = "<html>"
	if c := survey(t, stackWith(t, denied, roots)); c.Compute != nil ||
		!strings.Contains(c.Environment.Unread["compute"], "not what its API has") {
		t.Errorf("compute %v, unread %q", c.Compute, c.Environment.Unread)
	}
}

// Of an endpoint with TLS a survey has the end of its certificate. It gets the token.
func TestSurveyOverTLS(t *testing.T) {
	var image *httptest.Server
	image = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v3/auth/tokens" {
			w.Header().Set("X-Subject-Token", "t")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"token": {"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": [{"type": "image", `+
				`"endpoints": [{"interface": "public", "region_id": "one", "region": "one", "url": %q}]}]}}`, image.URL)
			return
		}
		if r.Header.Get("X-Auth-Token") != "t" {
			t.Errorf("GET %s is sent without the token", r.URL)
		}
		fmt.Fprint(w, `{"versions": [{"id": "v2.16"}]}`)
	}))
	defer image.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: image.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	client, err := cloudapi.Connect(t.Context(), cloudapi.Options{
		Environ: variables(image.URL, map[string]string{"OS_CACERT": ca}), Wait: atOnce,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Survey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := endpointOf(t, c, "image"); e.Problem.Kind != "" || !e.CertificateExpires.Equal(image.Certificate().NotAfter) ||
		e.Max != "v2.16" {
		t.Errorf("the endpoint is %+v", e)
	}
	for _, service := range []string{"placement", "compute", "network"} {
		if !strings.Contains(c.Environment.Unread[service], "no public endpoint of the "+service+" service") {
			t.Errorf("unread: %q", c.Environment.Unread)
		}
	}
}

// Why no token is given is a problem of the login.
func TestLoginProblems(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for url, kind := range map[string]cloud.ProblemKind{
		"http://127.0.0.1:1/v3":                                  cloud.ProblemConnection,
		"http://nowhere.invalid/v3":                              cloud.ProblemName,
		secure.URL + "/v3":                                       cloud.ProblemCertificate,
		strings.Replace(plain.URL, "http:", "https:", 1) + "/v3": cloud.ProblemCertificate,
		plain.URL + "/v3":                                        cloud.ProblemAnswer,
	} {
		_, err := cloudapi.Connect(t.Context(), cloudapi.Options{
			Environ: variables("", map[string]string{"OS_AUTH_URL": url}), Wait: atOnce,
		})
		refused, ok := errors.AsType[*cloudapi.LoginError](err)
		if !ok || refused.Environment.Login.Problem.Kind != kind || refused.Environment.Login.URL != url ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want the kind %s", url, err, kind)
		}
	}
	url := stack(t, healthy())
	_, err := cloudapi.Connect(t.Context(),
		cloudapi.Options{Environ: variables(url, map[string]string{"OS_PASSWORD": "wr0ng"})})
	if refused, ok := errors.AsType[*cloudapi.LoginError](err); !ok ||
		refused.Environment.Login.Problem.Kind != cloud.ProblemCredentials {
		t.Errorf("with a wrong password: %v", err)
	}
	_, err = cloudapi.Connect(t.Context(),
		cloudapi.Options{Environ: variables(url, map[string]string{"OS_CLOUD": "none", "OS_CLIENT_CONFIG_FILE": "/nowhere"})})
	if _, ok := errors.AsType[*cloudapi.LoginError](err); ok || err == nil {
		t.Errorf("a cloud that is not in clouds.yaml: %v", err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = cloudapi.Connect(ctx, cloudapi.Options{Environ: variables(url, nil)})
	if refused, ok := errors.AsType[*cloudapi.LoginError](err); !ok ||
		refused.Environment.Login.Problem.Kind != cloud.ProblemTime {
		t.Errorf("without time: %v", err)
	}
}

// Of a real Keystone a survey reads the token's roles and the users of services with theirs.
func TestSurveyOfKeystone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Keystone: not under -short")
	}
	k := keystonetest.Start(t, keystonetest.Options{})
	environment := func(persona string) *cloud.Environment {
		p := keystonetest.Find(persona)
		more := map[string]string{
			"OS_USERNAME": p.Name, "OS_PASSWORD": p.Password, "OS_PROJECT_NAME": p.Project, "OS_REGION_NAME": "",
		}
		if p.Scope == "system" {
			more["OS_SYSTEM_SCOPE"] = "all"
		}
		client, err := cloudapi.Connect(t.Context(), cloudapi.Options{Environ: variables(k.URL(), more), Wait: atOnce})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Survey(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Environment
	}
	s := environment("project-admin")
	if l := s.Login; l.User != "project-admin" || l.Project != keystonetest.Demo || l.System ||
		!slices.Contains(l.Roles, "admin") || l.Issued.IsZero() || l.Expires.Before(l.Issued) ||
		l.Issued.Sub(l.RequestedAt).Abs() > time.Minute {
		t.Errorf("the login is %+v", l)
	}
	if diff := cmp.Diff([]cloud.ServiceUser{
		{Name: "nova", Enabled: true, Roles: []string{"service"}},
		{Name: "placement", Enabled: true, Roles: []string{"service"}},
	}, s.ServiceUsers); diff != "" {
		t.Errorf("users of services (-want +got):\n%s", diff)
	}
	if e := endpointOf(t, &cloud.Cloud{Environment: s}, "identity"); e.Problem.Kind != "" ||
		!strings.HasPrefix(e.Max, "v3.") {
		t.Errorf("the endpoint is %+v", e)
	}
	if s := environment("project-reader"); s.ServiceUsers != nil || !slices.Equal(s.Login.Roles, []string{"reader"}) {
		t.Errorf("for a reader: %+v, %+v", s.Login, s.ServiceUsers)
	}
	if s := environment("system-reader"); !s.Login.System || s.Login.Project != "" {
		t.Errorf("in the scope of the system: %+v", s.Login)
	}
}
