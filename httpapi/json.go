package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const (
	pieceSize  = 1 << 20   // a JSON up to about this size is one piece, a longer one is written in such pieces
	ownPiece   = 128 << 10 // what is ready and so long is not copied into a piece
	retainSize = 2 << 20   // bigger buffers are not kept for reuse
)

// A JSON writes one JSON text, byte for byte as Python's json.dumps does: ", " between elements, ":
// " after keys, escapes for everything that is not ASCII. It buffers: up to 1 MiB is written in one
// piece, a longer text in several. It does not check that the text is well-formed: its caller
// opens, writes and closes elements in order. A JSON is for one goroutine.
type JSON struct {
	// w is nil for JSONText, which keeps all of the text in buf.
	w     io.Writer
	buf   []byte
	mount string // put before the paths of links
	link  bool   // the next string is the target of a link
	comma bool   // the next element follows another one
	wrote bool   // a piece has been written
	err   error
}

var pool = sync.Pool{New: func() any { return &JSON{buf: make([]byte, 0, 4<<10)} }}

// NewJSON returns a JSON that writes to w. It has to be closed.
func NewJSON(w io.Writer) *JSON {
	j := pool.Get().(*JSON)
	*j = JSON{w: w, buf: j.buf[:0]}
	return j
}

// JSONText returns what render writes, in a slice of exactly that size, for texts that are cached.
func JSONText(render func(*JSON)) []byte {
	j := NewJSON(nil)
	defer j.release()
	render(j)
	return append(make([]byte, 0, len(j.buf)), j.buf...)
}

// Close writes the rest and returns the first error of writing. The JSON must not be used
// afterwards.
func (j *JSON) Close() error {
	defer j.release()
	j.flush()
	return j.err
}

// release gives the buffer back.
func (j *JSON) release() {
	j.w = nil
	if cap(j.buf) <= retainSize {
		pool.Put(j)
	}
}

func (j *JSON) flush() {
	j.write(j.buf)
	j.buf = j.buf[:0]
}

// write writes a piece. After an error nothing more is written, and Close returns that error.
func (j *JSON) write(piece []byte) {
	if j.err == nil && len(piece) > 0 {
		_, j.err = j.w.Write(piece)
	}
	j.wrote = true
}

// sep writes what separates an element from the one before it.
func (j *JSON) sep() {
	if j.w != nil && len(j.buf) >= pieceSize {
		j.flush()
	}
	if j.comma {
		j.buf = append(j.buf, ", "...)
	}
	j.comma = true
}

// open begins an object or array.
func (j *JSON) open(c byte) {
	j.sep()
	j.buf = append(j.buf, c)
	j.comma = false
}

// end ends an object or array.
func (j *JSON) end(c byte) {
	j.buf = append(j.buf, c)
	j.comma = true
}

// Object begins an object; Key and a value alternate until EndObject.
func (j *JSON) Object() { j.open('{') }

// EndObject ends the object begun last.
func (j *JSON) EndObject() { j.end('}') }

// Array begins an array; values follow until EndArray.
func (j *JSON) Array() { j.open('[') }

// EndArray ends the array begun last.
func (j *JSON) EndArray() { j.end(']') }

// Key writes the key of an object's next member. The value of a key href is a link: when it is a
// path, Respond writes it as the client sees the path, with the prefix that AbsoluteURL has.
func (j *JSON) Key(s string) {
	j.sep()
	j.link = j.mount != "" && s == "href"
	j.buf = AppendJSONString(j.buf, s)
	j.buf = append(j.buf, ": "...)
	j.comma = false
}

// String writes a string.
func (j *JSON) String(s string) {
	j.sep()
	if j.link && strings.HasPrefix(s, "/") {
		s = j.mount + s
	}
	j.link = false
	j.buf = AppendJSONString(j.buf, s)
}

// KeyString writes a member of an object whose value is a string.
func (j *JSON) KeyString(key, s string) {
	j.Key(key)
	j.String(s)
}

// KeyInt writes a member of an object whose value is an integer.
func (j *JSON) KeyInt(key string, n int64) {
	j.Key(key)
	j.Int(n)
}

// Int writes an integer.
func (j *JSON) Int(n int64) {
	j.sep()
	j.buf = strconv.AppendInt(j.buf, n, 10)
}

// Float writes a number the way Python shows a float: 1.0, 0.5, 1e+16.
func (j *JSON) Float(f float64) {
	j.sep()
	j.buf = AppendJSONFloat(j.buf, f)
}

// Bool writes true or false.
func (j *JSON) Bool(b bool) {
	j.sep()
	j.buf = strconv.AppendBool(j.buf, b)
}

// Null writes null.
func (j *JSON) Null() {
	j.sep()
	j.buf = append(j.buf, "null"...)
}

// Raw writes an element that is JSON already, such as a cached text. A long one is not copied.
func (j *JSON) Raw(b []byte) {
	j.sep()
	if len(b) >= ownPiece && j.w != nil && len(j.buf)+len(b) > pieceSize {
		j.flush()
		j.write(b)
		return
	}
	j.buf = append(j.buf, b...)
}

// Append writes an element that is JSON already: fn appends it to its argument and returns the
// result.
func (j *JSON) Append(fn func(dst []byte) []byte) {
	j.sep()
	j.buf = fn(j.buf)
}

// A responder begins an answer with its first piece. The header waits until then, so that Respond
// can still set Content-Length when the whole text is one piece.
type responder struct {
	http.ResponseWriter
	status int
	json   *JSON
}

func (p *responder) Write(b []byte) (int, error) {
	if !p.json.wrote {
		p.WriteHeader(p.status)
	}
	return p.ResponseWriter.Write(b)
}

// typeJSON is the header of answers with JSON.
var typeJSON = []string{mediaJSON}

// Respond answers with a status and the JSON that render writes. An answer of up to 1 MiB has a
// Content-Length; a longer one is streamed. The error is that of a client that has disconnected.
func Respond(w http.ResponseWriter, status int, render func(*JSON)) error {
	w.Header()["Content-Type"] = typeJSON
	p := &responder{ResponseWriter: w, status: status}
	j := NewJSON(p)
	p.json = j
	if x, ok := w.(*exchange); ok {
		j.mount = x.mount
	}
	render(j)
	if !j.wrote {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(j.buf))}
	}
	return j.Close()
}
