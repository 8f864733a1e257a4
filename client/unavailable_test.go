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
	"unicode/utf8"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/novaclient"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/placement/providertree"
	"github.com/berthcloud/berth/placement/providertree/providertreetest"
)

// TestChangesOfOthersAreMadeRoomFor has another client change the provider between reading and
// writing, repeatedly.
func TestChangesOfOthersAreMadeRoomFor(t *testing.T) {
	set := func(want providertree.Provider) func(context.Context, providertree.Placement) error {
		return func(ctx context.Context, p providertree.Placement) error { return providertreetest.Set(ctx, p, want) }
	}
	device := providertree.Provider{
		ID: clienttest.DeviceID, Name: "host one:agent:br-ex", Parent: clienttest.AgentID,
		Inventories: providertreetest.Offering(1000),
	}
	traits, inventories, name := device, device, device
	traits.Traits, inventories.Inventories = []string{"HW_NIC_SRIOV"}, providertreetest.Offering(77)
	name.Name = "host one:agent:br-new"
	for name, change := range map[string]func(context.Context, providertree.Placement) error{
		"SetTraits": set(traits), "SetInventories": set(inventories), "Update": set(name),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := clienttest.NewProxy(t, clienttest.Berth(t))
			p := newPlacement(t, service.URL)
			providertreetest.MakeTree(t, p)
			tries := func(conflicts int) error {
				service.Requests()
				service.Answer(http.MethodPut, conflicts, http.StatusConflict, clienttest.Concurrent)
				err := change(t.Context(), p)
				if n := clienttest.Count(service.Requests(), "PUT"); n != 10 {
					t.Errorf("%d attempts, want 10", n)
				}
				return err
			}
			err := tries(100)
			clienttest.WantIs(t, name, err, allocations.ErrGeneration)
			clienttest.WantKind(t, name, err, fault.Conflict)
			clienttest.Must(t, name+" at the tenth attempt", tries(9))
		})
	}
}

// TestAttemptsAreMadeAgainWhereThatIsSafe counts them.
func TestAttemptsAreMadeAgainWhereThatIsSafe(t *testing.T) {
	busy := func(method string) func(*clienttest.Proxy) {
		return func(p *clienttest.Proxy) { p.Answer(method, 2, http.StatusServiceUnavailable, "") }
	}
	cutTwice := func(method string) func(*clienttest.Proxy) {
		return func(p *clienttest.Proxy) { p.Cut(method, 2) }
	}
	for _, tc := range []struct {
		name     string
		prepare  func(*clienttest.Proxy)
		request  func(context.Context, *placementclient.Client, *novaclient.Client) error
		attempts int
		fails    bool
	}{
		{"BusyForReads", busy("GET"), named, 3, false},
		{"BusyForWrites", busy("PUT"), ensureTrait, 3, false},
		{"BusyForAllocations", busy("PUT"), claim, 3, false},
		{"BusyForEvents", busy("POST"), report, 1, true},
		{"CutReads", cutTwice("GET"), named, 3, false},
		{"CutWrites", cutTwice("PUT"), ensureTrait, 3, false},
		{"CutRemovals", cutTwice("DELETE"), remove, 3, false},
		{"CutEvents", cutTwice("POST"), report, 3, false},
		{"CutAllocations", cutTwice("PUT"), claim, 1, true}, // they may have been written
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			service := clienttest.NewProxy(t, placementAndCompute(t))
			var statuses atomic.Int32
			opts := func(o *client.Options) {
				o.Observe = func(string, int, time.Duration) { statuses.Add(1) }
				o.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // net/http repeats some itself
			}
			p, c := newPlacement(t, service.URL, opts), novaclient.New(clienttest.Options(t, service.URL+"/v2.1", opts))
			clienttest.Must(t, "Set",
				providertreetest.Set(t.Context(), p, providertree.Provider{ID: clienttest.RootID, Name: "host"}))
			service.Requests()
			statuses.Store(0)
			tc.prepare(service)
			err := tc.request(t.Context(), p, c)
			if tc.fails {
				clienttest.WantKind(t, "the call", err, fault.Unavailable)
			} else {
				clienttest.Must(t, "the call", err)
			}
			if n := len(service.Requests()); n != tc.attempts || int(statuses.Load()) != n {
				t.Errorf("%d attempts, %d reported; want %d", n, statuses.Load(), tc.attempts)
			}
		})
	}
}

func named(ctx context.Context, p *placementclient.Client, _ *novaclient.Client) error {
	_, err := p.Named(ctx, "host")
	return err
}

func ensureTrait(ctx context.Context, p *placementclient.Client, _ *novaclient.Client) error {
	return p.EnsureTrait(ctx, "CUSTOM_A")
}

func remove(ctx context.Context, p *placementclient.Client, _ *novaclient.Client) error {
	return p.Remove(ctx, clienttest.NoneID)
}

func claim(ctx context.Context, p *placementclient.Client, _ *novaclient.Client) error {
	return p.SetAllocations(ctx, clienttest.ServerID, allocations.Consumer{Project: "p", User: "u"})
}

func report(ctx context.Context, _ *placementclient.Client, c *novaclient.Client) error {
	return c.SendEvents(ctx, []network.ServerEvent{{Name: "network-changed", Server: clienttest.ServerID}})
}

