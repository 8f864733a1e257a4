package keystone_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/keystone"
)

// hang blocks until the client gives up.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, late{r.Context().Err()}
}

// TestDeadKeystoneCostsOneTimeOut sends many requests while Keystone does not answer: the first
// ones wait for the time-out, later ones fail at once.
func TestDeadKeystoneCostsOneTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("known", tokenOf("ann", time.Hour))
		v := newValidator(t, f)
		_, err := query(v, "known")
		wantOK(t, "Caller", err)
		f.intercept(hang)

		var first sync.WaitGroup
		for _, token := range []string{"a", "b", "c", "d"} {
			first.Go(func() {
				begin := time.Now()
				_, err := query(v, token)
				wantKind(t, "Caller", err, fault.Unavailable)
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("a request waited %v for a dead Keystone, want 5s", took)
				}
			})
		}
		first.Wait()
		begin := time.Now()
		for range 100 {
			_, err := query(v, "e")
			wantKind(t, "Caller", err, fault.Unavailable)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("later requests waited %v", took)
		}
		_, err = query(v, "known")
		wantOK(t, "Caller of a remembered token", err)
	})
}

// TestASlowTokenDoesNotKeepOthersOut lets every check of one token time out while Keystone answers
// those of the others.
func TestASlowTokenDoesNotKeepOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, text := logger()
		f := newFake()
		f.know("slow", tokenOf("ann", time.Hour))
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Subject-Token") == "slow" {
				return hang(r)
			}
			return nil, nil
		})
		v := newValidator(t, f, func(o *keystone.Options) { o.Log = log })
		for n := range 5 {
			_, err := query(v, "slow")
			wantKind(t, "Caller of the slow token", err, fault.Unavailable)
			for _, other := range []string{"a", "b"} {
				token := other + string(rune('0'+n))
				f.know(token, tokenOf("bob", time.Hour))
				begin := time.Now()
				_, err := query(v, token)
				wantOK(t, "Caller of another token", err)
				if took := time.Since(begin); took > 0 {
					t.Errorf("another token waited %v", took)
				}
			}
		}
		if n := f.count(logIn); n != 1 {
			t.Errorf("the service logged in %d times, want once", n)
		}
		if strings.Contains(text.String(), "Keystone is unavailable") {
			t.Errorf("the log says that Keystone is away:\n%s", text)
		}
	})
}

// TestAnAnswerIsWaitedFor has Keystone be slower than one attempt may take, and within what
// keystonemiddleware waits with the same settings.
func TestAnAnswerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("slow", tokenOf("ann", time.Hour))
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Subject-Token") == "slow" {
				select {
				case <-time.After(12 * time.Second):
				case <-r.Context().Done():
					return hang(r)
				}
			}
			return nil, nil
		})
		v := newValidator(t, f, func(o *keystone.Options) { o.Retries = 3 })
		_, err := query(v, "slow")
		wantOK(t, "Caller", err)
	})
}

// TestOneRequestTriesWhetherKeystoneIsBack ends the pause while many clients send requests.
func TestOneRequestTriesWhetherKeystoneIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		v := newValidator(t, f)
		f.intercept(hang)
		for _, token := range []string{"x", "y", "z"} {
			_, err := query(v, token)
			wantKind(t, "Caller", err, fault.Unavailable)
		}
		time.Sleep(time.Second)
		count := len(f.calls)
		var slow atomic.Int32
		var all sync.WaitGroup
		for _, token := range strings.Split("abcdefghij", "") {
			all.Go(func() {
				begin := time.Now()
				_, err := query(v, token)
				wantKind(t, "Caller", err, fault.Unavailable)
				if time.Since(begin) > 0 {
					slow.Add(1)
				}
			})
		}
		all.Wait()
		if slow.Load() != 1 || len(f.calls) != count+1 {
			t.Errorf("%d requests waited and %d calls were made, want 1 and 1", slow.Load(), len(f.calls)-count)
		}
	})
}

func TestKeystoneComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, text := logger()
		f := newFake()
		f.know("good", tokenOf("ann", time.Hour))
		f.intercept(func(*http.Request) (*http.Response, error) { return nil, errRefused })
		v := newValidator(t, f, func(o *keystone.Options) { o.Log = log })
		for range 1000 { // clients retry for a quarter of an hour
			_, err := query(v, "good")
			wantKind(t, "Caller", err, fault.Unavailable)
			time.Sleep(time.Second)
		}
		// A probe every four seconds or so, one call each.
		if n := len(f.calls); n < 200 || n > 300 {
			t.Errorf("a Keystone that is away was called %d times in 1000s, want about 250", n)
		}
		f.intercept(nil)
		time.Sleep(keystone.LongestPause)
		_, err := query(v, "good")
		wantOK(t, "Caller after the pause", err)
		if n := strings.Count(text.String(), "Keystone is unavailable"); n != 1 {
			t.Errorf("the log says %d times that Keystone is away, want once:\n%s", n, text)
		}
		if !strings.Contains(text.String(), "answers again") {
			t.Errorf("the log does not say that Keystone is back:\n%s", text)
		}
	})
}

// TestWrongCredentialsAreNotTriedOften bounds the logins with wrong credentials, since Keystone
// locks accounts after repeated failures.
func TestWrongCredentialsAreNotTriedOften(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.know("good", tokenOf("ann", time.Hour))
			f.intercept(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost {
					return reply(status, object{}), nil
				}
				return nil, nil
			})
			v := newValidator(t, f)
			for range 600 {
				_, err := query(v, "good")
				wantKind(t, "Caller", err, fault.Unavailable)
				time.Sleep(time.Second)
			}
			if n := f.count(logIn); n < 15 || n > 30 {
				t.Errorf("wrong credentials were tried %d times in 600s, want about 20", n)
			}
			f.intercept(nil)
			time.Sleep(keystone.RefusedPause)
			_, err := query(v, "good")
			wantOK(t, "Caller with credentials that were corrected", err)
		})
	}
}

// TestAStrangeTokenDoesNotKeepOthersOut has Keystone trip over one token.
func TestAStrangeTokenDoesNotKeepOthersOut(t *testing.T) {
	f := newFake()
	f.know("good", tokenOf("ann", time.Hour))
	f.intercept(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("X-Subject-Token") == "strange" {
			return reply(http.StatusInternalServerError, object{}), nil
		}
		return nil, nil
	})
	v := newValidator(t, f)
	_, err := query(v, "strange")
	wantKind(t, "Caller", err, fault.Unavailable)
	_, err = query(v, "good")
	wantOK(t, "Caller", err)
}

// TestKeystoneMoves discards an endpoint that no longer exists.
func TestKeystoneMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.know("one", tokenOf("ann", time.Hour))
		f.know("two", tokenOf("bob", time.Hour))
		v := newValidator(t, f)
		_, err := query(v, "one")
		wantOK(t, "Caller", err)
		f.url = "http://moved.test/v3"
		f.intercept(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && r.URL.Host == "keystone.test" && r.URL.Path == "/v3/auth/tokens" {
				return nil, errRefused
			}
			return nil, nil
		})
		_, err = query(v, "two")
		wantKind(t, "Caller", err, fault.Unavailable)
		time.Sleep(keystone.LongestPause)
		_, err = query(v, "two")
		wantOK(t, "Caller at the new endpoint", err)
	})
}
