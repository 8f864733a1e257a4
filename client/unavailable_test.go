package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/networktest"
)

const concurrent = `{"errors": [{"status": 409, "title": "Conflict", "code": "placement.concurrent_update", "detail": "There was a conflict when trying to complete your request.\n\n generation is <stale>\n  now  "}]}`

// answer answers the next requests of a method with a status and body, as often as times, and then
// forwards again.
func answer(p *proxy, method string, times, status int, body string) {
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || r.URL.Path == "/" || times == 0 {
			return false
		}
		times--
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	})
}

// cut closes the connection of the next requests of a method.
func cut(p *proxy, method string, times int) {
	p.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || times == 0 {
			return false
		}
		times--
		panic(http.ErrAbortHandler)
	})
}

// TestChangesOfOthersAreMadeRoomFor has another client change the provider between reading and
// writing, repeatedly.
func TestChangesOfOthersAreMadeRoomFor(t *testing.T) {
	for name, change := range map[string]func(context.Context, network.Placement) error{
		"SetTraits": func(ctx context.Context, p network.Placement) error {
			return p.SetTraits(ctx, deviceID, []string{"CUSTOM_A"})
		},
		"SetInventories": func(ctx context.Context, p network.Placement) error {
			return p.SetInventories(ctx, deviceID, networktest.Offering(77))
		},
		"EnsureProvider": func(ctx context.Context, p network.Placement) error {
			return p.EnsureProvider(ctx, network.Provider{UUID: deviceID, Name: "host one:agent:br-ex", Parent: agentID})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newProxy(t, berth(t))
			p := newPlacement(t, service.url)
			networktest.MakeTree(t, p)
			must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
			tries := func(conflicts int) error {
				service.calls()
				answer(service, http.MethodPut, conflicts, http.StatusConflict, concurrent)
				err := change(t.Context(), p)
				if n := count(service.calls(), "PUT"); n != 10 {
					t.Errorf("%d attempts, want 10", n)
				}
				return err
			}
			err := tries(100)
			wantIs(t, name, err, allocations.ErrGeneration)
			wantKind(t, name, err, fault.Conflict)
			must(t, name+" at the tenth attempt", tries(9))
		})
	}
}

// TestAttemptsAreMadeAgainWhereThatIsSafe counts them.
func TestAttemptsAreMadeAgainWhereThatIsSafe(t *testing.T) {
	busy := func(method string) func(*proxy) {
		return func(p *proxy) { answer(p, method, 2, http.StatusServiceUnavailable, "") }
	}
	cutTwice := func(method string) func(*proxy) { return func(p *proxy) { cut(p, method, 2) } }
	for _, tc := range []struct {
		name     string
		trouble  func(*proxy)
		ask      func(context.Context, *client.Placement, *client.Compute) error
		attempts int
		fails    bool
	}{
		{"BusyForReads", busy("GET"), named, 3, false},
		{"BusyForWrites", busy("PUT"), ensureTrait, 3, false},
		{"BusyForAllocations", busy("PUT"), claim, 3, false},
		{"BusyForEvents", busy("POST"), tell, 1, true},
		{"CutReads", cutTwice("GET"), named, 3, false},
		{"CutWrites", cutTwice("PUT"), ensureTrait, 3, false},
		{"CutRemovals", cutTwice("DELETE"), remove, 3, false},
		{"CutEvents", cutTwice("POST"), tell, 3, false},
		{"CutAllocations", cutTwice("PUT"), claim, 1, true}, // they may have been written
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			service := newProxy(t, placementAndCompute(t))
			var statuses atomic.Int32
			opts := func(o *client.Options) {
				o.Asked = func(string, int, time.Duration) { statuses.Add(1) }
				o.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // net/http repeats some itself
			}
			p, c := newPlacement(t, service.url, opts), client.NewCompute(at(t, service.url+"/v2.1", opts))
			must(t, "ProviderNamed", p.EnsureProvider(t.Context(), network.Provider{UUID: rootID, Name: "host"}))
			service.calls()
			statuses.Store(0)
			tc.trouble(service)
			err := tc.ask(t.Context(), p, c)
			if tc.fails {
				wantKind(t, "the call", err, fault.Unavailable)
			} else {
				must(t, "the call", err)
			}
			if n := len(service.calls()); n != tc.attempts || int(statuses.Load()) != n {
				t.Errorf("%d attempts, %d told of; want %d", n, statuses.Load(), tc.attempts)
			}
		})
	}
}

