package differential

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sendTimeout is how long a service may take to answer one request.
const sendTimeout = 60 * time.Second

// A Field is one header line of a request.
type Field struct{ Name, Value string }

// A Request is sent exactly as it is: nothing is escaped, added or corrected except Host,
// Connection and, when there is a body, the length.
type Request struct {
	Method string
	Target string // path and query
	Header []Field
	Body   string

	// ID distinguishes the requests of a sequence; it survives the removal of others, so that
	// identifiers which services choose can be named.
	ID int
}

// value returns the first header of that name, "" when there is none.
func (r Request) value(name string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// has reports whether a header is present, empty or not.
func (r Request) has(name string) bool {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return true
		}
	}
	return false
}

// path returns the target without its query and without escapes.
func (r Request) path() string {
	p, _, _ := strings.Cut(r.Target, "?")
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

// query returns what follows the question mark.
func (r Request) query() string {
	_, q, _ := strings.Cut(r.Target, "?")
	return q
}

// version returns the minor microversion of the request, the lowest for none, and ok false for a
// header that no service accepts.
func (r Request) version() (minor int, ok bool) {
	text, found := strings.CutPrefix(r.value("OpenStack-API-Version"), "placement ")
	if !found {
		return 0, true
	}
	if text == "latest" {
		return maxMinor, true
	}
	m, err := strconv.Atoi(strings.TrimPrefix(text, "1."))
	if err != nil || m < 0 || m > maxMinor || !strings.HasPrefix(text, "1.") {
		return 0, false
	}
	return m, true
}

// maxMinor is the newest microversion's minor number.
const maxMinor = 39

var madeUp = regexp.MustCompile(`(?i)\b[0-9a-f]{8}(-?)[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}\b`)

// renamed returns the request with other uuids in place of those that a generator has chosen: the
// same ones for the same n.
func (r Request) renamed(n int) Request {
	change := func(s string) string {
		return madeUp.ReplaceAllStringFunc(s, func(uuid string) string {
			if strings.HasPrefix(strings.ToLower(uuid), chosenPrefix) {
				return uuid
			}
			head, err := strconv.ParseUint(uuid[:8], 16, 32)
			if err != nil {
				return uuid
			}
			return fmt.Sprintf("%08x", uint32(head)+uint32(n)*0x01000193) + uuid[8:]
		})
	}
	r.Target, r.Body = change(r.Target), change(r.Body)
	return r
}

// wire renders the request for one host.
func (r Request) wire(host string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.Method, r.Target, host)
	for _, f := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if r.Body != "" && !r.has("Content-Length") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	b.WriteString("\r\n")
	b.WriteString(r.Body)
	return b.Bytes()
}

// A Response is an unmodified answer.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// send makes one exchange on a connection of its own.
func send(host string, r Request) (Response, error) {
	conn, err := net.DialTimeout("tcp", host, sendTimeout)
	if err != nil {
		return Response{}, err
	}
	defer conn.Close() // the answer has been read or the error is known
	if err := conn.SetDeadline(time.Now().Add(sendTimeout)); err != nil {
		return Response{}, err
	}
	if _, err := conn.Write(r.wire(host)); err != nil {
		return Response{}, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		return Response{}, err
	}
	defer res.Body.Close() // reading is over
	body, err := io.ReadAll(res.Body)
	return Response{Status: res.StatusCode, Header: res.Header, Body: string(body)}, err
}
