package identityapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/identityapi"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/identity/local"
)

// A service is a running identity service.
type service struct {
	t         *testing.T
	url       string
	directory *local.Directory
}

func newService(t *testing.T) *service {
	t.Helper()
	d := local.New(local.Project{ID: "0123456789abcdef0123456789abcdef", Name: "demo"},
		local.User{ID: "a", Name: "admin", Password: "secret", Roles: []string{"admin", "member", "reader"}},
		local.User{ID: "b", Name: "demo", Password: "other", Roles: []string{"member", "reader"}},
		local.User{ID: "c", Name: "nova", Password: "third", Roles: []string{"service"}})
	api := &identityapi.API{Directory: d}
	s := httptest.NewServer(httpapi.New(httpapi.Config{
		Service: "identity", Routes: api.Routes(), Authenticate: identityapi.Authenticate(d), Public: identityapi.Public,
		Problem: identityapi.Problem,
	}))
	t.Cleanup(s.Close)
	d.Offer(local.Service{Type: "identity", Name: "keystone", URL: s.URL + "/v3"})
	d.Offer(local.Service{Type: "network", Name: "neutron", URL: "http://127.0.0.1:9696"})
	return &service{t, s.URL, d}
}

// request sends a request with headers as "name: value".
func (s *service) request(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}

func password(user, password, scope string) string {
	return `{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "` + user +
		`", "domain": {"id": "default"}, "password": "` + password + `"}}}` + scope + `}}`
}

const inProject = `, "scope": {"project": {"name": "demo", "domain": {"name": "Default"}}}`

func (s *service) token(user, secret string) string {
	s.t.Helper()
	res, body := s.request("POST", "/v3/auth/tokens", password(user, secret, inProject))
	if res.StatusCode != http.StatusCreated {
		s.t.Fatalf("a login is answered %d %s", res.StatusCode, body)
	}
	return res.Header.Get("X-Subject-Token")
}

func TestLogins(t *testing.T) {
	s := newService(t)
	for name, tc := range map[string]struct {
		body   string
		status int
		want   []string
	}{
		"Project": {password("demo", "other", inProject), 201, []string{
			`"project":{`, `"name":"member"`, `"catalog":[{`, `"url":"http://127.0.0.1:9696"`, `"region_id":"RegionOne"`,
		}},
		"Unscoped": {password("demo", "other", ""), 201, []string{`"user":{`}},
		"SaidSo":   {password("demo", "other", `, "scope": "unscoped"`), 201, []string{`"user":{`}},
		"System": {
			password("admin", "secret", `, "scope": {"system": {"all": true}}`), 201, []string{`"system":{"all":true}`},
		},
		"SystemAsMember": {password("demo", "other", `, "scope": {"system": {"all": true}}`), 401, nil},
		"Domain":         {password("demo", "other", `, "scope": {"domain": {"id": "default"}}`), 401, nil},
		"OtherProject": {
			password("demo", "other", `, "scope": {"project": {"name": "x", "domain": {"name": "Default"}}}`), 401, nil,
		},
		"OtherDomain": {strings.Replace(password("demo", "other", ""), "default", "x", 1), 401, nil},
		"WrongPassword": {
			password("demo", "secret", inProject), 401, []string{"The request you have made requires authentication."},
		},
		"OtherMethod": {`{"auth": {"identity": {"methods": ["totp"]}}}`, 401, nil},
		"NoMethod":    {`{"auth": {"identity": {}}}`, 400, []string{"auth.identity.methods"}},
		"Nothing":     {``, 400, []string{`"title":"Bad Request"`}},
		"NoObject":    {`[1]`, 400, nil},
		"WrongTypes":  {`{"auth": {"identity": {"methods": 7}}}`, 400, nil},
		"WrongToken":  {`{"auth": {"identity": {"methods": ["token"], "token": {"id": "x"}}}}`, 401, nil},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := s.request("POST", "/v3/auth/tokens", tc.body)
			if res.StatusCode != tc.status || (res.Header.Get("X-Subject-Token") != "") != (tc.status == 201) {
				t.Errorf("answered %d %s, want %d", res.StatusCode, body, tc.status)
			}
			s.challenges(res)
			for _, want := range tc.want {
				if !strings.Contains(body, want) {
					t.Errorf("answered %s, want %s in it", body, want)
				}
			}
		})
	}
}

