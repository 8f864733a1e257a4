package computeapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi"
	"github.com/berthcloud/berth/identity/policy"
	"github.com/berthcloud/berth/microversion"
)

// TestListsAreBounded finds the routes of lists: all that read without naming anything in their
// path, but those that read few rows.
func TestListsAreBounded(t *testing.T) {
	few := []string{"/", "/v2.1", "/v2.1/", "/v2.1/limits", "/v2.1/os-hypervisors/statistics"}
	for _, r := range (&computeapi.API{}).Routes() {
		lists := r.Method == http.MethodGet && !strings.Contains(r.Pattern, "{") && !slices.Contains(few, r.Pattern)
		if lists && !r.Lists {
			t.Errorf("requests for %s are not bounded", r.Pattern)
		}
	}
}

// slowLists is a store on which the lists of a project's servers do not end before they are
// released.
type slowLists struct {
	compute.Store
	project string
	reading atomic.Int64
	most    atomic.Int64  // that were read at a time
	began   chan struct{} // has one for each
	release chan struct{}
}

func (s *slowLists) View(ctx context.Context, fn func(compute.Reader) error) error {
	slow := false
	err := s.Store.View(ctx, func(r compute.Reader) error { return fn(slowReader{r, s.project, &slow}) })
	if slow {
		n := s.reading.Add(1)
		for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
		}
		s.began <- struct{}{}
		<-s.release
		s.reading.Add(-1)
	}
	return err
}

// A slowReader notes that it reads servers of a project.
type slowReader struct {
	compute.Reader
	project string
	slow    *bool
}

func (r slowReader) Read(rows any, where ...compute.Match) error {
	if _, servers := rows.(*[]compute.ServerEntry); servers && len(where) == 1 &&
		slices.Contains(where[0].Values, any(r.project)) {
		*r.slow = true
	}
	return r.Reader.Read(rows, where...)
}

// TestListsLeaveRoom has 16 members of one project list its servers, by an expression. Four of the
// lists are read at a time, and what another project requests is answered meanwhile.
func TestListsLeaveRoom(t *testing.T) {
	store := &slowLists{Store: newStore(t), project: "red", began: make(chan struct{}, 16), release: make(chan struct{})}
	rules, err := policy.New(policy.Options{Defaults: computeapi.PolicyDefaults()})
	if err != nil {
		t.Fatal(err)
	}
	s := newServices(store, compute.Rules{Settings: compute.DefaultSettings()}, computetest.Options{}, nil)
	api := &computeapi.API{Servers: s.Service, Catalog: s.catalog, Fleet: s.fleet, Policy: rules}
	h := computeapi.Handler(httpapi.New(httpapi.Config{
		Service: "compute", History: microversion.Compute, PathFirst: computeapi.Steps, Routes: api.Routes(),
		Authenticate: httpapi.NoAuth,
		Public:       computeapi.Public, Problem: computeapi.Problem, Lists: httpapi.NewLists(4),
	}))
	send := func(token, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/v2.1"+path, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var red sync.WaitGroup
	var ok atomic.Int64
	for range 16 {
		red.Go(func() {
			if w := send("ann:red", "GET", "/servers/detail?name=%5Ea%2B", ""); w.Code == http.StatusOK {
				ok.Add(1)
			} else {
				t.Errorf("a list = %d %s", w.Code, w.Body)
			}
		})
	}
	for range 4 {
		<-store.began
	}
	for _, query := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/servers/detail?name=%5Ea%2B", "", http.StatusOK},
		{"POST", "/os-server-groups", `{"server_group": {"name": "g", "policies": ["affinity"]}}`, http.StatusOK},
		{"GET", "/os-server-groups", "", http.StatusOK},
	} {
		if w := send("bob:blue", query.method, query.path, query.body); w.Code != query.want {
			t.Errorf("%s %s = %d %s, want %d", query.method, query.path, w.Code, w.Body, query.want)
		}
	}
	for range 16 {
		store.release <- struct{}{}
	}
	red.Wait()
	if n := store.most.Load(); n != 4 {
		t.Errorf("%d lists of the project were read at a time, want 4", n)
	}
	if n := ok.Load(); n != 16 {
		t.Errorf("%d lists are answered, want 16", n)
	}
}

// TestExpressionsAreBounded: an expression is not larger than what it is looked for in could be.
func TestExpressionsAreBounded(t *testing.T) {
	h := handler(t,
		newServices(newStore(t), compute.Rules{Settings: compute.DefaultSettings()}, computetest.Options{}, nil),
		httpapi.NoAuth)
	for expression, want := range map[string]int{
		"^web-[0-9]{1,3}$":                http.StatusOK,
		strings.Repeat("a", 255):          http.StatusOK,
		`^\p{L}+(\.\w+)*$`:                http.StatusOK,
		"(web|db|api){1,20}":              http.StatusOK,
		"(x{100}){10}":                    http.StatusBadRequest,
		".*.{1000}.*":                     http.StatusBadRequest,
		"((a?){30}b?){30}":                http.StatusBadRequest,
		strings.Repeat("(.*a|b)*", 200):   http.StatusBadRequest,
		strings.Repeat("[a-z]?", 600):     http.StatusBadRequest,
		strings.Repeat("(", 999) + "a{9}": http.StatusBadRequest,
	} {
		r := httptest.NewRequest("GET", "/v2.1/servers", nil)
		r.Header.Set("X-Auth-Token", "ann:red")
		q := r.URL.Query()
		q.Set("name", expression)
		r.URL.RawQuery = q.Encode()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("name=%.40s = %d %.200s, want %d", expression, w.Code, w.Body, want)
		}
	}
}
