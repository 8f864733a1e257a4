package httpserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/internal/certtest"
)

// An authority signs certificates for servers and clients.
type authority struct {
	*certtest.Authority
	t *testing.T
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return &authority{certtest.NewAuthority(t, x509.Certificate{KeyUsage: x509.KeyUsageCertSign}), t}
}

// sign returns a certificate and its key for 127.0.0.1, both in PEM format.
func (a *authority) sign(name string, until time.Time) (cert, key []byte) {
	a.t.Helper()
	return a.Sign(x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// files writes a certificate of the name and its key into a directory.
func (a *authority) files(dir, name string, until time.Time) httpserver.TLSFiles {
	a.t.Helper()
	cert, key := a.sign(name, until)
	f := httpserver.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	write(a.t, f.Cert, cert)
	write(a.t, f.Key, key)
	return f
}

// write replaces a file as a careful tool does.
func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// client returns a client that trusts the authority and speaks HTTP/2 when it is
// offered.
func (a *authority) client(change func(*tls.Config)) *http.Client {
	roots := a.Roots()
	cfg := &tls.Config{RootCAs: roots}
	if change != nil {
		change(cfg)
	}
	tr := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	a.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// A log collects lines from several goroutines.
type logged struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startTLS serves h over TLS.
func startTLS(
	t *testing.T, h http.Handler, files httpserver.TLSFiles, opts httpserver.ServeOptions,
) (addr string, certs *httpserver.Certificates, log *logged) {
	t.Helper()
	log = new(logged)
	certs, err := httpserver.LoadCertificates(files, slog.New(slog.NewTextHandler(log, nil)), opts.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	opts.TLS = certs
	addr, _, _ = start(t, h, opts)
	return addr, certs, log
}

// name returns the name in the certificate that the server shows to a new
// connection.
func (a *authority) name(addr string) string {
	a.t.Helper()
	roots := a.Roots()
	c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots})
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func (a *authority) get(c *http.Client, url string) (*http.Response, string) {
	a.t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	return do(a.t, c, r)
}

func TestTLSAndProtocols(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t.TempDir(), "one", time.Now().Add(time.Hour))
	for _, http2 := range []bool{true, false} {
		addr, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{HTTP2: http2})
		res, body := a.get(a.client(nil), "https://"+addr+"/t")
		if (res.ProtoMajor == 2) != http2 || !strings.HasPrefix(body, "/t https://"+addr+"/x ") {
			t.Errorf("HTTP2 %v: answer over %s is %q", http2, res.Proto, body)
		}
	}
}

func TestPlainRequestsAtATLSPortGetAnError(t *testing.T) {
	a := newAuthority(t)
	reg := prometheus.NewRegistry()
	addr, _, _ := startTLS(t, seen, a.files(t.TempDir(), "one", time.Now().Add(time.Hour)),
		httpserver.ServeOptions{Metrics: httpserver.NewMetrics(reg)})
	got := send(t, addr, "GET /traits HTTP/1.1\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") || !strings.Contains(got, "use https") {
		t.Errorf("answer is %q", got)
	}
	if n := value(t, reg, "berth_tls_handshake_failures_total"); n != 1 {
		t.Errorf("%v handshakes failed, want 1", n)
	}
}

// value returns a counter or gauge without labels.
func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// A client that connects and sends nothing keeps no other one from being served.
func TestSilentClientsHoldUpNobody(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t.TempDir(), "one", time.Now().Add(time.Hour))
	dial := func(addr string) net.Conn {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	addr, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{ReadHeaderTimeout: time.Hour})
	for range 20 {
		dial(addr)
	}
	if res, _ := a.get(a.client(nil), "https://"+addr+"/t"); res.StatusCode != 200 {
		t.Errorf("status is %d", res.StatusCode)
	}
	// Another server does not wait an hour for them.
	impatient, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{ReadHeaderTimeout: time.Millisecond})
	if got := readAll(t, dial(impatient)); got != "" {
		t.Errorf("a silent client gets %q, want a closed connection", got)
	}
}

