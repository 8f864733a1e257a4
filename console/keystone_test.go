package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// newKeystone returns the access of users whose password is their name. "admin" may do everything,
// others may list providers only. Tokens are good for an hour, unless revoked.
func newKeystone(revoked *string) *console.Keystone {
	return console.NewKeystone(console.KeystoneOptions{
		Login: func(_ context.Context, l console.Login) (console.User, error) {
			if l.User == "" || l.User != l.Password {
				return console.User{}, fault.New(fault.Unauthentic, "", "Keystone refuses these credentials")
			}
			return console.User{
				Token: "token of " + l.User, Name: l.User, Project: l.Project, Expires: time.Now().Add(time.Hour),
			}, nil
		},
		Caller: func(_ *http.Request, token string) (identity.Caller, error) {
			if token == *revoked {
				return identity.Caller{}, fault.New(fault.Unauthentic, "", "the token is not valid")
			}
			return identity.Caller{UserID: strings.TrimPrefix(token, "token of ")}, nil
		},
		Allow: func(c identity.Caller, rule string) error {
			if c.UserID == "admin" || rule == "placement:resource_providers:list" {
				return nil
			}
			return fault.New(fault.Denied, "", "policy does not allow %s", rule)
		},
	})
}

// login logs a user in, and returns a request with the cookie.
func login(t *testing.T, k *console.Keystone, user, password string) (*http.Request, error) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/console/api/session", nil)
	if err := k.Login(w, r, console.Login{User: user, Password: password, Domain: "Default", Project: "p"}); err != nil {
		return r, err
	}
	res := w.Result()
	defer res.Body.Close()
	cookies := res.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("a login sets the cookies %v", cookies)
	}
	c := cookies[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/" || c.Domain != "" || strings.Contains(c.Value, "token") {
		t.Errorf("the cookie is %s", c)
	}
	r.AddCookie(c)
	return r, nil
}

func kindOf(err error) fault.Kind {
	kind, _ := fault.Of(err)
	return kind
}

func TestUsersOfKeystone(t *testing.T) {
	var revoked string
	k := newKeystone(&revoked)
	list, all := []string{"placement:resource_providers:list"}, []string{
		"placement:resource_providers:list", "placement:allocations:list",
	}
	if r, err := login(t, k, "admin", "guessed"); kindOf(err) != fault.Unauthentic || k.Session(r).Begun {
		t.Errorf("a wrong password is answered with %v", err)
	}
	admin, err := login(t, k, "admin", "admin")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := login(t, k, "reader", "reader")
	if err != nil {
		t.Fatal(err)
	}
	stranger := httptest.NewRequest(http.MethodGet, "/console/", nil)
	for _, test := range []struct {
		name  string
		r     *http.Request
		rules []string
		want  fault.Kind // Internal: it is allowed
	}{
		{"the administrator", admin, all, fault.Internal},
		{"a reader, of what it may read", reader, list, fault.Internal},
		{"a reader", reader, all, fault.Denied},
		{"nobody", stranger, list, fault.Unauthentic},
	} {
		if err := k.Check(test.r, test.rules); kindOf(err) != test.want || (err == nil) != (test.want == fault.Internal) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if s := k.Session(reader); s != (console.Session{Login: "keystone", Begun: true, User: "reader", Project: "p"}) {
		t.Errorf("the session is %+v", s)
	}
	k.Logout(httptest.NewRecorder(), reader)
	if err := k.Check(reader, list); kindOf(err) != fault.Unauthentic {
		t.Errorf("after the logout: %v", err)
	}
	revoked = "token of admin"
	if err := k.Check(admin, list); kindOf(err) != fault.Unauthentic {
		t.Errorf("with a token that Keystone has revoked: %v", err)
	}
}

func TestSessionsEnd(t *testing.T) {
	for _, test := range []struct {
		name string
		used []time.Duration // when it is used
		want time.Duration   // until when it is good
	}{
		{"idle", nil, 30 * time.Minute},
		{"in use", []time.Duration{20 * time.Minute}, 50 * time.Minute},
		{"until the token expires", []time.Duration{20 * time.Minute, 40 * time.Minute}, time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var revoked string
				k := newKeystone(&revoked)
				r, err := login(t, k, "admin", "admin")
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				for _, at := range append(test.used, test.want-time.Second) {
					time.Sleep(time.Until(begun.Add(at)))
					if at < test.want-time.Second || test.want == time.Hour {
						if err := k.Check(r, nil); err != nil {
							t.Fatalf("after %v: %v", at, err)
						}
					}
				}
				time.Sleep(2 * time.Second)
				if err := k.Check(r, nil); kindOf(err) != fault.Unauthentic {
					t.Errorf("after %v: %v", time.Since(begun), err)
				}
			})
		})
	}
}
