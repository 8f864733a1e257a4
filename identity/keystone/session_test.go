package keystone_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/keystone"
)

// newSession returns a Session for the placement service that sends its requests to f.
func newSession(t testing.TB, f *fake, target keystone.Target, change ...func(*keystone.Options)) *keystone.Session {
	t.Helper()
	opts := options()
	for _, c := range change {
		c(&opts)
	}
	if target.Type == "" {
		target.Type = "placement"
	}
	s, err := keystone.NewSession(opts, target)
	if err != nil {
		t.Fatal(err)
	}
	s.SetTransport(f)
	return s
}

// TestSessionFindsTheService chooses an endpoint of the catalogue.
func TestSessionFindsTheService(t *testing.T) {
	endpoint := func(iface, region, url string) object {
		return object{"interface": iface, "region": region, "url": url}
	}
	catalog := []object{
		{"type": "identity", "endpoints": []object{endpoint("public", "one", "http://keystone.test/v3")}},
		{"type": "placement", "endpoints": []object{
			endpoint("internal", "one", "http://internal.one/placement/"),
			endpoint("public", "one", "http://public.one"),
			endpoint("public", "two", "http://public.two"),
		}},
	}
	for _, tc := range []struct {
		name string
		to   keystone.Target
		want string // or a part of the error
	}{
		{"Public", keystone.Target{}, "http://public.one"},
		{"Internal", keystone.Target{Interfaces: []string{"internalURL"}}, "http://internal.one/placement"},
		{"BestFirst", keystone.Target{Interfaces: []string{"admin", "internal", "public"}}, "http://internal.one/placement"},
		{"Region", keystone.Target{Region: "two", Interfaces: []string{"internal", "public"}}, "http://public.two"},
		{"Override", keystone.Target{Region: "none", Endpoint: "http://here.test:1/"}, "http://here.test:1"},
		{
			"NoSuchInterface",
			keystone.Target{Interfaces: []string{"admin"}},
			"no endpoint of the placement service with interface admin: it has internal in one, public in one, public in two",
		},
		{"NoSuchRegion", keystone.Target{Region: "three"}, "region_name three"},
		{"NoSuchService", keystone.Target{Type: "compute"}, "no endpoint of the compute service"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			f.catalog = catalog
			endpoint, token, err := newSession(t, f, tc.to).Access(t.Context())
			if err != nil {
				wantKind(t, "Access", err, fault.Unavailable)
				endpoint = err.Error()
			} else if token != f.own {
				t.Errorf("token = %q, want %q", token, f.own)
			}
			if !strings.Contains(endpoint, tc.want) {
				t.Errorf("Access = %q, want %q", endpoint, tc.want)
			}
		})
	}
}

// TestSessionKeepsItsToken until it is nearly over or the service does not take
// it any more.
func TestSessionKeepsItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newSession(t, f, keystone.Target{Endpoint: "http://placement.test"})
		defer s.Close()
		token := func() string {
			_, token, err := s.Access(t.Context())
			wantOK(t, "Access", err)
			return token
		}
		var g sync.WaitGroup
		for range 20 {
			g.Go(func() { token() })
		}
		g.Wait()
		first := token()
		wantCount(t, f, logIn, 1)
		time.Sleep(57 * time.Minute)
		if got := token(); got != first {
			t.Errorf("the token was replaced after 57 minutes of 60: %q", got)
		}
		time.Sleep(2 * time.Minute)
		second := token()
		wantCount(t, f, logIn, 2)
		s.Discard(first) // from an earlier request
		token()
		wantCount(t, f, logIn, 2)
		s.Discard(second)
		token()
		wantCount(t, f, logIn, 3)
	})
}

// TestSessionSparesKeystone bounds the requests to a Keystone that refuses the credentials or is
// unavailable.
func TestSessionSparesKeystone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return reply(http.StatusUnauthorized, object{}), nil
			}
			return nil, nil
		})
		s := newSession(t, f, keystone.Target{Endpoint: "http://placement.test"}, func(o *keystone.Options) {
			o.Section = "placement"
		})
		defer s.Close()
		for range 10 {
			_, _, err := s.Access(t.Context())
			wantKind(t, "Access", err, fault.Unavailable)
			if !strings.Contains(err.Error(), "[placement]") {
				t.Errorf("Access = %v: want the name of the group of settings", err)
			}
		}
		wantCount(t, f, logIn, 1)
		f.intercept(nil)
		time.Sleep(keystone.RefusedPause)
		_, _, err := s.Access(t.Context())
		wantOK(t, "Access with credentials that were corrected", err)
	})
}

// TestSessionDoesNotKeepTheImpatient waiting for Keystone.
func TestSessionDoesNotKeepTheImpatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.intercept(func(*http.Request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return nil, nil
		})
		s := newSession(t, f, keystone.Target{Endpoint: "http://placement.test"})
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, _, err := s.Access(ctx)
		wantKind(t, "Access", err, fault.Unavailable)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Access took %v, want a second", took)
		}
		_, _, err = s.Access(t.Context())
		wantOK(t, "Access of who waits", err)
		wantCount(t, f, logIn, 1)
	})
}

// TestSessionWithAToken logs in with a token that the settings have.
func TestSessionWithAToken(t *testing.T) {
	change := func(o *keystone.Options) {
		o.Credentials = keystone.Credentials{
			Type: keystone.V3Token, Token: "given",
			Auth: keystone.Auth{AuthURL: "http://keystone.test/v3", ProjectName: "service", ProjectDomainName: "Default"},
		}
	}
	f := newFake()
	_, _, err := newSession(t, f, keystone.Target{Endpoint: "http://placement.test"}, change).Access(t.Context())
	wantOK(t, "Access", err)
	if diff := cmp.Diff([]string{logIn}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !strings.Contains(f.bodies[0], `"token":{"id":"given"}`) || !strings.Contains(f.bodies[0], `"methods":["token"]`) {
		t.Errorf("body = %s, want the method token", f.bodies[0])
	}

	opts := options()
	change(&opts)
	if _, err := keystone.New(opts); err == nil || !strings.Contains(err.Error(), "v3token") {
		t.Errorf("New with a token = %v, want a refusal: others could not be checked when it has expired", err)
	}
	opts.Credentials.Token = ""
	if _, err := keystone.NewSession(opts, keystone.Target{Type: "placement"}); err == nil ||
		!strings.Contains(err.Error(), "token is not set") {
		t.Errorf("NewSession without the token = %v", err)
	}
}

func TestWrongTargets(t *testing.T) {
	for want, target := range map[string]keystone.Target{
		"service_type":              {},
		`valid_interfaces = "loud"`: {Type: "compute", Interfaces: []string{"public", "loud"}},
	} {
		if _, err := keystone.NewSession(options(), target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewSession(%+v) = %v, want %s", target, err, want)
		}
	}
}
