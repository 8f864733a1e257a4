package placementapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/logging"
)

// reads are the requests that compute agents and schedulers send all day, by
// name.
var reads = []struct{ name, path string }{
	{"root", "/"},
	{"tree", "/resource_providers?in_tree=" + benchHost},
	{"inventories", "/resource_providers/" + benchHost + "/inventories"},
	{"aggregates", "/resource_providers/" + benchHost + "/aggregates"},
	{"traits", "/resource_providers/" + benchHost + "/traits"},
	{"usages", "/resource_providers/" + benchHost + "/usages"},
	{"allocations-on", "/resource_providers/" + benchHost + "/allocations"},
	{"allocations-of", "/allocations/" + benchServer},
	{"candidates", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=HW_CPU_X86_VMX&limit=10"},
	{"no-candidates", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=HW_CPU_X86_SSE&limit=10"},
}

const (
	benchHost   = "11111111-1111-4111-8111-111111111111"
	benchServer = "22222222-2222-4222-8222-222222222222"
)

// benchSnapshot makes one host that has all there is, and a server on it.
func benchSnapshot(b *testing.B, h http.Handler) {
	b.Helper()
	for _, step := range []struct{ method, path, body string }{
		{"POST", "/resource_providers", `{"name": "cn1", "uuid": "` + benchHost + `"}`},
		{"PUT", "/resource_providers/" + benchHost + "/inventories", `{"resource_provider_generation": 0, "inventories": {
			"VCPU": {"total": 64, "allocation_ratio": 16.0}, "MEMORY_MB": {"total": 262144, "reserved": 512}, "DISK_GB": {"total": 2000}}}`},
		{
			"PUT", "/resource_providers/" + benchHost + "/traits",
			`{"resource_provider_generation": 1, "traits": ["COMPUTE_NODE", "COMPUTE_VOLUME_ATTACH", "HW_CPU_X86_AVX2", ` +
				`"HW_CPU_X86_VMX"]}`,
		},
		{
			"PUT", "/resource_providers/" + benchHost + "/aggregates",
			`{"resource_provider_generation": 2, "aggregates": ["33333333-3333-4333-8333-333333333333"]}`,
		},
		{"PUT", "/allocations/" + benchServer, `{"allocations": {"` + benchHost + `": {"resources": {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}}},
			"project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`},
	} {
		r := benchRequest(step.method, step.path, step.body)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code >= 300 {
			b.Fatalf("%s %s: %d %s", step.method, step.path, w.Code, w.Body)
		}
	}
}

// benchRequest is a request as clients of OpenStack send it.
func benchRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, http.NoBody)
	if body != "" {
		r = httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	r.Header.Set("X-Openstack-Request-Id", "req-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a11")
	return r
}

// BenchmarkReads sends reads over a kept connection, to the API as the program
// serves it and to a bare handler that writes the same bytes. CPU is that of
// client and server together; the client does next to nothing.
func BenchmarkReads(b *testing.B) {
	api, metrics := benchAPI(b)
	served := serveForBench(b, api, metrics)
	for _, read := range reads {
		b.Run("berth/"+read.name, func(b *testing.B) { queryAgain(b, served, read.path) })
	}
	for _, read := range reads {
		bare := serveBare(b, api, read.path)
		b.Run("bare/"+read.name, func(b *testing.B) { queryAgain(b, bare, read.path) })
	}
}

// benchAPI returns what the program serves, with a log file and metrics.
func benchAPI(b *testing.B) (http.Handler, *httpserver.Metrics) {
	b.Helper()
	log, out, err := logging.Open(logging.Options{File: filepath.Join(b.TempDir(), "berth.log"), Text: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { out.Close() })
	reg := prometheus.NewRegistry()
	requests, metrics := httpapi.NewMetrics(reg), httpserver.NewMetrics(reg)
	api := newAPI(b, func(c *httpapi.Config) { c.Log, c.Metrics = log, requests })
	benchSnapshot(b, api)
	return httpserver.NewFront(api, httpserver.FrontSettings{MaxRequests: 2000, CompressMinSize: 1400}, metrics), metrics
}

// BenchmarkHandling answers reads without a connection: what Berth adds to
// net/http and the kernel.
func BenchmarkHandling(b *testing.B) {
	api, _ := benchAPI(b)
	for _, read := range reads {
		b.Run(read.name, func(b *testing.B) {
			r := benchRequest("GET", read.path, "")
			r.RemoteAddr = "127.0.0.1:40000"
			w := &discard{header: make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				api.ServeHTTP(w, r)
			}
			if w.status != http.StatusOK {
				b.Fatalf("the last answer is %d", w.status)
			}
		})
	}
}

// A discard takes answers and forgets them.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// serveForBench serves h as the program does and returns its address.
func serveForBench(b *testing.B, h http.Handler, m *httpserver.Metrics) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	limit := httpserver.NewConnLimit(httpserver.LimitSettings{}, m)
	go func() { ended <- httpserver.Serve(ctx, ln, h, httpserver.ServeOptions{Limit: limit, Metrics: m}) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return ln.Addr().String()
}

// serveBare serves what the API answers to a path from memory.
func serveBare(b *testing.B, api http.Handler, path string) string {
	b.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, benchRequest("GET", path, ""))
	if w.Code != http.StatusOK {
		b.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	body := w.Body.Bytes()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body)
	}))
	b.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// askAgain sends the same request over one connection. All answers to it have
// the same length.
func queryAgain(b *testing.B, addr, path string) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: python-requests/2.31.0\r\n" +
		"Accept: application/json\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n" +
		"X-Openstack-Request-Id: req-7b0a2a36-6c2a-4b19-9bb0-0d6d7f3e1a11\r\n\r\n")
	answer := make([]byte, answerSize(b, c, request))
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 OK\r\n")) {
		b.Fatalf("the last answer is %s", answer)
	}
}

// answerSize sends the request once and returns the length of its answer.
func answerSize(b *testing.B, c net.Conn, request []byte) int {
	b.Helper()
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	var whole bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReaderSize(io.TeeReader(c, &whole), 1<<20), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Fatal(err)
	}
	return whole.Len()
}

// cpuTime returns what the process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
