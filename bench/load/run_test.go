package load_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthcloud/berth/bench/load"
)

// serve starts a server that answers as a function of the path and records its requests.
func serve(t *testing.T, h http.HandlerFunc) (addr string, requests func() []string) {
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, fmt.Sprintf("%s %s %s%s", r.Method, r.RequestURI, r.Header.Get("X-Mark"), body))
		mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func get(path string) load.Request { return load.Request{Method: "GET", Path: path} }

func TestConnSendsRequestsAndReadsAnswers(t *testing.T) {
	long := strings.Repeat("0123456789", 100_000)
	addr, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long": // more than net/http buffers: in chunks
			io.WriteString(w, long)
		case "/gone":
			w.WriteHeader(http.StatusNoContent)
		default:
			io.WriteString(w, "short")
		}
	})
	c, err := load.Dial(addr, "X-Mark: m")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, want := range []struct {
		load.Request
		status int
		body   string
	}{
		{get("/long?a=b"), 200, long},
		{load.Request{Method: "PUT", Path: "/gone", Body: []byte("{}")}, 204, ""},
		{get("/other"), 200, "short"},
	} {
		status, body, err := c.Fetch(want.Request)
		if err != nil || status != want.status || string(body) != want.body {
			t.Errorf("%s %s: got %d, %d bytes, %v; want %d, %d bytes", want.Method, want.Path, status, len(body), err,
				want.status, len(want.body))
		}
	}
	if status, err := c.Drop(get("/long")); err != nil || status != 200 {
		t.Errorf("Drop: got %d, %v; want 200", status, err)
	}
	if status, body, err := c.Fetch(get("/last")); err != nil || status != 200 || string(body) != "short" {
		t.Errorf("after Drop: got %d, %q, %v; want 200, short", status, body, err)
	}
	want := "GET /long?a=b m|PUT /gone m{}|GET /other m|GET /long m|GET /last m"
	if got := strings.Join(requests(), "|"); got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
}

func TestRunCountsRequests(t *testing.T) {
	addr, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "12345") })
	r, err := load.Run(load.Plan{
		Addr: addr, Conns: 3, Time: 20 * time.Millisecond, Want: 200,
		Next: func(conn, i int) load.Request { return get(fmt.Sprintf("/%d/%d", conn, i)) },
	})
	n := len(requests())
	if err != nil || n < 3 || r.Requests != n {
		t.Fatalf("got %d requests, %v; the server got %d requests", r.Requests, err, n)
	}
	if want := float64(n) / r.Elapsed.Seconds(); r.Rate() != want {
		t.Errorf("Rate() = %v, want %v", r.Rate(), want)
	}
}

func TestRunEndsWithItsTime(t *testing.T) {
	addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })
	r, err := load.Run(load.Plan{Addr: addr, Conns: 2, Want: 200, Next: func(int, int) load.Request { return get("/") }})
	if err != nil || r.Requests != 2 {
		t.Errorf("without time: got %d requests, %v; want one of each connection", r.Requests, err)
	}
}

func TestRunReportsOtherAnswers(t *testing.T) {
	addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	_, err := load.Run(load.Plan{
		Addr: addr, Time: time.Minute, Want: 200, Next: func(int, int) load.Request { return get("/a") },
	})
	if err == nil || !strings.Contains(err.Error(), "GET /a: status 404, want 200") {
		t.Errorf("got %v", err)
	}
}
