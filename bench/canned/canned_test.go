package canned_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/bench/canned"
)

var pages = canned.Pages{
	Paths:  []string{"/a?x=1", "/b"},
	Bodies: [][]byte{[]byte("first"), bytes.Repeat([]byte("second"), 20_000)},
}

func TestHandlerSendsThePages(t *testing.T) {
	s := httptest.NewServer(canned.Handler(pages))
	defer s.Close()
	for path, want := range map[string][]byte{
		"/a?x=1": pages.Bodies[0],
		"/b":     pages.Bodies[1],
		"/a?x=2": pages.Bodies[0],
		"/other": pages.Bodies[0],
	} {
		res, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !bytes.Equal(body, want) {
			t.Errorf("%s: got %d bytes, %v; want %d", path, len(body), err, len(want))
		}
		if got := res.Header.Get("Content-Length"); got != strconv.Itoa(len(want)) {
			t.Errorf("%s: Content-Length %s, want %d", path, got, len(want))
		}
	}
}

func TestMainServesWhatItWasSent(t *testing.T) {
	src, send := io.Pipe()
	receive, out := io.Pipe()
	go canned.Main(src, out) // ends with the test
	if err := canned.Send(send, pages); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := receive.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get("http://" + strings.TrimSpace(string(buf[:n])) + "/b")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(body, pages.Bodies[1]) {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
}

func TestMainRefusesPagesWithoutBodies(t *testing.T) {
	for name, p := range map[string]canned.Pages{
		"None":      {},
		"TooMany":   {Paths: []string{"/"}, Bodies: [][]byte{nil, nil}},
		"NoBodyFor": {Paths: []string{"/", "/a"}, Bodies: [][]byte{nil}},
	} {
		var src bytes.Buffer
		if err := canned.Send(&src, p); err != nil {
			t.Fatal(err)
		}
		if err := canned.Main(&src, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
