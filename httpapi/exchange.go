package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
)

// An exchange is one request and the state of its answer. It is the ResponseWriter that handlers
// get, so that the status and the size of the answer are known for the log and the metrics. Only
// the request's goroutine uses it.
type exchange struct {
	http.ResponseWriter
	scope scope // the context of the request

	origin  logging.Origin
	caller  identity.Caller
	known   bool   // the caller is
	mount   string // what the client has in front of the path
	start   time.Time
	accept  string // as error bodies quote it: never empty
	version microversion.Version
	pattern *pattern
	route   *Route
	params  []param
	room    [2]param // for params: no route has more
	cors    grant    // headers for an allowed origin, or none

	notes []slog.Attr // what the handler adds to the access line

	status int // 0 until the answer has begun
	bytes  int64
}

// RequestIDHeader is the header of every answer that names the request.
const RequestIDHeader = "X-Openstack-Request-Id"

// begin returns the exchange of a request, with a new request id. A global request id of the client
// (X-Openstack-Request-Id) is kept for the log when it is well-formed.
func begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{ResponseWriter: w, start: time.Now(), mount: httpserver.Mount(r)}
	x.scope = scope{r.Context(), x}
	x.origin.RequestID = newRequestID()
	if id := r.Header.Get(RequestIDHeader); isRequestID(id) {
		x.origin.GlobalID = id
	}
	x.accept = strings.Join(r.Header["Accept"], ",")
	if x.accept == "" || x.accept == "*/*" {
		x.accept = mediaJSON
	}
	w.Header()[RequestIDHeader] = []string{x.origin.RequestID}
	return x
}

const requestIDPrefix = "req-"

// isRequestID reports whether id looks like those of OpenStack's services:
// "req-" and a UUID in lower case.
//
// Upstream's expression is ID_FORMAT in oslo_middleware.request_id. Any other text of a client is
// dropped without an error, so that clients cannot put text of their choice into the log.
func isRequestID(id string) bool {
	text, ok := strings.CutPrefix(id, requestIDPrefix)
	if !ok || len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c, dash := text[i], i == 8 || i == 13 || i == 18 || i == 23
		hex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// newRequestID returns "req-" and a random UUID.
func newRequestID() string { return requestIDPrefix + uuid.NewString() }

// RequestID returns the id of the request, "" for one that no API serves.
func RequestID(r *http.Request) string {
	if x := exchangeOf(r.Context()); x != nil {
		return x.origin.RequestID
	}
	return ""
}

// GlobalID returns the id of the calling service's own request, which it sent as
// X-OpenStack-Request-ID. It is "" for none, and for a malformed one.
func GlobalID(r *http.Request) string {
	if x := exchangeOf(r.Context()); x != nil {
		return x.origin.GlobalID
	}
	return ""
}

// Operation returns the method and the route of the request that ctx belongs to, "" for one that no
// API serves.
func Operation(ctx context.Context) string {
	x := exchangeOf(ctx)
	if x == nil || x.route == nil {
		return ""
	}
	return x.route.Method + " " + x.route.Pattern
}

// WriteHeader begins the answer. A status below 200 is interim and does not begin it.
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

// Unwrap gives http.ResponseController access to the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// A panicked is what a handler panicked with.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// call runs h and converts a panic to an error. http.ErrAbortHandler is panicked with again:
// net/http cuts the connection on it. A handler that writes nothing and returns nil has answered
// 200.
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
