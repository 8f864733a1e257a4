package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/microversion"
)

// An Error is an answer that no rule of a service causes: a status that no kind of fault has, or a
// NotFound that upstream's handler raises by itself.
type Error struct {
	Status int
	Code   fault.Code
	Detail string // for the caller; may be empty

	unrouted bool   // no path, or no method of it, of an API that looks for it first
	allow    string // of a 405
	method   string // of a 405
	content  string // the media type sent, of a 415
	versions *microversion.RangeError
}

// Error describes the error for the log.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, statusTitle(e.Status), e.Detail)
}

// Trapped marks err as answered by the handler itself, which has an effect on the header Vary only:
// upstream omits it from a 404 whose exception its handler did not catch (an unmarked NotFound),
// and sends it when the handler caught the exception. A nil err stays nil.
func Trapped(err error) error {
	if err == nil {
		return nil
	}
	return &trapped{err}
}

type trapped struct{ error }

func (t *trapped) Unwrap() error { return t.error }

// retryAfter is how long, in seconds, a client should wait before it retries a request that found a
// part unavailable or overloaded.
const retryAfter = "1"

// internalText is all that callers learn of an error that is ours.
const internalText = "Internal error."

// statuses maps the kinds of fault. An error of any other kind, and one that is no fault, is 500
// with internalText.
var statuses = map[fault.Kind]int{
	fault.Invalid:     http.StatusBadRequest,
	fault.Unauthentic: http.StatusUnauthorized,
	fault.Denied:      http.StatusForbidden,
	fault.NotFound:    http.StatusNotFound,
	fault.Conflict:    http.StatusConflict,
	fault.Unavailable: http.StatusServiceUnavailable,
	fault.Outdated:    http.StatusPreconditionFailed,
	fault.Unsupported: http.StatusNotImplemented,
	fault.Failed:      http.StatusInternalServerError,
}

// toError converts any error to the Error that answers it. An Error anywhere in the chain counts
// before a fault. The caller reads the fault's own text; what wraps it is for the log only.
func toError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if f, ok := fault.Find(err); ok {
		kind, code := f.Fault()
		switch status := statuses[kind]; status {
		case 0:
		case http.StatusUnauthorized:
			return &Error{Status: status} // why a token is no good stays in the log
		default:
			return &Error{Status: status, Code: code, Detail: f.Error()}
		}
	}
	return &Error{Status: http.StatusInternalServerError, Detail: internalText}
}

// statusClientClosed is the status in log and metrics, nginx's, of a request that failed after its
// client had closed the connection: most such errors are a consequence of that.
const statusClientClosed = 499

// fail writes the answer for err. Once an answer has begun, the connection is
// cut instead, so that half an answer does not look like a whole one.
func (a *API) fail(x *exchange, r *http.Request, err error) {
	e := toError(err)
	if e.Status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled) &&
		!errors.As(err, new(*panicked)) {
		e = &Error{Status: statusClientClosed}
	}
	a.logError(r.Context(), e, err)
	if x.status != 0 {
		panic(http.ErrAbortHandler)
	}
	x.trim(e, err, a.cfg.Problem != nil)
	var c *Challenge
	if errors.As(err, &c) && e.Status != statusClientClosed {
		c.answer(x)
		return
	}
	if e.allow != "" {
		x.Header().Set("Allow", e.allow)
	}
	if e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests {
		x.Header().Set("Retry-After", retryAfter)
	}
	media, body := a.render(x, r, e)
	if r.Method == http.MethodHead {
		body = nil
	}
	writeBody(x, e.Status, media, body)
}

// A Problem is the content of an error's body, for a [Format].
type Problem struct {
	Status int
	Code   fault.Code // "" when the error has none
	Detail string     // for the caller; "" when there is nothing to add to the status
	Path   string     // of the request
	Method string

	Unserved bool // no API has seen the request: the detail says why
}

// A Format renders the body of an error in the form of one API. It may be called from many
// goroutines.
type Format func(Problem) (media string, body []byte)

// render returns the body of an error in the API's form.
func (a *API) render(x *exchange, r *http.Request, e *Error) (media string, body []byte) {
	switch {
	case e.unrouted:
		return outside(e.Status, "", strings.Join(r.Header["Accept"], ","))
	case a.cfg.Problem == nil && r.Method == http.MethodHead:
		return mediaHTML + "; charset=UTF-8", nil
	case a.cfg.Problem == nil:
		return a.problem(x, e).render(x.accept)
	}
	return a.cfg.Problem(Problem{Status: e.Status, Code: e.Code, Detail: e.Detail, Path: r.URL.Path, Method: r.Method})
}

// trim removes the headers that an error does not have: those of an unfinished handler, and Vary
// where Placement's answer is made outside its version middleware; an API with a format of its own
// has no such answers.
func (x *exchange) trim(e *Error, err error, own bool) {
	h := x.Header()
	for _, name := range []string{"Cache-Control", "Last-Modified", "Location", "Content-Type", "Content-Length"} {
		h.Del(name)
	}
	var t *trapped
	kind, _ := fault.Of(err)
	switch {
	case own:
	case e.Status == http.StatusInternalServerError:
		h.Del(microversion.Header)
		h.Del("Vary")
	case kind == fault.Denied, kind == fault.NotFound && !errors.As(err, &t):
		h.Del("Vary")
	}
}

// logError keeps what the caller is not shown.
func (a *API) logError(ctx context.Context, e *Error, err error) {
	var p *panicked
	switch {
	case errors.As(err, &p):
		a.cfg.Log.ErrorContext(ctx, "a handler panicked", "error", err, "stack", string(p.stack))
	case e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented:
		a.cfg.Log.ErrorContext(ctx, "a request failed", "error", err)
	default:
		a.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "a request was refused", slog.String("error", err.Error()))
	}
}

// problem gathers what the body of an error shows. There is a code from the version CodeSince on
// (1.23 in Placement: ERROR_CODE_MICROVERSION). An error before the version was negotiated has
// none, as the zero Version is older than any.
func (a *API) problem(x *exchange, e *Error) *problem {
	p := &problem{
		status:    e.Status,
		detail:    e.Detail,
		requestID: x.origin.RequestID,
		method:    e.method,
		accept:    x.accept,
		content:   e.content,
	}
	if x.version.AtLeast(max(a.cfg.CodeSince, 0)) {
		p.code = string(e.Code)
		if p.code == "" {
			p.code = string(a.cfg.UndefinedCode)
		}
	}
	if e.versions != nil {
		p.minVersion, p.maxVersion = e.versions.Min.String(), e.versions.Max.String()
	}
	return p
}

// writeBody writes a whole answer; none may have begun.
func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	w.Write(body) // the client may have disconnected; there is no receiver for the error
}