func named(ctx context.Context, p *client.Placement, _ *client.Compute) error {
	_, err := p.ProviderNamed(ctx, "host")
	return err
}

func ensureTrait(ctx context.Context, p *client.Placement, _ *client.Compute) error {
	return p.EnsureTrait(ctx, "CUSTOM_A")
}

func remove(ctx context.Context, p *client.Placement, _ *client.Compute) error {
	return p.RemoveProvider(ctx, noneID)
}

func claim(ctx context.Context, p *client.Placement, _ *client.Compute) error {
	return p.SetAllocations(ctx, serverID, allocations.Consumer{Project: "p", User: "u"})
}

func tell(ctx context.Context, _ *client.Placement, c *client.Compute) error {
	return c.SendEvents(ctx, []network.ServerEvent{{Name: "network-changed", Server: serverID}})
}

// placementAndCompute is Berth's placement with a compute service below /v2.1.
func placementAndCompute(t testing.TB) http.Handler {
	placement := berth(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2.1/") {
			return // 200
		}
		placement.ServeHTTP(w, r)
	})
}

// TestAServiceThatIsAway uses an address without a listener.
func TestAServiceThatIsAway(t *testing.T) {
	service := newProxy(t, berth(t))
	attempts := 0
	p := newPlacement(t, "http://127.0.0.1:1", func(o *client.Options) { // tcpmux: no listener
		o.Asked = func(_ string, status int, _ time.Duration) {
			attempts++
			if status != 0 {
				t.Errorf("status = %d", status)
			}
		}
	})
	err := p.EnsureTrait(t.Context(), "CUSTOM_A")
	wantKind(t, "EnsureTrait", err, fault.Unavailable)
	var away *client.Unavailable
	if !errors.As(err, &away) || away.Service != "placement" || attempts != 3 {
		t.Errorf("EnsureTrait = %v after %d attempts, want an Unavailable after 3", err, attempts)
	}
	callersRead(t, err, "The placement service is unavailable.")
	must(t, "EnsureTrait of one that is there", newPlacement(t, service.url).EnsureTrait(t.Context(), "CUSTOM_A"))
}

// callersRead checks what callers are shown of an error, other than the log.
func callersRead(t *testing.T, err error, want string) {
	t.Helper()
	if f, ok := fault.Find(err); !ok || f.Error() != want {
		t.Errorf("callers read %v of %v, want %q", f, err, want)
	}
}

// TestAnswersThatAreNotTheServices are malformed, or from a proxy or another service.
func TestAnswersThatAreNotTheServices(t *testing.T) {
	service := newProxy(t, berth(t))
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
	}{
		"HTML":             {200, "<html>welcome</html>", fault.Unavailable},
		"OtherJSON":        {200, `{"hello": "world"}`, fault.Unavailable},
		"Null":             {200, `null`, fault.Unavailable},
		"List":             {200, `[1]`, fault.Unavailable},
		"Empty":            {200, ``, fault.Unavailable},
		"Broken":           {200, `{"resource_providers": [{`, fault.Unavailable},
		"TooMuch":          {200, `{"resource_providers": [` + strings.Repeat(" ", 17<<20) + `]}`, fault.Unavailable},
		"Redirect":         {302, ``, fault.Internal},
		"InternalError":    {500, `Traceback: secret`, fault.Unavailable},
		"BadGateway":       {502, `<h1>`, fault.Unavailable},
		"Forbidden":        {403, `{"errors": [{"detail": "no"}]}`, fault.Unavailable},
		"Teapot":           {418, `{"errors": "none"}`, fault.Internal},
		"NotFoundOfOthers": {404, `not here`, fault.NotFound},
		"ErrorsWithoutAny": {400, `{"errors": []}`, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			service.intercept(nil)
			p := newPlacement(t, service.url, func(o *client.Options) { o.Retries = 0 })
			must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
			answer(service, "GET", -1, tc.status, tc.body)
			_, err := p.ProvidersBelow(t.Context(), rootID)
			wantKind(t, "ProvidersBelow", err, tc.kind)
			_, err = p.Allocations(t.Context(), serverID)
			wantKind(t, "Allocations", err, tc.kind)
			if text := fmt.Sprint(err); len(text) > 600 || strings.Contains(text, "\n") || strings.Contains(text, "secret") {
				t.Errorf("the error is no line for people: %q", text)
			}
		})
	}
}

