package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/httpapi"
)

// A tally counts what is written to the connections of a listener.
type tally struct {
	net.Listener
	writes *atomic.Int64
}

func (l tally) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return talliedConn{c, l.writes}, nil
}

type talliedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c talliedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// sized answers with so many bytes as the query says, in pieces of as many as it
// says, with its length unless it says otherwise.
func sized(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("n"))
	piece, _ := strconv.Atoi(q.Get("piece"))
	if !q.Has("streamed") {
		w.Header().Set("Content-Length", strconv.Itoa(n))
	}
	if piece == 0 {
		piece = max(n, 1)
	}
	body := content(n)
	if q.Has("cut") {
		body = body[:n-1]
	}
	for len(body) > 0 {
		size := min(piece, len(body))
		if _, err := w.Write(body[:size]); err != nil {
			return
		}
		body = body[size:]
	}
}

func content(n int) []byte {
	return bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n]
}

// TestAnswersAreJoined asks for answers of all sizes on one connection: they arrive as
// they are, and those that are put together in one piece.
func TestAnswersAreJoined(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	serve(t, tally{ln, &writes}, http.HandlerFunc(sized), httpapi.ServeOptions{})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true}}
	defer client.CloseIdleConnections()
	ask := func(method, query string) (body []byte, took int64) {
		t.Helper()
		before := writes.Load()
		r, err := http.NewRequest(method, "http://"+ln.Addr().String()+"/?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer answer.Body.Close()
		if body, err = io.ReadAll(answer.Body); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return body, writes.Load() - before
	}
	for n := 0; n < 20<<10; n += 61 {
		for _, piece := range []int{0, 100, 2048, 4096, 5000} {
			for _, how := range []string{"", "&streamed"} {
				query := fmt.Sprintf("n=%d&piece=%d%s", n, piece, how)
				body, took := ask("GET", query)
				if !bytes.Equal(body, content(n)) {
					t.Fatalf("%s: %d bytes arrived that are not those that were sent", query, len(body))
				}
				if how == "" && n < 16<<10-300 && took != 1 {
					t.Fatalf("%s took %d writes, want 1", query, took)
				}
			}
		}
	}
	// Around the buffer's size, where the beginning is just the whole.
	for n := 3700; n < 4200; n++ {
		if body, _ := ask("GET", fmt.Sprintf("n=%d", n)); !bytes.Equal(body, content(n)) {
			t.Fatalf("n=%d: %d bytes arrived that are not those that were sent", n, len(body))
		}
	}
	if body, took := ask("HEAD", "n=6000"); len(body) > 0 || took != 1 {
		t.Errorf("HEAD: %d bytes in %d writes, want the header alone in one", len(body), took)
	}
}

// TestCutAnswersEndTheConnection has a handler write less than it said.
func TestCutAnswersEndTheConnection(t *testing.T) {
	addr, _, _ := start(t, http.HandlerFunc(sized), httpapi.ServeOptions{})
	answer := send(t, addr, "GET /?n=6000&cut HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, body, _ := strings.Cut(answer, "\r\n\r\n"); len(body) >= 6000 {
		t.Errorf("%d bytes arrived, want fewer than 6000 and the end", len(body))
	}
}

func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{60, 6000, 12_000, 60_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			go httpapi.Serve(b.Context(), ln, http.HandlerFunc(sized), httpapi.ServeOptions{})
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			request := fmt.Appendf(nil, "GET /?n=%d HTTP/1.1\r\nHost: x\r\n\r\n", n)
			in := bufio.NewReaderSize(c, 128<<10)
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				answer, err := http.ReadResponse(in, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := in.Discard(n); err != nil {
					b.Fatal(err)
				}
				_ = answer
			}
		})
	}
}
