package keystone_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/keystone"
)

func TestCredentials(t *testing.T) {
	user := object{"name": "placement", "domain": object{"name": "Default"}, "password": "pass-of-placement"}
	password := func(user object) object {
		return object{"methods": []any{"password"}, "password": object{"user": user}}
	}
	for _, tc := range []struct {
		name   string
		change func(*keystone.Credentials)
		want   object
	}{
		{"Project", func(*keystone.Credentials) {}, object{
			"identity": password(user),
			"scope":    object{"project": object{"name": "service", "domain": object{"name": "Default"}}},
		}},
		{"Ids", func(c *keystone.Credentials) { c.UserID, c.ProjectID = "u1", "p1" }, object{
			"identity": password(object{"id": "u1", "password": "pass-of-placement"}),
			"scope":    object{"project": object{"id": "p1"}},
		}},
		{"System", func(c *keystone.Credentials) { c.ProjectName, c.SystemScope = "", "all" }, object{
			"identity": password(user), "scope": object{"system": object{"all": true}},
		}},
		{"Domain", func(c *keystone.Credentials) { c.ProjectName, c.DomainName = "", "Default" }, object{
			"identity": password(user), "scope": object{"domain": object{"name": "Default"}},
		}},
		{"Trust", func(c *keystone.Credentials) { c.ProjectName, c.TrustID = "", "t1" }, object{
			"identity": password(user), "scope": object{"OS-TRUST:trust": object{"id": "t1"}},
		}},
		{"DefaultDomain", func(c *keystone.Credentials) {
			c.UserDomainName, c.ProjectDomainName, c.DefaultDomainID = "", "", "d1"
		}, object{
			"identity": password(object{"name": "placement", "domain": object{"id": "d1"}, "password": "pass-of-placement"}),
			"scope":    object{"project": object{"name": "service", "domain": object{"id": "d1"}}},
		}},
		{"ApplicationCredential", func(c *keystone.Credentials) {
			*c = keystone.Credentials{Type: keystone.ApplicationCredential, Auth: keystone.Auth{
				AuthURL: c.AuthURL, ApplicationCredentialID: "c1", ApplicationCredentialSecret: "s1",
			}}
		}, object{
			"identity": object{
				"methods": []any{"application_credential"}, "application_credential": object{"id": "c1", "secret": "s1"},
			},
		}},
		{"ApplicationCredentialByName", func(c *keystone.Credentials) {
			c.Type, c.ApplicationCredentialName, c.ApplicationCredentialSecret = keystone.ApplicationCredential, "mine", "s1"
		}, object{
			"identity": object{"methods": []any{"application_credential"}, "application_credential": object{
				"name": "mine", "secret": "s1", "user": object{"name": "placement", "domain": object{"name": "Default"}},
			}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			_, err := newValidator(t, f, func(o *keystone.Options) { tc.change(&o.Credentials) }).Inspect(context.Background())
			wantOK(t, "Inspect", err)
			var got object
			for i, call := range f.calls {
				if call == logIn {
					if err := json.Unmarshal([]byte(f.bodies[i]), &got); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(object{"auth": tc.want}, got); diff != "" {
				t.Errorf("what was sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*keystone.Options)
		want   []string
	}{
		{
			"Nothing", func(o *keystone.Options) { o.Credentials = keystone.Credentials{} },
			[]string{"auth_url is not set", "auth_type is not set"},
		},
		{
			"OtherKind", func(o *keystone.Options) { o.Credentials.Type = "v3oidcpassword" },
			[]string{`"v3oidcpassword"`, "v3applicationcredential"},
		},
		{"NoURL", func(o *keystone.Options) { o.Credentials.AuthURL = "keystone:5000" }, []string{"auth_url: want a URL"}},
		{
			"NoUser", func(o *keystone.Options) { o.Credentials.Username, o.Credentials.Password = "", "" },
			[]string{"username is not set", "password is not set"},
		},
		{
			"NoDomains", func(o *keystone.Options) { o.Credentials.UserDomainName, o.Credentials.ProjectDomainName = "", "" },
			[]string{"user_domain_name", "project_domain_name"},
		},
		{"NoScope", func(o *keystone.Options) { o.Credentials.ProjectName = "" }, []string{"project_name is not set"}},
		{"TwoScopes", func(o *keystone.Options) { o.Credentials.DomainName = "Default" }, []string{"several"}},
		{
			"HalfTheSystem", func(o *keystone.Options) { o.Credentials.SystemScope = "half" },
			[]string{`system_scope = "half"`},
		},
		{"Interface", func(o *keystone.Options) { o.Interface = "private" }, []string{`interface = "private"`}},
		{"KeyAlone", func(o *keystone.Options) { o.KeyFile = "key.pem" }, []string{"without certfile"}},
		{"NoSecret", func(o *keystone.Options) {
			o.Credentials = keystone.Credentials{
				Type: keystone.ApplicationCredential, Auth: keystone.Auth{AuthURL: "http://keystone.test"},
			}
		}, []string{"application_credential_id is not set", "application_credential_secret is not set"}},
		{"NoCAFile", func(o *keystone.Options) { o.CAFile = "/nothing" }, []string{"cafile", "/nothing"}},
		{"NoCertFile", func(o *keystone.Options) { o.CertFile = "/nothing" }, []string{"certfile"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := options()
			tc.change(&opts)
			_, err := keystone.New(opts)
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("New = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// TestDiscovery finds the API below auth_url, and never sends the password to another server than
// the one there.
func TestDiscovery(t *testing.T) {
	version := func(href string) object {
		return object{"version": object{"id": "v3.14", "links": []object{{"rel": "self", "href": href}}}}
	}
	for _, tc := range []struct {
		name    string
		kind    string
		authURL string
		status  int
		doc     any
		want    string // where the service logs in; empty for an error
	}{
		{"Root", keystone.Password, "http://k.test:5000", 300, versions("http://k.test:5000/v3/"), "http://k.test:5000/v3"},
		{"OtherHost", keystone.Password, "http://k.test/", 300, versions("http://other.test/v3/"), "http://k.test/v3"},
		{
			"OtherHostOfTheVersion", keystone.Password, "http://k.test/identity/v3", 200, version("http://10.0.0.1:5000/v3/"),
			"http://k.test/identity/v3",
		},
		{
			"OtherHostWithAnotherPath", keystone.Password, "http://k.test/identity", 300,
			versions("http://other.test/keystone/v3/"), "http://k.test/identity/v3",
		},
		{
			"OtherHostWithoutAVersion", keystone.Password, "http://k.test/identity", 300, versions("http://other.test/"),
			"http://k.test/identity/v3",
		},
		{
			"OtherPort", keystone.Password, "http://k.test:5000/", 300, versions("http://k.test:35357/v3/"),
			"http://k.test:5000/v3",
		},
		{"NoPort", keystone.Password, "https://k.test:5000/", 300, versions("https://k.test/v3/"), "https://k.test:5000/v3"},
		{
			"OtherScheme", keystone.Password, "http://k.test/", 300, versions("https://k.test/identity/v3/"),
			"http://k.test/identity/v3",
		},
		{
			"TLSIsNotLeft", keystone.Password, "https://k.test/identity", 300, versions("http://10.0.0.1:5000/identity/v3/"),
			"https://k.test/identity/v3",
		},
		{
			"TLSIsNotLeftOnTheHost", keystone.Password, "https://k.test/identity", 300, versions("http://k.test/identity/v3/"),
			"https://k.test/identity/v3",
		},
		{"WithoutScheme", keystone.Password, "https://k.test/", 300, versions("//other.test/v3/"), "https://k.test/v3"},
		{"WithAUser", keystone.Password, "http://k.test/", 300, versions("http://user@k.test/v3/"), "http://k.test/v3"},
		{
			"OtherPath", keystone.Password, "http://k.test/", 300, versions("http://k.test/identity/v3/?a=b#c"),
			"http://k.test/identity/v3",
		},
		{"Relative", keystone.Password, "http://k.test/identity", 300, versions("v3/"), "http://k.test/identity/v3"},
		{
			"RelativeToTheHost", keystone.Password, "http://k.test/old", 300, versions("/identity/v3"),
			"http://k.test/identity/v3",
		},
		{"OneVersion", keystone.Password, "http://k.test/", 200, version("v3/"), "http://k.test/v3"},
		{
			"PlainList", keystone.Password, "http://k.test/", 200,
			object{"versions": []object{{"id": "v3.14", "links": []object{{"rel": "Self", "href": "/v3/"}}}}},
			"http://k.test/v3",
		},
		{
			"VersionInThePath", keystone.Password, "http://k.test/srv2.example/keystone", 300,
			versions("http://k.test/srv2.example/keystone/v3/"), "http://k.test/srv2.example/keystone/v3",
		},
		{"NoDocumentButAVersion", keystone.Password, "http://k.test/identity/v3/", 404, "no", "http://k.test/identity/v3"},
		{"NoDocument", keystone.Password, "http://k.test/", 404, "no", ""},
		{
			"NoLink", keystone.Password, "http://k.test/", 200,
			object{"version": object{"id": "v3.14", "links": []object{}}},
			"",
		},
		{"NoURL", keystone.Password, "http://k.test/", 300, versions("http://[/v3"), ""},
		{
			"OtherVersions", keystone.Password, "http://k.test/", 200,
			object{"versions": object{"values": []object{{"id": "v2.0"}}}},
			"",
		},
		{
			"VersionThirty", keystone.Password, "http://k.test/", 200,
			object{"version": object{"id": "v30.0", "links": []object{{"rel": "self", "href": "v30/"}}}},
			"",
		},
		{"NoList", keystone.Password, "http://k.test/", 200, "hello", ""},
		{"V3Password", keystone.V3Password, "http://k.test/", 500, "never sent", "http://k.test/v3"},
		{"V3PasswordWithVersion", keystone.V3Password, "http://k.test/v3", 500, "never sent", "http://k.test/v3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.url = tc.authURL // of the endpoint in the catalogue, which has the same document
			configured, err := url.Parse(tc.authURL)
			if err != nil {
				t.Fatal(err)
			}
			login := ""
			f.intercept(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != configured.Host || r.URL.Scheme != configured.Scheme {
					t.Errorf("%s %s is sent to a server that is not configured", r.Method, r.URL)
				}
				if r.Method == http.MethodPost {
					login = strings.TrimSuffix(r.URL.String(), "/auth/tokens")
					return f.issue(), nil
				}
				return reply(tc.status, tc.doc), nil
			})
			v := newValidator(t, f, func(o *keystone.Options) {
				o.Credentials.Type, o.Credentials.AuthURL = tc.kind, tc.authURL
			})
			self, err := v.Inspect(context.Background())
			if tc.kind == keystone.Password && (err == nil) != (tc.want != "") || login != tc.want || self.LoginURL != tc.want {
				t.Errorf("Inspect = %q, %v, after logging in at %q; want %q", self.LoginURL, err, login, tc.want)
			}
			if err == nil && self.QueryURL != tc.want {
				t.Errorf("tokens are checked at %q, want %q", self.QueryURL, tc.want)
			}
		})
	}
}

// TestEndpoint chooses from the catalogue.
func TestEndpoint(t *testing.T) {
	catalog := []object{
		{"type": "compute", "endpoints": []object{{"interface": "internal", "region": "one", "url": "http://nova.test"}}},
		{"type": "identity", "endpoints": []object{
			{"interface": "public", "region": "one", "url": "http://public.test/v3"},
			{"interface": "internal", "region": "one", "url": "http://internal.test/v3/"},
			{"interface": "internal", "region_id": "two", "url": "http://keystone.test"},
		}},
	}
	for _, tc := range []struct {
		name, iface, region string
		catalog             []object
		want, problem       string
	}{
		{"Default", "", "", catalog, "http://internal.test/v3", ""},
		{"Public", "public", "", catalog, "http://public.test/v3", ""},
		{"OlderName", "publicURL", "one", catalog, "http://public.test/v3", ""},
		{"RegionWithoutVersion", "internal", "two", catalog, "http://keystone.test/v3", ""},
		{
			"NoSuchRegion", "public", "two", catalog, "",
			"interface public in region_name two: it has internal in one, internal in two, public in one",
		},
		{"NoSuchInterface", "admin", "", catalog, "", "interface admin"},
		{"NoKeystone", "internal", "", catalog[:1], "", "no endpoint of Keystone"},
		{"NoCatalog", "internal", "", nil, "", "no endpoint of Keystone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.intercept(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPost {
					return nil, nil
				}
				answer := tokenOf("placement", time.Hour)
				answer["catalog"] = tc.catalog
				res := reply(http.StatusCreated, object{"token": answer})
				res.Header.Set("X-Subject-Token", "own")
				return res, nil
			})
			self, err := newValidator(t, f, func(o *keystone.Options) {
				o.Interface, o.Region = tc.iface, tc.region
			}).Inspect(context.Background())
			if self.QueryURL != tc.want || (err == nil) != (tc.problem == "") ||
				err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("Inspect = %q, %v; want %q, %q", self.QueryURL, err, tc.want, tc.problem)
			}
		})
	}
}

func TestAccessRules(t *testing.T) {
	for _, tc := range []struct {
		rule, path string
		want       bool
	}{
		{"/traits", "/traits", true},
		{"/traits", "/traits/A", false},
		{"/traits/*", "/traits/A", true},
		{"/traits/*", "/traits/A/b", false},
		{"/traits/{name}", "/traits/A", true},
		{"/traits/{name}/x", "/traits/A/x", true},
		{"/**", "/a/b/c", true},
		{"/a.c", "/abc", false},
		{"/a/**/d", "/a/b/c/d", true},
		{"", "/", false},
	} {
		if got := keystone.PathPattern(tc.rule).MatchString(tc.path); got != tc.want {
			t.Errorf("rule %q matches %q = %v, want %v", tc.rule, tc.path, got, tc.want)
		}
	}
	f := newFake()
	answer := tokenOf("ann", time.Hour)
	answer["application_credential"] = object{
		"access_rules": []object{{"service": "placement", "method": "GET", "path": "/traits"}},
	}
	f.know("some", answer)
	answer = tokenOf("ann", time.Hour)
	answer["application_credential"] = object{"access_rules": []object{}}
	f.know("none", answer)
	answer = tokenOf("ann", time.Hour)
	answer["application_credential"] = object{"restricted": true}
	f.know("all", answer)
	f.know("nova", tokenOf("nova", time.Hour, "service"))
	v := newValidator(t, f, func(o *keystone.Options) { o.ServiceType = "placement" })
	for _, tc := range []struct {
		token, service, method, path string
		good                         bool
	}{
		{"some", "", "GET", "/traits", true},
		{"some", "", "PUT", "/traits", false},
		{"some", "", "GET", "/usages", false},
		{"some", "nova", "GET", "/usages", true},
		{"none", "", "GET", "/traits", false},
		{"all", "", "PUT", "/anything", true},
	} {
		_, err := v.Caller(context.Background(), keystone.Request{
			Token: tc.token, ServiceToken: tc.service, Method: tc.method, Path: tc.path,
		})
		if kind, _ := fault.Of(err); (err == nil) != tc.good || err != nil && kind != fault.Unauthentic {
			t.Errorf("token %s, service %q, %s %s: %v, want it to be let through: %v", tc.token, tc.service, tc.method, tc.path,
				err, tc.good)
		}
	}
}

// TestTLS reaches a Keystone with a certificate that no system trusts.
func TestTLS(t *testing.T) {
	f := newFake()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Host = r.Host
		copyAnswer(w, f.answer(r))
	}))
	defer server.Close()
	f.url = server.URL + "/v3"
	f.know("good", tokenOf("ann", time.Hour))
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		ca       string
		insecure bool
		good     bool
	}{{"Untrusted", "", false, false}, {"CAFile", ca, false, true}, {"Insecure", "", true, true}} {
		t.Run(tc.name, func(t *testing.T) {
			opts := options()
			opts.Credentials.AuthURL, opts.Credentials.Type = server.URL, keystone.V3Password
			opts.CAFile, opts.Insecure = tc.ca, tc.insecure
			v, err := keystone.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			_, err = query(v, "good")
			if (err == nil) != tc.good {
				t.Errorf("Caller = %v, want success: %v", err, tc.good)
			}
			if self, _ := v.Inspect(context.Background()); tc.good != strings.Contains(self.TLS, "TLS 1.3, certificate of") {
				t.Errorf("Inspect().TLS = %q", self.TLS)
			}
		})
	}
}

func copyAnswer(w http.ResponseWriter, res *http.Response) {
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write([]byte(readBody(res))) // the client may have disconnected
}

// TestSecretsStayOnTheServer has Keystone redirect each kind of request to another server.
func TestSecretsStayOnTheServer(t *testing.T) {
	for _, path := range []string{"GET ", "POST /v3/auth/tokens", "GET /v3/auth/tokens"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, server := range []string{"http://elsewhere.test", "http://keystone.test:5000", "https://keystone.test"} {
				f := newFake()
				f.know("good", tokenOf("ann", time.Hour))
				f.intercept(func(r *http.Request) (*http.Response, error) {
					if r.URL.Scheme+"://"+r.URL.Host != "http://keystone.test" {
						t.Errorf("%s %s was sent elsewhere", r.Method, r.URL)
					}
					if r.Method+" "+r.URL.Path != path {
						return nil, nil
					}
					res := reply(status, object{})
					res.Header.Set("Location", server+r.URL.Path)
					return res, nil
				})
				_, err := query(newValidator(t, f), "good")
				wantKind(t, "Caller", err, fault.Unavailable)
				if want := "it redirects to " + server; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %d: the error %v does not say that %s", path, status, err, want)
				}
			}
		}
	}
}

func TestClockDifference(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{
		0: 0, time.Minute: time.Minute, -time.Minute: -59 * time.Second,
	} {
		f := newFake()
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPost {
				return nil, nil
			}
			answer := tokenOf("placement", time.Hour)
			answer["issued_at"] = stamp(time.Now().Add(ahead))
			answer["catalog"] = []object{}
			res := reply(http.StatusCreated, object{"token": answer})
			res.Header.Set("X-Subject-Token", "own")
			return res, nil
		})
		self, _ := newValidator(t, f).Inspect(context.Background()) // without a catalogue
		if got := self.Clock.Round(time.Second); got != want {
			t.Errorf("a clock that is ahead by %v is said to be by %v, want %v", ahead, got, want)
		}
	}
}
