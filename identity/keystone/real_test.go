package keystone_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// hangTime is the time-out for a Keystone that runs: under load, an answer takes many seconds.
const hangTime = 3 * time.Minute

// realOptions are those of the placement service in front of a real Keystone.
func realOptions(k *keystonetest.Keystone) keystone.Options {
	p := keystonetest.Find(keystonetest.Placement)
	return keystone.Options{
		Credentials: keystone.Credentials{
			Type: keystone.Password,
			Auth: keystone.Auth{
				AuthURL: k.URL(), Username: p.Name, Password: keystone.Secret(p.Password), UserDomainName: "Default",
				ProjectName: p.Project, ProjectDomainID: "default",
			},
		},
		Timeout:      hangTime,
		Retries:      3,
		ServiceRoles: []string{"service"},
		ServiceType:  "placement",
	}
}

func realValidator(t *testing.T, k *keystonetest.Keystone, change ...func(*keystone.Options)) *keystone.Validator {
	t.Helper()
	opts := realOptions(k)
	for _, c := range change {
		c(&opts)
	}
	v, err := keystone.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// TestReal runs with the distribution's Keystone.
func TestReal(t *testing.T) {
	k := keystonetest.Start(t, keystonetest.Options{})
	t.Run("Personas", func(t *testing.T) { testPersonas(t, k) })
	t.Run("TokensThatAreNoGood", func(t *testing.T) { testNoGood(t, k) })
	t.Run("ApplicationCredentials", func(t *testing.T) { testApplicationCredentials(t, k) })
	t.Run("OwnCredentials", func(t *testing.T) { testOwnCredentials(t, k) })
	t.Run("Session", func(t *testing.T) { testSession(t, k) })
	t.Run("Inspect", func(t *testing.T) { testInspect(t, k) })
	t.Run("ItStopsAndComesBack", func(t *testing.T) { testRealOutage(t, k) })
}

// impliedRoles are the roles that a role of Keystone's implies.
var impliedRoles = map[string][]string{
	"admin": {"admin", "member", "reader"}, "member": {"member", "reader"},
	"reader": {"reader"}, "service": {"service"}, "observer": {"observer"},
}

func testPersonas(t *testing.T, k *keystonetest.Keystone) {
	v := realValidator(t, k)
	for _, p := range sweep.Sample(t, keystonetest.Personas(), 4) {
		got, err := query(v, k.Token(p))
		wantOK(t, "Caller for "+p.Name, err)
		slices.Sort(got.Roles)
		if !got.Expires.After(time.Now()) {
			t.Errorf("the token of %s expires at %s", p.Name, got.Expires)
		}
		got.Expires = time.Time{}
		want := identity.Caller{
			UserID: k.UserID(p.Name), UserDomainID: "default", Roles: impliedRoles[p.Role], AdminProject: true,
		}
		switch p.Scope {
		case "system":
			want.SystemScope = "all"
		case "domain":
			want.DomainID = "default"
		default:
			want.ProjectID, want.ProjectDomainID = k.ProjectID(p.Project), "default"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Name, diff)
		}
	}
}

func testNoGood(t *testing.T, k *keystonetest.Keystone) {
	v := realValidator(t, k)
	member := keystonetest.Find("project-member")
	unscoped, err := query(v, k.Unscoped(member))
	if err != nil || unscoped.UserID != k.UserID(member.Name) || unscoped.ProjectID != "" || len(unscoped.Roles) > 0 {
		t.Errorf("Caller for an unscoped token = %+v, %v; want the user alone", unscoped, err)
	}
	token := k.Token(member)
	_, err = query(v, token)
	wantOK(t, "Caller", err)
	k.Revoke(token)
	_, err = query(v, token)
	wantKind(t, "Caller of a revoked token", err, fault.Unauthentic)
	for _, garbage := range []string{
		"garbage", strings.Repeat("a", 300), strings.Repeat("a", 8000), token[:len(token)-4] + "AAAA",
	} {
		_, err := query(v, garbage)
		wantKind(t, "Caller of garbage", err, fault.Unauthentic)
	}
	remembering := realValidator(t, k, func(o *keystone.Options) { o.CacheTime = time.Minute })
	token = k.Token(member)
	_, err = query(remembering, token)
	wantOK(t, "Caller", err)
	k.Revoke(token)
	_, err = query(remembering, token)
	wantOK(t, "Caller of a revoked token that is remembered", err)
}

