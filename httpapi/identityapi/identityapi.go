// Package identityapi is the wire of package local: the part of Keystone's API, version 3, that the
// openstack client and services that validate tokens use. It is read-only: requests for changes are
// answered 403 with the reason.
package identityapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/local"
)

// An API answers for one directory. Its field is set before Routes is called.
type API struct{ Directory *local.Directory }

// Public reports whether a path needs no token: the versions, and the issuing of tokens.
func Public(path string) bool {
	switch strings.TrimSuffix(path, "/") {
	case "", "/v3", "/v3/auth/tokens":
		return true
	}
	return false
}

// Authenticate is the Authenticator of services that trust a directory. It is this
// API's own too.
func Authenticate(d *local.Directory) httpapi.Authenticator {
	return func(r *http.Request) (identity.Caller, error) {
		c, err := d.Caller(r.Header.Get("X-Auth-Token"))
		if err != nil {
			err = &httpapi.Challenge{Err: err, Keystone: address(d)}
		}
		return c, err
	}
}

// address is that of the identity service in its own catalogue; "" before it has one.
func address(d *local.Directory) string {
	for _, s := range d.Services() {
		if s.Type == "identity" {
			return s.URL
		}
	}
	return ""
}

// challenging adds the address for logins to a 401, as Keystone does itself.
func (a *API) challenging(h httpapi.Handler) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if kind, _ := fault.Of(err); err != nil && kind == fault.Unauthentic {
			w.Header()["WWW-Authenticate"] = []string{`Keystone uri="` + address(a.Directory) + `"`}
		}
		return err
	}
}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: a.versions},
		{Method: http.MethodPost, Pattern: "/v3/auth/tokens", Handle: a.login},
		{Method: http.MethodGet, Pattern: "/v3/auth/tokens", Handle: a.subject(a.show)},
		{Method: http.MethodHead, Pattern: "/v3/auth/tokens", Handle: a.subject(a.show)},
		{Method: http.MethodDelete, Pattern: "/v3/auth/tokens", Handle: a.subject(a.revoke)},
		{Method: http.MethodGet, Pattern: "/v3/auth/catalog", Handle: a.catalog},
		{Method: http.MethodGet, Pattern: "/v3/auth/projects", Handle: a.ownProjects},
		{Method: http.MethodGet, Pattern: "/v3/role_assignments", Handle: a.assignments},
	}
	for _, path := range []string{"/v3", "/v3/"} {
		routes = append(routes, httpapi.Route{Method: http.MethodGet, Pattern: path, Name: "/v3", Handle: a.version})
	}
	for _, l := range a.lists() {
		routes = append(routes, l.routes(a)...)
	}
	for i := range routes {
		routes[i].Handle = a.challenging(routes[i].Handle)
	}
	return routes
}

// Problem writes the body of an error as Keystone does.
func Problem(p httpapi.Problem) (media string, body []byte) {
	detail := p.Detail
	if p.Status == http.StatusUnauthorized {
		detail = "The request you have made requires authentication."
	}
	// Encoding texts and numbers does not fail.
	body, _ = json.Marshal(object{
		"error": object{"code": p.Status, "message": detail, "title": http.StatusText(p.Status)},
	})
	return "application/json", body
}

// An object is one of JSON.
type object = map[string]any

func respond(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "X-Auth-Token")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// theVersion is the only version, in the form of Keystone 22.
func theVersion(r *http.Request) object {
	return object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []object{{"rel": "self", "href": httpserver.AbsoluteURL(r, "/v3/")}},
		"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}

func (a *API) versions(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Location", httpserver.AbsoluteURL(r, "/v3/"))
	return respond(w, http.StatusMultipleChoices, object{"versions": object{"values": []object{theVersion(r)}}})
}

func (a *API) version(w http.ResponseWriter, r *http.Request) error {
	return respond(w, http.StatusOK, object{"version": theVersion(r)})
}

// caller returns the token of the caller.
func (a *API) caller(r *http.Request) (*local.Token, error) {
	t, ok := a.Directory.Token(r.Header.Get("X-Auth-Token"))
	if !ok {
		return nil, fault.New(fault.Unauthentic, "", "no such token")
	}
	return t, nil
}

func forbidden(why string) error { return fault.New(fault.Denied, "", "%s", why) }

func notFound(what string) error { return fault.New(fault.NotFound, "", "Could not find %s.", what) }

// subject is a handler about the token in X-Subject-Token, for its owner, administrators and
// services.
func (a *API) subject(handle func(http.ResponseWriter, *http.Request, *local.Token) error) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller, err := a.caller(r)
		if err != nil {
			return err
		}
		t, ok := a.Directory.Token(r.Header.Get("X-Subject-Token"))
		switch {
		case ok && (t.User.ID == caller.User.ID || caller.Admin() || isService(caller)):
			return handle(w, r, t)
		case !ok && (caller.Admin() || isService(caller)):
			return notFound("that token")
		}
		return forbidden("You are not authorized to look at that token.")
	}
}

func isService(t *local.Token) bool {
	for _, role := range t.Roles() {
		if role == "service" {
			return true
		}
	}
	return false
}

func (a *API) show(w http.ResponseWriter, r *http.Request, t *local.Token) error {
	w.Header().Set("X-Subject-Token", t.ID)
	return respond(w, http.StatusOK, object{"token": a.token(t, !r.URL.Query().Has("nocatalog"))})
}

func (a *API) revoke(w http.ResponseWriter, _ *http.Request, t *local.Token) error {
	a.Directory.Revoke(t.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// token is the JSON object of a token.
func (a *API) token(t *local.Token, withCatalog bool) object {
	domain := object{"id": local.DomainID, "name": local.DomainName}
	audit := []string{t.AuditID}
	if t.Parent != "" {
		audit = append(audit, t.Parent)
	}
	shown := object{
		"methods": t.Methods, "audit_ids": audit, "issued_at": stamp(t.Issued), "expires_at": stamp(t.Expires),
		"user": object{"id": t.User.ID, "name": t.User.Name, "domain": domain, "password_expires_at": nil},
	}
	if t.Scope == (local.Scope{}) {
		return shown
	}
	var roles []object
	for _, name := range t.Roles() {
		roles = append(roles, object{"id": roleID(name), "name": name})
	}
	shown["roles"] = roles
	if t.Scope.Project {
		shown["project"] = object{"id": a.Directory.Project.ID, "name": a.Directory.Project.Name, "domain": domain}
		shown["is_domain"] = false
	}
	if t.Scope.System {
		shown["system"] = object{"all": true}
	}
	if withCatalog {
		shown["catalog"] = a.entries()
	}
	return shown
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (a *API) catalog(w http.ResponseWriter, r *http.Request) error {
	return respond(w, http.StatusOK, object{"catalog": a.entries(), "links": links(r)})
}
