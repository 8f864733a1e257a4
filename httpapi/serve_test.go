package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/berthcloud/berth/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves h until the test ends and returns its address, what stops it,
// and what Serve returned.
func start(t *testing.T, h http.Handler, opts httpapi.ServeOptions) (addr string, stop func(), done <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop, done = serve(t, ln, h, opts)
	return ln.Addr().String(), stop, done
}

// serve serves h at ln until the test ends.
func serve(t *testing.T, ln net.Listener, h http.Handler, opts httpapi.ServeOptions) (stop func(), done <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		result <- httpapi.Serve(ctx, ln, h, opts)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return cancel, result
}

// send writes raw bytes and returns all that comes back.
func send(t *testing.T, addr, raw string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRequestsTooBrokenForNetHTTP(t *testing.T) {
	t.Run("HTTP1", func(t *testing.T) { brokenRequests(t, false) })
	// net/http begins to read another way when it must find out which it is.
	t.Run("HTTP2Too", func(t *testing.T) { brokenRequests(t, true) })
}

func brokenRequests(t *testing.T, http2 bool) {
	addr, _, _ := start(t, httpapi.New(config()), httpapi.ServeOptions{MaxHeaderBytes: 1 << 10, HTTP2: http2})
	const (
		head      = "GET /traits HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\n"
		malformed = "The server could not comply with the request since it is either malformed or otherwise incorrect."
	)
	for _, tc := range []struct {
		name, raw, status, detail string
	}{
		{"NoRequest", "garbage, and enough of it\r\n\r\n", "400 Bad Request", malformed + `\n\n   `},
		{"NoHost", "GET / HTTP/1.1\r\n\r\n", "400 Bad Request", malformed + `\n\n missing required Host header  `},
		{"BadEscape", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request", malformed + `\n\n   `},
		{
			"HugeHeader", head + "X: " + strings.Repeat("x", 8<<10) + "\r\n\r\n", "431 Request Header Fields Too Large",
			`The request header fields were too large\n\n   `,
		},
		{
			"NewVersion", "GET / HTTP/7.0\r\nHost: h\r\n\r\n", "505 HTTP Version Not Supported",
			`The HTTP version is not supported.\n\n unsupported protocol version  `,
		},
		{"StrangeEncoding", head + "Transfer-Encoding: gold\r\n\r\n", "501 Not Implemented", `\n\n   `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := send(t, addr, tc.raw)
			got = got[strings.LastIndex(got, "HTTP/1.1 "):] // an earlier request on the connection was fine
			id := anyID.FindString(got)
			status, title, _ := strings.Cut(tc.status, " ")
			body := fmt.Sprintf(`{"errors": [{"status": %s, "title": "%s", "detail": "%s", "request_id": "%s"}]}`, status, title,
				tc.detail, id)
			want := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
				"X-Openstack-Request-Id: %s\r\nConnection: close\r\n\r\n%s", tc.status, len(body), id, body)
			if got != want {
				t.Errorf("answer is %q\nwant      %q", got, want)
			}
		})
	}
}

// A length that is none is judged where upstream does: after the caller and the
// version, before the path. An empty or negative one stands for no body.
func TestLengthsThatAreNone(t *testing.T) {
	t.Run("HTTP1", func(t *testing.T) { oddLengths(t, false) })
	t.Run("HTTP2Too", func(t *testing.T) { oddLengths(t, true) })
}

