package httpserver_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/berthcloud/berth/httpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves h until the test ends and returns its address, what stops it,
// and what Serve returned.
func start(t *testing.T, h http.Handler, opts httpserver.ServeOptions) (addr string, stop func(), done <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop, done = serve(t, ln, h, opts)
	return ln.Addr().String(), stop, done
}

// serve serves h at ln until the test ends.
func serve(
	t *testing.T, ln net.Listener, h http.Handler, opts httpserver.ServeOptions,
) (stop func(), done <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		result <- httpserver.Serve(ctx, ln, h, opts)
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

// What net/http cannot read as a request it answers by itself, in plain text, and closes the
// connection. No handler sees it.
func TestMalformedRequests(t *testing.T) {
	t.Run("HTTP1", func(t *testing.T) { malformedRequests(t, false) })
	// net/http begins to read another way when it must find out which it is.
	t.Run("HTTP2Too", func(t *testing.T) { malformedRequests(t, true) })
}

func malformedRequests(t *testing.T, http2 bool) {
	addr, _, _ := start(t, seen, httpserver.ServeOptions{MaxHeaderBytes: 1 << 10, HTTP2: http2})
	const head = "GET /traits HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\n"
	for _, tc := range []struct{ name, raw, status string }{
		{"NoRequest", "garbage, and enough of it\r\n\r\n", "400 Bad Request"},
		{"NoHost", "GET / HTTP/1.1\r\n\r\n", "400 Bad Request"},
		{"BadEscape", "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "400 Bad Request"},
		{"HugeHeader", head + "X: " + strings.Repeat("x", 8<<10) + "\r\n\r\n", "431 Request Header Fields Too Large"},
		{"NewVersion", "GET / HTTP/7.0\r\nHost: h\r\n\r\n", "505 HTTP Version Not Supported"},
		{"StrangeEncoding", head + "Transfer-Encoding: gold\r\n\r\n", "501 Not Implemented"},
		{"LengthNoNumber", head + "Content-Length: hi mom\r\n\r\n", "400 Bad Request"},
		{"LengthHexadecimal", head + "Content-Length: 0x3\r\n\r\nabc", "400 Bad Request"},
		{"LengthNegative", head + "Content-Length: -1\r\n\r\n", "400 Bad Request"},
		{"LengthEmpty", head + "Content-Length: \r\n\r\n", "400 Bad Request"},
		{"TwoLengths", head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", "400 Bad Request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := send(t, addr, tc.raw)
			res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
			if err != nil {
				t.Fatalf("answer is %q: %v", got, err)
			}
			res.Body.Close()
			media := res.Header.Get("Content-Type")
			// net/http writes 501 without a text and without a type, and reasons into some status lines.
			if !strings.HasPrefix(res.Status, tc.status) || !res.Close || media != "" && media != "text/plain; charset=utf-8" {
				t.Errorf("answer is %q, want %s in plain text, and the connection closed", got, tc.status)
			}
		})
	}
}

// Answers without a body have no length, and the connection is good for the next request: with 204
// and 304 the header's end is that of the answer (RFC 9112, section 6.3).
func TestConnectionsAreUsedAgainAfterEmptyAnswers(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Kept", "yes")
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "hello")
		}
	})
	a := newAuthority(t)
	files := a.files(t.TempDir(), "one", time.Now().Add(time.Hour))
	plain, _, _ := start(t, h, httpserver.ServeOptions{})
	secure, _, _ := startTLS(t, h, files, httpserver.ServeOptions{})
	for name, base := range map[string]string{"Plain": "http://" + plain, "TLS": "https://" + secure} {
		t.Run(name, func(t *testing.T) {
			client := a.client(nil)
			defer client.CloseIdleConnections()
			opened := 0
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
				if !c.Reused {
					opened++
				}
			}})
			for _, tc := range []struct {
				method, path string
				status       int
				length       []string
				body         string
			}{
				{"DELETE", "/none", 204, nil, ""},
				{"GET", "/same", 304, nil, ""},
				{"HEAD", "/text", 200, []string{"5"}, ""},
				{"HEAD", "/none", 204, nil, ""},
				{"GET", "/text", 200, []string{"5"}, "hello"},
			} {
				r, err := http.NewRequestWithContext(ctx, tc.method, base+tc.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, body := do(t, client, r)
				if res.StatusCode != tc.status || !slices.Equal(res.Header["Content-Length"], tc.length) || body != tc.body ||
					res.Header.Get("X-Kept") != "yes" {
					t.Errorf("%s %s = %s %v %q, want %d with length %v and body %q",
						tc.method, tc.path, res.Status, res.Header, body, tc.status, tc.length, tc.body)
				}
			}
			if opened != 1 {
				t.Errorf("%d connections were opened, want 1", opened)
			}
		})
	}
	got := send(t, plain, "DELETE /none HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.0 204 ") || !strings.Contains(got, "Connection: close\r\n") {
		t.Errorf("a request of HTTP/1.0 is answered with %q, want 204 and a closed connection", got)
	}
}

func TestHandlersAnswersPassUntouched(t *testing.T) {
	const text = "400 Bad Request"
	addr, _, _ := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, text, http.StatusBadRequest)
	}), httpserver.ServeOptions{})
	got := send(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if !strings.HasSuffix(got, "\r\n\r\n"+text+"\n") {
		t.Errorf("answer is %q", got)
	}
}

// Where a request ends is not sure with both lengths: what follows on the connection is not
// taken for another request.
func TestTwoLengthsCloseTheConnection(t *testing.T) {
	addr, _, _ := start(t, seen, httpserver.ServeOptions{HTTP2: true})
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

func TestSlowHeaderIsCutOff(t *testing.T) {
	addr, _, _ := start(t, seen, httpserver.ServeOptions{ReadHeaderTimeout: 50 * time.Millisecond})
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
	addr, stop, done := start(t, g, httpserver.ServeOptions{})
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
	addr, stop, done := start(t, g, httpserver.ServeOptions{StopTimeout: 20 * time.Millisecond})
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
	if err := httpserver.Serve(context.Background(), ln, http.NotFoundHandler(), httpserver.ServeOptions{}); err == nil {
		t.Error("Serve on a closed listener returned nil")
	}
}

func TestOps(t *testing.T) {
	reg := prometheus.NewRegistry()
	httpserver.NewMetrics(reg)
	isReady, detail := true, ""
	h := httpserver.NewOps(httpserver.OpsConfig{
		Metrics: reg, Ready: func() (bool, string) { return isReady, detail }, Profile: true,
	})
	bare := httpserver.NewOps(httpserver.OpsConfig{})
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
	check(h, "/metrics", 200, "berth_http_connections")
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
