package wire

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
)

// A Request is one to the API. Its handler is a function of the package of a noun.
type Request struct {
	*http.Request
	Writer  http.ResponseWriter
	API     *API
	Caller  identity.Caller
	Minor   int          // of the version
	JSON    pyjson.Value // the body after Check or ByAction, null when there is none
	hasBody bool         // the body has been read
	Query   url.Values   // what CheckQuery has accepted
}

// A Handler answers a request or returns why it cannot.
type Handler func(*Request) error

// Serve makes a request for a handler, which reads the body when it knows that the caller may send
// one. Callers whom none of the rules can let through are refused; without rules the handler does
// that.
func (a *API) Serve(h Handler, rules ...string) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx := r.Context()
		q := &Request{Request: r, Writer: w, API: a, Minor: microversion.From(ctx).Minor, Query: url.Values{}}
		q.Caller, _ = identity.From(ctx)
		if project := projectOf(ctx); project != "" && project != q.Caller.ProjectID {
			return BadRequest("Malformed request URL: URL's project_id '%s' doesn't match Context's project_id '%s'",
				project, q.Caller.ProjectID)
		}
		if err := q.possible(rules); err != nil {
			return err
		}
		return h(q)
	}
}

// maxBody bounds the bodies of users, which policy may need to decide, in bytes. Nova has 112 KiB
// by default. Reports of hosts, which have been identified, are bounded by [berth] max_body_size.
const maxBody = 1 << 20

// read reads the body, which stays null when it is empty.
func (q *Request) read() error {
	q.hasBody = true
	if !strings.HasPrefix(q.URL.Path, HostsPrefix) {
		if err := httpapi.BoundBody(q.Writer, q.Request, maxBody); err != nil {
			return err
		}
	}
	text, err := httpapi.ReadBody(q.Request)
	if err != nil || len(text) == 0 {
		return err
	}
	q.JSON, err = pyjson.Parse(text)
	if err != nil || !pyjson.IsText(text, q.JSON) {
		return BadRequest("Malformed request body")
	}
	return nil
}

// Param is the part of the path that matches a name, as text.
func (q *Request) Param(name string) string {
	text := httpapi.Param(q.Request, name)
	b := make([]byte, 0, len(text))
	for _, c := range text {
		b = append(b, byte(c)) // see httpapi.Param
	}
	return string(b)
}

// Viewer is the caller as a reader of flavors.
func (q *Request) Viewer() compute.Viewer {
	return compute.Viewer{Project: q.Caller.ProjectID, Admin: q.IsAdmin()}
}

// Author is the caller as the author of an action.
func (q *Request) Author() compute.Caller {
	return compute.Caller{
		Project: q.Caller.ProjectID, User: q.Caller.UserID, Request: httpapi.RequestID(q.Request),
		Global: httpapi.GlobalID(q.Request), Admin: q.IsAdmin(),
	}
}

// OfServer is the target of what is done to a server.
func OfServer(s servers.Server) Target { return Target{"project_id": s.Project, "user_id": s.User} }

// ServerInPath is the server that the path names, about which policy must let the
// caller do something. Those of other projects do not exist but for administrators.
func (q *Request) ServerInPath(rule string) (servers.Server, error) {
	id := compute.ID(q.Param("server"))
	s, err := q.API.Servers.Server(q.Context(), id)
	if err == nil && s.Project != q.Caller.ProjectID && !q.IsAdmin() {
		err = fault.New(fault.NotFound, "InstanceNotFound", "Instance %s could not be found.", id)
	}
	if err != nil {
		return s, err
	}
	return s, q.Can(rule, OfServer(s))
}

// Respond answers with JSON.
func (q *Request) Respond(status int, answer view.Object) error {
	return httpapi.Respond(q.Writer, status, answer.Write)
}

// Done answers without a body.
func (q *Request) Done(status int) error {
	q.Writer.Header().Set("Content-Type", "application/json")
	q.Writer.WriteHeader(status)
	return nil
}

// Actions are the handlers of the actions of a route, by the name of the body's only member.
type Actions map[string]Handler

// ByAction does the action that the body of a request names. Bodies without a name are refused in
// Nova's ways, which differ by the form of the body.
func ByAction(actions Actions) Handler {
	return func(q *Request) error {
		if err := q.read(); err != nil {
			return err
		}
		members := q.JSON.Members()
		switch kind, n := q.JSON.Kind(), q.JSON.Len(); {
		case kind == pyjson.String:
			n = pyjson.RuneLen(q.JSON.Str())
			fallthrough
		case kind == pyjson.Object, kind == pyjson.Array, q.ContentLength == 0:
			if n != 1 {
				return BadRequest("Malformed request body")
			}
		}
		if len(members) != 1 {
			return NotFound("")
		}
		do, ok := actions[members[0].Key]
		if !ok {
			return BadRequest("There is no such action: %s", members[0].Key)
		}
		return do(q)
	}
}
