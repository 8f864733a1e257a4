package keystone_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
)

func query(v *keystone.Validator, token string) (identity.Caller, error) {
	return v.Caller(context.Background(), keystone.Request{Token: token, Method: http.MethodGet, Path: "/traits"})
}

// wantKind fails the test unless err is a fault of that kind.
func wantKind(t *testing.T, name string, err error, want fault.Kind) {
	t.Helper()
	if kind, _ := fault.Of(err); err == nil || kind != want {
		t.Errorf("%s = %v, of kind %v; want kind %v", name, err, kind, want)
	}
}

func wantOK(t *testing.T, kind string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s = %v", kind, err)
	}
}

func wantCount(t *testing.T, f *fake, call string, want int) {
	t.Helper()
	if got := f.count(call); got != want {
		t.Errorf("%s got %d requests, want %d", call, got, want)
	}
}

func TestCaller(t *testing.T) {
	domain := object{"id": "default", "name": "Default"}
	base := identity.Caller{
		UserID: "u-ann", UserDomainID: "default", Roles: []string{"member", "reader"}, AdminProject: true,
	}
	with := func(change func(*identity.Caller)) identity.Caller {
		c := base
		change(&c)
		return c
	}
	for _, tc := range []struct {
		name   string
		change func(object)
		want   identity.Caller
	}{
		{"Project", func(object) {}, with(func(c *identity.Caller) { c.ProjectID, c.ProjectDomainID = "p-demo", "default" })},
		{
			"Domain", func(o object) { delete(o, "project"); o["domain"] = domain },
			with(func(c *identity.Caller) { c.DomainID = "default" }),
		},
		{
			"System", func(o object) { delete(o, "project"); o["system"] = object{"all": true} },
			with(func(c *identity.Caller) { c.SystemScope = "all" }),
		},
		{
			"Unscoped", func(o object) { delete(o, "project"); delete(o, "roles") },
			with(func(c *identity.Caller) { c.Roles = nil }),
		},
		{"NotTheAdminProject", func(o object) { o["is_admin_project"] = false }, with(func(c *identity.Caller) {
			c.ProjectID, c.ProjectDomainID, c.AdminProject = "p-demo", "default", false
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake()
			answer := tokenOf("ann", time.Hour, "member", "reader")
			tc.change(answer)
			f.know("good", answer)
			got, err := query(newValidator(t, f), "  good ")
			wantOK(t, "Caller", err)
			if remaining := time.Until(got.Expires); remaining < 59*time.Minute || remaining > time.Hour {
				t.Errorf("the token expires in %s, want an hour", remaining)
			}
			got.Expires = time.Time{}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Caller (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImplausibleTokensAreNotChecked(t *testing.T) {
	f := newFake()
	v := newValidator(t, f)
	for _, token := range []string{
		"", "   ", "two words", "caf\u00e9", "nul\x00", "line\nbreak", strings.Repeat("a", keystone.MaxToken+1),
	} {
		_, err := query(v, token)
		wantKind(t, fmt.Sprintf("Caller(%.12q)", token), err, fault.Unauthentic)
	}
	if len(f.calls) > 0 {
		t.Errorf("Keystone got: %q", f.calls)
	}
}

func TestGarbageIsCheckedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		v := newValidator(t, f)
		for range 3 {
			_, err := query(v, "garbage")
			wantKind(t, "Caller", err, fault.Unauthentic)
		}
		wantCount(t, f, check, 1)
		time.Sleep(keystone.RefusedTime)
		f.know("garbage", tokenOf("ann", time.Hour))
		_, err := query(v, "garbage")
		wantOK(t, "Caller of what became a token", err)
	})
}

func TestAnswersAreRemembered(t *testing.T) {
	for _, tc := range []struct {
		name        string
		cache, life time.Duration
		wait        time.Duration
		queries     int
		kind        fault.Kind // of the second answer; Internal for none
	}{
		{"Within", 5 * time.Minute, time.Hour, 4 * time.Minute, 1, fault.Internal},
		{"After", 5 * time.Minute, time.Hour, 6 * time.Minute, 2, fault.Internal},
		{"NeverPastExpiry", 5 * time.Minute, time.Minute, time.Minute, 2, fault.Unauthentic},
		{"Off", 0, time.Hour, 0, 2, fault.Internal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.know("good", tokenOf("ann", tc.life))
				v := newValidator(t, f, func(o *keystone.Options) { o.CacheTime = tc.cache })
				_, err := query(v, "good")
				wantOK(t, "Caller", err)
				time.Sleep(tc.wait)
				_, err = query(v, "good")
				if kind, _ := fault.Of(err); kind != tc.kind {
					t.Errorf("Caller again = %v, want kind %v", err, tc.kind)
				}
				wantCount(t, f, check, tc.queries)
			})
		})
	}
}

func TestOneQueryForConcurrentCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("good", tokenOf("ann", time.Hour))
		f.intercept(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return nil, nil
		})
		v := newValidator(t, f)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, err := query(v, "good")
				wantOK(t, "Caller", err)
			})
		}
		all.Wait()
		wantCount(t, f, check, 1)
		wantCount(t, f, logIn, 1)
	})
}

func TestWhoGivesUpLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("good", tokenOf("ann", time.Hour))
		f.intercept(func(r *http.Request) (*http.Response, error) { time.Sleep(time.Second); return nil, nil })
		v := newValidator(t, f)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, err := v.Caller(ctx, keystone.Request{Token: "good"})
		wantKind(t, "Caller of who gave up", err, fault.Unavailable)
		if took := time.Since(begin); took > time.Millisecond {
			t.Errorf("who gave up waited %v", took)
		}
		_, err = query(v, "good")
		wantOK(t, "Caller of who waits", err)
		wantCount(t, f, check, 1)
		v.Close()
	})
}

func TestLostOwnTokenIsFetchedAgainOnce(t *testing.T) {
	f := newFake()
	f.know("one", tokenOf("ann", time.Hour))
	f.know("two", tokenOf("bob", time.Hour))
	v := newValidator(t, f)
	_, err := query(v, "one")
	wantOK(t, "Caller", err)
	f.own = "another" // revoked
	_, err = query(v, "two")
	wantOK(t, "Caller with a lost token", err)
	wantCount(t, f, logIn, 2)

	f.intercept(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && r.URL.Path == "/v3/auth/tokens" {
			return reply(http.StatusUnauthorized, object{}), nil
		}
		return nil, nil
	})
	before := f.count(check)
	_, err = query(v, "three")
	wantKind(t, "Caller when no own token is good", err, fault.Unavailable)
	wantCount(t, f, check, before+2)
}

func TestOwnTokenIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.ownLife = 10 * time.Minute
		v := newValidator(t, f, func(o *keystone.Options) { o.CacheTime = 0 })
		f.know("good", tokenOf("ann", 24*time.Hour))
		for range 60 {
			_, err := query(v, "good")
			wantOK(t, "Caller", err)
			time.Sleep(time.Minute)
		}
		// Each token serves for eight of its ten minutes.
		wantCount(t, f, logIn, 8)

		// While Keystone does not renew it, the old token is used until it expires.
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				return reply(http.StatusInternalServerError, object{}), nil
			}
			return nil, nil
		})
		time.Sleep(5 * time.Minute)
		_, err := query(v, "good")
		wantOK(t, "Caller with the old token", err)
	})
}

func TestRequestsAreSentAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		failure error
		fails   int
		want    fault.Kind // Internal for none
		sent    int        // requests for the token
	}{
		{"UntilOneArrives", errRefused, 3, fault.Internal, 4},
		{"NotForEver", errRefused, 4, fault.Unavailable, 4},
		{"NotAfterATimeOut", late{errRefused}, 1, fault.Unavailable, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.know("good", tokenOf("ann", time.Hour))
				f.intercept(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost && f.count(logIn) <= tc.fails {
						return nil, tc.failure
					}
					return nil, nil
				})
				_, err := query(newValidator(t, f, func(o *keystone.Options) { o.Retries = 3 }), "good")
				if kind, _ := fault.Of(err); kind != tc.want {
					t.Errorf("Caller = %v, want kind %v", err, tc.want)
				}
				wantCount(t, f, logIn, tc.sent)
			})
		})
	}
}

func TestServiceTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("user", tokenOf("ann", time.Minute, "member"))
		f.know("nova", tokenOf("nova", time.Hour, "service"))
		f.know("other", tokenOf("bob", time.Hour, "member"))
		lax := newValidator(t, f)
		strict := newValidator(t, f, func(o *keystone.Options) { o.ServiceRolesRequired = true })
		delayed := newValidator(t, f, func(o *keystone.Options) { o.DelayDecision = true })
		call := func(v *keystone.Validator, token, service string) (identity.Caller, error) {
			return v.Caller(context.Background(), keystone.Request{Token: token, ServiceToken: service})
		}
		c, err := call(lax, "user", "nova")
		wantOK(t, "Caller", err)
		if c.UserID != "u-ann" || c.ServiceUserID != "u-nova" || c.ServiceProjectID != "p-demo" ||
			c.ServiceRoles[0] != "service" {
			t.Errorf("Caller = %+v, want ann by way of nova", c)
		}
		_, err = call(lax, "user", "other")
		wantOK(t, "a service without the role, where that is not required", err)
		_, err = call(strict, "user", "other")
		wantKind(t, "a service without the role, where that is required", err, fault.Unauthentic)
		_, err = call(lax, "user", "garbage")
		wantKind(t, "a service token that is none", err, fault.Unauthentic)
		c, err = call(delayed, "user", "garbage")
		if err != nil || c.ServiceUserID != "" {
			t.Errorf("a service token that is none, left to others to decide = %+v, %v; want the user alone", c, err)
		}

		time.Sleep(2 * time.Minute) // ann's token expires
		_, err = call(lax, "user", "")
		wantKind(t, "an expired token", err, fault.Unauthentic)
		_, err = call(lax, "user", "other")
		wantKind(t, "an expired token, by way of nobody's service", err, fault.Unauthentic)
		_, err = call(lax, "user", "nova")
		wantOK(t, "an expired token, by way of nova", err)
		_, err = call(lax, "user", "")
		wantKind(t, "an expired token that is remembered", err, fault.Unauthentic)
	})
}

