// Package httpapi is what Berth's HTTP surfaces share: routing by exact path, version negotiation,
// authentication, the one error writer, the JSON writer, request ids, CORS, access log and metrics.
// It is not for what any endpoint means, and it never touches a store: the packages below it, one
// per wire, hold the handlers. Package httpserver is below it.
//
// A request passes these steps, and the first that fails answers it:
//
//	request id → CORS → caller (401) → version (400, 406) → content headers
//	(400, 413) → path (404) → method (405) → version of the route (404) →
//	media types (415, 406) → handler
//
// The order, like the text of every error, is that of OpenStack's Placement, whose clients match on
// both. An API may look for the path first:
//
//	request id → CORS → caller (401) → path and method (404) → version (400, 406) →
//	media type (415) → content headers (400, 413) → version of the route (404) → handler
//
// To read the package, follow a request inwards, which package httpserver has received:
//
//	httpapi.go          API: the steps above; with route.go, accept.go, cors.go, pathfirst.go
//	exchange.go, scope.go
//	                    the state of one request, which is its ResponseWriter and its context
//	errors.go, problem.go, challenge.go, refuse.go
//	                    errors to statuses and bodies
//	lists.go            the bound of requests for lists of one project
//	json.go, jsontext.go, answer.go
//	                    what handlers answer with
package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
)

// A Handler answers one request or returns the error that prevents it, which then is answered for
// it: a fault by its kind, an [Error] by its status, anything else with 500. A Handler that returns
// an error has not begun the answer; if it has, the connection is cut. It may be called from many
// goroutines.
type Handler func(w http.ResponseWriter, r *http.Request) error

// An Authenticator identifies the caller of a request. A fault of kind Unauthentic becomes 401,
// Unavailable 503; the body of the request has not been read.
type Authenticator func(r *http.Request) (identity.Caller, error)

// DefaultMaxBody is the greatest size of a request body, in bytes, of an API whose Config has none.
const DefaultMaxBody = 32 << 20

// A Config has the parts of an API. Service, Routes and Authenticate are required.
type Config struct {
	Service      string                 // its name in version headers, logs and metrics
	History      microversion.History   // its versions; none for an API without microversions
	Routes       []Route                // in the order in which Allow lists methods
	Authenticate Authenticator          // not called for Public paths
	Public       func(path string) bool // what anybody may request; nil means "/"

	// Problem writes the body of an error; nil means Placement's.
	Problem Format

	// PathFirst, when not nil, has the path and the method looked up before the version and the body.
	PathFirst *PathFirst

	CodeSince     int        // the minor version from which errors carry a code
	UndefinedCode fault.Code // the code of errors that have none

	Lists *Lists // bounds the requests of the routes that are Lists; nil does not

	MaxBody int64        // bytes; 0 means DefaultMaxBody
	CORS    *CORS        // nil disables it
	Log     *slog.Logger // nil discards
	Metrics *Metrics     // nil measures nothing
}

// An API serves the routes of one service. It may be used from many goroutines, and does not change
// after New.
type API struct {
	cfg      Config
	table    table
	metrics  *apiMetrics // nil measures nothing
	versions map[microversion.Version]versionText
}

// New returns the API for a Config. It panics when two routes of the same path and method overlap
// in versions, which is an error in the program.
func New(cfg Config) *API {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Metrics = cfg.Metrics.orUnread()
	if cfg.Public == nil {
		cfg.Public = isRoot
	}
	return &API{
		cfg:      cfg,
		table:    newTable(cfg),
		metrics:  cfg.Metrics.of(cfg.Service),
		versions: versionTexts(cfg.Service, cfg.History),
	}
}

// isRoot is Placement's rule of what needs no token (PlacementAuthProtocol): the list of versions,
// also when the path is empty, as below a prefix.
func isRoot(path string) bool { return path == "/" || path == "" }

// versionHeader is microversion.Header as net/http spells it.
var versionHeader = http.CanonicalHeaderKey(microversion.Header)

// A versionText is how a version is written.
type versionText struct {
	text   string   // in logs
	header []string // in answers
}

// versionTexts formats all versions once, so that no request has to.
func versionTexts(service string, history microversion.History) map[microversion.Version]versionText {
	texts := make(map[microversion.Version]versionText, len(history))
	for _, change := range history {
		v := change.Version
		texts[v] = versionText{v.String(), []string{microversion.Format(service, v)}}
	}
	return texts
}