func oddLengths(t *testing.T, http2 bool) {
	addr, _, _ := start(t, httpapi.New(config()), httpapi.ServeOptions{HTTP2: http2})
	const (
		head   = "GET /traits HTTP/1.1\r\nHost: h\r\n"
		token  = "X-Auth-Token: admin\r\n"
		reason = `\n\n content-length header must be an integer  `
	)
	for _, tc := range []struct{ name, raw, status, text string }{
		{"NoNumber", head + token + "Content-Length: hi mom\r\n\r\n", "400 Bad Request", reason},
		{
			"NoNumberAnywhere", "GET /nowhere HTTP/1.1\r\nHost: h\r\n" + token + "Content-Length: 1.5\r\n\r\n",
			"400 Bad Request", reason,
		},
		{"AfterAnother", head + token + "\r\n" + head + token + "content-LENGTH:7a\r\n\r\n", "400 Bad Request", reason},
		{"NoToken", head + "Content-Length: hi mom\r\n\r\n", "401 Unauthorized", "could not verify"},
		{
			"Version", head + token + "OpenStack-API-Version: placement 0.5\r\nContent-Length: x\r\n\r\n", "406 Not Acceptable",
			"max_version",
		},
		{"Negative", head + token + "Content-Length: -1\r\n\r\n", "404 Not Found", "Openstack-Api-Version: placement 1.0"},
		{"Empty", head + token + "Content-Length: \r\n\r\n", "404 Not Found", "Openstack-Api-Version: placement 1.0"},
		{
			"Body", "POST /traits HTTP/1.1\r\nHost: h\r\n" + token + "Content-Length: 0x3\r\n\r\nabc", "400 Bad Request", reason,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := send(t, addr, tc.raw)
			got = got[strings.LastIndex(got, "HTTP/1.1 "):] // an earlier request on the connection was fine
			if !strings.HasPrefix(got, "HTTP/1.1 "+tc.status+"\r\n") || !strings.Contains(got, tc.text) ||
				!strings.Contains(got, "Connection: close\r\n") {
				t.Errorf("answer is %q, want %s with %q", got, tc.status, tc.text)
			}
		})
	}
}

// Upstream sends a length with 204 too, and clients compare headers.
func TestEmptyAnswersHaveALength(t *testing.T) {
	addr, _, _ := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Kept", "yes")
		w.WriteHeader(http.StatusNoContent)
	}), httpapi.ServeOptions{})
	got := send(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if n := strings.Count(got, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n"); n != 2 ||
		strings.Count(got, "X-Kept: yes\r\n") != 2 {
		t.Errorf("answers are %q, want two with a length of 0", got)
	}
}

func TestHandlersAnswersPassUntouched(t *testing.T) {
	const text = "400 Bad Request"
	addr, _, _ := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, text, http.StatusBadRequest)
	}), httpapi.ServeOptions{})
	got := send(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if !strings.HasSuffix(got, "\r\n\r\n"+text+"\n") {
		t.Errorf("answer is %q", got)
	}
}

func TestOptionsStarIsRouted(t *testing.T) {
	addr, _, _ := start(t, httpapi.New(config()), httpapi.ServeOptions{})
	got := send(t, addr, "OPTIONS * HTTP/1.1\r\nHost: h\r\nX-Auth-Token: a\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 404 ") {
		t.Errorf("answer is %q, want 404", got)
	}
}

// Where a request ends is not sure with both lengths: what follows on the connection is not
// taken for another request.
func TestTwoLengthsCloseTheConnection(t *testing.T) {
	addr, _, _ := start(t, seen, httpapi.ServeOptions{HTTP2: true})
	const next = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, head := range map[string]string{
		"Both": "POST /t HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"OtherOrder": "POST /t HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: " +
			"5\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n",
		"LongHeader": "POST /t HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX: " + strings.Repeat("x", 10_000) +
			"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP10": "POST /t HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: " +
			"chunked\r\nContent-Length: 0\r\n\r\n",
		"BothInHTTP10": "POST /t HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: " +
			"5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := send(t, addr, head+next)
			if strings.Count(got, "HTTP/1.") != 1 || !strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Errorf("it is answered with %q, want one answer that closes the connection", got)
			}
		})
	}
	if got := send(t, addr, "POST /t HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"+
		strings.Replace(next, "Host: h", "Host: h\r\nConnection: close", 1)); strings.Count(got, "HTTP/1.1 200") != 2 {
		t.Errorf("two requests with a length are answered with %q", got)
	}
}

func TestSlowBodyIsCutOff(t *testing.T) {
	addr, _, _ := start(t, httpapi.New(config()), httpapi.ServeOptions{ReadTimeout: 50 * time.Millisecond})
	got := send(t, addr, "POST /resource_providers HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") ||
		!strings.Contains(got, `{"errors": [{"status": 408`) {
		t.Errorf("answer is %q, want 408", got)
	}
}

func TestSlowHeaderIsCutOff(t *testing.T) {
	addr, _, _ := start(t, httpapi.New(config()), httpapi.ServeOptions{ReadHeaderTimeout: 50 * time.Millisecond})
	if got := send(t, addr, "GET / HTTP/1.1\r\nHost:"); got != "" {
		t.Errorf("answer is %q, want a closed connection", got)
	}
}