func TestClientCertificates(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	files := a.files(dir, "one", time.Now().Add(time.Hour))
	files.ClientCA = filepath.Join(dir, "ca.pem")
	write(t, files.ClientCA, a.PEM())
	addr, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{HTTP2: true})
	for name, tc := range map[string]struct {
		signer *authority
		ok     bool
	}{"Right": {a, true}, "Stranger": {other, false}, "None": {nil, false}} {
		c := a.client(func(cfg *tls.Config) {
			if tc.signer == nil {
				return
			}
			pair, err := tls.X509KeyPair(tc.signer.sign("client", time.Now().Add(time.Hour)))
			if err != nil {
				t.Fatal(err)
			}
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		})
		res, err := c.Get("https://" + addr + "/t")
		if err == nil {
			res.Body.Close()
		}
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOldestVersionOfTLS(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t.TempDir(), "one", time.Now().Add(time.Hour))
	for _, tc := range []struct {
		least, spoken uint16
		ok            bool
	}{
		{0, tls.VersionTLS11, false},
		{0, tls.VersionTLS12, true},
		{tls.VersionTLS13, tls.VersionTLS12, false},
		{tls.VersionTLS13, tls.VersionTLS13, true},
	} {
		files.MinVersion = tc.least
		addr, _, _ := startTLS(t, seen, files, httpserver.ServeOptions{})
		c := a.client(func(cfg *tls.Config) { cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tc.spoken })
		res, err := c.Get("https://" + addr + "/t")
		if err == nil {
			res.Body.Close()
		}
		if (err == nil) != tc.ok {
			t.Errorf("at least %x, spoken %x: %v", tc.least, tc.spoken, err)
		}
	}
}

// Connections that stand survive a new certificate; a broken pair changes
// nothing and gets an error.
func TestReloadOfCertificates(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	files := a.files(dir, "one", time.Now().Add(time.Hour))
	reg := prometheus.NewRegistry()
	addr, certs, _ := startTLS(t, seen, files, httpserver.ServeOptions{Metrics: httpserver.NewMetrics(reg)})
	roots := a.Roots()
	standing, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer standing.Close()

	until := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	a.files(dir, "two", until)
	if err := certs.Reload(files); err != nil {
		t.Fatal(err)
	}
	if got := a.name(addr); got != "two" {
		t.Errorf("after Reload the certificate is of %q", got)
	}
	if at := value(t, reg, "berth_tls_certificate_expiry_seconds"); at != float64(until.Unix()) {
		t.Errorf("the certificate expires at %v, want %v", at, until.Unix())
	}
	for name, spoil := range map[string]func(){
		"Garbage":  func() { write(t, files.Cert, []byte("no certificate")) },
		"WrongKey": func() { _, key := a.sign("x", until); write(t, files.Key, key) },
		"Expired":  func() { a.files(dir, "old", time.Now().Add(-time.Hour)) },
		"Missing":  func() { os.Remove(files.Key) },
	} {
		spoil()
		if err := certs.Reload(files); err == nil || !strings.Contains(err.Error(), files.Cert) {
			t.Errorf("%s: Reload = %v", name, err)
		}
		if got := a.name(addr); got != "two" {
			t.Errorf("%s: the certificate is of %q", name, got)
		}
		a.files(dir, "three", until)
	}
	want := "# HELP berth_tls_loads_total Attempts to read the TLS files, by outcome: ok, " +
		"failed.\n# TYPE berth_tls_loads_total counter\n" +
		"berth_tls_loads_total{outcome=\"failed\"} 4\nberth_tls_loads_total{outcome=\"ok\"} 2\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "berth_tls_loads_total"); err != nil {
		t.Error(err)
	}
	fmt.Fprint(standing, "GET /t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if got := readAll(t, standing); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Errorf("the connection from before is answered with %q", got)
	}
}

// eventually waits for what happens by itself, within a bound.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hangTime); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestChangedCertificatesAreNoticed(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	files := a.files(dir, "one", time.Now().Add(time.Hour))
	addr, _, log := startTLS(t, seen, files, httpserver.ServeOptions{})
	a.files(dir, "second", time.Now().Add(time.Hour))
	eventually(t, "the new certificate is shown", func() bool { return a.name(addr) == "second" })
	write(t, files.Key, []byte("broken"))
	eventually(t, "the broken key is logged", func() bool {
		return a.name(addr) == "second" && strings.Contains(log.String(), "level=ERROR")
	})
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("the broken key is logged %d times:\n%s", n, log)
	}
	if strings.Contains(log.String(), "broken") {
		t.Errorf("the log shows what is in the key file:\n%s", log)
	}
	a.files(dir, "third", time.Now().Add(time.Hour))
	eventually(t, "the corrected certificate is shown", func() bool { return a.name(addr) == "third" })
}