// ServeHTTP answers one request. A handler that panics is answered with 500 and
// logged with its stack; http.ErrAbortHandler passes through.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := begin(w, r)
	r = r.WithContext(&x.scope)
	if p := a.cfg.PathFirst; p != nil {
		x.Header()[p.RequestID] = []string{x.origin.RequestID}
	}
	a.metrics.inFlight.Inc()
	defer a.end(x, r)
	if a.cfg.CORS != nil {
		x.cors = a.cfg.CORS.match(r)
		if r.Method == http.MethodOptions {
			a.cfg.CORS.preflight(x, r)
			return
		}
	}
	if err := a.serve(x, r); err != nil {
		a.fail(x, r, err)
	}
}

// end counts and logs the request, also after a panic.
func (a *API) end(x *exchange, r *http.Request) {
	took := time.Since(x.start)
	a.metrics.end(x, took)
	a.logAccess(x, r, took)
}

// serve takes the request through the steps of the package comment.
func (a *API) serve(x *exchange, r *http.Request) error {
	err := a.authenticate(x, r)
	if err != nil {
		return err
	}
	if a.cfg.PathFirst != nil {
		return a.servePathFirst(x, r)
	}
	if err := a.negotiate(x, r); err != nil {
		return err
	}
	if err := a.checkContent(x, r); err != nil {
		return err
	}
	p := a.table.find(r.URL.Path, x)
	if p == nil {
		return &Error{Status: http.StatusNotFound}
	}
	x.pattern = p
	if a.cfg.History != nil {
		x.Header()["Vary"] = varyVersion
	}
	route, err := p.route(r.Method, x.version.Minor)
	if err != nil {
		return err
	}
	x.route = route
	if err := checkMedia(route, x, r); err != nil {
		return err
	}
	return a.handle(route, x, r)
}

// negotiate determines the microversion of the request and names it in the answer. The requested
// version may be absent, which means the oldest one, or "latest".
func (a *API) negotiate(x *exchange, r *http.Request) (err error) {
	if a.cfg.History == nil {
		return nil
	}
	x.version, err = a.cfg.History.Negotiate(a.cfg.Service, r.Header[versionHeader])
	if err != nil {
		return versionError(err)
	}
	x.Header()[versionHeader] = a.versions[x.version].header
	return nil
}

// varyVersion has the name in lower case, as upstream's middleware writes it (STANDARD_HEADER).
var varyVersion = []string{"openstack-api-version"}

// authenticate determines the caller, unless the path is public. The caller's ids are in the log
// lines of the request from here on.
func (a *API) authenticate(x *exchange, r *http.Request) (err error) {
	if a.cfg.Public(r.URL.Path) {
		return nil
	}
	if x.caller, err = a.cfg.Authenticate(r); err != nil {
		return err
	}
	x.known = true
	x.origin.User, x.origin.Project = x.caller.UserID, x.caller.ProjectID
	return nil
}

// checkContent refuses a body by its headers, before routing as upstream does, and bounds the
// reading of it. The text of the 400 is that of upstream's PlacementHandler; the 413 is Berth's. A
// Content-Length that is no number has been refused before, by net/http. A body without
// Content-Type is left to PathFirst.CheckMedia where there is one.
func (a *API) checkContent(x *exchange, r *http.Request) error {
	if r.ContentLength > 0 && r.Header.Get("Content-Type") == "" && a.cfg.PathFirst == nil {
		return &Error{Status: http.StatusBadRequest, Detail: "content-type header required when content-length > 0"}
	}
	if r.ContentLength > a.cfg.MaxBody {
		return tooLarge(a.cfg.MaxBody)
	}
	if r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(innermost(x.ResponseWriter), r.Body, a.cfg.MaxBody)
	}
	return nil
}

// innermost returns the ResponseWriter of net/http: only that one closes a connection whose body is
// too long to be read to its end.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = outer.Unwrap()
	}
}

// versionError converts an error of microversion to the answer: 406 with the range for a version
// that is not supported, 400 for a malformed one.
func versionError(err error) error {
	e := &Error{Status: http.StatusBadRequest, Detail: "Invalid microversion: " + err.Error()}
	if errors.As(err, &e.versions) {
		e.Status = http.StatusNotAcceptable
	}
	return e
}