// gate is a handler that waits to be let through.
type gate struct{ entered, leave chan struct{} }

func (g gate) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.entered <- struct{}{}
	<-g.leave
	io.WriteString(w, "done")
}

func TestStopLetsRequestsFinish(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	addr, stop, done := start(t, g, httpapi.ServeOptions{})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	<-g.entered
	stop()
	close(g.leave)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "done" {
		t.Errorf("answer is %q, %v", b, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve = %v, want an orderly stop", err)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

func TestStopDoesNotWaitForever(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	addr, stop, done := start(t, g, httpapi.ServeOptions{StopTimeout: 20 * time.Millisecond})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	<-g.entered
	stop()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Serve = %v, want it to say that a request was cut off", err)
	}
	close(g.leave)
}

func TestServeReportsABrokenListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := httpapi.Serve(context.Background(), ln, http.NotFoundHandler(), httpapi.ServeOptions{}); err == nil {
		t.Error("Serve on a closed listener returned nil")
	}
}

func TestOps(t *testing.T) {
	reg := prometheus.NewRegistry()
	answerTo(httpapi.New(measured(reg)), request("GET", "/", ""))
	isReady, detail := true, ""
	h := httpapi.NewOps(httpapi.OpsConfig{
		Metrics: reg, Ready: func() (bool, string) { return isReady, detail }, Profile: true,
	})
	bare := httpapi.NewOps(httpapi.OpsConfig{})
	get := func(h http.Handler, path string) (int, string) {
		w := answerTo(h, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	check := func(h http.Handler, path string, status int, text string) {
		t.Helper()
		if code, body := get(h, path); code != status || !strings.Contains(body, text) {
			t.Errorf("GET %s = %d %q, want %d with %q", path, code, body, status, text)
		}
	}
	check(h, "/metrics", 200, "berth_http_requests_in_flight")
	check(h, "/healthz", 200, "ok")
	check(h, "/readyz", 200, "ok")
	check(h, "/debug/pprof/cmdline", 200, "")
	isReady = false
	check(h, "/readyz", 503, "not ready")
	detail = "loading the snapshot"
	check(h, "/readyz", 503, "loading the snapshot")
	check(h, "/healthz", 200, "ok")
	check(bare, "/readyz", 200, "ok")
	check(bare, "/metrics", 404, "")
	check(bare, "/debug/pprof/", 404, "")
}

func measured(reg prometheus.Registerer) httpapi.Config {
	c := config()
	c.Metrics = httpapi.NewMetrics(reg)
	return c
}

// What the handler does not see is answered in the format that it is given.
func TestRejectionsHaveAFormat(t *testing.T) {
	as := func(p httpapi.Problem) (media string, body []byte) {
		return "text/x-mine", fmt.Appendf(nil, "%d|%s|%t", p.Status, p.Detail, p.Unserved)
	}
	addr, _, _ := start(t, seen, httpapi.ServeOptions{MaxHeaderBytes: 1 << 10, Format: as})
	for raw, want := range map[string]string{
		"garbage, and enough of it\r\n\r\n": "400|The server could not comply with the request since it is either " +
			"malformed or otherwise incorrect.|true",
		"GET / HTTP/1.1\r\n\r\n": "400|missing required Host header|true",
		"GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n": "431|The request header fields were " +
			"too large|true",
		"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gold\r\n\r\n": "501|Not Implemented|true",
		"GET / HTTP/7.0\r\nHost: h\r\n\r\n":                            "505|unsupported protocol version|true",
	} {
		got := send(t, addr, raw)
		if !strings.Contains(got, "\r\nContent-Type: text/x-mine\r\n") || !strings.HasSuffix(got, "\r\n\r\n"+want) ||
			!strings.Contains(got, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(want))) {
			t.Errorf("the answer is %q, want %s", got, want)
		}
	}
	limit := httpapi.NewConnLimit(httpapi.LimitSettings{PerClient: 1}, httpapi.NewMetrics(prometheus.NewRegistry()))
	addr, _, _ = start(t, seen, httpapi.ServeOptions{Format: as, Limit: limit})
	hold(t, addr)
	got := send(t, addr, "GET /t HTTP/1.1\r\nHost: h\r\n\r\n")
	if !strings.HasSuffix(got, "503|This client has too many connections.|true") {
		t.Errorf("with too many connections the answer is %q", got)
	}
}
