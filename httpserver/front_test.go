package httpserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berthcloud/berth/httpserver"
)

var loopback = httpserver.Proxies{
	Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}, Unix: true,
}

// seen is a handler that answers with what it sees of a request.
var seen = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %s %s", r.URL.Path, httpserver.AbsoluteURL(r, "/x"), r.RemoteAddr)
})

func TestPrefix(t *testing.T) {
	f := httpserver.NewFront(seen, httpserver.FrontSettings{Prefix: "/placement"}, nil)
	for path, want := range map[string]string{
		"/placement/traits":             "/traits http://h/placement/x",
		"/placement/":                   "/ http://h/placement/x",
		"/placement":                    " http://h/placement/x",
		"/placement?a=b":                " http://h/placement/x",
		"/%70lacement/traits":           "/traits http://h/placement/x",
		"/traits":                       "/traits http://h/x",
		"/":                             "/ http://h/x",
		"/placements":                   "/placements http://h/x",
		"/placement/placement/traits":   "/placement/traits http://h/placement/x",
		"/resource_providers/placement": "/resource_providers/placement http://h/x",
	} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "h"
		if got := answerTo(f, r).Body.String(); got != want+" 192.0.2.1:1234" {
			t.Errorf("%s is seen as %q, want %q", path, got, want)
		}
		if r.URL.Path == "" {
			t.Errorf("%s: the request was changed", path)
		}
	}
}

func TestForwarded(t *testing.T) {
	type headers map[string]string
	for _, tc := range []struct {
		name string
		h    headers
		want string // URL and client; empty: as without headers
	}{
		{"Nothing", nil, ""},
		{
			"Forwarded",
			headers{"Forwarded": `for=192.0.2.60;proto=https;host=api.example.org`},
			"https://api.example.org/x 192.0.2.60",
		},
		{
			"Quoted",
			headers{"Forwarded": `For="[2001:db8::1]:4711"; Proto=HTTPS ;Host="api:8443"`},
			"https://api:8443/x 2001:db8::1",
		},
		{
			"FirstOfTrusted",
			headers{"Forwarded": `for=192.0.2.60;proto=https;host=outer, for=10.0.0.1;host=inner`},
			"https://outer/x 192.0.2.60",
		},
		{
			"ForgedByTheClient",
			headers{"Forwarded": `for=1.1.1.1;host=evil, for=192.0.2.60;host=api, for=10.0.0.1;host=inner`},
			"http://api/x 192.0.2.60",
		},
		{"AllTrusted", headers{"Forwarded": `for=10.0.0.2;host=outer, for=10.0.0.1;host=inner`}, "http://outer/x 10.0.0.2"},
		{"Hidden", headers{"Forwarded": `for=_hidden;host=api`}, "http://api/x _hidden"},
		{"ForwardedWins", headers{"Forwarded": `proto=https`, "X-Forwarded-Host": "other"}, "https://h/x 127.0.0.1:9"},
		{
			"Older",
			headers{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "api", "X-Forwarded-For": "192.0.2.60"},
			"https://api/x 192.0.2.60",
		},
		{"ProtoAlone", headers{"X-Forwarded-Proto": "https"}, "https://h/x 127.0.0.1:9"},
		{"DefaultPort", headers{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "api:443"}, "https://api/x 127.0.0.1:9"},
		{"OtherPort", headers{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "api:80"}, "https://api:80/x 127.0.0.1:9"},
		{"PortIsNotRead", headers{"X-Forwarded-Port": "8443"}, ""},
		{
			"Chain",
			headers{"X-Forwarded-For": "1.1.1.1, 192.0.2.60, 10.0.0.1", "X-Forwarded-Host": "evil, api, inner"},
			"http://api/x 192.0.2.60",
		},
		{
			"NearestSetsTheRest",
			headers{"X-Forwarded-For": "1.1.1.1, 192.0.2.60", "X-Forwarded-Proto": "https"},
			"https://h/x 192.0.2.60",
		},
		{"WithPort", headers{"X-Forwarded-For": "192.0.2.60:4711"}, "http://h/x 192.0.2.60"},
		{"Prefix", headers{"X-Forwarded-Prefix": "/placement/"}, "http://h/placement/x 127.0.0.1:9"},
		{
			"PrefixBesideForwarded",
			headers{"Forwarded": "proto=https", "X-Forwarded-Prefix": "/p"},
			"https://h/p/x 127.0.0.1:9",
		},
		{"NoScheme", headers{"X-Forwarded-Proto": "javascript"}, ""},
		{"NoHost", headers{"X-Forwarded-Host": `a"><b`}, ""},
		{"NoPrefix", headers{"X-Forwarded-Prefix": "//evil.example"}, ""},
		{"NoClient", headers{"X-Forwarded-For": "a b"}, ""},
		{"Empty", headers{"Forwarded": "", "X-Forwarded-For": " , "}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := func(s httpserver.FrontSettings, peer string) string {
				r := httptest.NewRequest("GET", "/t", nil)
				r.Host, r.RemoteAddr = "h", peer
				for name, value := range tc.h {
					r.Header.Set(name, value)
				}
				return answerTo(httpserver.NewFront(seen, s, nil), r).Body.String()
			}
			want := "/t " + tc.want
			if tc.want == "" {
				want = "/t http://h/x 127.0.0.1:9"
			}
			if got := request(httpserver.FrontSettings{Forwarded: true, Proxies: loopback}, "127.0.0.1:9"); got != want {
				t.Errorf("from a proxy: %q, want %q", got, want)
			}
			got := request(httpserver.FrontSettings{Forwarded: true, Proxies: loopback}, "192.0.2.9:9")
			if got != "/t http://h/x 192.0.2.9:9" {
				t.Errorf("from a stranger: %q", got)
			}
			if got := request(httpserver.FrontSettings{Proxies: loopback}, "127.0.0.1:9"); got != "/t http://h/x 127.0.0.1:9" {
				t.Errorf("with parsing turned off: %q", got)
			}
		})
	}
}