// challenges expects a refusal with the address for logins and no other hint.
func (s *service) challenges(res *http.Response) {
	s.t.Helper()
	want := ""
	if res.StatusCode == http.StatusUnauthorized {
		want = `Keystone uri="` + s.url + `/v3"`
	}
	if got := res.Header.Get("WWW-Authenticate"); got != want {
		s.t.Errorf("%d with the challenge %q, want %q", res.StatusCode, got, want)
	}
}

// TestTokensOfTokens: a token issued from another one refers to it, and to the user's first login
// method.
func TestTokensOfTokens(t *testing.T) {
	s := newService(t)
	type shown struct {
		Token struct {
			Methods []string
			Audit   []string `json:"audit_ids"`
			Expires string   `json:"expires_at"`
		}
	}
	read := func(res *http.Response, body string) (v shown, id string) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), &v); err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s, %v", res.StatusCode, body, err)
		}
		return v, res.Header.Get("X-Subject-Token")
	}
	first, id := read(s.request("POST", "/v3/auth/tokens", password("demo", "other", "")))
	for range 2 {
		var next shown
		next, id = read(s.request("POST", "/v3/auth/tokens",
			`{"auth": {"identity": {"methods": ["token"], "token": {"id": "`+id+`"}}`+inProject+`}}`))
		if a := next.Token.Audit; len(a) != 2 || a[1] != first.Token.Audit[0] ||
			strings.Join(next.Token.Methods, " ") != "token password" || next.Token.Expires != first.Token.Expires {
			t.Errorf("the token is %+v, made of %+v", next, first)
		}
		first = next
	}
}

func TestVersions(t *testing.T) {
	s := newService(t)
	if res, body := s.request("GET", "/", ""); res.StatusCode != 300 || res.Header.Get("Location") != s.url+"/v3/" ||
		!strings.Contains(body, `{"versions":{"values":[{"id":"v3.14"`) {
		t.Errorf("GET / = %d %v %s", res.StatusCode, res.Header, body)
	}
	for _, path := range []string{"/v3", "/v3/"} {
		if res, body := s.request("GET", path, ""); res.StatusCode != 200 ||
			!strings.HasPrefix(body, `{"version":{"id":"v3.14"`) {
			t.Errorf("GET %s = %d %s", path, res.StatusCode, body)
		}
	}
}

