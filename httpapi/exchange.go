package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
)

// An exchange is one request and what became of it. It is the ResponseWriter
// that handlers see, so that it knows the status and size of the answer.
type exchange struct {
	http.ResponseWriter

	origin  logging.Origin
	mount   string // what the client has in front of the path
	start   time.Time
	accept  string // as error bodies quote it: never empty
	version microversion.Version
	pattern *pattern
	route   *Route
	params  []param
	cors    grant // headers for an allowed origin, or none

	status int // 0 until the answer has begun
	bytes  int64
}

type exchangeKey struct{}

// RequestIDHeader is the header of every answer that names the request.
const RequestIDHeader = "X-Openstack-Request-Id"

var requestID = regexp.MustCompile(`^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$`)

func begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{ResponseWriter: w, start: time.Now(), mount: arrivalOf(r).mount}
	x.origin.RequestID = newRequestID()
	if id := r.Header.Get(RequestIDHeader); requestID.MatchString(id) {
		x.origin.GlobalID = id
	}
	x.accept = strings.Join(r.Header.Values("Accept"), ",")
	if x.accept == "" || x.accept == "*/*" {
		x.accept = mediaJSON
	}
	w.Header().Set(RequestIDHeader, x.origin.RequestID)
	return x
}

// newRequestID returns "req-" and a random UUID.
func newRequestID() string {
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	b := append(make([]byte, 0, 40), "req-"...)
	for i, part := range [][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return string(b)
}

// RequestID returns the id of the request, "" for one that no API serves.
func RequestID(r *http.Request) string {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		return x.origin.RequestID
	}
	return ""
}

// WriteHeader begins the answer.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
		x.cors.apply(x.Header())
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the body, beginning the answer with 200 if need be.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	n, err := x.ResponseWriter.Write(p)
	x.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// A panicked is what a handler panicked with.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// call runs h and turns a panic into an error.
func call(h Handler, x *exchange, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v)
		} else if v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	err = h(x, r)
	if err == nil && x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	return err
}
