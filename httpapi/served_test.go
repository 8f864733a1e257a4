package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves h until the test ends and returns its address.
func start(t *testing.T, h http.Handler, opts httpserver.ServeOptions) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- httpserver.Serve(ctx, ln, h, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
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

func TestOptionsStarIsRouted(t *testing.T) {
	addr := start(t, httpapi.New(config()), httpserver.ServeOptions{})
	got := send(t, addr, "OPTIONS * HTTP/1.1\r\nHost: h\r\nX-Auth-Token: a\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 404 ") {
		t.Errorf("answer is %q, want 404", got)
	}
}

func TestSlowBodyIsCutOff(t *testing.T) {
	addr := start(t, httpapi.New(config()), httpserver.ServeOptions{ReadTimeout: 50 * time.Millisecond})
	got := send(t, addr, "POST /resource_providers HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") ||
		!strings.Contains(got, `{"errors": [{"status": 408`) {
		t.Errorf("answer is %q, want 408", got)
	}
}

func TestLinksAndLogShowTheMount(t *testing.T) {
	a, log := serveOne(func(w http.ResponseWriter, _ *http.Request) error {
		return httpapi.Respond(w, 200, func(j *httpapi.JSON) {
			j.Object()
			for _, m := range [][2]string{{"href", "/x/y"}, {"href", ""}, {"name", "/x/y"}, {"href", "http://h/"}} {
				j.Key(m[0])
				j.String(m[1])
			}
			j.Key("href")
			j.Array()
			j.String("uuid")
			j.EndArray()
			j.EndObject()
		})
	})
	f := httpserver.NewFront(a, httpserver.FrontSettings{Prefix: "/placement"}, nil)
	for path, mount := range map[string]string{"/x/y": "", "/placement/x/y": "/placement"} {
		log.Reset()
		want := `{"href": "` + mount + `/x/y", "href": "", "name": "/x/y", "href": "http://h/", "href": ["uuid"]}`
		if got := answerTo(f, request("GET", path, "")).Body.String(); got != want {
			t.Errorf("%s is answered with %s, want %s", path, got, want)
		}
		if !strings.Contains(log.String(), `"path":"`+path+`","route":"/x/{name}"`) {
			t.Errorf("%s is logged as %s", path, log)
		}
	}
}

func TestUnavailable(t *testing.T) {
	detail := "starting: reading 40000 providers"
	s := httpserver.NewSwitch(httpapi.Unavailable(nil, func() string { return detail }))
	w := answerTo(s, request("PUT", "/x", ""))
	if e := firstError(t, w); w.Code != 503 || w.Header().Get("Retry-After") != "1" ||
		!strings.Contains(e["detail"].(string), detail) {
		t.Errorf("answer is %d %v", w.Code, e)
	}
	r := request("GET", "/x", "")
	r.Header.Set("Accept", "text/plain")
	if w := answerTo(s, r); w.Header().Get("Content-Type") != "text/plain; charset=UTF-8" ||
		!strings.HasPrefix(w.Body.String(), "503 Service Unavailable") {
		t.Errorf("answer in plain text is %v %s", w.Header(), w.Body)
	}
	s.Set(http.NotFoundHandler())
	if w := answerTo(s, request("GET", "/x", "")); w.Code != 404 {
		t.Errorf("after Set the answer is %d", w.Code)
	}
}

// What is turned off leaves the answer of the wire as it was, byte for byte but
// for what is different each time.
func TestFrontThatIsOffChangesNothing(t *testing.T) {
	a := httpapi.New(config())
	plain := start(t, a, httpserver.ServeOptions{})
	fronted := start(t, httpserver.NewFront(a, httpserver.FrontSettings{}, nil), httpserver.ServeOptions{})
	for _, raw := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nForwarded: proto=https\r\nConnection: close\r\n\r\n",
		"GET /traits HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\nContent-Length: x\r\n\r\n",
		"PUT /traits HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\nConnection: close\r\n\r\n",
	} {
		same := func(s string) string {
			lines := strings.Split(anyID.ReplaceAllString(s, "req-ID"), "\r\n")
			for i, line := range lines {
				if strings.HasPrefix(line, "Date:") || strings.HasPrefix(line, "Last-Modified:") {
					lines[i] = ""
				}
			}
			return strings.Join(lines, "\n")
		}
		if diff := cmp.Diff(same(send(t, plain, raw)), same(send(t, fronted, raw))); diff != "" {
			t.Errorf("%q (-without +with a front):\n%s", raw, diff)
		}
	}
}