// TestOthersDoNotWrite: an answer of another program does not confirm a write.
func TestOthersDoNotWrite(t *testing.T) {
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url, func(o *client.Options) { o.Retries = 0 })
	networktest.MakeTree(t, p)
	answer(service, http.MethodPut, -1, http.StatusOK, "<html>welcome</html>")
	wantKind(t, "SetAllocations", p.SetAllocations(t.Context(), serverID, networktest.Allocation(1)), fault.Unavailable)
	wantKind(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"), fault.Unavailable)
	answer(service, http.MethodDelete, -1, http.StatusNotFound, "not here")
	if err := p.RemoveProvider(t.Context(), deviceID); err == nil {
		t.Error("RemoveProvider = nil, and nothing was removed")
	}
}

// A roundTrip is a network in memory.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stuck is a network on which placement returns its versions and then no further answer.
func stuck(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/" {
		body := io.NopCloser(strings.NewReader(`{"versions": [{"min_version": "1.0", "max_version": "1.39"}]}`))
		return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSlowServices block no caller longer than the time-out, and callers that wait for a slot not
// much longer.
func TestSlowServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		p := newPlacement(t, "http://placement.test", func(o *client.Options) {
			o.HTTP = &http.Client{Transport: roundTrip(stuck)}
			o.Timeout, o.Concurrency = time.Minute, 1
			o.Asked = func(string, int, time.Duration) { attempts++ }
		})
		begin := time.Now()
		var g sync.WaitGroup
		for range 2 {
			g.Go(func() { wantKind(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"), fault.Unavailable) })
		}
		g.Wait()
		if took := time.Since(begin); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the calls took %v, want a minute or two", took)
		}
		if attempts < 2 || attempts > 4 { // of them one or two for the versions
			t.Errorf("%d attempts: who waited for a time-out has waited enough", attempts)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		err := p.EnsureTrait(ctx, "CUSTOM_A")
		wantKind(t, "EnsureTrait of who leaves", err, fault.Unavailable)
		wantIs(t, "EnsureTrait of who leaves", err, context.DeadlineExceeded)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("EnsureTrait took %v, want a second", took)
		}
	})
}

// TestNoMoreRequestsAtATime than the bound.
func TestNoMoreRequestsAtATime(t *testing.T) {
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url, func(o *client.Options) { o.Concurrency = 3 })
	must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	var now, most atomic.Int32
	arrived := make(chan struct{}, 20)
	release := make(chan struct{})
	service.intercept(func(http.ResponseWriter, *http.Request) bool {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		return false
	})
	var g sync.WaitGroup
	for range 20 {
		g.Go(func() {
			if err := p.EnsureTrait(t.Context(), "CUSTOM_A"); err != nil {
				t.Errorf("EnsureTrait = %v", err)
			}
		})
	}
	for range 3 {
		<-arrived
	}
	close(release)
	g.Wait()
	if n := most.Load(); n != 3 {
		t.Errorf("%d requests at a time, want 3", n)
	}
}

// TestDetailsAreShort checks the part of a service's answer in errors.
func TestDetailsAreShort(t *testing.T) {
	service := newProxy(t, berth(t))
	p := newPlacement(t, service.url)
	answer(service, "PUT", -1, http.StatusConflict, concurrent)
	err := p.SetAllocations(t.Context(), serverID, networktest.Allocation(1))
	want := "placement answered 409 placement.concurrent_update to PUT /allocations/" + serverID + ": generation is <stale> now"
	if err == nil || err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	answer(service, "PUT", -1, http.StatusConflict, `{"errors": [{"detail": "`+strings.Repeat("é", 1000)+`"}]}`)
	callersRead(t, p.SetAllocations(t.Context(), serverID, networktest.Allocation(1)), "The placement service refused the request: "+strings.Repeat("é", 200)+"…")
	answer(service, "PUT", -1, http.StatusForbidden, `{"errors": [{"detail": "no"}]}`)
	callersRead(t, p.SetAllocations(t.Context(), serverID, networktest.Allocation(1)), "The placement service is unavailable.")
	answer(service, "PUT", -1, http.StatusConflict, `{"errors": [{"detail": "`+strings.Repeat("é", 1000)+`"}]}`)
	err = p.SetAllocations(t.Context(), serverID, networktest.Allocation(1))
	if text := err.Error(); len(text) > 600 || !strings.HasSuffix(text, "é…") {
		t.Errorf("error = %q", text)
	}
}