// placementAndCompute is Berth's placement with a compute service below /v2.1.
func placementAndCompute(t testing.TB) http.Handler {
	placement := clienttest.Berth(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2.1/") {
			return // 200
		}
		placement.ServeHTTP(w, r)
	})
}

// TestAServiceThatIsAway uses an address without a listener.
func TestAServiceThatIsAway(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	attempts := 0
	p := newPlacement(t, "http://127.0.0.1:1", func(o *client.Options) { // tcpmux: no listener
		o.Observe = func(_ string, status int, _ time.Duration) {
			attempts++
			if status != 0 {
				t.Errorf("status = %d", status)
			}
		}
	})
	err := p.EnsureTrait(t.Context(), "CUSTOM_A")
	clienttest.WantKind(t, "EnsureTrait", err, fault.Unavailable)
	var away *client.Unavailable
	if !errors.As(err, &away) || away.Service != "placement" || attempts != 3 {
		t.Errorf("EnsureTrait = %v after %d attempts, want an Unavailable after 3", err, attempts)
	}
	callersRead(t, err, "The placement service is unavailable.")
	clienttest.Must(t, "EnsureTrait of one that is there",
		newPlacement(t, service.URL).EnsureTrait(t.Context(), "CUSTOM_A"))
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
	service := clienttest.NewProxy(t, clienttest.Berth(t))
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
			service.Intercept(nil)
			p := newPlacement(t, service.URL, func(o *client.Options) { o.Retries = 0 })
			clienttest.Must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
			service.Answer("GET", -1, tc.status, tc.body)
			_, err := p.Tree(t.Context(), clienttest.RootID, nil)
			clienttest.WantKind(t, "Tree", err, tc.kind)
			_, err = p.Allocations(t.Context(), clienttest.ServerID)
			clienttest.WantKind(t, "Allocations", err, tc.kind)
			if text := fmt.Sprint(err); len(text) > 600 || strings.Contains(text, "\n") || strings.Contains(text, "secret") {
				t.Errorf("the error is no line for people: %q", text)
			}
		})
	}
}

// TestOthersDoNotWrite: an answer of another program does not confirm a write.
func TestOthersDoNotWrite(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL, func(o *client.Options) { o.Retries = 0 })
	providertreetest.MakeTree(t, p)
	service.Answer(http.MethodPut, -1, http.StatusOK, "<html>welcome</html>")
	clienttest.WantKind(t, "SetAllocations",
		p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1)), fault.Unavailable)
	clienttest.WantKind(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"), fault.Unavailable)
	service.Answer(http.MethodDelete, -1, http.StatusNotFound, "not here")
	if err := p.Remove(t.Context(), clienttest.DeviceID); err == nil {
		t.Error("Remove = nil, and nothing was removed")
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
			o.Observe = func(string, int, time.Duration) { attempts++ }
		})
		begin := time.Now()
		var g sync.WaitGroup
		for range 2 {
			g.Go(func() {
				clienttest.WantKind(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"), fault.Unavailable)
			})
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
		clienttest.WantKind(t, "EnsureTrait of who leaves", err, fault.Unavailable)
		clienttest.WantIs(t, "EnsureTrait of who leaves", err, context.DeadlineExceeded)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("EnsureTrait took %v, want a second", took)
		}
	})
}

// TestNoMoreRequestsAtATime than the bound.
func TestNoMoreRequestsAtATime(t *testing.T) {
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL, func(o *client.Options) { o.Concurrency = 3 })
	clienttest.Must(t, "EnsureTrait", p.EnsureTrait(t.Context(), "CUSTOM_A"))
	var now, most atomic.Int32
	arrived := make(chan struct{}, 20)
	release := make(chan struct{})
	service.Intercept(func(http.ResponseWriter, *http.Request) bool {
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
	service := clienttest.NewProxy(t, clienttest.Berth(t))
	p := newPlacement(t, service.URL)
	service.Answer("PUT", -1, http.StatusConflict, clienttest.Concurrent)
	err := p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1))
	want := "placement answered 409 placement.concurrent_update to PUT /allocations/" + clienttest.ServerID +
		": generation is <stale> now"
	if err == nil || err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	service.Answer("PUT", -1, http.StatusConflict, `{"errors": [{"detail": "`+strings.Repeat("é", 1000)+`"}]}`)
	callersRead(t, p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1)),
		"The placement service refused the request: "+strings.Repeat("é", 100)+"…"+strings.Repeat("é", 100))
	service.Answer("PUT", -1, http.StatusForbidden, `{"errors": [{"detail": "no"}]}`)
	callersRead(t, p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1)),
		"The placement service is unavailable.")
	service.Answer("PUT", -1, http.StatusConflict, `{"errors": [{"detail": "`+strings.Repeat("é", 1000)+`"}]}`)
	err = p.SetAllocations(t.Context(), clienttest.ServerID, providertreetest.Allocation(1))
	if text := err.Error(); len(text) > 600 || !strings.Contains(text, "é…é") || !utf8.ValidString(text) {
		t.Errorf("error = %q", text)
	}
}

func newPlacement(t testing.TB, url string, change ...func(*client.Options)) *placementclient.Client {
	t.Helper()
	p := placementclient.New(clienttest.Options(t, url, change...))
	t.Cleanup(p.Close)
	return p
}
