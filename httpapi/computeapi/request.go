package computeapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
)

// A request is one to the API.
type request struct {
	*http.Request
	w       http.ResponseWriter
	api     *API
	caller  identity.Caller
	minor   int          // of the version
	body    pyjson.Value // after read; null when there is none
	hasBody bool         // it has been read
	query   url.Values   // what checkQuery has accepted
}

// A handler answers a request or returns why it cannot.
type handler func(*request) error

// serve makes a request for a handler, which reads the body when it knows that the caller may send one. Callers whom none of the rules can let
// through are refused; without rules the handler does that.
func (a *API) serve(h handler, rules ...string) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx := r.Context()
		q := &request{Request: r, w: w, api: a, minor: microversion.From(ctx).Minor, query: url.Values{}}
		q.caller, _ = identity.From(ctx)
		if project := projectOf(ctx); project != "" && project != q.caller.ProjectID {
			return badRequest("Malformed request URL: URL's project_id '%s' doesn't match Context's project_id '%s'",
				project, q.caller.ProjectID)
		}
		if err := q.possible(rules); err != nil {
			return err
		}
		return h(q)
	}
}

// maxBody bounds the bodies of users, which policy may need to decide, in bytes. Nova has 112 KiB by default. Reports of hosts, which
// have been identified, are bounded by [berth] max_body_size.
const maxBody = 1 << 20

// read reads the body, which stays null when it is empty.
func (q *request) read() error {
	q.hasBody = true
	if !strings.HasPrefix(q.URL.Path, hosts) {
		if err := httpapi.BoundBody(q.w, q.Request, maxBody); err != nil {
			return err
		}
	}
	text, err := httpapi.ReadBody(q.Request)
	if err != nil || len(text) == 0 {
		return err
	}
	q.body, err = pyjson.Parse(text)
	if err != nil || !pyjson.IsText(text, q.body) {
		return badRequest("Malformed request body")
	}
	return nil
}

// param is the part of the path that matches a name, as text.
func (q *request) param(name string) string {
	text := httpapi.Param(q.Request, name)
	b := make([]byte, 0, len(text))
	for _, c := range text {
		b = append(b, byte(c)) // see httpapi.Param
	}
	return string(b)
}

// viewer is the caller as a reader of flavors.
func (q *request) viewer() compute.Viewer {
	return compute.Viewer{Project: q.caller.ProjectID, Admin: q.isAdmin()}
}

// respond answers with JSON.
func (q *request) respond(status int, answer view.Object) error {
	return httpapi.Respond(q.w, status, answer.Write)
}

// done answers without a body.
func (q *request) done(status int) error {
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(status)
	return nil
}

// An action is the action that the only member of a body names.
type action struct {
	name string
	do   handler
}

// act does the action that the body of a request names. Bodies without a name are
// refused in Nova's ways.
func act(actions ...action) handler {
	return func(q *request) error {
		if err := q.read(); err != nil {
			return err
		}
		members := q.body.Members()
		switch kind, n := q.body.Kind(), q.body.Len(); {
		case kind == pyjson.String:
			n = pyjson.RuneLen(q.body.Str())
			fallthrough
		case kind == pyjson.Object, kind == pyjson.Array, q.ContentLength == 0:
			if n != 1 {
				return badRequest("Malformed request body")
			}
		}
		if len(members) != 1 {
			return notFound("")
		}
		for _, a := range actions {
			if a.name == members[0].Key {
				return a.do(q)
			}
		}
		return badRequest("There is no such action: %s", members[0].Key)
	}
}
