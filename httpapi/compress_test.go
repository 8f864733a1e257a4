package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
)

// lines answers with n lines of JSON, which is one piece or many, and with the
// status that the path names.
func lines(n int) httpapi.Handler {
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
			j.Array()
			for i := range n {
				j.String(fmt.Sprintf("element %d of a list", i))
			}
			j.EndArray()
		})
	}
}

// compressed starts a server of one handler that compresses from 1400 bytes on.
func compressed(t *testing.T, h httpapi.Handler) string {
	t.Helper()
	a, _ := serveOne(h)
	front := httpserver.NewFront(a, httpserver.FrontSettings{CompressMinSize: 1400}, nil)
	addr := start(t, front, httpserver.ServeOptions{})
	return "http://" + addr + "/x/y"
}

// fetch sends a GET with an Accept-Encoding header, none for "".
func fetch(t *testing.T, url, accept string) (*http.Response, []byte) {
	t.Helper()
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "u:p")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	if accept != "" {
		r.Header.Set("Accept-Encoding", accept)
	}
	res, body := do(t, &http.Client{Transport: tr}, r)
	return res, []byte(body)
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCompression(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lines  int
		accept string
		zipped bool
		vary   string
	}{
		{"Small", 10, "gzip", false, "openstack-api-version"},
		{"OnePiece", 200, "gzip, deflate", true, "openstack-api-version, Accept-Encoding"},
		{"Streamed", 5000, "gzip", true, "openstack-api-version, Accept-Encoding"},
		{"NotAsked", 200, "", false, "openstack-api-version"},
		{"StreamedNotAsked", 5000, "", false, "openstack-api-version"},
		{"Identity", 200, "identity", false, "openstack-api-version"},
		{"Refused", 200, "deflate, gzip;q=0", false, "openstack-api-version"},
		{"RefusedByName", 200, "*, gzip;q=0.0", false, "openstack-api-version"},
		{"Any", 200, "br;q=1, *;q=0.1", true, "openstack-api-version, Accept-Encoding"},
		{"Weighed", 200, "identity;q=0.5, GZip; q=0.8", true, "openstack-api-version, Accept-Encoding"},
		{"NoWeight", 200, "gzip;q=pony", false, "openstack-api-version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plain := answerTo(mustServeOne(lines(tc.lines)), request("GET", "/x/y", "")).Body.Bytes()
			res, body := fetch(t, compressed(t, lines(tc.lines)), tc.accept)
			if zipped := res.Header.Get("Content-Encoding") == "gzip"; zipped != tc.zipped {
				t.Fatalf("answer of %d bytes is compressed: %v, want %v", len(body), zipped, tc.zipped)
			}
			if tc.zipped {
				if len(body) >= len(plain)/2 {
					t.Errorf("%d of %d bytes are left", len(body), len(plain))
				}
				body = unzip(t, body)
			}
			if !bytes.Equal(body, plain) {
				t.Errorf("the answer differs from the plain one: %d and %d bytes", len(body), len(plain))
			}
			if vary := strings.Join(res.Header.Values("Vary"), "|"); vary != tc.vary {
				t.Errorf("Vary is %q, want %q", vary, tc.vary)
			}
			if res.Header.Get("Content-Type") != "application/json" {
				t.Errorf("headers are %v", res.Header)
			}
			if length := res.ContentLength; tc.accept == "" && tc.lines < 1000 && length != int64(len(plain)) {
				t.Errorf("Content-Length is %d, want %d", length, len(plain))
			}
		})
	}
}

func mustServeOne(h httpapi.Handler) http.Handler {
	a, _ := serveOne(h)
	return a
}

func TestNothingIsCompressedWithoutABody(t *testing.T) {
	for _, status := range []int{200, 201, 204, 304} {
		url := compressed(t, func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(status)
			return nil
		})
		res, body := fetch(t, url, "gzip")
		if res.StatusCode != status || len(body) > 0 || res.Header.Get("Content-Encoding") != "" ||
			res.Header.Get("Vary") != "openstack-api-version" {
			t.Errorf("answer is %d %v %q", res.StatusCode, res.Header, body)
		}
	}
}

// An answer that breaks off must not look whole when it is compressed.
func TestBrokenAnswersAreCutWhenCompressed(t *testing.T) {
	url := compressed(t, func(w http.ResponseWriter, r *http.Request) error {
		if err := lines(5000)(w, r); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	})
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Auth-Token": {"u:p"}, "Accept-Encoding": {"gzip"}, "Openstack-Api-Version": {"placement 1.39"},
	}
	res, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil {
		return // cut before the header was sent: as good
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the answer of %d bytes ended as if it was whole", len(b))
	}
}

// Pieces reach the client as they are flushed, compressed or not.
func TestFlushReachesTheClient(t *testing.T) {
	next := make(chan struct{})
	url := compressed(t, func(w http.ResponseWriter, _ *http.Request) error {
		for _, s := range []string{"first", "second"} {
			io.WriteString(w, s)
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			<-next
		}
		return nil
	})
	for _, accept := range []string{"", "gzip"} {
		tr := &http.Transport{DisableCompression: true}
		r, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{
			"X-Auth-Token": {"u:p"}, "Accept-Encoding": {accept}, "Openstack-Api-Version": {"placement 1.39"},
		}
		res, err := (&http.Client{Transport: tr}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = res.Body
		if accept != "" {
			if body, err = gzip.NewReader(res.Body); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(body, got); err != nil || string(got) != "first" {
			t.Errorf("accepting %q: the first piece is %q, %v", accept, got, err)
		}
		next <- struct{}{}
		next <- struct{}{}
		res.Body.Close()
		tr.CloseIdleConnections()
	}
}

// A body that is too long ends the connection, as without compression.
func TestTooLongBodiesStillCloseTheConnection(t *testing.T) {
	a, _ := serveOne(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := httpapi.ReadBody(r)
		return err
	})
	front := httpserver.NewFront(a, httpserver.FrontSettings{CompressMinSize: 1400}, nil)
	addr := start(t, front, httpserver.ServeOptions{})
	got := send(t, addr, "POST /x/y HTTP/1.1\r\nHost: h\r\nX-Auth-Token: admin\r\nContent-Type: application/json\r\n"+
		"OpenStack-API-Version: placement 1.39\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n0\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 413 ") || !strings.Contains(got, "Connection: close\r\n") {
		t.Errorf("answer is %q", got)
	}
}

func BenchmarkFront(b *testing.B) {
	a := mustServeOne(lines(1000))
	for name, s := range map[string]httpserver.FrontSettings{"off": {}, "gzip": {CompressMinSize: 1400}} {
		b.Run(name, func(b *testing.B) {
			f := httpserver.NewFront(a, s, nil)
			r := request("GET", "/x/y", "")
			r.Header.Set("Accept-Encoding", "gzip")
			b.ReportAllocs()
			for b.Loop() {
				answerTo(f, r)
			}
		})
	}
}
