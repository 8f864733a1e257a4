package load_test

import (
	"testing"

	"github.com/berthcloud/berth/bench/load"
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		body, rest   string
	}{
		{"WithLength", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhelloHTTP", 200, "hello", "HTTP"},
		{
			"InChunks",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\n, this is a longer piece. " +
				"\r\n0\r\n\r\nHTTP",
			200, "hello, this is a longer piece. ", "HTTP",
		},
		{"EmptyChunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200, "", ""},
		{"NoContent", "HTTP/1.1 204 No Content\r\n\r\nHTTP", 204, "", "HTTP"},
		{"Empty", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, rest, err := load.ReadAnswer(c.answer)
			if err != nil || status != c.status || body != c.body || rest != c.rest {
				t.Errorf("got %d, %q, then %q, %v; want %d, %q, then %q", status, body, rest, err, c.status, c.body, c.rest)
			}
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"OtherProtocol":    "HTTP/2 200\r\n\r\n",
		"NoStatus":         "HTTP/1.1 abc\r\n\r\n",
		"CutHeaders":       "HTTP/1.1 200 OK\r\nContent-Le",
		"NoHeader":         "HTTP/1.1 200 OK\r\nnothing\r\n\r\n",
		"OddLength":        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
		"NoLength":         "HTTP/1.1 200 OK\r\n\r\nhello",
		"CutBody":          "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
		"CutChunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"ChunkTooLong":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
		"OddChunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"NoLastChunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"ServerWantsClose": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			if status, body, _, err := load.ReadAnswer(answer); err == nil {
				t.Errorf("got %d, %q; want an error", status, body)
			}
		})
	}
}