func testApplicationCredentials(t *testing.T, k *keystonetest.Keystone) {
	v := realValidator(t, k)
	nova := keystonetest.Find("nova")
	id, secret := k.ApplicationCredential(nova, "all")
	c, err := query(v, k.CredentialToken(id, secret))
	if err != nil || c.UserID != k.UserID("nova") || !slices.Equal(c.Roles, []string{"service"}) {
		t.Errorf("Caller = %+v, %v; want nova", c, err)
	}
	id, secret = k.ApplicationCredential(nova, "traits only", keystonetest.AccessRule{
		Service: "placement", Method: "GET", Path: "/traits/**",
	})
	token := k.CredentialToken(id, secret)
	for path, good := range map[string]bool{"/traits/CUSTOM_A": true, "/resource_providers": false} {
		_, err := v.Caller(context.Background(), keystone.Request{Token: token, Method: "GET", Path: path})
		if kind, _ := fault.Of(err); (err == nil) != good || !good && kind != fault.Unauthentic {
			t.Errorf("Caller for %s = %v, want it to be let through: %v", path, err, good)
		}
	}
	other := realValidator(t, k, func(o *keystone.Options) { o.ServiceType = "" })
	_, err = other.Caller(context.Background(), keystone.Request{Token: token, Method: "GET", Path: "/traits/CUSTOM_A"})
	wantKind(t, "Caller for a service that has no name", err, fault.Unauthentic)
}