func TestDelayedDecision(t *testing.T) {
	f := newFake()
	f.intercept(func(*http.Request) (*http.Response, error) { return nil, errRefused })
	_, err := query(newValidator(t, f, func(o *keystone.Options) { o.DelayDecision = true }), "good")
	wantKind(t, "Caller while Keystone is away", err, fault.Unauthentic)
}

func TestAnswersOfKeystone(t *testing.T) {
	for status, want := range map[int]fault.Kind{
		http.StatusNotFound: fault.Unauthentic, http.StatusBadRequest: fault.Unauthentic,
		http.StatusRequestHeaderFieldsTooLarge: fault.Unauthentic,
		http.StatusForbidden:                   fault.Unavailable, http.StatusTooManyRequests: fault.Unavailable,
		http.StatusInternalServerError: fault.Unavailable, http.StatusServiceUnavailable: fault.Unavailable,
		http.StatusFound: fault.Unavailable, http.StatusOK: fault.Unavailable, // with a body that is no token
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			f := newFake()
			f.intercept(func(r *http.Request) (*http.Response, error) {
				if r.Header.Get("X-Subject-Token") != "" {
					return reply(status, "hello"), nil
				}
				return nil, nil
			})
			_, err := query(newValidator(t, f), "good")
			wantKind(t, "Caller", err, want)
		})
	}
}

func TestBoundTokensAreRefused(t *testing.T) {
	f := newFake()
	answer := tokenOf("ann", time.Hour)
	answer["bind"] = object{"kerberos": "ann@REALM"}
	f.know("bound", answer)
	_, err := query(newValidator(t, f), "bound")
	wantKind(t, "Caller", err, fault.Unauthentic)
}

func TestMetrics(t *testing.T) {
	f := newFake()
	f.know("good", tokenOf("ann", time.Hour))
	got := make(map[string]int)
	v := newValidator(t, f, func(o *keystone.Options) {
		o.Metrics = keystone.Metrics{
			Validated:   func(o keystone.Outcome) { got["validated "+string(o)]++ },
			Cached:      func() { got["cached"]++ },
			Queries:     func(_ time.Duration, o keystone.Outcome) { got["queried "+string(o)]++ },
			Unavailable: func(ok bool) { got[fmt.Sprint("unavailable ", ok)]++ },
		}
	})
	for _, token := range []string{"good", "good", "bad", ""} {
		_, _ = query(v, token) // its result does not matter
	}
	f.intercept(func(*http.Request) (*http.Response, error) { return nil, errRefused })
	_, _ = query(v, "third")
	want := map[string]int{
		"validated accepted": 2, "validated refused": 2, "validated unavailable": 1,
		"cached": 1, "queried accepted": 1, "queried refused": 1, "queried unavailable": 1, "unavailable true": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	log, text := logger()
	f := newFake()
	f.know("token-of-nobody", tokenOf("nobody", -time.Hour))
	v := newValidator(t, f, func(o *keystone.Options) { o.Log = log; o.ServiceRolesRequired = true })
	var shown []string
	for _, token := range []string{"token-of-nobody", "another-token", "token with space"} {
		_, err := query(v, token)
		shown = append(shown, fmt.Sprint(err))
	}
	f.intercept(func(r *http.Request) (*http.Response, error) { return nil, errRefused })
	_, err := query(v, "third-token")
	opts := options()
	log.Info("options", "options", opts, "credentials", opts.Credentials, "password", opts.Credentials.Password)
	shown = append(shown, fmt.Sprint(err), fmt.Sprintf("%v %+v %#v %s", opts, opts, opts, opts.Credentials.Password),
		text.String())
	for _, s := range shown {
		for _, secret := range []string{
			"token-of", "another-token", "third-token", "with space", "pass-of-placement", "own-1",
		} {
			if strings.Contains(s, secret) {
				t.Errorf("%q shows in %s", secret, s)
			}
		}
	}
}
