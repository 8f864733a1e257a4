package httpserver

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Compress has the answers of next compressed with gzip for clients that accept it, those of at
// least minSize bytes; none when that is 0 or less. What has an encoding already, and events, pass
// as they are.
func Compress(next http.Handler, minSize int) http.Handler {
	if minSize <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !takesGzip(r) {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w, minSize: minSize}
		next.ServeHTTP(c, r)
		c.finish() // not after a panic: half an answer has no proper end
	})
}

// A compressor compresses the answer for a client that accepts gzip, unless it is small. An answer
// with a body and without Content-Length is compressed: it is streamed because it does not fit into
// one piece.
type compressor struct {
	http.ResponseWriter
	// minSize is the Content-Length in bytes below which the answer is not compressed.
	minSize int
	begun   bool
	pending int          // status that waits for whether there is a body; 0 when it is sent
	gz      *gzip.Writer // nil when the answer goes out as it is
}

// gzipLevel is the fastest. On answers of the API, more saves little.
const gzipLevel = gzip.BestSpeed

var gzipPool = sync.Pool{New: func() any {
	gz, err := gzip.NewWriterLevel(nil, gzipLevel)
	if err != nil {
		panic(err) // the level is constant
	}
	return gz
}}

// takesGzip reports whether there may be a body and the client accepts gzip.
func takesGzip(r *http.Request) bool {
	return r.Method != http.MethodHead && acceptsGzip(r.Header["Accept-Encoding"])
}

// WriteHeader begins the answer, and decides as soon as it is known whether there
// is a body.
func (c *compressor) WriteHeader(status int) {
	if status < http.StatusOK || c.begun {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.begun, c.pending = true, status
	if c.Header().Get("Content-Length") != "" {
		c.decide(status)
		c.sendHeader()
	}
}

// sendHeader sends the header that waits, if any.
func (c *compressor) sendHeader() {
	if c.pending != 0 {
		c.ResponseWriter.WriteHeader(c.pending)
		c.pending = 0
	}
}

// EventStream is the media type of server-sent events. They are not compressed: each is sent as
// soon as it is known.
const EventStream = "text/event-stream"

// decide chooses between gzip and the answer as it is, once, before the header is sent. Statuses
// that never have a body (204, 304), bodies that have an encoding already, and small ones stay as
// they are.
func (c *compressor) decide(status int) {
	h := c.Header()
	if status == http.StatusNoContent || status == http.StatusNotModified || h.Get("Content-Type") == EventStream ||
		h.Get("Content-Encoding") != "" || c.small(h) {
		return
	}
	// A cache must not return this to clients that cannot decode it. The uncompressed form is for
	// all clients and stays as upstream has it.
	addVary(h, "Accept-Encoding")
	h.Del("Content-Length")
	h.Set("Content-Encoding", "gzip")
	c.gz = gzipPool.Get().(*gzip.Writer)
	c.gz.Reset(c.ResponseWriter)
}

// small reports whether the answer has a Content-Length below the bound. One without a length is
// streamed and counts as large.
func (c *compressor) small(h http.Header) bool {
	n, err := strconv.Atoi(h.Get("Content-Length"))
	return err == nil && n < c.minSize
}

// addVary adds a name to the ones that the answer depends on already.
func addVary(h http.Header, name string) {
	if v := h.Get("Vary"); v != "" {
		name = v + ", " + name
	}
	h.Set("Vary", name)
}

// Write writes a piece of the body.
func (c *compressor) Write(p []byte) (int, error) {
	if !c.begun {
		c.WriteHeader(http.StatusOK)
	}
	if c.pending != 0 && len(p) > 0 {
		c.decide(c.pending)
		c.sendHeader()
	}
	if c.gz != nil {
		return c.gz.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// FlushError sends what was written so far.
func (c *compressor) FlushError() error {
	c.sendHeader()
	if c.gz != nil {
		if err := c.gz.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// finish ends the answer.
func (c *compressor) finish() {
	c.sendHeader()
	if c.gz == nil {
		return
	}
	_ = c.gz.Close() // the client may have disconnected; there is no receiver for the error
	c.gz.Reset(nil)
	gzipPool.Put(c.gz)
	c.gz = nil
}

// acceptsGzip reports whether an Accept-Encoding header, by its lines, allows gzip: by name or as
// one of "*", and not with a quality of 0. The name x-gzip means the same (RFC 9110, section
// 8.4.1.3). Of an element that is repeated the last one counts.
func acceptsGzip(lines []string) bool {
	named, others := -1.0, -1.0 // not mentioned
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(element, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				named = codingWeight(params)
			case "*":
				others = codingWeight(params)
			}
		}
	}
	return named > 0 || named < 0 && others > 0
}

// codingWeight returns the q of an element's parameters: 1 without one, 0 for one
// that cannot be read.
func codingWeight(params string) float64 {
	name, value, ok := strings.Cut(params, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, _ := ParseQuality(strings.TrimSpace(value)) // 0 when it is none
	return q
}