func testOwnCredentials(t *testing.T, k *keystonetest.Keystone) {
	token := k.Token(keystonetest.Find("project-member"))
	id, secret := k.ApplicationCredential(keystonetest.Find(keystonetest.Placement), "own")
	k.Region("Elsewhere")
	k.Endpoint("public", "Elsewhere", k.URL()) // without a version
	credential := keystone.Credentials{
		Type: keystone.ApplicationCredential,
		Auth: keystone.Auth{ApplicationCredentialID: id, ApplicationCredentialSecret: keystone.Secret(secret)},
	}
	for _, tc := range []struct {
		name   string
		change func(*keystone.Options)
		want   string // in the error; empty for none
	}{
		{"PasswordAtTheRoot", func(*keystone.Options) {}, ""},
		{"PasswordWithVersion", func(o *keystone.Options) { o.Credentials.AuthURL = k.URL() + "/v3/" }, ""},
		{"V3PasswordAtTheRoot", func(o *keystone.Options) { o.Credentials.Type = keystone.V3Password }, ""},
		{"V3PasswordWithVersion", func(o *keystone.Options) {
			o.Credentials.Type, o.Credentials.AuthURL = keystone.V3Password, k.URL()+"/v3"
		}, ""},
		{"ApplicationCredential", func(o *keystone.Options) {
			o.Credentials = credential
			o.Credentials.AuthURL = k.URL()
		}, ""},
		{"Region", func(o *keystone.Options) { o.Region, o.Interface = "Elsewhere", "public" }, ""},
		{
			"NoSuchEndpoint", func(o *keystone.Options) { o.Region = "Elsewhere" },
			"no endpoint of Keystone with interface internal in region_name Elsewhere",
		},
		{"WrongPassword", func(o *keystone.Options) { o.Credentials.Password = "wrong" }, "401"},
		{"NotKeystone", func(o *keystone.Options) { o.Credentials.AuthURL = k.URL() + "/nothing" }, "404"},
		{"MayNotCheck", func(o *keystone.Options) {
			p := keystonetest.Find("project-reader")
			o.Credentials.Username, o.Credentials.Password, o.Credentials.ProjectName = p.Name,
				keystone.Secret(p.Password), p.Project
		}, "give it the role service or admin"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := realValidator(t, k, tc.change)
			_, err := query(v, token)
			if tc.want == "" {
				wantOK(t, "Caller", err)
				wantOK(t, "Probe", v.Probe(context.Background()))
				return
			}
			wantKind(t, "Caller", err, fault.Unavailable)
			if err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Caller = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func testInspect(t *testing.T, k *keystonetest.Keystone) {
	v := realValidator(t, k)
	self, err := v.Inspect(context.Background())
	wantOK(t, "Inspect", err)
	want := keystone.Self{
		LoginURL: k.URL() + "/v3", Version: "v3.14", Catalog: k.URL() + "/v3", Region: "RegionOne", QueryURL: k.URL() + "/v3",
	}
	if self.User.UserName != "placement" || self.User.ProjectName != "service" ||
		!slices.Equal(self.User.Caller.Roles, []string{"service"}) {
		t.Errorf("Inspect().User = %+v, want placement in service with the role service", self.User)
	}
	self.User = keystone.Holder{}
	if diff := cmp.Diff(want, self); diff != "" {
		t.Errorf("Inspect (-want +got):\n%s", diff)
	}
	h, err := v.Describe(context.Background(), k.Token(keystonetest.Find("project-member")))
	if err != nil || h.UserName != "project-member" || h.ProjectName != keystonetest.Demo ||
		time.Until(h.Expires) < time.Minute {
		t.Errorf("Describe = %+v, %v; want project-member", h, err)
	}
}

func testRealOutage(t *testing.T, k *keystonetest.Keystone) {
	v := realValidator(t, k, func(o *keystone.Options) { o.CacheTime, o.Retries = time.Hour, 0 })
	known, unknown := k.Token(keystonetest.Find("project-member")), k.Token(keystonetest.Find("project-reader"))
	awaitCaller(t, v, known)
	// Tests with a fake clock check how long it waits. This one does not wait for a running
	// Keystone, however slow.
	hasty := realValidator(t, k, func(o *keystone.Options) { o.Retries, o.Timeout = 0, 100*time.Millisecond })
	k.Freeze()
	_, err := query(hasty, unknown)
	wantKind(t, "Caller while Keystone hangs", err, fault.Unavailable)
	k.Thaw()
	awaitCaller(t, v, unknown)

	k.Stop()
	_, err = query(v, k404)
	wantKind(t, "Caller while Keystone is stopped", err, fault.Unavailable)
	_, err = query(v, known)
	wantOK(t, "Caller of a remembered token meanwhile", err)
	k.Restart()
	awaitCaller(t, v, k.Token(keystonetest.Find("project-admin")))
	_, err = query(v, k404)
	wantKind(t, "Caller of garbage after that", err, fault.Unauthentic)
}

// k404 is a token that Keystone has not issued.
const k404 = "gAAAAA-no-such-token"

// awaitCaller waits until a token is accepted, as it is once the pause after a
// failure is over.
func awaitCaller(t *testing.T, v *keystone.Validator, token string) {
	t.Helper()
	var err error
	for end := time.Now().Add(hangTime); time.Now().Before(end); {
		if _, err = query(v, token); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond) // real time: Keystone is another process
	}
	t.Fatalf("no token was accepted in %v: %v", hangTime, err)
}

// TestRealExpiry has tokens that expire after a few seconds.
func TestRealExpiry(t *testing.T) {
	sweep.Nightly(t)
	const life = 12 * time.Second
	k := keystonetest.Start(t, keystonetest.Options{TokenLife: life})
	v := realValidator(t, k, func(o *keystone.Options) { o.CacheTime = time.Hour; o.ServiceRolesRequired = true })
	call := func(token, service string) error {
		_, err := v.Caller(context.Background(), keystone.Request{Token: token, ServiceToken: service})
		return err
	}
	// young returns a token that was valid when it was used. Under load one may expire before that,
	// and there is another attempt.
	young := func(kind, user string, use func(token string) error) (token string) {
		for end := time.Now().Add(hangTime); ; {
			created := time.Now()
			token = k.Token(keystonetest.Find(user))
			err := use(token)
			if err == nil {
				return token
			}
			// Keystone counts in whole seconds: the last one may be missing.
			if time.Since(created) < life-time.Second || time.Now().After(end) {
				wantOK(t, kind, err)
				return token
			}
		}
	}
	seen := young("a new token", "project-member", func(token string) error { return call(token, "") })
	unseen := k.Token(keystonetest.Find("project-reader"))
	time.Sleep(life + time.Second) // real time: Keystone is another process
	wantKind(t, "an expired token that is remembered", call(seen, ""), fault.Unauthentic)
	wantKind(t, "an expired token", call(unseen, ""), fault.Unauthentic)
	service := young("an expired token with a service's", "nova", func(token string) error { return call(unseen, token) })
	young("the other one", "nova", func(token string) error { return call(seen, token) })
	reader := k.Token(keystonetest.Find("project-reader"))
	wantKind(t, "an expired token with one of no service", call(unseen, reader), fault.Unauthentic)
	wantKind(t, "an expired token without a service's, after that", call(unseen, ""), fault.Unauthentic)
	wantKind(t, "a service alone", call("", service), fault.Unauthentic)
	young("a service's own token after another of its was revoked", "nova", func(token string) error {
		k.Revoke(k.Token(keystonetest.Find("nova")))
		return call(token, "")
	})
}

// testSession logs in with each kind of credentials and sends a request with the token to Keystone
// itself, which is in its own catalogue.
func testSession(t *testing.T, k *keystonetest.Keystone) {
	byPassword := realOptions(k).Credentials
	byToken := byPassword
	byToken.Type, byToken.Token = keystone.Token, keystone.Secret(k.Token(keystonetest.Find(keystonetest.Placement)))
	byToken.Username, byToken.Password = "", ""
	for _, c := range []keystone.Credentials{byPassword, byToken} {
		t.Run(c.Type, func(t *testing.T) {
			opts := realOptions(k)
			opts.Credentials = c
			s, err := keystone.NewSession(opts, keystone.Target{Type: "identity", Region: "RegionOne"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			endpoint, token, err := s.Access(t.Context())
			if err != nil || endpoint != k.URL()+"/v3" {
				t.Fatalf("Access = %q, %v; want %s/v3", endpoint, err, k.URL())
			}
			_, err = query(realValidator(t, k), token)
			wantOK(t, "Caller with the session's token", err)

			if c.Type == keystone.Token {
				return // the token it was issued from is revoked with it
			}
			k.Revoke(token)
			s.Discard(token)
			_, again, err := s.Access(t.Context())
			wantOK(t, "Access after the token was revoked", err)
			_, err = query(realValidator(t, k), again)
			wantOK(t, "Caller with another token", err)
		})
	}
}