func TestForwardedFromAProxyThatStripsAndAPrefix(t *testing.T) {
	f := httpserver.NewFront(seen, httpserver.FrontSettings{Prefix: "/placement", Forwarded: true, Proxies: loopback}, nil)
	r := httptest.NewRequest("GET", "/placement/t", nil)
	r.Host, r.RemoteAddr = "h", "[::ffff:127.0.0.1]:9"
	r.Header.Set("X-Forwarded-Prefix", "/cloud")
	if got := answerTo(f, r).Body.String(); !strings.HasPrefix(got, "/t http://h/cloud/placement/x") {
		t.Errorf("the request is seen as %q", got)
	}
}

// Over a real Unix socket, whose peers have no address.
func TestForwardedOverAUnixSocket(t *testing.T) {
	for trusted, want := range map[bool]string{true: "https://api/x", false: "http://h/x"} {
		f := httpserver.NewFront(seen, httpserver.FrontSettings{
			Forwarded: true, Proxies: httpserver.Proxies{Unix: trusted},
		}, nil)
		path := startUnix(t, f)
		req, err := http.NewRequest("GET", "http://h/t", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Forwarded", "proto=https;host=api")
		_, body := do(t, unixClient(t, path), req)
		if !strings.HasPrefix(body, "/t "+want) {
			t.Errorf("trusted %v: the request is seen as %q, want %s", trusted, body, want)
		}
	}
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	g := gate{make(chan struct{}), make(chan struct{})}
	f := httpserver.NewFront(g, httpserver.FrontSettings{MaxRequests: 2}, httpserver.NewMetrics(reg))
	done := make(chan int)
	send := func() { done <- answerTo(f, httptest.NewRequest("GET", "/x", nil)).Code }
	for range 2 {
		go send()
		<-g.entered
	}
	w := answerTo(f, httptest.NewRequest("GET", "/x", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Body.String() != "Too many requests are under way.\n" {
		t.Errorf("a third request is answered with %d %v %s", w.Code, w.Header(), w.Body)
	}
	own := func(w http.ResponseWriter, r *http.Request, status int, detail string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "%s: %s", r.URL.Path, detail)
	}
	f.Set(httpserver.FrontSettings{MaxRequests: 2, Refuse: own})
	if w := answerTo(f, httptest.NewRequest("GET", "/x", nil)); w.Code != 503 ||
		w.Body.String() != "/x: Too many requests are under way." {
		t.Errorf("with an answer of its own it is %d %s", w.Code, w.Body)
	}
	f.Set(httpserver.FrontSettings{MaxRequests: 3})
	go send()
	<-g.entered
	for range 3 {
		g.leave <- struct{}{}
		if code := <-done; code != 200 {
			t.Errorf("a request within the bound is answered with %d", code)
		}
	}
	go send()
	<-g.entered // there is room again
	g.leave <- struct{}{}
	<-done
	want := "# HELP berth_http_requests_refused_total Requests that were refused because too many were under way.\n" +
		"# TYPE berth_http_requests_refused_total counter\nberth_http_requests_refused_total 2\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "berth_http_requests_refused_total"); err != nil {
		t.Error(err)
	}
}

func TestSwitch(t *testing.T) {
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	}
	s := httpserver.NewSwitch(answer("before"))
	for _, want := range []string{"before", "after"} {
		if got := answerTo(s, httptest.NewRequest("GET", "/x", nil)).Body.String(); got != want {
			t.Errorf("answer is %q, want %q", got, want)
		}
		s.Set(answer("after"))
	}
}

// Whatever a proxy sends, a Location is a URL of this service.
func FuzzForwarded(f *testing.F) {
	f.Add(`for="[2001:db8::1]:4711";proto=https;host=api, for=10.0.0.1`, "10.0.0.1, 1.2.3.4", "api:443", "/p")
	f.Add("", "unknown,,", "a b", "//x")
	sound := regexp.MustCompile(`^https?://[A-Za-z0-9.:_\[\]-]*(/[A-Za-z0-9._~-]+)*/x$`)
	f.Fuzz(func(t *testing.T, forwarded, client, host, prefix string) {
		r := httptest.NewRequest("GET", "/t", nil)
		r.RemoteAddr = "127.0.0.1:9"
		r.Header = http.Header{
			"Forwarded": {forwarded}, "X-Forwarded-For": {client}, "X-Forwarded-Host": {host}, "X-Forwarded-Prefix": {prefix},
		}
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if url := httpserver.AbsoluteURL(r, "/x"); !sound.MatchString(url) {
				t.Errorf("the URL is %q", url)
			}
			if len(r.RemoteAddr) > 255 || strings.ContainsAny(r.RemoteAddr, " \n\"") {
				t.Errorf("the client is %q", r.RemoteAddr)
			}
		})
		answerTo(httpserver.NewFront(h, httpserver.FrontSettings{Forwarded: true, Proxies: loopback}, nil), r)
	})
}

// startUnix serves h at a Unix socket until the test ends.
func startUnix(t *testing.T, h http.Handler) (path string) {
	t.Helper()
	path = t.TempDir() + "/s.sock"
	ln, err := httpserver.ListenUnix(context.Background(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, ln, h, httpserver.ServeOptions{})
	return path
}

func unixClient(t *testing.T, path string) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func answerTo(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// do sends a request and returns the answer and its body.
func do(t *testing.T, c *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}