func TestCertificatesThatCannotBeLoaded(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	good := a.files(dir, "one", time.Now().Add(time.Hour))
	write(t, filepath.Join(dir, "empty.pem"), nil)
	for want, change := range map[string]func(*httpserver.TLSFiles){
		"gone.pem":                   func(f *httpserver.TLSFiles) { f.Cert = filepath.Join(dir, "gone.pem") },
		"key.pem":                    func(f *httpserver.TLSFiles) { f.Key = f.Cert },
		"no certificate in PEM":      func(f *httpserver.TLSFiles) { f.ClientCA = filepath.Join(dir, "empty.pem") },
		"reading the authorities of": func(f *httpserver.TLSFiles) { f.ClientCA = filepath.Join(dir, "gone.pem") },
	} {
		f := good
		change(&f)
		if _, err := httpserver.LoadCertificates(f, nil, nil); err == nil || !strings.Contains(err.Error()+"key.pem", want) {
			t.Errorf("LoadCertificates = %v, want an error with %q", err, want)
		}
	}
	expired := a.files(t.TempDir(), "old", time.Now().Add(-time.Hour))
	var log logged
	if _, err := httpserver.LoadCertificates(expired, slog.New(slog.NewTextHandler(&log, nil)), nil); err != nil ||
		!strings.Contains(log.String(), "out of date") {
		t.Errorf("an expired certificate at the start: %v, log %s", err, &log)
	}
}

// HTTP/2 without TLS is for clients that begin with it; the others notice
// nothing.
func TestHTTP2WithoutTLS(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		addr, _, _ := start(t, seen, httpserver.ServeOptions{HTTP2: http2})
		tr := &http.Transport{Protocols: new(http.Protocols)}
		tr.Protocols.SetUnencryptedHTTP2(true)
		res, err := (&http.Client{Transport: tr}).Get("http://" + addr + "/")
		if err == nil {
			if res.ProtoMajor != 2 || res.StatusCode != 200 {
				t.Errorf("answer over %s is %d", res.Proto, res.StatusCode)
			}
			res.Body.Close()
		}
		if (err == nil) != http2 {
			t.Errorf("HTTP2 %v: %v", http2, err)
		}
		tr.CloseIdleConnections()
		got := send(t, addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
			t.Errorf("HTTP2 %v: HTTP/1.1 is answered with %q", http2, got)
		}
		if got := send(t, addr, "PRICE / HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") ||
			!strings.Contains(got, "text/plain") {
			t.Errorf("HTTP2 %v: what begins almost alike is answered with %q", http2, got)
		}
	}
}

// The streams of one connection are bounded, and the others wait.
func TestHTTP2StreamsAreBounded(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	addr, _, _ := start(t, g, httpserver.ServeOptions{HTTP2: true, MaxStreams: 2})
	tr := &http.Transport{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	done := make(chan error)
	request := func() {
		res, err := (&http.Client{Transport: tr}).Get("http://" + addr + "/")
		if err == nil {
			err = res.Body.Close()
		}
		done <- err
	}
	for range 2 {
		go request()
		<-g.entered
	}
	go request()
	select {
	case <-g.entered:
		t.Error("a third stream was served")
	case <-time.After(100 * time.Millisecond):
	}
	g.leave <- struct{}{}
	<-g.entered // the third one follows
	g.leave <- struct{}{}
	g.leave <- struct{}{}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Stopping ends handshakes that are under way.
func TestStopEndsHandshakes(t *testing.T) {
	a := newAuthority(t)
	certs, err := httpserver.LoadCertificates(a.files(t.TempDir(), "one", time.Now().Add(time.Hour)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, stop, done := start(t, seen, httpserver.ServeOptions{TLS: certs})
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Serve = %v", err)
		}
	case <-time.After(hangTime):
		t.Error("Serve did not return")
	}
}