// TestWhoSeesWhat checks the permissions on tokens of others and on lists.
func TestWhoSeesWhat(t *testing.T) {
	s := newService(t)
	admin, demo, nova := s.token("admin", "secret"), s.token("demo", "other"), s.token("nova", "third")
	for name, tc := range map[string]struct {
		method, path, token, subject string
		status                       int
		want                         string
	}{
		"OwnToken":        {"GET", "/v3/auth/tokens", demo, demo, 200, `"name":"demo"`},
		"AsService":       {"GET", "/v3/auth/tokens", nova, demo, 200, `"name":"demo"`},
		"WithoutCatalog":  {"GET", "/v3/auth/tokens?nocatalog", nova, demo, 200, `"name":"demo"`},
		"HeadOnly":        {"HEAD", "/v3/auth/tokens", nova, demo, 200, ""},
		"SomebodyElses":   {"GET", "/v3/auth/tokens", demo, admin, 403, "not authorized"},
		"UnknownSubject":  {"GET", "/v3/auth/tokens", nova, "x", 404, "Could not find"},
		"UnknownToMember": {"GET", "/v3/auth/tokens", demo, "x", 403, "not authorized"},
		"UnknownCaller":   {"GET", "/v3/auth/tokens", "x", demo, 401, "requires authentication"},
		"NoCaller":        {"GET", "/v3/auth/tokens", "", demo, 401, "requires authentication"},
		"Projects":        {"GET", "/v3/projects", admin, "", 200, `"name":"demo"`},
		"ByName":          {"GET", "/v3/projects?name=demo", admin, "", 200, `"name":"demo"`},
		"ByOtherName":     {"GET", "/v3/projects?name=x", admin, "", 200, `"projects":[]`},
		"NameAsID":        {"GET", "/v3/projects/demo", admin, "", 404, "Could not find project"},
		"ProjectsOfAll":   {"GET", "/v3/projects", demo, "", 403, "not authorized"},
		"OwnProjects":     {"GET", "/v3/auth/projects", demo, "", 200, `"name":"demo"`},
		"OwnUser":         {"GET", "/v3/users/b", demo, "", 200, `"name":"demo"`},
		"OtherUser":       {"GET", "/v3/users/a", demo, "", 403, "not authorized"},
		"Services":        {"GET", "/v3/services?type=network", admin, "", 200, `"name":"neutron"`},
		"Endpoints":       {"GET", "/v3/endpoints", admin, "", 200, `"interface":"internal"`},
		"Roles":           {"GET", "/v3/roles", admin, "", 200, `"name":"service"`},
		"Domains":         {"GET", "/v3/domains", admin, "", 200, `"id":"default"`},
		"Regions":         {"GET", "/v3/regions/RegionOne", admin, "", 200, `"id":"RegionOne"`},
		"Assignments":     {"GET", "/v3/role_assignments?include_names=True", admin, "", 200, `"name":"service"`},
		"NamesLeftOut":    {"GET", "/v3/role_assignments?user.id=b", admin, "", 200, `"user":{"id":"b"}`},
		"NobodysRoles":    {"GET", "/v3/role_assignments?user.id=x", admin, "", 200, `"role_assignments":[]`},
		"RolesOfAll":      {"GET", "/v3/role_assignments", demo, "", 403, "not authorized"},
		"Catalog":         {"GET", "/v3/auth/catalog", demo, "", 200, `"type":"network"`},
		"Make":            {"POST", "/v3/projects", admin, "", 403, "is for one machine"},
		"Remove":          {"DELETE", "/v3/users/b", admin, "", 403, "is for one machine"},
		"NoSuchThing":     {"GET", "/v3/credentials", admin, "", 404, `"title":"Not Found"`},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := s.request(tc.method, tc.path, "", "X-Auth-Token: "+tc.token, "X-Subject-Token: "+tc.subject)
			if res.StatusCode != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("answered %d %s, want %d with %q", res.StatusCode, body, tc.status, tc.want)
			}
			s.challenges(res)
			if strings.Contains(body, "secret") || strings.Contains(tc.path, "nocatalog") && strings.Contains(body, "catalog") {
				t.Errorf("answered %s", body)
			}
		})
	}
	if res, _ := s.request("DELETE", "/v3/auth/tokens", "", "X-Auth-Token: "+
		demo, "X-Subject-Token: "+demo); res.StatusCode != 204 {
		t.Errorf("a logout is answered %d", res.StatusCode)
	}
	if res, _ := s.request("GET", "/v3/auth/catalog", "", "X-Auth-Token: "+demo); res.StatusCode != 401 {
		t.Errorf("after it, the token is answered %d, want 401", res.StatusCode)
	}
}

// Services that check tokens with Keystone can check them here.
func TestServicesCheckTokens(t *testing.T) {
	s := newService(t)
	v, err := keystone.New(keystone.Options{Credentials: keystone.Credentials{
		Type: "password",
		Auth: keystone.Auth{
			AuthURL: s.url + "/v3", Username: "nova", Password: "third", UserDomainID: "default", ProjectName: "demo",
			ProjectDomainID: "default",
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	token := s.token("demo", "other")
	got, err := v.Caller(context.Background(), keystone.Request{Token: token})
	want, _ := s.directory.Caller(token)
	want.Expires = want.Expires.UTC().Truncate(time.Microsecond)
	if a, b := text(got), text(want); err != nil || a != b {
		t.Errorf("Caller = %s, %v, want %s", a, err, b)
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
